/* SPDX-License-Identifier: MIT */
#include "driver/grids.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/array.h"

enum {
    LONGEST_NAME = 256,
    WAITS_ON_STACK = 32,
    MANY = 16,  /* launches of an era that the next era waits for by its first launch */
    CHECKED = 2 /* launches that are checked for their end at each call */
};

/* Launches of one kind may overlap. The driver compiles a kernel for a group size and a widest grid, but finds the
 * compiled kernel that it releases by the group size alone. */
struct launch_kind {
    bool has_local;
    size_t local[3];
    size_t global[3]; /* with a local size only the widest, in [0] */
};

struct launch {
    cl_event event;
    cl_context context;
};

/* Launches in the order of their enqueueing of which any two may overlap. */
struct era {
    struct launch_kind *kinds; /* of its launches, each once */
    size_t n_kinds, kind_room;
    struct launch *launches; /* that are not known to be done */
    size_t n, room;
};

/* Each launch waits for the era before its own, which has waited for the one before that. */
struct grid_kernel {
    UT_hash_handle hh;
    uint64_t name; /* as a hash */
    pthread_mutex_t
        lock; /* guards what follows; held while a launch is enqueued, which may compile */
    struct era before, now;
    struct launch
        leader; /* the first launch of `now`, if the others wait for it; event NULL: they wait for `before` */
    size_t next; /* of `now.launches`, to check */
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; a leaf */
static struct grid_kernel *kernels;                            /* stay */
static struct grid_kernel *next_kernel;                        /* to check; NULL: the first */
static cl_context only;           /* the context of the launches under way; NULL: there are none */
static bool several;              /* contexts */
static _Atomic(size_t) under_way; /* launches that are being enqueued, or not known to be done */

/* --- ends --- */

static cl_int state_of(cl_event event) {
    cl_int state = CL_QUEUED;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return state;
}

/* The event of a failed command is not released: some drivers abort then. */
static void release(cl_event event, cl_int state) {
    if (state >= CL_COMPLETE)
        clReleaseEvent(event);
}

/* Forgets the launch at `i` if it is done; the last one takes its place. False: it is not done. */
static bool forget(struct era *era, size_t i) {
    const cl_int state = state_of(era->launches[i].event);
    if (state > CL_COMPLETE)
        return false;
    release(era->launches[i].event, state);
    era->launches[i] = era->launches[--era->n];
    atomic_fetch_sub(&under_way, 1);
    return true;
}

static void forget_done(struct era *era) {
    for (size_t i = 0; i < era->n;)
        i += !forget(era, i);
}

/* Done or not: a later era has waited for them. */
static void forget_all(struct era *era) {
    for (size_t i = 0; i < era->n; i++)
        release(era->launches[i].event, state_of(era->launches[i].event));
    atomic_fetch_sub(&under_way, era->n);
    era->n = era->n_kinds = 0;
}

static void forget_leader(struct grid_kernel *kernel) {
    if (kernel->leader.event)
        release(kernel->leader.event, state_of(kernel->leader.event));
    kernel->leader.event = NULL;
}

static void check_some(struct grid_kernel *kernel) {
    for (int i = 0; i < CHECKED && kernel->now.n; i++) {
        kernel->next = kernel->next < kernel->now.n ? kernel->next : 0;
        kernel->next += !forget(&kernel->now, kernel->next);
    }
}

/* --- kinds --- */

static bool same(const size_t a[3], const size_t b[3]) { return memcmp(a, b, 3 * sizeof *a) == 0; }

static bool may_overlap(const struct launch_kind *a, const struct launch_kind *b) {
    if (a->has_local && b->has_local)
        return !same(a->local, b->local) || a->global[0] == b->global[0];
    return a->has_local == b->has_local && same(a->global, b->global);
}

static bool belongs(const struct era *era, const struct launch_kind *kind) {
    bool fits = true;
    for (size_t i = 0; i < era->n_kinds && fits; i++)
        fits = may_overlap(&era->kinds[i], kind);
    return fits;
}

static bool has_kind(const struct era *era, const struct launch_kind *kind) {
    bool found = false;
    for (size_t i = 0; i < era->n_kinds && !found; i++)
        found = !memcmp(&era->kinds[i], kind, sizeof *kind);
    return found;
}

static struct launch_kind kind_of(const struct grid *grid) {
    struct launch_kind kind;
    memset(&kind, 0, sizeof kind);
    kind.has_local = grid->local != NULL;
    for (cl_uint i = 0; i < 3; i++) {
        kind.global[i] = i < grid->dims ? grid->global[i] : 1;
        kind.local[i] = i < grid->dims && grid->local ? grid->local[i] : 1;
    }
    if (kind.has_local) {
        kind.global[0] = kind.global[0] > kind.global[1] ? kind.global[0] : kind.global[1];
        kind.global[1] = kind.global[2] = 0;
    }
    return kind;
}

/* --- kernels --- */

/* The hash of the kernel's name; all names that are too long count as equal. */
static uint64_t name_of(cl_kernel kernel) {
    char name[LONGEST_NAME];
    size_t bytes = 0;
    cl_int code = clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, &bytes);
    return code == CL_SUCCESS ? XXH3_64bits(name, bytes) : 0;
}

static struct grid_kernel *make(uint64_t name) {
    struct grid_kernel *made = calloc(1, sizeof *made);
    if (!made || pthread_mutex_init(&made->lock, NULL)) {
        free(made);
        return NULL;
    }
    made->name = name;
    HASH_ADD(hh, kernels, name, sizeof made->name, made);
    if (made->hh.tbl)
        return made;
    pthread_mutex_destroy(&made->lock);
    free(made);
    return NULL;
}

/* With its lock held. NULL: there is no memory for a new one. */
static struct grid_kernel *enter(cl_kernel object, cl_context context) {
    const uint64_t name = name_of(object);
    struct grid_kernel *kernel;
    pthread_mutex_lock(&table_lock);
    several |= only && only != context;
    only = context;
    atomic_fetch_add(&under_way, 1);
    HASH_FIND(hh, kernels, &name, sizeof name, kernel);
    if (!kernel)
        kernel = make(name);
    pthread_mutex_unlock(&table_lock);
    if (kernel)
        pthread_mutex_lock(&kernel->lock);
    else
        atomic_fetch_sub(&under_way, 1);
    return kernel;
}

/* The kernel after this one, the first for NULL; NULL behind the last. */
static struct grid_kernel *next_of(const struct grid_kernel *kernel) {
    pthread_mutex_lock(&table_lock);
    struct grid_kernel *next = kernel ? kernel->hh.next : kernels;
    pthread_mutex_unlock(&table_lock);
    return next;
}

void grids_forget_some(void) {
    pthread_mutex_lock(&table_lock);
    struct grid_kernel *kernel = next_kernel ? next_kernel : kernels;
    next_kernel = kernel ? kernel->hh.next : NULL;
    pthread_mutex_unlock(&table_lock);
    if (!kernel || pthread_mutex_trylock(&kernel->lock))
        return;
    check_some(kernel);
    pthread_mutex_unlock(&kernel->lock);
}

void grids_forget_done(void) {
    for (struct grid_kernel *kernel = next_of(NULL); kernel; kernel = next_of(kernel)) {
        pthread_mutex_lock(&kernel->lock);
        forget_done(&kernel->now);
        forget_done(&kernel->before);
        if (kernel->leader.event && state_of(kernel->leader.event) <= CL_COMPLETE)
            forget_leader(kernel);
        pthread_mutex_unlock(&kernel->lock);
    }
    pthread_mutex_lock(&table_lock);
    if (!atomic_load(&under_way)) {
        only = NULL;
        several = false;
    }
    pthread_mutex_unlock(&table_lock);
}

bool grids_span_contexts(cl_context context) {
    pthread_mutex_lock(&table_lock);
    const bool spans = several || (only && only != context);
    pthread_mutex_unlock(&table_lock);
    return spans;
}

/* --- waits --- */

/* What a launch of the kind waits for, less what is done. */
static const struct launch *find_rivals(struct grid_kernel *kernel, const struct launch_kind *kind,
                                        size_t *n) {
    struct era *era = belongs(&kernel->now, kind) ? &kernel->before : &kernel->now;
    forget_done(era);
    if (era == &kernel->before && kernel->leader.event &&
        state_of(kernel->leader.event) > CL_COMPLETE) {
        *n = era->n ? 1 : 0;
        return &kernel->leader;
    }
    *n = era->n;
    return era->launches;
}

static bool is_among(cl_event event, struct wait_list waits) {
    bool found = false;
    for (cl_uint i = 0; i < waits.count && !found; i++)
        found = waits.events[i] == event;
    return found;
}

/* Collects the events that a launch must wait for; `events` has room for all. */
static cl_uint gather(const struct launch *launches, size_t n, cl_context context,
                      struct wait_list waits, cl_event *events) {
    cl_uint count = 0;
    for (; count < waits.count; count++)
        events[count] = waits.events[count];
    for (size_t i = 0; i < n; i++) {
        if (launches[i].context != context)
            clWaitForEvents(1, &launches[i].event);
        else if (!is_among(launches[i].event, waits))
            events[count++] = launches[i].event;
    }
    return count;
}

static cl_int enqueue_behind(cl_command_queue queue, cl_kernel object, const struct grid *grid,
                             const struct launch *rivals, size_t n, cl_context context,
                             struct wait_list waits, cl_event *event) {
    cl_event here[WAITS_ON_STACK], *events = here;
    if (waits.count + n > WAITS_ON_STACK && !(events = malloc((waits.count + n) * sizeof *events)))
        return CL_OUT_OF_HOST_MEMORY;
    const cl_uint count = gather(rivals, n, context, waits, events);
    const cl_int code =
        clEnqueueNDRangeKernel(queue, object, grid->dims, grid->offset, grid->global, grid->local,
                               count, count ? events : NULL, event);
    if (events != here)
        free(events);
    return code;
}

/* --- launches --- */

static void begin_era(struct grid_kernel *kernel, struct launch first) {
    const struct era free_again = kernel->before;
    forget_leader(kernel);
    forget_all(&kernel->before);
    kernel->before = kernel->now;
    kernel->now = free_again;
    kernel->now.n = kernel->now.n_kinds = 0;
    if (kernel->before.n > MANY && clRetainEvent(first.event) == CL_SUCCESS)
        kernel->leader = first;
}

/* There is room in either era. The event belongs to the era; the caller's is a further reference. */
static void add(struct grid_kernel *kernel, const struct launch_kind *kind, struct launch launch) {
    if (!belongs(&kernel->now, kind))
        begin_era(kernel, launch);
    struct era *now = &kernel->now;
    if (!has_kind(now, kind))
        now->kinds[now->n_kinds++] = *kind;
    now->launches[now->n++] = launch;
}

static bool make_room(struct era *era) {
    return ARRAY_ROOM(era->launches, era->n, era->room, 64) &&
           ARRAY_ROOM(era->kinds, era->n_kinds, era->kind_room, 4);
}

/* With the kernel's lock. False: the launch is not under way, or was waited for. */
static bool launch_in(struct grid_kernel *kernel, cl_command_queue queue, cl_kernel object,
                      const struct grid *grid, cl_context context, struct wait_list waits,
                      cl_event *event, cl_int *code) {
    const struct launch_kind kind = kind_of(grid);
    cl_event own = NULL;
    size_t n;
    check_some(kernel);
    if (!kernel->now.n)
        kernel->now.n_kinds = 0; /* nothing is left to overlap with */
    if (!make_room(&kernel->now) || !make_room(&kernel->before)) {
        *code = CL_OUT_OF_HOST_MEMORY;
        return false;
    }
    const struct launch *rivals = find_rivals(kernel, &kind, &n);
    *code = enqueue_behind(queue, object, grid, rivals, n, context, waits, &own);
    if (*code != CL_SUCCESS)
        return false;
    if (event)
        *event = own;
    if (event && clRetainEvent(own) != CL_SUCCESS) {
        clWaitForEvents(1, &own);
        return false;
    }
    add(kernel, &kind, (struct launch){own, context});
    return true;
}

static cl_int context_of(cl_command_queue queue, cl_context *out) {
    return clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl_context), out, NULL);
}

cl_int grids_enqueue(cl_command_queue queue, cl_kernel object, const struct grid *grid,
                     struct wait_list waits, cl_event *event) {
    cl_context context;
    cl_int code = context_of(queue, &context);
    if (code != CL_SUCCESS)
        return code;
    struct grid_kernel *kernel = enter(object, context);
    if (!kernel)
        return CL_OUT_OF_HOST_MEMORY;
    if (!launch_in(kernel, queue, object, grid, context, waits, event, &code))
        atomic_fetch_sub(&under_way, 1);
    pthread_mutex_unlock(&kernel->lock);
    return code;
}

cl_uint grids_cross_context_launches(cl_command_queue queue, cl_kernel object,
                                     const struct grid *grid, cl_event *events, cl_uint most) {
    const struct launch_kind kind = kind_of(grid);
    const uint64_t name = name_of(object);
    struct grid_kernel *kernel;
    cl_context context;
    cl_uint count = 0;
    size_t n;
    if (context_of(queue, &context) != CL_SUCCESS || !grids_span_contexts(context))
        return 0;
    pthread_mutex_lock(&table_lock);
    HASH_FIND(hh, kernels, &name, sizeof name, kernel);
    pthread_mutex_unlock(&table_lock);
    if (!kernel)
        return 0;
    pthread_mutex_lock(&kernel->lock);
    const struct launch *rivals = find_rivals(kernel, &kind, &n);
    for (size_t i = 0; i < n && count < most; i++)
        if (rivals[i].context != context && clRetainEvent(rivals[i].event) == CL_SUCCESS)
            events[count++] = rivals[i].event;
    pthread_mutex_unlock(&kernel->lock);
    return count;
}
