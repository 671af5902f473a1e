/* SPDX-License-Identifier: MIT */
#include "driver/event.h"

#include "driver/grids.h"
#include "driver/quirk.h"
#include "driver/serial.h"
#include "driver/status.h"

cl_int event_ask(const struct device *device, cl_event event, cl_int *state) {
    driver_enter(device);
    cl_int code =
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state, state, NULL);
    driver_leave(device);
    return code;
}

cl_int event_state(const struct device *device, cl_event event) {
    cl_int state = CL_COMPLETE;
    cl_int code = event_ask(device, event, &state);
    return code == CL_SUCCESS ? state : code;
}

cl_int event_verdict(const struct device *device, cl_uint count, const cl_event *events) {
    driver_enter(device);
    cl_int code = clWaitForEvents(count, events);
    driver_leave(device);
    return code;
}

bool event_await_end(const struct device *device, cl_event event) {
    const cl_int verdict = event_verdict(device, 1, &event);
    return !verdict || verdict == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

bool event_wait_inside(const struct device *device, cl_event event) {
    if (!driver_begin(device))
        return false;
    const cl_int code = clWaitForEvents(1, &event);
    driver_end(device);
    return code == CL_SUCCESS || code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

cl_int event_confirm(const struct device *device, cl_event event, cl_int state) {
    bool lies = device->quirks & QUIRK_STATUS_LIES;
    return state == CL_COMPLETE && lies ? event_verdict(device, 1, &event) : state;
}

cl_int event_outcome(const struct device *device, cl_event event) {
    return event_confirm(device, event, event_state(device, event));
}

cls_status event_flush(const struct device *device, cl_event event) {
    cl_command_queue queue = NULL;
    cl_int code = CL_SUCCESS;
    if (event_state(device, event) <= CL_COMPLETE)
        return CLS_SUCCESS;
    driver_enter(device);
    if (clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL) == CL_SUCCESS &&
        queue)
        code = clFlush(queue);
    driver_leave(device);
    return driver_status(code, "clFlush");
}

bool event_retain(const struct device *device, cl_event event) {
    driver_enter(device);
    cl_int code = clRetainEvent(event);
    driver_leave(device);
    return code == CL_SUCCESS;
}

void event_release(const struct device *device, cl_event event) {
    driver_enter(device);
    if (device->quirks & QUIRK_UNLIKE_GRIDS_ABORT)
        grids_forget_some();
    clReleaseEvent(event);
    driver_leave(device);
}

bool event_end_time(const struct device *device, cl_event event, uint64_t *ns) {
    cl_ulong end;
    driver_enter(device);
    cl_int code = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    driver_leave(device);
    if (code != CL_SUCCESS || !end)
        return false;
    *ns = end;
    return true;
}

static uint64_t profiling_time(cl_event event, cl_profiling_info what) {
    cl_ulong ns;
    return clGetEventProfilingInfo(event, what, sizeof ns, &ns, NULL) == CL_SUCCESS ? ns : 0;
}

void event_times(const struct device *device, cl_event event, struct event_times *out) {
    driver_enter(device);
    out->queued = profiling_time(event, CL_PROFILING_COMMAND_QUEUED);
    out->submitted = profiling_time(event, CL_PROFILING_COMMAND_SUBMIT);
    out->started = profiling_time(event, CL_PROFILING_COMMAND_START);
    out->ended = profiling_time(event, CL_PROFILING_COMMAND_END);
    driver_leave(device);
}

static void CL_CALLBACK on_complete(cl_event event, cl_int state, void *user) {
    (void)event;
    (void)state;
    const struct hint *hint = user;
    hint->call(hint->arg);
}

bool event_hint(const struct device *device, cl_event event, const struct hint *hint) {
    if (device->quirks & QUIRK_NO_CALLBACKS)
        return false;
    driver_enter(device);
    cl_int code = clSetEventCallback(event, CL_COMPLETE, on_complete, (void *)(uintptr_t)hint);
    driver_leave(device);
    return code == CL_SUCCESS;
}
