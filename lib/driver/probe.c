/* SPDX-License-Identifier: MIT */
#include "driver/probe.h"

#include <sched.h>

#include "base/clock.h"
#include "driver/program.h"
#include "driver/queue.h"
#include "driver/quirk.h"
#include "driver/serial.h"

enum {
    /* Some drivers stop a loop after 65,535 iterations. */
    MAX_ROUNDS = 60000,
    FIRST_ROUNDS = 16,
    UNFLUSHED_TRIES = 3
};

#define FIRST_TIMEOUT (10 * CLOCK_SECOND) /* the first launch may compile */
#define TIMEOUT (2 * CLOCK_SECOND)
#define BUSY_NS 1000000.0
#define SPIN_NS UINT64_C(50000)
#define NAP_NS UINT64_C(30000)

/* A dependent chain that no compiler folds, long enough that the loop stays below its limit. */
static const char source[] =
    "#define STEP x ^= x << 13; x ^= x >> 17; x ^= x << 5;\n"
    "__kernel void probe(__global uint *word, uint rounds) {\n"
    "    uint x = rounds | 1u;\n"
    "    for (uint i = 0; i < rounds; i++) { STEP STEP STEP STEP STEP STEP STEP STEP }\n"
    "    word[0] = x;\n"
    "}\n";

static cl_int state_of(cl_event event) {
    cl_int state = CL_QUEUED;
    cl_int code =
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return code == CL_SUCCESS ? state : code;
}

bool probe_poll(cl_event event, uint64_t ns) {
    uint64_t start = clock_now_ns();
    uint64_t passed = 0;
    while (state_of(event) > CL_COMPLETE) {
        if (passed > ns)
            return false;
        if (passed < SPIN_NS)
            sched_yield();
        else
            clock_sleep_ns(NAP_NS);
        passed = clock_now_ns() - start;
    }
    return true;
}

bool probe_finish(struct probe *probe, cl_command_queue queue, cl_event event) {
    if (!event || probe->stuck)
        return false;
    bool well = clFlush(queue) == CL_SUCCESS;
    if (!probe_poll(event, probe->timeout_ns)) {
        probe->stuck = true;
        return false;
    }
    well = well && state_of(event) == CL_COMPLETE;
    clReleaseEvent(event);
    return well;
}

bool probe_enqueue(struct probe *probe, cl_command_queue queue, unsigned which, cl_uint rounds,
                   const cl_event *wait, cl_event *event) {
    static const size_t one = 1;
    cl_kernel kernel = probe->kernels[which];
    return !probe->stuck && queue &&
           clSetKernelArg(kernel, 1, sizeof rounds, &rounds) == CL_SUCCESS &&
           clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, wait ? 1 : 0, wait, event) ==
               CL_SUCCESS;
}

/* One kernel alone, in ns; negative when it failed. */
static double time_one(struct probe *probe, cl_command_queue queue, cl_uint rounds) {
    cl_event event = NULL;
    uint64_t start = clock_now_ns();
    if (!probe_enqueue(probe, queue, 0, rounds, NULL, &event) || !probe_finish(probe, queue, event))
        return -1;
    return (double)(clock_now_ns() - start);
}

/* The first launch is the driver's to compile in; then rounds grow until they can be told from the
 * cost of a launch, and are scaled to the time wanted. */
static bool calibrate(struct probe *probe) {
    probe->timeout_ns = FIRST_TIMEOUT;
    if (time_one(probe, probe->queues[0], 0) < 0)
        return false;
    probe->timeout_ns = TIMEOUT;
    double empty = time_one(probe, probe->queues[0], 0);
    cl_uint rounds = FIRST_ROUNDS;
    for (;;) {
        double busy = time_one(probe, probe->queues[0], rounds);
        if (empty < 0 || busy < 0)
            return false;
        busy -= empty;
        if (busy > BUSY_NS / 4 || rounds == MAX_ROUNDS) {
            double scaled = busy > 0 ? rounds * (BUSY_NS / busy) : MAX_ROUNDS;
            probe->rounds = scaled > MAX_ROUNDS ? MAX_ROUNDS : (cl_uint)scaled + 1;
            return true;
        }
        rounds = rounds > MAX_ROUNDS / 8 ? MAX_ROUNDS : 8 * rounds;
    }
}

/* The small probes */

/* A stream changes over to a profiled queue and keeps its order's kind: a driver that refuses the two
 * together has no out-of-order queues to build on. */
static bool may_be_profiled(const struct probe *probe) {
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(
        probe->context, probe->device->id,
        CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE, &code);
    if (code == CL_SUCCESS)
        queue_drop(probe->device, queue, false);
    return code != CL_INVALID_QUEUE_PROPERTIES && code != CL_INVALID_VALUE;
}

static void probe_out_of_order(struct probe *probe, struct caps *caps) {
    caps->out_of_order = probe->out_of_order && time_one(probe, probe->out_of_order, 0) >= 0 &&
                         may_be_profiled(probe);
}

static void probe_unflushed(struct probe *probe, struct caps *caps) {
    cl_event event = NULL;
    if (!probe_enqueue(probe, probe->queues[0], 0, 0, NULL, &event))
        return;
    bool done = probe_poll(event, 3 * CLOCK_MS);
    caps->unflushed_progresses = probe_finish(probe, probe->queues[0], event) && done;
}

/* A kernel, and one on another queue that waits for it: left alone for a few times as long as they take, both
 * must be done at the first look. */
static bool runs_unflushed(struct probe *probe) {
    cl_event first = NULL, second = NULL;
    if (!probe_enqueue(probe, probe->queues[0], 0, probe->rounds / 4, NULL, &first))
        return false;
    bool enqueued = probe_enqueue(probe, probe->queues[1], 1, 0, &first, &second);
    clock_sleep_ns((uint64_t)(2 * BUSY_NS));
    bool done = enqueued && state_of(second) == CL_COMPLETE;
    bool well = probe_finish(probe, probe->queues[0], first);
    return enqueued && probe_finish(probe, probe->queues[1], second) && well && done;
}

static void probe_unflushed_runs(struct probe *probe, struct caps *caps) {
    bool runs = caps->unflushed_progresses;
    for (int i = 0; i < UNFLUSHED_TRIES && runs; i++)
        runs = runs_unflushed(probe);
    caps->unflushed_runs = runs;
}

static bool read_times(cl_event event, cl_ulong times[4]) {
    static const cl_profiling_info what[4] = {CL_PROFILING_COMMAND_QUEUED,
                                              CL_PROFILING_COMMAND_SUBMIT,
                                              CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    for (int i = 0; i < 4; i++)
        if (clGetEventProfilingInfo(event, what[i], sizeof *times, &times[i], NULL) != CL_SUCCESS)
            return false;
    return true;
}

/* The kernel ran within the host's time for it, and for more than a twentieth of that. */
static bool sane(const cl_ulong times[4], double host_ns) {
    double ran = (double)(times[3] - times[2]);
    return times[0] > 0 && times[0] <= times[1] && times[1] <= times[2] && times[2] < times[3] &&
           ran < 1.1 * host_ns && ran > host_ns / 20;
}

/* A marker behind a kernel must not claim to have ended before it; it is enqueued while the kernel runs. */
static void time_kernel_and_marker(struct probe *probe, cl_command_queue queue, cl_event event,
                                   uint64_t start, struct caps *caps) {
    cl_ulong times[4] = {0, 0, 0, 0}, end;
    cl_event marker = NULL;
    clFlush(queue);
    bool marked = clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker) == CL_SUCCESS;
    if (marked)
        clRetainEvent(marker);
    bool ran = probe_finish(probe, queue, event);
    double host_ns = (double)(clock_now_ns() - start);
    caps->timestamps_sane = ran && read_times(event, times) && sane(times, host_ns);
    if (marked && probe_finish(probe, queue, marker) && caps->timestamps_sane &&
        clGetEventProfilingInfo(marker, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) ==
            CL_SUCCESS)
        caps->marker_times_sane = end >= times[3];
    if (marked && !probe->stuck)
        clReleaseEvent(marker);
}

static void probe_timestamps(struct probe *probe, struct caps *caps) {
    cl_int code;
    cl_event event = NULL;
    cl_command_queue queue =
        clCreateCommandQueue(probe->context, probe->device->id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (code != CL_SUCCESS)
        return;
    uint64_t start = clock_now_ns();
    if (probe_enqueue(probe, queue, 0, probe->rounds, NULL, &event)) {
        clRetainEvent(event);
        time_kernel_and_marker(probe, queue, event, start, caps);
    }
    if (probe->stuck)
        return;
    if (event)
        clReleaseEvent(event);
    queue_drop(probe->device, queue, false);
}

/* Behind a kernel of a millisecond that uses the memory: a call that takes more than half of that has waited
 * for it. To the host, which NVIDIA's does wait for; where that must not be tried, it is taken to wait. */
static void probe_migration(struct probe *probe, struct caps *caps) {
    cl_event event = NULL;
    caps->migrate_blocks = (probe->device->quirks & QUIRK_HOST_MIGRATION_CORRUPTS) != 0;
    if (caps->migrate_blocks || probe->stuck ||
        !probe_enqueue(probe, probe->queues[0], 0, probe->rounds, NULL, NULL))
        return;
    clFlush(probe->queues[0]);
    uint64_t start = clock_now_ns();
    if (clEnqueueMigrateMemObjects(probe->queues[0], 1, &probe->words[0],
                                   CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, &event) != CL_SUCCESS)
        return;
    double returned = (double)(clock_now_ns() - start);
    if (probe_finish(probe, probe->queues[0], event))
        caps->migrate_blocks = returned > (double)(clock_now_ns() - start) / 2 && returned > 1e5;
}

static void probe_priorities(struct probe *probe, struct caps *caps) {
    const struct device *device = probe->device;
    const cl_queue_properties properties[] = {CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_HIGH_KHR, 0};
    cl_int code;
    if (probe->stuck || !device->priority_hints || device->cl_version < 200)
        return;
    cl_command_queue queue =
        clCreateCommandQueueWithProperties(probe->context, device->id, properties, &code);
    if (code != CL_SUCCESS)
        return;
    queue_drop(probe->device, queue, false);
    caps->priorities = true;
}

/* The world */

static bool open_context(struct probe *probe) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)probe->device->platform, 0};
    cl_int code;
    driver_enter(probe->device);
    probe->context = clCreateContext(properties, 1, &probe->device->id, NULL, NULL, &code);
    driver_leave(probe->device);
    return code == CL_SUCCESS;
}

static bool open_kernel(struct probe *probe, unsigned i) {
    cl_int code;
    probe->words[i] = clCreateBuffer(probe->context, CL_MEM_READ_WRITE, 64, NULL, &code);
    if (code != CL_SUCCESS)
        return false;
    probe->kernels[i] = clCreateKernel(probe->program, "probe", &code);
    if (code != CL_SUCCESS ||
        clSetKernelArg(probe->kernels[i], 0, sizeof(cl_mem), &probe->words[i]) != CL_SUCCESS)
        return false;
    probe->queues[i] = clCreateCommandQueue(probe->context, probe->device->id, 0, &code);
    return code == CL_SUCCESS;
}

static bool open_queues(struct probe *probe) {
    cl_int code;
    for (unsigned i = 0; i < PROBE_KERNELS; i++)
        if (!open_kernel(probe, i))
            return false;
    if (!probe->device->out_of_order)
        return true;
    probe->out_of_order = clCreateCommandQueue(probe->context, probe->device->id,
                                               CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (code != CL_SUCCESS)
        probe->out_of_order = NULL;
    return true;
}

static void close_queues(struct probe *probe) {
    for (unsigned i = 0; i < PROBE_KERNELS; i++) {
        if (probe->queues[i])
            queue_drop(probe->device, probe->queues[i], false);
        if (probe->kernels[i])
            clReleaseKernel(probe->kernels[i]);
        if (probe->words[i])
            clReleaseMemObject(probe->words[i]);
    }
    if (probe->out_of_order)
        queue_drop(probe->device, probe->out_of_order, false);
    if (probe->program)
        clReleaseProgram(probe->program);
    clReleaseContext(probe->context);
}

static bool run_all(struct probe *probe, struct caps *caps) {
    probe_priorities(probe, caps);
    if (!calibrate(probe))
        return false;
    probe_out_of_order(probe, caps);
    probe_unflushed(probe, caps);
    probe_unflushed_runs(probe, caps);
    probe_timestamps(probe, caps);
    probe_migration(probe, caps);
    probe_launches(probe, caps);
    probe_kernel_overlap(probe, caps);
    return probe_copies(probe, caps) && !probe->stuck;
}

bool probe_device(struct device *device, struct caps *caps) {
    const struct program_spec spec = {"probe.cl", source, NULL};
    struct probe probe = {.device = device};
    caps->fp64 = device->info.has_fp64 != 0;
    if (!open_context(&probe))
        return false;
    bool built = program_build(device, probe.context, &spec, &probe.program) == CLS_SUCCESS;
    driver_enter(device);
    bool complete = built && open_queues(&probe) && run_all(&probe, caps);
    if (!probe.stuck)
        close_queues(&probe);
    driver_leave(device);
    return complete;
}
