/* SPDX-License-Identifier: MIT */
/* Made-up commands of made-up streams, of which a profile is built without a device. */
#ifndef CLSTREAM_TESTS_MADE_UP_COMMANDS_H
#define CLSTREAM_TESTS_MADE_UP_COMMANDS_H

#include "../support/test.h"

#include "trace/profile.h"

enum { MAX_RAWS = 4000 };

#define US 1000ull
#define MS 1000000ull

/* The commands so far, and the profile of them. */
extern struct raw raws[MAX_RAWS];
extern struct profile profile;

/* Device times are the host's less this. */
extern int64_t offset;

/* For each test: starts without commands, and frees the profile. */
int reset(void **state);
int release(void **state);

/* A test between the two. */
#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, release)

/* A kernel "k" of a stream: submitted and handed over at `queued`, on the device from `start` to `end`; all
 * from 1 ms on. Its driver queue has the stream's number. */
struct trace_record *add(uint64_t stream, uint64_t queued, uint64_t start, uint64_t end);

/* The command waits for a stream's `position`. */
void wait_for(struct trace_record *command, uint64_t stream, uint64_t position);

/* Makes the profile of what was added. */
void build(void);

/* The record of a stream's command. */
const cls_profile_record *find(uint64_t stream, uint64_t position);

/* How far two streams of the profile overlap. */
cls_profile_overlap overlap(int a, int b);

#endif
