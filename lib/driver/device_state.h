/* SPDX-License-Identifier: MIT */
/* The part of a device entry that is made on first use: the capability record. Private to device.c and caps.c. */
#ifndef CLSTREAM_DRIVER_DEVICE_STATE_H
#define CLSTREAM_DRIVER_DEVICE_STATE_H

#include <pthread.h>

#include "driver/caps.h"

struct device_state {
    pthread_mutex_t lock;   /* held while the record is made, so that other threads wait for it */
    _Atomic(bool) has_caps; /* set once, after `caps` is complete */
    struct caps caps;
};

#endif
