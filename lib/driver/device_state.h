/* SPDX-License-Identifier: MIT */
/* The part of a device entry that is made on first use: its records. Private to device.c, caps.c, units.c,
 * program_disk.c and blas_standing.c. */
#ifndef CLSTREAM_DRIVER_DEVICE_STATE_H
#define CLSTREAM_DRIVER_DEVICE_STATE_H

#include <pthread.h>

#include "driver/blas_standing.h"
#include "driver/caps.h"
#include "driver/units.h"

struct device_state {
    pthread_mutex_t lock;    /* held while a record is made, so that other threads wait for it */
    _Atomic(bool) has_caps;  /* set once, after `caps` is complete */
    _Atomic(bool) has_units; /* the same of `units` */
    struct caps caps;
    struct units units;
    struct blas_standing blas[2]; /* of f32 and f64 */
};

/* Whether the disk cache is worth its while for programs of the device; false before there is a record. */
static inline bool device_keeps_programs(const struct device *device) {
    const struct device_state *state = device->state;
    return state->has_caps && state->caps.keep_programs;
}

#endif
