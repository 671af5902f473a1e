/* SPDX-License-Identifier: MIT */
/* Runs all probes of a device; has the small ones itself. */
#include "driver/probe.h"

#include "driver/queue.h"
#include "driver/quirk.h"
#include "driver/serial.h"
#include "driver/trust.h"
#include "system/clocks.h"

enum {
    /* Some drivers stop a loop after 65,535 iterations. */
    MAX_ROUNDS = 60000,
    FIRST_ROUNDS = 16,
    UNFLUSHED_TRIES = 3
};

#define FIRST_TIMEOUT (10 * CLOCK_SECOND) /* the first launch may compile */
#define TIMEOUT (2 * CLOCK_SECOND)
#define BUSY_NS 1000000.0

/* --- calibration --- */

/* One kernel alone, in ns; negative when it failed. */
static double time_one(struct probe *probe, cl_command_queue queue, cl_uint rounds) {
    cl_event event = NULL;
    uint64_t start = clock_now_ns();
    if (!probe_enqueue(probe, queue, 0, rounds, NULL, &event) || !probe_finish(probe, queue, event))
        return -1;
    return (double)(clock_now_ns() - start);
}

/* Finds `rounds`. The first launch may compile; after it rounds grow until they are long against the cost of
 * a launch, and are scaled to the time wanted. */
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

/* --- the small probes --- */

/* A stream may change over to a profiled queue of the same order. A driver that refuses out-of-order queues with
 * profiling is taken to have no out-of-order queues. */
static bool may_be_profiled(struct probe *probe) {
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(
        probe->context, probe->device->id,
        CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE, &code);
    if (code == CL_SUCCESS)
        queue_drop(probe->device, queue, false);
    return code == CL_SUCCESS || (!probe_refused_queue(code) && probe_did(probe, code));
}

static void probe_out_of_order(struct probe *probe, struct caps *caps) {
    caps->out_of_order = probe->out_of_order && caps_trusts(caps, TRUST_EVENTS_IN_QUEUE) &&
                         time_one(probe, probe->out_of_order, 0) >= 0 && may_be_profiled(probe);
}

static void probe_unflushed(struct probe *probe, struct caps *caps) {
    cl_event event = NULL;
    if (!probe_enqueue(probe, probe->queues[0], 0, 0, NULL, &event))
        return;
    cl_int state;
    bool done = probe_poll(probe, event, 3 * CLOCK_MS, &state);
    caps->unflushed_progresses = probe_finish(probe, probe->queues[0], event) && done;
}

/* A kernel, and one on another queue that waits for it: without a flush, both must be complete after a few
 * times as long as they take. */
static bool runs_unflushed(struct probe *probe) {
    cl_event first = NULL, second = NULL;
    cl_int state;
    if (!probe_enqueue(probe, probe->queues[0], 0, probe->rounds / 4, NULL, &first))
        return false;
    bool enqueued = probe_enqueue(probe, probe->queues[1], 1, 0, &first, &second);
    clock_sleep_ns((uint64_t)(2 * BUSY_NS));
    bool done = enqueued && probe_poll(probe, second, 0, &state) && state == CL_COMPLETE;
    bool well = probe_finish(probe, probe->queues[0], first);
    return enqueued && probe_finish(probe, probe->queues[1], second) && well && done;
}

static void probe_unflushed_runs(struct probe *probe, struct caps *caps) {
    bool runs = caps->unflushed_progresses;
    for (int i = 0; i < UNFLUSHED_TRIES && runs; i++)
        runs = runs_unflushed(probe);
    caps->unflushed_runs = runs;
}

/* A driver may have no times; any other failure is noted. */
static bool read_time(struct probe *probe, cl_event event, cl_profiling_info what, cl_ulong *time) {
    const cl_int code = clGetEventProfilingInfo(event, what, sizeof *time, time, NULL);
    return code != CL_PROFILING_INFO_NOT_AVAILABLE && probe_did(probe, code);
}

static bool read_times(struct probe *probe, cl_event event, cl_ulong times[4]) {
    static const cl_profiling_info what[4] = {CL_PROFILING_COMMAND_QUEUED,
                                              CL_PROFILING_COMMAND_SUBMIT,
                                              CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    for (int i = 0; i < 4; i++)
        if (!read_time(probe, event, what[i], &times[i]))
            return false;
    return true;
}

/* The kernel ran within the host's time for it, and for more than a twentieth of that. */
static bool sane(const cl_ulong times[4], double host_ns) {
    double ran = (double)(times[3] - times[2]);
    return times[0] > 0 && times[0] <= times[1] && times[1] <= times[2] && times[2] < times[3] &&
           ran < 1.1 * host_ns && ran > host_ns / 20;
}

/* A marker behind a kernel must not have an end time before the kernel's; it is enqueued while the kernel runs. */
static void time_kernel_and_marker(struct probe *probe, cl_command_queue queue, cl_event event,
                                   uint64_t start, struct caps *caps) {
    cl_ulong times[4] = {0, 0, 0, 0}, end;
    cl_event marker = NULL;
    clFlush(queue);
    bool marked = probe_did(probe, clEnqueueMarkerWithWaitList(queue, 0, NULL, &marker));
    bool ran = probe_wait(probe, queue, event);
    double host_ns = (double)(clock_now_ns() - start);
    caps->timestamps_sane = ran && read_times(probe, event, times) && sane(times, host_ns);
    if (marked && probe_wait(probe, queue, marker) && caps->timestamps_sane &&
        read_time(probe, marker, CL_PROFILING_COMMAND_END, &end))
        caps->marker_times_sane = end >= times[3];
    if (marked && !probe->stuck)
        clReleaseEvent(marker);
}

static void probe_timestamps(struct probe *probe, struct caps *caps) {
    cl_int code;
    cl_event event = NULL;
    cl_command_queue queue =
        clCreateCommandQueue(probe->context, probe->device->id, CL_QUEUE_PROFILING_ENABLE, &code);
    if (probe_refused_queue(code) || !probe_did(probe, code))
        return;
    uint64_t start = clock_now_ns();
    if (probe_enqueue(probe, queue, 0, probe->rounds, NULL, &event))
        time_kernel_and_marker(probe, queue, event, start, caps);
    if (probe->stuck)
        return;
    if (event)
        clReleaseEvent(event);
    queue_drop(probe->device, queue, false);
}

/* Whether migrating memory to the host blocks behind a kernel that uses it: a call that takes more than half
 * of the kernel's time has waited. Where migration must not be tried it is taken to block. */
static void probe_migration(struct probe *probe, struct caps *caps) {
    cl_event event = NULL;
    caps->migrate_blocks = (probe->device->quirks & QUIRK_HOST_MIGRATION_CORRUPTS) != 0;
    if (caps->migrate_blocks || probe->stuck ||
        !probe_enqueue(probe, probe->queues[0], 0, probe->rounds, NULL, NULL))
        return;
    clFlush(probe->queues[0]);
    uint64_t start = clock_now_ns();
    if (!probe_did(probe, clEnqueueMigrateMemObjects(probe->queues[0], 1, &probe->words[0],
                                                     CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, &event)))
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
    if (probe_refused_queue(code) || !probe_did(probe, code))
        return;
    queue_drop(probe->device, queue, false);
    caps->priorities = true;
}

/* --- all of them --- */

/* A figure that a failed call spoilt is right for this process, in which it asks less of the driver, but is not kept. */
static bool run_all(struct probe *probe, void *out) {
    struct caps *const caps = out;
    if (!calibrate(probe))
        return false;
    const bool all_tried = trust_try_all(probe, caps);
    probe_begin(probe);
    probe_priorities(probe, caps);
    probe_out_of_order(probe, caps);
    probe_unflushed(probe, caps);
    probe_unflushed_runs(probe, caps);
    probe_timestamps(probe, caps);
    probe_migration(probe, caps);
    probe_launches(probe, caps);
    probe_binary(probe, caps);
    probe_kernel_overlap(probe, caps);
    probe_fills(probe, caps);
    probe_local_arrays(probe, caps);
    return probe_copies(probe, caps) && all_tried && !probe->stuck && probe->code == CL_SUCCESS;
}

static bool try_units(struct probe *probe, void *out) {
    if (!calibrate(probe))
        return false;
    probe_begin(probe);
    probe_matrix_units(probe, out);
    return !probe->stuck && probe->code == CL_SUCCESS;
}

static bool with_probe(struct device *device, bool (*run)(struct probe *probe, void *out),
                       void *out) {
    struct probe probe = {.device = device};
    if (!at_exit_hold())
        return false;
    bool complete = probe_open(&probe);
    if (complete) {
        driver_enter(device);
        complete = run(&probe, out);
        probe_close(&probe);
        driver_leave(device);
    }
    at_exit_unhold();
    return complete;
}

bool probe_device(struct device *device, struct caps *caps) {
    caps->fp64 = device->info.has_fp64 != 0;
    return with_probe(device, run_all, caps);
}

bool probe_units(struct device *device, struct units *units) {
    return with_probe(device, try_units, units);
}
