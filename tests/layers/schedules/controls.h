/* SPDX-License-Identifier: MIT */
/*
 * The schedule layer's controls, found with dlsym as SCHEDULE_CONTROLS. Every command is held by a user
 * event of the layer's own; a thread opens these gates in the chosen order, one command after the other,
 * so that a command that lacks a dependency runs too early for certain. Without a test that holds them,
 * gates are opened when the host waits, or when nothing new has come for a moment. The environment:
 *
 *   CLS_SCHEDULE       last, random or first; unset: last
 *   CLS_SCHEDULE_SEED  for random
 */
#ifndef CLSTREAM_TESTS_SCHEDULE_H
#define CLSTREAM_TESTS_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#define SCHEDULE_CONTROLS "cls_schedule_controls"

enum schedule_order { SCHEDULE_LAST_FIRST, SCHEDULE_RANDOM, SCHEDULE_FIRST_FIRST, SCHEDULE_OPEN };

struct schedule_controls {
    /* The order from now on; SCHEDULE_OPEN gates nothing. */
    void (*choose)(enum schedule_order order, uint64_t seed);
    /* While held, no gate is opened, unless the host waits in the driver. */
    void (*hold)(bool held);
    /* Commands gated so far, and the most that were ever held together. */
    uint64_t (*gated)(void);
    unsigned (*widest)(void);
    /* Waits handed over, since an order was first chosen, for pending commands of another queue that was not
     * flushed: some drivers never end them. What the probes of a device without a record try comes before. */
    unsigned (*unflushed)(void);
};

#endif
