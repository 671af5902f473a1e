/* SPDX-License-Identifier: MIT */
/* What a player may do: with one lane, or with two, both locked. Each is done on the model as well. */
#ifndef CLSTREAM_TESTS_OPERATIONS_H
#define CLSTREAM_TESTS_OPERATIONS_H

#include "world.h"

/* --- commands.c: one command of any kind --- */

void do_command(struct player *player, struct lane *lane);
/* One that waits for nothing in the call, for use before the work that it stands behind may start. */
void do_plain_command(struct player *player, struct lane *lane);
/* A launch that leaves the cells alone. */
void do_aside(struct player *player, struct lane *lane);

/* --- memory.c --- */

void do_take(struct player *player, struct lane *lane);
void do_write(struct player *player, struct lane *lane);
void do_use(struct player *player, struct lane *lane);
void do_give(struct player *player, struct lane *lane);
void do_give_all(struct player *player, struct lane *lane);
void do_trim(struct player *player, struct lane *lane);
void do_pass_on(struct player *player, struct lane *lane, struct lane *other);

/* --- order.c --- */

void do_record(struct player *player, struct lane *lane);
void do_wait(struct player *player, struct lane *lane);
void do_ask_mark(struct player *player, struct lane *lane);
void do_fence_frees(struct player *player, struct lane *lane);
void do_renew_mark(struct player *player, struct lane *lane);
void do_signal(struct player *player, struct lane *lane);
void do_ask_timeline(struct player *player, struct lane *lane);
void do_renew_timeline(struct player *player, struct lane *lane);
void do_take_over(struct player *player, struct lane *lane, struct lane *other);
void do_follow(struct player *player, struct lane *lane, struct lane *other);
void do_wait_early(struct player *player, struct lane *lane, struct lane *other);
void do_hold(struct player *player, struct lane *lane, struct lane *other);

/* --- trouble.c --- */

void do_fail(struct player *player, struct lane *lane);
void do_recover(struct player *player, struct lane *lane);
void do_settle(struct player *player, struct lane *lane);
void do_query(struct player *player, struct lane *lane);
void do_wait_a_while(struct player *player, struct lane *lane);
void do_replace(struct player *player, struct lane *lane);
void do_peek(struct player *player, struct lane *lane); /* not locked */

#endif
