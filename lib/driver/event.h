/* SPDX-License-Identifier: MIT */
/* Driver events: how a command handed over is doing. */
#ifndef CLSTREAM_DRIVER_EVENT_H
#define CLSTREAM_DRIVER_EVENT_H

#include "driver/device.h"

/* CL_COMPLETE (0), a positive execution status, or a negative code when the command failed or its state
 * cannot be read. Never blocks. */
cl_int event_state(const struct device *device, cl_event event);

/* The same with the two told apart: what the question itself came to; the state, when that is CL_SUCCESS. */
cl_int event_ask(const struct device *device, cl_event event, cl_int *state);

/* What waiting says of events whose state is CL_COMPLETE already: CL_SUCCESS or the failure. Some
 * drivers tell the truth here only (PLATFORMS: status CL_COMPLETE, wait -14). */
cl_int event_verdict(const struct device *device, cl_uint count, const cl_event *events);

/* The event's state, and where the driver's are not to be trusted what waiting says of CL_COMPLETE. */
cl_int event_confirm(const struct device *device, cl_event event, cl_int state);

/* event_state, confirmed. */
cl_int event_outcome(const struct device *device, cl_event event);

/* Flushes the queue of an event that is not over yet; one of the user's setting has none. */
cls_status event_flush(const struct device *device, cl_event event);

/* False when the driver refuses: there is nothing to release then. */
bool event_retain(const struct device *device, cl_event event);
void event_release(const struct device *device, cl_event event);

/* The four times of a command on a profiled queue, in device ns; each 0 where the driver has none. */
struct event_times {
    uint64_t queued, submitted, started, ended;
};
void event_times(const struct device *device, cl_event event, struct event_times *out);

/* The device time at which the command ended, in ns; false where the driver has none. */
bool event_end_time(const struct device *device, cl_event event, uint64_t *ns);

/* Something to be called at completion. In memory that is never given back, since nobody knows when a
 * driver is done with it. */
struct hint {
    void (*call)(void *);
    void *arg;
};

/* Asks for it. Only a hint: it may come late, never, more than once or inline, and it must take no lock.
 * False when the driver refuses. */
bool event_hint(const struct device *device, cl_event event, const struct hint *hint);

#endif
