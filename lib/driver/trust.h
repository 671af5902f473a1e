/* SPDX-License-Identifier: MIT */
/*
 * Trusts: what the library relies on a driver for beyond the status that a call returns, as rows of one table
 * (trust.c). Each row is a mechanism, a trial of it that compares values, and what the library does where the trial
 * fails. The trials run with the probes; their verdicts are part of the capability record, and code asks for them by
 * caps_trusts.
 */
#ifndef CLSTREAM_DRIVER_TRUST_H
#define CLSTREAM_DRIVER_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#include <clstream/device.h>

#include "base/rare.h"

struct caps;
struct device;
struct probe;

enum trust {
    TRUST_TRANSFERS,
    TRUST_QUEUE_ORDER,
    TRUST_EVENTS_IN_QUEUE,
    TRUST_EVENTS_ACROSS_QUEUES,
    TRUST_ARGUMENTS_SET_AGAIN,
    TRUST_LOCAL_ARGUMENTS,
    TRUST_STRUCTURE_ARGUMENTS,
    TRUST_LAUNCH_OFFSETS,
    TRUST_ROUNDING,
    TRUST_ODD_COPIES,
    TRUST_ODD_FILLS,
    TRUST_RECTANGLES,
    TRUST_PADDED_ROWS,
    TRUST_SUB_BUFFER_ARGUMENTS,
    TRUST_SUB_BUFFER_COPIES,
    TRUST_SUB_BUFFER_RECTANGLES,
    TRUST_MAPPED_MEMORY,
    TRUST_HOST_MEMORY,
    TRUST_SHARED_MEMORY,
    TRUST_ADDRESSES,
    TRUST_POINTER_ARGUMENTS,
    TRUSTS
};

/* TRIAL_UNTRIED: calls of the trial failed, as for want of memory, or the driver was stuck; the driver is believed, and
 * the record is not kept. */
enum trial_verdict { TRIAL_UNTRIED, TRIAL_RIGHT, TRIAL_WRONG };

/* Runs all trials, inside the device's serial section. False: one could not be run. */
bool trust_try_all(struct probe *probe, struct caps *caps);

/* The verdict as an entry of the capability record. */
cls_capability trust_figure(const struct caps *caps, size_t i);

/* The i-th fault that a trial found, with what the library does about it; NULL past the last. */
const cls_quirk *trust_fault_at(const struct device *device, const struct caps *caps, size_t i);

/* CLS_ERROR_UNSUPPORTED with the row's reason. */
cls_status trust_refuse(const struct device *device, enum trust which) COLD;

/* For a mechanism that is not to be believed untried: the same where the trial failed, or could not be run. */
cls_status trust_demand(const struct device *device, const struct caps *caps, enum trust which);

/* CLS_ERROR_UNSUPPORTED with the reason for the first wrong mechanism that the library cannot do without; else CLS_SUCCESS. */
cls_status trust_check(const struct device *device, const struct caps *caps);

#endif
