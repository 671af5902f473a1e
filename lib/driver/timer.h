/* SPDX-License-Identifier: MIT */
/* A device's own clock, read from the host. */
#ifndef CLSTREAM_DRIVER_TIMER_H
#define CLSTREAM_DRIVER_TIMER_H

#include "driver/device.h"

/* One reading of a device's clock, taken between two readings of the host's clock. */
struct timer_reading {
    uint64_t device_ns;
    uint64_t before_ns, after_ns; /* clock_now_ns */
};

/* Reads a few times and returns the reading with the shortest interval. False where the device has no such
 * timer (before OpenCL 2.1, or optional and absent). The caller checks whether the times of commands are
 * of this clock. */
bool timer_read(const struct device *device, struct timer_reading *out);

#endif
