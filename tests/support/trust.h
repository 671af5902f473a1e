/* SPDX-License-Identifier: MIT */
/* Faults of a driver, as found by the library's trials. Tests of features that are refused for a fault skip with its reason. */
#ifndef CLSTREAM_TESTS_TRUST_H
#define CLSTREAM_TESTS_TRUST_H

#include "test.h"

#include <clstream/context.h>
#include <clstream/device.h>

/* The fault of a mechanism (a capability of the unit "trust") on the context's device; NULL: it is right, or not tried. */
static inline const char *trust_fault(cls_context context, const char *mechanism) {
    cls_capability tried;
    cls_quirk fault;
    size_t device, i = 0;
    OK(cls_context_get_device(context, &device));
    do
        OK(cls_device_get_capability(device, i++, &tried));
    while (strcmp(tried.name, mechanism) != 0);
    if (tried.value != 0)
        return NULL;
    for (i = 0; cls_device_get_quirk(device, i, &fault) == CLS_SUCCESS; i++)
        if (strcmp(fault.name, mechanism) == 0)
            return fault.reason;
    return "the trial would end the process";
}

/* Skips the running test where the mechanism is wrong. */
static inline void trust_need(cls_context context, const char *mechanism) {
    const char *fault = trust_fault(context, mechanism);
    if (fault)
        SKIP_BECAUSE("%s: %s", mechanism, fault);
}

#endif
