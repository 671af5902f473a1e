/* SPDX-License-Identifier: MIT */
/* The fault layer: counts calls and live objects, and fails the call that a plan names. */
#include "../layer.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "controls.h"

enum { ANY = -1 };

/* --- counting and failing --- */

static _Atomic unsigned counts[LAYER_CALLS], total, failed[LAYER_CALLS], fired;
static _Atomic long live[LAYER_OBJECTS];
static _Atomic bool tripped;

/* The plan in force; changed only while no call is on its way but those of the library's threads, which
 * may see either plan. */
static _Atomic int plan_call = ANY, plan_spared = ANY;
static _Atomic unsigned plan_nth;
static _Atomic int plan_persistence;
static _Atomic cl_int plan_code;

static bool is_due(enum layer_call call, unsigned nth_of_all, unsigned nth_of_call) {
    unsigned nth = atomic_load(&plan_nth);
    int wanted = atomic_load(&plan_call);
    int persistence = atomic_load(&plan_persistence);
    if (!nth || (int)call == atomic_load(&plan_spared))
        return false;
    if (persistence == FAULT_EVERYTHING_AFTER && atomic_load(&tripped))
        return true;
    if (wanted != ANY && wanted != (int)call)
        return false;
    unsigned now = wanted == ANY ? nth_of_all : nth_of_call;
    if (now == nth)
        atomic_store(&tripped, true);
    return now == nth || (persistence != FAULT_ONCE && now > nth);
}

static cl_int layer_enter(enum layer_call call) {
    unsigned nth_of_all = atomic_fetch_add(&total, 1) + 1;
    unsigned nth_of_call = atomic_fetch_add(&counts[call], 1) + 1;
    if (!is_due(call, nth_of_all, nth_of_call))
        return CL_SUCCESS;
    atomic_fetch_add(&failed[call], 1);
    atomic_fetch_add(&fired, 1);
    return atomic_load(&plan_code);
}

static void layer_object(enum layer_object kind, int change) {
    atomic_fetch_add(&live[kind], change);
}

#include "device.h"
#include "hold.h"
#include "late.h"
#include "lies.h"

static cl_int layer_before_enqueue(struct layer_enqueue *e) {
    lie_before_enqueue(e);
    cl_int code = late_before_enqueue(e);
    return code ? code : hold_before_enqueue(e);
}

static void layer_after_enqueue(struct layer_enqueue *e, cl_int code) {
    hold_after_enqueue(e);
    if (device_is_discrete && e->event)
        device_spend(DEVICE_EVENT_NS);
    if (!code && e->event && e->event != &e->own)
        layer_object(OBJECT_EVENT, 1);
    late_after_enqueue(e, code);
}

#include "tests/layers/layer_wrappers.h"

#include "device_calls.h"
#include "least.h"
#include "lies_calls.h"
#include "linked.h"
#include "sub_buffers.h"

/* A driver that is known by its name: the library looks for its quirks. */
static cl_int CL_API_CALL named_clGetPlatformInfo(cl_platform_id platform, cl_platform_info what,
                                                  size_t size, void *value, size_t *size_ret) {
    const char *name = getenv("CLS_FAULT_PLATFORM");
    if (!name || what != CL_PLATFORM_NAME)
        return wrap_clGetPlatformInfo(platform, what, size, value, size_ret);
    return layer_answer(name, strlen(name) + 1, size, value, size_ret);
}

static cl_int CL_API_CALL held_clFlush(cl_command_queue queue) {
    if (late_queue_fails(queue))
        return CL_INVALID_BINARY;
    cl_int code = layer_enter(CALL_clFlush);
    if (!code)
        code = hold_flush_code(queue);
    if (code) {
        hold_owe(queue);
        return code;
    }
    code = next.clFlush(queue);
    hold_open(queue);
    return code;
}

static cl_int CL_API_CALL held_clFinish(cl_command_queue queue) {
    if (late_queue_fails(queue))
        return CL_INVALID_BINARY;
    hold_open(queue);
    return wrap_clFinish(queue);
}

static cl_int CL_API_CALL held_clReleaseCommandQueue(cl_command_queue queue) {
    hold_open(queue);
    return wrap_clReleaseCommandQueue(queue);
}

static cl_int CL_API_CALL held_clWaitForEvents(cl_uint count, const cl_event *events) {
    for (cl_uint i = 0; i < count; i++) {
        cl_command_queue queue = NULL;
        next.clGetEventInfo(events[i], CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
        if (queue)
            hold_open(queue);
    }
    return late_clWaitForEvents(count, events);
}

static void layer_override(cl_icd_dispatch *table) {
    table->clGetPlatformInfo = named_clGetPlatformInfo;
    table->clGetEventInfo = late_clGetEventInfo;
    table->clWaitForEvents = held_clWaitForEvents;
    table->clSetEventCallback = late_clSetEventCallback;
    table->clFlush = held_clFlush;
    table->clFinish = held_clFinish;
    table->clReleaseCommandQueue = held_clReleaseCommandQueue;
    device_override(table);
    least_override(table);
    linked_override(table);
    lies_override(table);
    sub_buffers_override(table);
}

static const char *layer_name(void) { return "clstream fault layer"; }

#include "../layer_loader.h"

/* --- the controls --- */

static int find(const char *function) {
    for (int i = 0; function && i < LAYER_CALLS; i++)
        if (!strcmp(layer_names[i], function))
            return i;
    return ANY;
}

static void arm(const struct fault_plan *plan) {
    atomic_store(&plan_nth, 0);
    if (!plan) {
        hold_pay();
        return;
    }
    for (int i = 0; i < LAYER_CALLS; i++) {
        atomic_store(&counts[i], 0);
        atomic_store(&failed[i], 0);
    }
    atomic_store(&total, 0);
    atomic_store(&fired, 0);
    atomic_store(&tripped, false);
    atomic_store(&plan_call, find(plan->function));
    atomic_store(&plan_spared, find(plan->spared));
    atomic_store(&plan_persistence, (int)plan->persistence);
    atomic_store(&plan_code, plan->code);
    atomic_store(&plan_nth, plan->nth);
}

static unsigned fired_so_far(const char *function) {
    int call = find(function);
    return atomic_load(call == ANY ? &fired : &failed[call]);
}

static unsigned calls(const char *function) {
    int call = find(function);
    return atomic_load(call == ANY ? &total : &counts[call]);
}

static const char *function_name(unsigned i) { return i < LAYER_CALLS ? layer_names[i] : NULL; }

static const char *const object_names[LAYER_OBJECTS] = {
    [OBJECT_CONTEXT] = "contexts", [OBJECT_QUEUE] = "queues",   [OBJECT_MEMORY] = "buffers",
    [OBJECT_PROGRAM] = "programs", [OBJECT_KERNEL] = "kernels", [OBJECT_EVENT] = "events",
    [OBJECT_SAMPLER] = "samplers",
};

static long live_objects(char *text, const char *kept) {
    long sum = 0;
    int at = 0;
    text[0] = '\0';
    for (int i = OBJECT_CONTEXT; i < LAYER_OBJECTS; i++) {
        long count = strstr(kept, object_names[i]) ? 0 : atomic_load(&live[i]);
        sum += count < 0 ? -count : count;
        if (count)
            at += snprintf(text + at, 32, "%s%ld %s", at ? ", " : "", count, object_names[i]);
    }
    return sum;
}

LAYER_EXPORT extern const struct fault_controls cls_fault_controls;
const struct fault_controls cls_fault_controls = {
    arm,      fired_so_far, calls,           function_name, live_objects,
    late_arm, late_fire,    late_trespasses, late_taken,    hold_set,
};

/* --- the environment --- */

static long number(const char *name, long otherwise) {
    const char *value = getenv(name);
    return value && *value ? strtol(value, NULL, 10) : otherwise;
}

static FILE *open_report(const char *where) {
    if (!strncmp(where, "fd:", 3))
        return fdopen((int)strtol(where + 3, NULL, 10), "w");
    return fopen(where, "w");
}

__attribute__((destructor)) static void report(void) {
    const char *where = getenv("CLS_FAULT_REPORT");
    FILE *file = where && *where ? open_report(where) : NULL;
    if (!file)
        return;
    fprintf(file, "calls %u\nfired %u\n", atomic_load(&total), atomic_load(&fired));
    for (int i = OBJECT_CONTEXT; i < LAYER_OBJECTS; i++)
        fprintf(file, "live %s %ld\n", object_names[i], atomic_load(&live[i]));
    for (int i = 0; i < LAYER_CALLS; i++)
        if (atomic_load(&counts[i]))
            fprintf(file, "call %s %u\n", layer_names[i], atomic_load(&counts[i]));
    fclose(file);
}

__attribute__((constructor)) static void read_environment(void) {
    const struct fault_plan plan = {
        .function = getenv("CLS_FAULT_FUNCTION"),
        .nth = (unsigned)number("CLS_FAULT_NTH", 0),
        .persistence = (enum fault_persistence)number("CLS_FAULT_STICKY", FAULT_ONCE),
        .code = (cl_int)number("CLS_FAULT_CODE", CL_OUT_OF_HOST_MEMORY),
    };
    const char *device = getenv("CLS_FAULT_DEVICE");
    const char *platform = getenv("CLS_FAULT_PLATFORM");
    device_is_discrete = device && !strcmp(device, "discrete");
    device_is_linked = device && !strcmp(device, "linked");
    links_are_uneven = getenv("CLS_FAULT_LINKS") && !strcmp(getenv("CLS_FAULT_LINKS"), "uneven");
    device_is_least = device && !strcmp(device, "least");
    sub_buffers_crash = platform && !strcmp(platform, SUB_BUFFER_PLATFORM);
    lie = getenv("CLS_FAULT_LIE") ? getenv("CLS_FAULT_LIE") : "";
    hold_set(getenv("CLS_FAULT_HOLD") != NULL, NULL, CL_SUCCESS);
    if (plan.function && find(plan.function) == ANY) {
        fprintf(stderr, "# %s: no such function: %s\n", layer_name(), plan.function);
        abort();
    }
    arm(&plan);
}
