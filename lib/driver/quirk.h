/* SPDX-License-Identifier: MIT */
/*
 * Workarounds are rows of one table: what a driver does wrong, who does it, and what the library
 * does about it. Code asks device->quirks for a bit, never for a name.
 */
#ifndef CLSTREAM_DRIVER_QUIRK_H
#define CLSTREAM_DRIVER_QUIRK_H

#include "driver/device.h"

enum quirk {
    /* No code asks for it: a general rule of the library covers it, and the row is there to be
     * seen. */
    QUIRK_COVERED = 0,
    /* Calls from several host threads abort: the driver layer serialises them (Oclgrind). */
    QUIRK_SERIALIZE_CALLS = 1u << 0,
    /* A callback set on a completed event never comes, or failed commands' callbacks never come:
     * callbacks are not used even as hints where this makes them useless. */
    QUIRK_NO_CALLBACKS = 1u << 1,
    /* A malformed program binary kills the process: binaries are loaded only with a checksum of the
     * library's own, as everywhere, and never after a crash mark was left. */
    QUIRK_BINARY_ABORTS = 1u << 2,
    /* A loop stops silently after 65,535 iterations of one work-item: kernels use more of those. */
    QUIRK_SHORT_LOOPS = 1u << 3,
    /* A failure kills the queue: reset replaces it. */
    QUIRK_FAILURE_KILLS_QUEUE = 1u << 4,
    /* An enqueue that waits for an already failed event never completes. */
    QUIRK_FAILED_WAIT_HANGS = 1u << 5,
    /* The status query of a command that failed because a dependency did says CL_COMPLETE. Waiting for it
     * tells, and so does waiting for a command whose wait list leads to it; the order of an in-order queue
     * passes nothing on. */
    QUIRK_STATUS_LIES = 1u << 6,
    /* An exit handler that was registered before the first kernel ran hangs in the driver. */
    QUIRK_LATE_EXIT_HANDLER = 1u << 7,
    /* Releasing an idle queue can hang the whole driver, where a thread of its own still holds the last
     * command and ends the queue from within. A queue is finished and released a second later, when such a
     * thread is long done; after a failure it is left alone. */
    QUIRK_REST_BEFORE_RELEASE = 1u << 8,
    /* The driver still works on an event that it already reports failed: releasing it then aborts the
     * process, so the events of failed commands are never given back. */
    QUIRK_FAILED_RELEASE_ABORTS = 1u << 9,
    /* Programs with a kernel without parameters do not build with -cl-kernel-arg-info. */
    QUIRK_ARG_INFO_BREAKS_BUILD = 1u << 10,
    /* Migrating a buffer to the host among other commands corrupts the driver's own memory: a prefetch there
     * is a marker. */
    QUIRK_HOST_MIGRATION_CORRUPTS = 1u << 11,
    /* Copying a rectangle from or to a sub-buffer ends the process: a kernel of the library's does it. */
    QUIRK_PART_RECT_CRASHES = 1u << 12,
    /* Launches of one kernel with grids of unlike width end the process where they overlap: they take turns. */
    QUIRK_UNLIKE_GRIDS_ABORT = 1u << 13
};

struct quirk_row {
    enum quirk bit;
    const char *platform; /* part of the platform's name; NULL: any */
    const char *device;   /* part of the device's name; NULL: any */
    const char *driver;   /* how the driver's version begins; NULL: any */
    cls_device_type type; /* CLS_DEVICE_OTHER: any */
    cls_quirk text;
};

/* The bits in force for a device whose info is filled in. */
unsigned quirk_bits(const struct device *device);

/* The i-th row in force, or NULL past the last. */
const struct quirk_row *quirk_at(const struct device *device, size_t i);

#endif
