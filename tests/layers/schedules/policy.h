/* SPDX-License-Identifier: MIT */
/*
 * The queue policies under which streams keep their order: out-of-order with wait lists, in-order, and
 * in-order without an event for every command, which the library chooses by measurement only. White box:
 * the choice is forced in the device's record.
 */
#ifndef CLSTREAM_TESTS_POLICY_H
#define CLSTREAM_TESTS_POLICY_H

#include <string.h>

#include <clstream/stream.h>

#include "driver/caps.h"

enum policy { POLICY_OUT_OF_ORDER, POLICY_IN_ORDER, POLICY_EVENT_LESS, POLICIES };

static const char *const policy_names[POLICIES] = {"out-of-order", "in-order", "event-less"};

/* The order to ask streams for; CLS_ORDER_AUTO when the device has none such. */
static inline cls_order policy_choose(enum policy policy) {
    struct device *device;
    const struct caps *caps;
    if (device_find(NULL, &device) || device_caps(device, &caps))
        return CLS_ORDER_AUTO;
    ((struct caps *)(uintptr_t)caps)->event_less = policy == POLICY_EVENT_LESS;
    if (policy != POLICY_OUT_OF_ORDER)
        return CLS_ORDER_IN_ORDER;
    return caps->out_of_order ? CLS_ORDER_OUT_OF_ORDER : CLS_ORDER_AUTO;
}

#endif
