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

/* A queue that has had launches of a kernel. */
struct queue_use {
    cl_command_queue queue; /* until grids_forget_queue */
    cl_context context;
};

/* While its launches have been of one kind, only their queues are known. From then on they make eras: each launch waits
 * for the era before its own, which has waited for the one before that. */
struct grid_kernel {
    UT_hash_handle hh;
    uint64_t name; /* as a hash */
    pthread_mutex_t
        lock; /* guards what follows; held while a launch is enqueued, which may compile */
    bool has_eras;
    struct queue_use *queues; /* of its launches, until it has eras */
    size_t n_queues, queue_room;
    struct era before, now; /* the kind of `now`, until it has eras */
    struct launch
        leader; /* the first launch of `now`, if the others wait for it; event NULL: they wait for `before` */
    size_t next; /* of `now.launches`, to check */
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; a leaf */
static struct grid_kernel *kernels;                            /* stay */
static struct grid_kernel *next_kernel;                        /* to check; NULL: the first */
static cl_context only;           /* the context of the launches; NULL: there are none */
static bool several;              /* contexts */
static _Atomic(size_t) under_way; /* launches of eras that are not known to be done */

/* Queues of the program's, each once for every stream on it. */
static cl_command_queue *wrapped;
static size_t n_wrapped, wrapped_room;

/* Kernels by their objects, which takes less time than by their names. */
static struct known_kernel {
    cl_kernel object; /* until grids_forget_kernel */
    struct grid_kernel *kernel;
} known[64];

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

static struct known_kernel *known_place(cl_kernel object) {
    return &known[((uint64_t)(uintptr_t)object * 0x9e3779b97f4a7c15u >> 32) %
                  (sizeof known / sizeof *known)];
}

void grids_forget_kernel(cl_kernel object) {
    struct known_kernel *place = known_place(object);
    pthread_mutex_lock(&table_lock);
    if (place->object == object)
        place->object = NULL;
    pthread_mutex_unlock(&table_lock);
}

static void note_context(cl_context context) {
    several |= only && only != context;
    only = context;
}

/* For a launch in that context, with its lock held. NULL: there is no memory for a new one. */
static struct grid_kernel *enter(cl_kernel object, cl_context context) {
    struct known_kernel *place = known_place(object);
    struct grid_kernel *kernel = NULL;
    pthread_mutex_lock(&table_lock);
    note_context(context);
    if (place->object == object) {
        kernel = place->kernel;
    } else {
        const uint64_t name = name_of(object);
        HASH_FIND(hh, kernels, &name, sizeof name, kernel);
        if (!kernel)
            kernel = make(name);
        if (kernel)
            *place = (struct known_kernel){object, kernel};
    }
    pthread_mutex_unlock(&table_lock);
    if (kernel)
        pthread_mutex_lock(&kernel->lock);
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
    if (!atomic_load_explicit(&under_way, memory_order_relaxed))
        return;
    pthread_mutex_lock(&table_lock);
    struct grid_kernel *kernel = next_kernel ? next_kernel : kernels;
    next_kernel = kernel ? kernel->hh.next : NULL;
    pthread_mutex_unlock(&table_lock);
    if (!kernel || pthread_mutex_trylock(&kernel->lock))
        return;
    check_some(kernel);
    pthread_mutex_unlock(&kernel->lock);
}

/* With the kernel's lock: of its launches. */
static void note_contexts(const struct grid_kernel *kernel) {
    pthread_mutex_lock(&table_lock);
    for (size_t i = 0; i < kernel->n_queues; i++)
        note_context(kernel->queues[i].context);
    for (size_t i = 0; i < kernel->before.n; i++)
        note_context(kernel->before.launches[i].context);
    for (size_t i = 0; i < kernel->now.n; i++)
        note_context(kernel->now.launches[i].context);
    pthread_mutex_unlock(&table_lock);
}

void grids_forget_done(void) {
    pthread_mutex_lock(&table_lock);
    only = NULL;
    several = false;
    pthread_mutex_unlock(&table_lock);
    for (struct grid_kernel *kernel = next_of(NULL); kernel; kernel = next_of(kernel)) {
        pthread_mutex_lock(&kernel->lock);
        forget_done(&kernel->now);
        forget_done(&kernel->before);
        if (kernel->leader.event && state_of(kernel->leader.event) <= CL_COMPLETE)
            forget_leader(kernel);
        note_contexts(kernel);
        pthread_mutex_unlock(&kernel->lock);
    }
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
    atomic_fetch_add(&under_way, 1);
}

static bool make_room(struct era *era) {
    return ARRAY_ROOM(era->launches, era->n, era->room, 64) &&
           ARRAY_ROOM(era->kinds, era->n_kinds, era->kind_room, 4);
}

/* All launches so far become an era: on each of their queues, a marker behind them. */
static void begin_eras(struct grid_kernel *kernel) {
    kernel->has_eras = true;
    for (size_t i = 0; i < kernel->n_queues; i++) {
        const struct queue_use *use = &kernel->queues[i];
        struct launch marker = {.context = use->context};
        if (ARRAY_ROOM(kernel->now.launches, kernel->now.n, kernel->now.room, 64) &&
            clEnqueueMarkerWithWaitList(use->queue, 0, NULL, &marker.event) == CL_SUCCESS) {
            add(kernel, kernel->now.kinds, marker);
            clFlush(use->queue);
        } else {
            clFinish(use->queue);
        }
    }
    kernel->n_queues = 0;
}

/* Whether all launches of the kernel are of that kind, one that comes now included. */
static bool is_only_kind(const struct grid_kernel *kernel, const struct launch_kind *kind) {
    return !kernel->has_eras && (!kernel->n_queues || has_kind(&kernel->now, kind));
}

/* Whether nothing but its queue need be known of a launch. */
static bool note_queue(struct grid_kernel *kernel, const struct launch_kind *kind,
                       struct queue_use use) {
    if (!is_only_kind(kernel, kind) || !make_room(&kernel->now))
        return false;
    if (!kernel->n_queues) {
        kernel->now.kinds[0] = *kind;
        kernel->now.n_kinds = 1;
    }
    for (size_t i = 0; i < kernel->n_queues; i++)
        if (kernel->queues[i].queue == use.queue)
            return true;
    if (!ARRAY_ROOM(kernel->queues, kernel->n_queues, kernel->queue_room, 4))
        return false;
    kernel->queues[kernel->n_queues++] = use;
    return true;
}

/* With the kernel's lock. */
static cl_int launch_in(struct grid_kernel *kernel, struct queue_use use, cl_kernel object,
                        const struct grid *grid, struct wait_list waits, cl_event *event) {
    const struct launch_kind kind = kind_of(grid);
    cl_event own = NULL;
    size_t n = 0;
    if (note_queue(kernel, &kind, use))
        return enqueue_behind(use.queue, object, grid, NULL, 0, use.context, waits, event);
    if (!kernel->has_eras)
        begin_eras(kernel);
    check_some(kernel);
    if (!kernel->now.n)
        kernel->now.n_kinds = 0; /* nothing is left to overlap with */
    if (!make_room(&kernel->now) || !make_room(&kernel->before))
        return CL_OUT_OF_HOST_MEMORY;
    const struct launch *rivals = find_rivals(kernel, &kind, &n);
    const cl_int code =
        enqueue_behind(use.queue, object, grid, rivals, n, use.context, waits, &own);
    if (code != CL_SUCCESS)
        return code;
    clFlush(use.queue); /* launches on other queues will wait for it */
    if (event)
        *event = own;
    if (event && clRetainEvent(own) != CL_SUCCESS)
        clWaitForEvents(1, &own);
    else
        add(kernel, &kind, (struct launch){own, use.context});
    return CL_SUCCESS;
}

static void forget_queue(struct grid_kernel *kernel, cl_command_queue queue) {
    for (size_t i = 0; i < kernel->n_queues; i++)
        if (kernel->queues[i].queue == queue) {
            kernel->queues[i] = kernel->queues[--kernel->n_queues];
            return;
        }
}

bool grids_wrap_queue(cl_command_queue queue) {
    pthread_mutex_lock(&table_lock);
    const bool has_room = ARRAY_ROOM(wrapped, n_wrapped, wrapped_room, 8);
    if (has_room)
        wrapped[n_wrapped++] = queue;
    pthread_mutex_unlock(&table_lock);
    return has_room;
}

/* Takes one away; whether there is another. */
static bool unwrap(cl_command_queue queue) {
    size_t found = 0;
    pthread_mutex_lock(&table_lock);
    for (size_t i = 0; i < n_wrapped; i++)
        if (wrapped[i] == queue && !found++)
            wrapped[i--] = wrapped[--n_wrapped];
    pthread_mutex_unlock(&table_lock);
    return found > 1;
}

void grids_forget_queue(cl_command_queue queue) {
    if (unwrap(queue))
        return;
    for (struct grid_kernel *kernel = next_of(NULL); kernel; kernel = next_of(kernel)) {
        pthread_mutex_lock(&kernel->lock);
        forget_queue(kernel, queue);
        pthread_mutex_unlock(&kernel->lock);
    }
}

static cl_int context_of(cl_command_queue queue, cl_context *out) {
    return clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl_context), out, NULL);
}

cl_int grids_enqueue(cl_command_queue queue, cl_kernel object, const struct grid *grid,
                     struct wait_list waits, cl_event *event) {
    struct queue_use use = {.queue = queue};
    cl_int code = context_of(queue, &use.context);
    if (code != CL_SUCCESS)
        return code;
    struct grid_kernel *kernel = enter(object, use.context);
    if (!kernel)
        return CL_OUT_OF_HOST_MEMORY;
    code = launch_in(kernel, use, object, grid, waits, event);
    pthread_mutex_unlock(&kernel->lock);
    return code;
}

cl_uint grids_cross_context_launches(cl_command_queue queue, cl_kernel object,
                                     const struct grid *grid, cl_event *events, cl_uint most) {
    cl_context context;
    cl_uint count = 0;
    size_t n = 0;
    if (context_of(queue, &context) != CL_SUCCESS || !grids_span_contexts(context))
        return 0;
    const struct launch_kind kind = kind_of(grid);
    struct grid_kernel *kernel = enter(object, context);
    if (!kernel)
        return 0;
    if (!is_only_kind(kernel, &kind)) {
        if (!kernel->has_eras)
            begin_eras(kernel);
        const struct launch *rivals = find_rivals(kernel, &kind, &n);
        for (size_t i = 0; i < n && count < most; i++)
            if (rivals[i].context != context && clRetainEvent(rivals[i].event) == CL_SUCCESS)
                events[count++] = rivals[i].event;
    }
    pthread_mutex_unlock(&kernel->lock);
    return count;
}
