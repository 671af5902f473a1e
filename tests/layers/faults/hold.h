/* SPDX-License-Identifier: MIT */
/*
 * Held work, a part of layer.c: a driver that starts nothing before it is flushed, as rusticl. What is
 * enqueued on a queue waits for a user event of the layer's own, which the next flush that succeeds sets;
 * blocking commands, clFinish, clWaitForEvents and releasing the queue flush too. A flush that was made to
 * fail is owed: it is made up for when the faults are over, held or not.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELD_QUEUES = 256 };

struct held {
    cl_command_queue queue; /* NULL: an empty entry */
    cl_event gate;          /* of what was enqueued since the last flush, or NULL */
    bool owed;              /* then the queue is retained */
    const cl_mem *list;     /* of the last migration behind the gate, or NULL */
    cl_mem listed;          /* what it held at the call */
};

static pthread_mutex_t hold_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct held held[HELD_QUEUES];
static bool hold_on;
static cl_command_queue hold_only;
static cl_int hold_code;

/* Under the lock: the queue's entry, made if `make`; NULL when there is none. */
static struct held *hold_find(cl_command_queue queue, bool make) {
    struct held *empty = NULL;
    for (unsigned i = 0; i < HELD_QUEUES; i++) {
        if (held[i].queue == queue)
            return &held[i];
        if (!held[i].queue && !empty)
            empty = &held[i];
    }
    if (make && empty)
        *empty = (struct held){.queue = queue};
    return make ? empty : NULL;
}

/* Under the lock: an entry that says nothing is empty. */
static void hold_tidy(struct held *entry) {
    if (!entry->gate && !entry->owed)
        entry->queue = NULL;
}

static bool hold_concerns(cl_command_queue queue) {
    return hold_on && (!hold_only || hold_only == queue);
}

static cl_event hold_new_gate(cl_command_queue queue) {
    cl_context context;
    cl_int code =
        next.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    return code ? NULL : next.clCreateUserEvent(context, &code);
}

/* The gate that a command on the queue waits for, retained; NULL: none. */
static cl_event hold_gate(cl_command_queue queue) {
    cl_event gate = NULL;
    pthread_mutex_lock(&hold_lock);
    struct held *entry = hold_concerns(queue) ? hold_find(queue, true) : NULL;
    if (entry && !entry->gate)
        entry->gate = hold_new_gate(queue);
    if (entry && entry->gate && next.clRetainEvent(entry->gate) == CL_SUCCESS)
        gate = entry->gate;
    pthread_mutex_unlock(&hold_lock);
    return gate;
}

/* A migration on the queue has been enqueued: if it is held, its list is to be as it was when it begins. */
static void hold_list(cl_command_queue queue, const cl_mem *list) {
    pthread_mutex_lock(&hold_lock);
    struct held *entry = hold_find(queue, false);
    if (entry && entry->gate) {
        entry->list = list;
        entry->listed = *list;
    }
    pthread_mutex_unlock(&hold_lock);
}

static void hold_check_list(const struct held *entry) {
    if (!entry->list || *entry->list == entry->listed)
        return;
    fprintf(stderr, "# the list of a migration is gone before it begins\n");
    abort();
}

/* The queue is flushed. */
static void hold_open(cl_command_queue queue) {
    pthread_mutex_lock(&hold_lock);
    struct held *entry = hold_find(queue, false);
    cl_event gate = entry ? entry->gate : NULL;
    if (entry) {
        hold_check_list(entry);
        entry->list = NULL;
        entry->gate = NULL;
        hold_tidy(entry);
    }
    pthread_mutex_unlock(&hold_lock);
    if (!gate)
        return;
    next.clSetUserEventStatus(gate, CL_COMPLETE);
    next.clReleaseEvent(gate);
}

/* A flush of the queue has been made to fail. */
static void hold_owe(cl_command_queue queue) {
    pthread_mutex_lock(&hold_lock);
    struct held *entry = hold_find(queue, true);
    if (entry && !entry->owed)
        entry->owed = next.clRetainCommandQueue(queue) == CL_SUCCESS;
    pthread_mutex_unlock(&hold_lock);
}

/* The faults are over: the driver does what it was asked to. */
static void hold_pay(void) {
    for (unsigned i = 0; i < HELD_QUEUES; i++) {
        pthread_mutex_lock(&hold_lock);
        cl_command_queue queue = held[i].owed ? held[i].queue : NULL;
        held[i].owed = false;
        pthread_mutex_unlock(&hold_lock);
        if (!queue)
            continue;
        next.clFlush(queue);
        hold_open(queue);
        next.clReleaseCommandQueue(queue);
    }
}

/* Adds the gate to what the command waits for; `e->note` is the list, of the layer's own. */
static cl_int hold_before_enqueue(struct layer_enqueue *e) {
    if (e->blocking) {
        hold_open(e->queue);
        return CL_SUCCESS;
    }
    e->gate = hold_gate(e->queue);
    if (!e->gate)
        return CL_SUCCESS;
    cl_event *waits = calloc(e->count + 1, sizeof(cl_event));
    if (!waits)
        return CL_OUT_OF_HOST_MEMORY;
    if (e->count)
        memcpy(waits, e->events, e->count * sizeof(cl_event));
    waits[e->count++] = e->gate;
    free(e->note);
    e->events = e->note = waits;
    return CL_SUCCESS;
}

static void hold_after_enqueue(struct layer_enqueue *e) {
    if (e->gate)
        next.clReleaseEvent(e->gate);
}

/* What flushing the queue fails with by itself. */
static cl_int hold_flush_code(cl_command_queue queue) {
    pthread_mutex_lock(&hold_lock);
    cl_int code = hold_concerns(queue) ? hold_code : CL_SUCCESS;
    pthread_mutex_unlock(&hold_lock);
    return code;
}

static void hold_set(bool on, cl_command_queue only, cl_int code) {
    pthread_mutex_lock(&hold_lock);
    hold_on = on;
    hold_only = only;
    hold_code = code;
    pthread_mutex_unlock(&hold_lock);
    for (unsigned i = 0; i < HELD_QUEUES && !on; i++)
        if (held[i].queue)
            hold_open(held[i].queue);
}
