/* SPDX-License-Identifier: MIT */
/* Driver events (cl_event): the state, outcome and times of a command that the driver has. */
#ifndef CLSTREAM_DRIVER_EVENT_H
#define CLSTREAM_DRIVER_EVENT_H

#include "driver/device.h"

/* CL_COMPLETE (0), a positive execution status, or a negative code when the command failed or its state
 * cannot be read. Never blocks. */
cl_int event_state(const struct device *device, cl_event event);

/* The same, with failures of the query apart: returns the query's own code, and sets `*state` if that is CL_SUCCESS. */
cl_int event_ask(const struct device *device, cl_event event, cl_int *state);

/* The result of clWaitForEvents for events whose state is CL_COMPLETE already: CL_SUCCESS or the failure. Some
 * drivers report a failure only here: status CL_COMPLETE, wait -14. */
cl_int event_verdict(const struct device *device, cl_uint count, const cl_event *events);

/* Waits for the end of an event whose state the driver does not tell. False: it does not tell that either. */
bool event_await_end(const struct device *device, cl_event event);

/* A host thread's wait in the driver until the command has ended. False: it has not waited, since the driver refused or the
 * process exits. */
bool event_wait_inside(const struct device *device, cl_event event);

/* Corrects a state: on drivers whose CL_COMPLETE cannot be trusted, returns event_verdict for it. */
cl_int event_confirm(const struct device *device, cl_event event, cl_int state);

/* event_confirm of event_state. */
cl_int event_outcome(const struct device *device, cl_event event);

/* Flushes the queue of an event that is not complete; a user event has no queue. */
cls_status event_flush(const struct device *device, cl_event event);

/* False when the driver refuses: the caller then has no reference to release. */
bool event_retain(const struct device *device, cl_event event);
void event_release(const struct device *device, cl_event event);

/* The four times of a command on a profiled queue, in device ns; each 0 where the driver has none. */
struct event_times {
    uint64_t queued, submitted, started, ended;
};
void event_times(const struct device *device, cl_event event, struct event_times *out);

/* The device time at which the command ended, in ns; false where the driver has none. */
bool event_end_time(const struct device *device, cl_event event, uint64_t *ns);

/* A function to be called at completion. The struct lies in memory that is never freed, since a driver does not say
 * when it is done with it. */
struct hint {
    void (*call)(void *);
    void *arg;
};

/* Sets a completion callback. It is only a hint: the call may come late, never, more than once or inside this function,
 * and it must take no lock. False when the driver refuses. */
bool event_hint(const struct device *device, cl_event event, const struct hint *hint);

#endif
