/* SPDX-License-Identifier: MIT */
/* The context, kernels and queues that the probes share, and commands on them that are waited for with a limit. */
#include <stdatomic.h>
#include <stdlib.h>

#include "driver/probe.h"
#include "driver/program.h"
#include "driver/queue.h"
#include "driver/serial.h"
#include "system/clocks.h"

#define SPIN_NS UINT64_C(50000)
#define NAP_NS UINT64_C(30000)
#define BLIND_NS UINT64_C(250000000) /* without an answer about an event */

enum { TRIES = 16 }; /* of a flush or query that fails */

/* A dependent chain that no compiler folds, long enough that the loop stays below its limit. */
static const char source[] =
    "#define STEP x ^= x << 13; x ^= x >> 17; x ^= x << 5;\n"
    "__kernel void probe(__global uint *word, uint rounds) {\n"
    "    uint x = rounds | 1u;\n"
    "    for (uint i = 0; i < rounds; i++) { STEP STEP STEP STEP STEP STEP STEP STEP }\n"
    "    word[0] = x;\n"
    "}\n"
    /* for the trials (driver/trial.h) */
    "__kernel void probe_bytes(__global const uchar *from, __global uchar *to, uint n, uint value) {\n"
    "    for (uint i = 0; i < n; i++)\n"
    "        to[i] = from[i] ^ (uchar)value;\n"
    "}\n"
    "__kernel void probe_local(__global uint *to, __local uint *a, __local uint *b) {\n"
    "    uint me = (uint)get_local_id(0), n = (uint)get_local_size(0);\n"
    "    a[me] = 3 * me + 1;\n"
    "    b[me] = 5 * me + 2;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[get_global_id(0)] = a[n - 1 - me] + (b[(me + 1) % n] << 16);\n"
    "}\n"
    "__kernel void probe_tell(__global uchar *memory, __global ulong *told) { told[0] = (ulong)memory; }\n"
    "__kernel void probe_reach(__global const ulong *table, uint n, uint value) {\n"
    "    __global const uchar *from = (__global const uchar *)table[0];\n"
    "    __global uchar *to = (__global uchar *)table[1];\n"
    "    for (uint i = 0; i < n; i++)\n"
    "        to[i] = from[i] ^ (uchar)value;\n"
    "}\n"
    "__kernel void probe_place(__global uint *to, uint n) {\n"
    "    uint x = (uint)get_global_id(0), y = (uint)get_global_id(1), z = (uint)get_global_id(2);\n"
    "    uint from = (uint)(get_global_offset(0) + 16 * get_global_offset(1) + 256 * get_global_offset(2));\n"
    "    to[x + n * (y + n * z)] = x + 16 * y + 256 * z + (from << 16);\n"
    "}\n"
    "typedef struct { uint a[6]; float b; ulong c; } probe_structure;\n"
    "__kernel void probe_values(__global uint *to, probe_structure s, uchar u, ulong l) {\n"
    "    float a = as_float(to[0]), b = as_float(to[1]), sum = a + b, of_b = sum - a;\n"
    "    to[0] = as_uint(sum);\n"
    "    to[1] = as_uint((a - (sum - of_b)) + (b - of_b));\n"
    "    for (uint i = 0; i < 6; i++)\n"
    "        to[2 + i] = s.a[i];\n"
    "    to[8] = as_uint(s.b);\n"
    "    to[9] = (uint)s.c; to[10] = (uint)(s.c >> 32);\n"
    "    to[11] = u;\n"
    "    to[12] = (uint)l; to[13] = (uint)(l >> 32);\n"
    "}\n";

/* --- commands --- */

void probe_begin(struct probe *probe) { probe->code = CL_SUCCESS; }

bool probe_did(struct probe *probe, cl_int code) {
    if (probe->code == CL_SUCCESS)
        probe->code = code;
    return code == CL_SUCCESS;
}

bool probe_lacks_memory(cl_int code) {
    return code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES ||
           code == CL_MEM_OBJECT_ALLOCATION_FAILURE;
}

bool probe_refused_queue(cl_int code) {
    return code == CL_INVALID_QUEUE_PROPERTIES || code == CL_INVALID_VALUE;
}

/* A query that fails tells nothing of the command, and is made again. */
static bool has_ended(cl_event event, cl_int *state, cl_int *code) {
    for (unsigned i = 0; i < TRIES; i++) {
        *code =
            clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof *state, state, NULL);
        if (*code == CL_SUCCESS)
            return *state <= CL_COMPLETE;
    }
    return false;
}

bool probe_poll(struct probe *probe, cl_event event, uint64_t ns, cl_int *state) {
    uint64_t start = clock_now_ns(), passed = 0, answered = 0;
    cl_int code;
    while (!has_ended(event, state, &code)) {
        answered = code == CL_SUCCESS ? passed : answered;
        if (passed > ns || passed - answered > BLIND_NS)
            return probe_did(probe, code) && false;
        if (passed < SPIN_NS)
            system_yield();
        else
            clock_sleep_ns(NAP_NS);
        passed = clock_now_ns() - start;
    }
    return true;
}

static cl_int flush(cl_command_queue queue) {
    cl_int code = clFlush(queue);
    for (unsigned i = 1; i < TRIES && code != CL_SUCCESS; i++)
        code = clFlush(queue);
    return code;
}

bool probe_wait(struct probe *probe, cl_command_queue queue, cl_event event) {
    if (!event || probe->stuck)
        return false;
    const bool flushed = probe_did(probe, flush(queue));
    cl_int state;
    if (!probe_poll(probe, event, probe->timeout_ns, &state)) {
        probe->stuck = true;
        return false;
    }
    return probe_did(probe, state) && flushed;
}

bool probe_finish(struct probe *probe, cl_command_queue queue, cl_event event) {
    const bool well = probe_wait(probe, queue, event);
    if (event && !probe->stuck)
        clReleaseEvent(event);
    return well;
}

/* Known from here, so that leak checkers do not take it for lost. */
void probe_free(const struct probe *probe, void *memory) {
    static struct probe_kept {
        struct probe_kept *next;
        void *memory;
    } * _Atomic all;
    if (!probe->stuck) {
        free(memory);
        return;
    }
    struct probe_kept *kept = malloc(sizeof *kept);
    if (!kept)
        return;
    *kept = (struct probe_kept){atomic_load(&all), memory};
    while (!atomic_compare_exchange_weak(&all, &kept->next, kept))
        ;
}

bool probe_enqueue(struct probe *probe, cl_command_queue queue, unsigned which, cl_uint rounds,
                   const cl_event *wait, cl_event *event) {
    static const size_t one = 1;
    cl_kernel kernel = probe->kernels[which];
    return !probe->stuck && queue &&
           probe_did(probe, clSetKernelArg(kernel, 1, sizeof rounds, &rounds)) &&
           probe_did(probe, clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, wait ? 1 : 0,
                                                   wait, event));
}

/* --- open and close --- */

static bool open_context(struct probe *probe) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)probe->device->platform, 0};
    cl_int code;
    driver_enter(probe->device);
    if (probe->context)
        code = clRetainContext(probe->context);
    else
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
    if (!probe_refused_queue(code))
        probe_did(probe, code);
    return true;
}

static void close_all(struct probe *probe) {
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

bool probe_open(struct probe *probe) {
    const struct program_spec spec = {"probe.cl", source, NULL};
    struct device *device = probe->device;
    if (!open_context(probe))
        return false;
    bool built = program_build(device, probe->context, &spec, &probe->program) == CLS_SUCCESS;
    driver_enter(device);
    bool opened = built && open_queues(probe);
    if (!opened)
        close_all(probe);
    driver_leave(device);
    return opened;
}

void probe_close(struct probe *probe) {
    if (!probe->stuck)
        close_all(probe);
}
