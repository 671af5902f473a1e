/* SPDX-License-Identifier: MIT */
#include "driver/grids.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/array.h"

enum { LONGEST_NAME = 256, WAITS_ON_STACK = 32, SETTLED_AT_ONCE = 8 };

struct shape {
    cl_context context;
    uint64_t name; /* the kernel's, as a hash */
    bool has_local;
    size_t global[3], local[3];
};

struct pending {
    struct shape shape;
    cl_event event;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct pending *pending;
static size_t n_pending, room;
static size_t next_look; /* where the next search for finished launches begins */

static bool is_done(cl_event event) {
    cl_int state;
    return clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL) !=
               CL_SUCCESS ||
           state <= CL_COMPLETE;
}

static void drop(size_t i) {
    clReleaseEvent(pending[i].event);
    pending[i] = pending[--n_pending];
}

/* Checks a few launches at each new one, so that the list is about as long as the driver's work. */
static void forget_some(void) {
    for (int i = 0; i < SETTLED_AT_ONCE && n_pending; i++) {
        if (next_look >= n_pending)
            next_look = 0;
        if (is_done(pending[next_look].event))
            drop(next_look);
        else
            next_look++;
    }
}

void grids_forget(cl_event event) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_pending; i++)
        if (pending[i].event == event && is_done(event)) {
            drop(i);
            break;
        }
    pthread_mutex_unlock(&lock);
}

void grids_forget_done(void) {
    pthread_mutex_lock(&lock);
    for (size_t i = n_pending; i-- > 0;)
        if (is_done(pending[i].event))
            drop(i);
    pthread_mutex_unlock(&lock);
}

static bool same(const size_t a[3], const size_t b[3]) { return memcmp(a, b, 3 * sizeof *a) == 0; }

static size_t width(const struct shape *shape) {
    return shape->global[0] > shape->global[1] ? shape->global[0] : shape->global[1];
}

/* Whether two launches may overlap. The driver compiles a kernel for a group size and a widest grid, but finds the
 * compiled kernel that it releases by the group size alone. */
static bool may_overlap(const struct shape *a, const struct shape *b) {
    if (a->name != b->name)
        return true;
    if (a->has_local && b->has_local)
        return !same(a->local, b->local) || width(a) == width(b);
    return a->has_local == b->has_local && same(a->global, b->global);
}

/* The hash of the kernel's name; all names that are too long count as equal. */
static uint64_t name_of(cl_kernel kernel) {
    char name[LONGEST_NAME];
    size_t bytes = 0;
    cl_int code = clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, &bytes);
    return code == CL_SUCCESS ? XXH3_64bits(name, bytes) : 0;
}

static cl_int shape_of(cl_command_queue queue, cl_kernel kernel, const struct grid *grid,
                       struct shape *out) {
    *out = (struct shape){.name = name_of(kernel), .has_local = grid->local != NULL};
    for (cl_uint i = 0; i < 3; i++) {
        out->global[i] = i < grid->dims ? grid->global[i] : 1;
        out->local[i] = i < grid->dims && grid->local ? grid->local[i] : 1;
    }
    return clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof out->context, &out->context, NULL);
}

/* Under the lock: collects the events that a launch must wait for; `events` has room for all. */
static cl_uint gather(const struct shape *shape, struct wait_list waits, cl_event *events) {
    cl_uint count = 0;
    while (count < waits.count) {
        events[count] = waits.events[count];
        count++;
    }
    for (size_t i = 0; i < n_pending; i++) {
        if (may_overlap(shape, &pending[i].shape) || is_done(pending[i].event))
            continue;
        if (pending[i].shape.context == shape->context)
            events[count++] = pending[i].event;
        else
            clWaitForEvents(1, &pending[i].event);
    }
    return count;
}

/* Under the lock: enqueues the launch. Its event belongs to the list; the caller's is a further reference. */
static cl_int enqueue(cl_command_queue queue, cl_kernel kernel, const struct grid *grid,
                      const struct shape *shape, struct wait_list waits, cl_event *event) {
    cl_event here[WAITS_ON_STACK], *events = here, own = NULL;
    if (waits.count + n_pending > WAITS_ON_STACK)
        events = malloc((waits.count + n_pending) * sizeof *events);
    if (!events || !ARRAY_ROOM(pending, n_pending, room, 64)) {
        if (events != here)
            free(events);
        return CL_OUT_OF_HOST_MEMORY;
    }
    const cl_uint count = gather(shape, waits, events);
    const cl_int code =
        clEnqueueNDRangeKernel(queue, kernel, grid->dims, grid->offset, grid->global, grid->local,
                               count, count ? events : NULL, &own);
    if (events != here)
        free(events);
    if (code != CL_SUCCESS)
        return code;
    if (event)
        *event = own;
    if (!event || clRetainEvent(own) == CL_SUCCESS)
        pending[n_pending++] = (struct pending){*shape, own};
    else
        clWaitForEvents(1, &own); /* done, it need not be known */
    return CL_SUCCESS;
}

cl_uint grids_turns(cl_command_queue queue, cl_kernel kernel, const struct grid *grid,
                    cl_event *events, cl_uint most) {
    struct shape shape;
    cl_uint count = 0;
    if (shape_of(queue, kernel, grid, &shape) != CL_SUCCESS)
        return 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_pending && count < most; i++)
        if (pending[i].shape.context != shape.context && !may_overlap(&shape, &pending[i].shape) &&
            !is_done(pending[i].event) && clRetainEvent(pending[i].event) == CL_SUCCESS)
            events[count++] = pending[i].event;
    pthread_mutex_unlock(&lock);
    return count;
}

cl_int grids_enqueue(cl_command_queue queue, cl_kernel kernel, const struct grid *grid,
                     struct wait_list waits, cl_event *event) {
    struct shape shape;
    cl_int code = shape_of(queue, kernel, grid, &shape);
    if (code != CL_SUCCESS)
        return code;
    pthread_mutex_lock(&lock);
    forget_some();
    code = enqueue(queue, kernel, grid, &shape, waits, event);
    pthread_mutex_unlock(&lock);
    return code;
}
