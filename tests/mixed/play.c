/* SPDX-License-Identifier: MIT */
/* Which operation, and on which lanes: all drawn from the player's own numbers. */
#include "play.h"

#include "operations.h"

enum reach { ONE, TWO, UNLOCKED };

static const struct {
    unsigned weight;
    enum reach reach;
    void (*one)(struct player *player, struct lane *lane);
    void (*two)(struct player *player, struct lane *lane, struct lane *other);
} operations[] = {
    {300, ONE, do_command, NULL},     {20, ONE, do_take, NULL},
    {25, ONE, do_write, NULL},        {25, ONE, do_use, NULL},
    {20, ONE, do_give, NULL},         {3, ONE, do_give_all, NULL},
    {5, ONE, do_trim, NULL},          {15, TWO, NULL, do_pass_on},
    {40, ONE, do_record, NULL},       {40, ONE, do_wait, NULL},
    {20, ONE, do_ask_mark, NULL},     {4, ONE, do_fence_frees, NULL},
    {6, ONE, do_renew_mark, NULL},    {15, ONE, do_signal, NULL},
    {10, ONE, do_ask_timeline, NULL}, {3, ONE, do_renew_timeline, NULL},
    {40, TWO, NULL, do_take_over},    {10, TWO, NULL, do_follow},
    {25, TWO, NULL, do_wait_early},   {8, TWO, NULL, do_hold},
    {10, ONE, do_fail, NULL},         {12, ONE, do_settle, NULL},
    {15, ONE, do_query, NULL},        {10, ONE, do_wait_a_while, NULL},
    {6, ONE, do_replace, NULL},       {30, UNLOCKED, do_peek, NULL},
};

/* Mostly one of the thread's own. */
static unsigned any_lane(struct player *player) {
    const unsigned own = 2, shared = 2;
    if (chance(player, 3))
        return draw(player, shared);
    return shared + own * player->number + draw(player, own);
}

static void on_one(struct player *player, unsigned kind, struct lane *lane) {
    pthread_mutex_lock(&lane->lock);
    if (!model_is_well(&lane->model) && chance(player, 6))
        do_recover(player, lane);
    else
        operations[kind].one(player, lane);
    pthread_mutex_unlock(&lane->lock);
}

static void on_two(struct player *player, unsigned kind, struct lane *lane, struct lane *other) {
    struct lane *first = lane < other ? lane : other, *second = lane < other ? other : lane;
    if (first == second)
        return;
    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    operations[kind].two(player, lane, other);
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
}

static void step(struct player *player) {
    struct world *world = player->world;
    unsigned sum = 0, kind = 0;
    for (unsigned i = 0; i < sizeof operations / sizeof *operations; i++)
        sum += operations[i].weight;
    for (unsigned at = draw(player, sum); at >= operations[kind].weight; kind++)
        at -= operations[kind].weight;
    struct lane *lane = &world->lanes[any_lane(player)];
    if (operations[kind].reach == UNLOCKED)
        operations[kind].one(player, lane);
    else if (operations[kind].reach == ONE)
        on_one(player, kind, lane);
    else
        on_two(player, kind, lane, &world->lanes[draw(player, world->n_lanes)]);
    atomic_fetch_add_explicit(&world->operations, 1, memory_order_relaxed);
}

void play(struct player *player) {
    for (unsigned i = 0; i < player->world->steps && !journals_spoilt(); i++)
        step(player);
}
