/* SPDX-License-Identifier: MIT */
/* Every call of the driver fails in every scenario, on a driver that starts nothing before it is flushed. */
#include "sweep.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../loading.h"

static const struct fault_controls *controls;

static void arm(const struct fault_plan *plan) { controls->arm(plan); }
static unsigned fired(const char *function) { return controls->fired(function); }
static unsigned calls(const char *function) { return controls->calls(function); }
static const char *function(unsigned i) { return controls->function(i); }
static long live(char *text) { return controls->live(text, sweep_kept()); }

static const cl_int *codes(const char *name) {
    static const cl_int host[] = {CL_OUT_OF_HOST_MEMORY, CL_OUT_OF_RESOURCES, 0};
    static const cl_int device[] = {CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES, 0};
    bool touches_memory = name && (!strncmp(name, "clEnqueue", 9) || strstr(name, "Buffer"));
    return touches_memory ? device : host;
}

/* Calls whose failure nobody needs to hear of. */
static const struct {
    const char *function, *reason;
} harmless_calls[] = {
    {"clReleaseContext", "nothing is left to be done about it"},
    {"clReleaseCommandQueue", "as above"},
    {"clReleaseMemObject", "as above"},
    {"clSVMFree", "it cannot fail"},
    {"clReleaseProgram", "as above"},
    {"clReleaseKernel", "as above"},
    {"clReleaseSampler", "as above"},
    {"clReleaseEvent", "as above"},
    {"clCreateCommandQueue", "streams share the queues that there are"},
    {"clFlush",
     "whoever waits flushes again; where none succeeds, nothing runs, and that is reported"},
    {"clFinish", "only before a queue is released"},
    {"clSetEventCallback", "callbacks are hints; polling stands behind them"},
    {"clCreateProgramWithBinary", "the program is built from its source"},
    {"clBuildProgram", "the same, when it was the binary's; the results are checked"},
    {"clRetainContext", "unified memory is freed where the driver is done with it"},
    {"clRetainEvent", "the wait goes through the FIFO instead"},
    {"clGetEventInfo",
     "a look that fails is taken again; a command that none is had of is reported"},
    {"clCreateKernelsInProgram", "a cached program that cannot be looked into is not used"},
    {"clGetKernelInfo", "the same, but for a kernel of the caller's, whose creation fails"},
    {"clWaitForEvents",
     "asked of commands that are done, each then by itself; a wait that fails sleeps"},
    {"clGetProgramInfo", "the binary is not kept on disk"},
    {"clGetKernelArgInfo", "arguments are checked less"},
    {"clGetEventProfilingInfo", "the host's clock stands in"},
    {"clGetDeviceAndHostTimer", "the commands' own times are brackets enough"},
    {"clEnqueueUnmapMemObject", "pinned memory is being freed"},
    {"clGetDeviceInfo", "whether a device is a part of another; then it is taken for whole"},
    {"clSetUserEventStatus", "the scenario's own"},
};

static const char *harmless(const char *name) {
    if (!strcmp(name, "clGetMemObjectInfo") && getenv("CLSTREAM_CHECK"))
        return "the race checker takes a part for a buffer of its own";
    for (size_t i = 0; i < sizeof harmless_calls / sizeof *harmless_calls; i++)
        if (!strcmp(harmless_calls[i].function, name))
            return harmless_calls[i].reason;
    return NULL;
}

int main(int argc, char **argv) {
    (void)argc;
    layer_start("fault_layer", argv);
    controls = layer_controls("fault_layer", FAULT_CONTROLS);
    controls->hold(true, NULL, CL_SUCCESS);
    layer_leave_quirks_aside();
    const struct sweep sweep = {arm, fired, calls, function, live, codes, harmless};
    return sweep_all(&sweep, "fault_sweep", NULL, 0);
}
