/* SPDX-License-Identifier: MIT */
/*
 * Driver defects and their workarounds, as rows of one table: the drivers that have the defect, what they do
 * wrong, and what the library does about it. Code tests a bit of device->quirks and never a driver's name.
 */
#ifndef CLSTREAM_DRIVER_QUIRK_H
#define CLSTREAM_DRIVER_QUIRK_H

#include "base/rare.h"
#include "driver/device.h"

enum quirk {
    /* No code tests it: a general rule of the library covers the defect, and the row documents it. */
    QUIRK_COVERED = 0,
    /* Calls from several host threads abort: the driver layer serialises them (Oclgrind). */
    QUIRK_SERIALIZE_CALLS = 1u << 0,
    /* Callbacks set on completed events, or those of failed commands, are never called: callbacks are
     * not used, not even as hints, on drivers where this makes them useless. */
    QUIRK_NO_CALLBACKS = 1u << 1,
    /* A malformed program binary kills the process: binaries are loaded only with a checksum of the
     * library's own, as everywhere, and never after a crash mark was left. */
    QUIRK_BINARY_ABORTS = 1u << 2,
    /* A loop stops silently after 65,535 iterations of one work-item: kernels use more work-items. */
    QUIRK_SHORT_LOOPS = 1u << 3,
    /* A failure kills the queue: reset replaces it. */
    QUIRK_FAILURE_KILLS_QUEUE = 1u << 4,
    /* An enqueue that waits for an already failed event never completes. */
    QUIRK_FAILED_WAIT_HANGS = 1u << 5,
    /* A command that failed because a dependency did has the status CL_COMPLETE. A wait for the command reports
     * the failure, and so does a wait for a command whose wait list leads to it; in-order execution on a queue does
     * not pass the failure on. */
    QUIRK_STATUS_LIES = 1u << 6,
    /* An exit handler that was registered before the first kernel ran hangs in the driver. */
    QUIRK_LATE_EXIT_HANDLER = 1u << 7,
    /* Releasing an idle queue can hang the whole driver, if one of the driver's threads still holds the last
     * command and so releases the queue itself. A queue is finished, and released a second later, when that thread
     * is done; after a failure it is not released. */
    QUIRK_REST_BEFORE_RELEASE = 1u << 8,
    /* The driver still works on an event that it already reports failed, and releasing the event aborts the
     * process: the events of failed commands are never released. */
    QUIRK_FAILED_RELEASE_ABORTS = 1u << 9,
    /* Programs with a kernel without parameters do not build with -cl-kernel-arg-info. */
    QUIRK_ARG_INFO_BREAKS_BUILD = 1u << 10,
    /* Migrating a buffer to the host among other commands corrupts the driver's own memory: a prefetch to the
     * host is a marker. */
    QUIRK_HOST_MIGRATION_CORRUPTS = 1u << 11,
    /* Copying a rectangle from or to a sub-buffer crashes the process: TRUST_SUB_BUFFER_RECTANGLES is not tried, and
     * counts as wrong. */
    QUIRK_PART_RECT_CRASHES = 1u << 12,
    /* Launches of one kernel with grids of unlike width abort the process if they overlap: they run one at a time
     * (driver/grids.h). */
    QUIRK_UNLIKE_GRIDS_ABORT = 1u << 13,
    /* Releasing a sub-buffer crashes the process if kernels used it and a younger one that overlaps it and that the
     * driver still has: overlapping ones are released from the youngest to the oldest (driver/parts.h). */
    QUIRK_PART_RELEASE_CRASHES = 1u << 14,
    /* A launch with a null buffer never completes: it is refused. */
    QUIRK_NULL_BUFFER_HANGS = 1u << 15,
    /* A launch of a kernel with more __local memory than the device has ends the process: it is refused. */
    QUIRK_LOCAL_MEMORY_ABORTS = 1u << 16,
    /* The thread that waits in the driver takes part in the work, and needs no other to be woken: a host thread waits
     * there if its wait has no deadline, and its stream neither failed nor waits for a flush. Of an out-of-order queue's
     * work it does not take part: streams are in-order unless told otherwise. */
    QUIRK_WAITER_COMPUTES = 1u << 17
};

struct quirk_row {
    enum quirk bit;
    const char *platform;  /* part of the platform's name; NULL: any */
    const char *device;    /* part of the device's name; NULL: any */
    unsigned from, before; /* major versions of the driver; 0, 0: any */
    cls_device_type type;  /* CLS_DEVICE_OTHER: any */
    cls_quirk text;
};

/* The bits in force for a device whose info is filled in. */
unsigned quirk_bits(const struct device *device);

/* The i-th row in force, or NULL past the last. */
const struct quirk_row *quirk_at(const struct device *device, size_t i);

/* CLS_ERROR_UNSUPPORTED with the reason of the bit's row. */
cls_status quirk_refuse(const struct device *device, enum quirk bit) COLD;

#endif
