/* SPDX-License-Identifier: MIT */
/* A device's own clock, read from the host. */
#ifndef CLSTREAM_DRIVER_TIMER_H
#define CLSTREAM_DRIVER_TIMER_H

#include "driver/device.h"

/* One reading of a device's clock, which was taken between two of the host's. */
struct timer_reading {
    uint64_t device_ns;
    uint64_t before_ns, after_ns; /* clock_now_ns */
};

/* The closest of a few readings. False where the device has no such timer (before OpenCL 2.1, or
 * optional and absent). Whether the times of commands are of this clock is for the caller to see. */
bool timer_read(const struct device *device, struct timer_reading *out);

#endif
