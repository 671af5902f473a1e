/* SPDX-License-Identifier: MIT */
/*
 * What a launch costs that is replayed from a command buffer (cl_khr_command_buffer). The extension is provisional: the
 * loader has no entries for it, so the driver is asked for its functions, whose types are declared here. No event comes
 * from them.
 */
#include "driver/probe.h"

#include <string.h>

#include "base/clock.h"

enum { REPLAYS = 10 };

typedef struct command_buffer *command_buffer;

struct calls {
    command_buffer(CL_API_CALL *create)(cl_uint, const cl_command_queue *, const cl_ulong *,
                                        cl_int *);
    cl_int(CL_API_CALL *launch)(command_buffer, cl_command_queue, const void *, cl_kernel, cl_uint,
                                const size_t *, const size_t *, const size_t *, cl_uint,
                                const cl_uint *, cl_uint *, void *);
    cl_int(CL_API_CALL *finalize)(command_buffer);
    cl_int(CL_API_CALL *enqueue)(cl_uint, cl_command_queue *, command_buffer, cl_uint,
                                 const cl_event *, cl_event *);
    cl_int(CL_API_CALL *release)(command_buffer);
};

static bool find_calls(cl_platform_id platform, struct calls *calls) {
    const struct {
        const char *name;
        void *to;
    } rows[] = {{"clCreateCommandBufferKHR", &calls->create},
                {"clCommandNDRangeKernelKHR", &calls->launch},
                {"clFinalizeCommandBufferKHR", &calls->finalize},
                {"clEnqueueCommandBufferKHR", &calls->enqueue},
                {"clReleaseCommandBufferKHR", &calls->release}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *function = clGetExtensionFunctionAddressForPlatform(platform, rows[i].name);
        if (!function)
            return false;
        memcpy(rows[i].to, &function, sizeof function);
    }
    return true;
}

/* The queue is in-order, and so are the commands recorded for it. */
static bool record(struct probe *probe, const struct calls *calls, command_buffer commands,
                   unsigned n) {
    static const size_t one = 1;
    for (unsigned i = 0; i < n; i++)
        if (calls->launch(commands, NULL, NULL, probe->kernels[0], 1, NULL, &one, &one, 0, NULL,
                          NULL, NULL) != CL_SUCCESS)
            return false;
    return calls->finalize(commands) == CL_SUCCESS;
}

/* From the enqueue until all is done, in ns; 0 when something failed. */
static double time_replay(struct probe *probe, const struct calls *calls, command_buffer commands) {
    cl_command_queue queue = probe->queues[0];
    cl_event marker = NULL;
    const uint64_t start = clock_now_ns();
    if (calls->enqueue(0, NULL, commands, 0, NULL, NULL) != CL_SUCCESS ||
        clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker) != CL_SUCCESS ||
        !probe_finish(probe, queue, marker))
        return 0;
    return (double)(clock_now_ns() - start);
}

void probe_replay(struct probe *probe, struct caps *caps) {
    struct calls calls;
    cl_int code;
    if (probe->stuck || !probe->device->command_buffers || caps->launch_in_order_ns <= 0 ||
        !find_calls(probe->device->platform, &calls))
        return;
    command_buffer commands = calls.create(1, &probe->queues[0], NULL, &code);
    if (code != CL_SUCCESS)
        return;
    const unsigned n = probe_batch_size(caps->launch_in_order_ns);
    double least = record(probe, &calls, commands, n) ? time_replay(probe, &calls, commands) : 0;
    for (unsigned i = 1; i < REPLAYS && least > 0; i++) {
        const double ns = time_replay(probe, &calls, commands);
        least = ns < least ? ns : least;
    }
    caps->launch_replayed_ns = least / n;
    if (!probe->stuck)
        calls.release(commands);
}
