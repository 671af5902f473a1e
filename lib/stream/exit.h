/* SPDX-License-Identifier: MIT */
/*
 * Process exit. With work pending at exit PoCL crashes, and with a library thread inside a driver every
 * driver may: a handler stops what is queued, drains what the drivers hold within a time, and joins the
 * threads. It must run before the driver's own handlers (at_exit_first).
 */
#ifndef CLSTREAM_STREAM_EXIT_H
#define CLSTREAM_STREAM_EXIT_H

#include <clstream/stream.h>

#include "driver/device.h"

/* A context of the device is being made. Where the handler must not be registered before the driver has
 * run a kernel, runs one now, once a process, and registers it. */
cls_status exit_prepare(struct device *device, cl_context context);

/* Work has been handed to the device. Registers the handler when it is due. */
void exit_note_work(const struct device *device);

/* A command of the kind has run. */
void exit_note_done(cls_command_kind kind);

#endif
