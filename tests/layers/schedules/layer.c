/* SPDX-License-Identifier: MIT */
/* The schedule layer; see controls.h. */
#include "../layer.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "controls.h"

/* Without news for so long gates are opened; a command that was let go is given so long to end; and when
 * nothing can be let go for so long, what waits for an event from elsewhere is let go all the same. */
static const uint64_t QUIET_NS = 300 * 1000, STEP_NS = 50 * 1000 * 1000, STUCK_NS = 5 * 1000 * 1000;

/* A command behind its gate. All events are retained by the layer. */
struct gated {
    cl_event gate, event;
    cl_command_queue queue; /* to tell queues apart; it may be gone */
    uint64_t number;        /* in its queue */
    cl_uint count;
    cl_event
        waits[]; /* what must end first: its own wait list, the command before it in an in-order
                         queue; those found done are taken away */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct gated **gates;
static unsigned n_gates, capacity, widest, unflushed;
static uint64_t total, last_came, random_state = 1, salt;
static enum schedule_order order;
static bool has_chosen, held, wanted, running, stop;
static unsigned waiting; /* hosts that wait in the driver */
static pthread_t thread;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static cl_int layer_enter(enum layer_call call) {
    (void)call;
    return CL_SUCCESS;
}

static void layer_object(enum layer_object kind, int change) {
    (void)kind;
    (void)change;
}

/* --- the gates --- */

static bool is_done(cl_event event) {
    cl_int state = CL_QUEUED;
    cl_int code =
        next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return code != CL_SUCCESS || state <= CL_COMPLETE;
}

static bool is_runnable(struct gated *gated) {
    while (gated->count && is_done(gated->waits[gated->count - 1]))
        next.clReleaseEvent(gated->waits[--gated->count]);
    return !gated->count;
}

static void drop(struct gated *gated) {
    for (cl_uint i = 0; i < gated->count; i++)
        next.clReleaseEvent(gated->waits[i]);
    if (gated->event)
        next.clReleaseEvent(gated->event);
    next.clReleaseEvent(gated->gate);
    free(gated);
}

static void rest(unsigned looks) {
    const struct timespec moment = {0, 20000};
    if (looks < 20)
        sched_yield();
    else
        nanosleep(&moment, NULL);
}

/* Opens a gate; the command is given the time to end before the next gate opens. */
static void open_gate(struct gated *gated) {
    next.clSetUserEventStatus(gated->gate, CL_COMPLETE);
    uint64_t until = now_ns() + STEP_NS;
    for (unsigned looks = 0; !gated->count && !is_done(gated->event) && now_ns() < until; looks++)
        rest(looks);
    drop(gated);
}

static uint64_t random_number(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* How much a queue is preferred at random, which changes every now and then: one stream runs ahead as far
 * as it can, which shows more than a draw for every command. */
static uint64_t preference(const struct gated *gated) {
    if (random_number() % 4096 == 0)
        salt = random_state;
    uint64_t hash = ((uint64_t)(uintptr_t)gated->queue ^ salt) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* Under the lock: the command to let go next, of those that can run; n_gates when none can. */
static unsigned choose_next(void) {
    unsigned best = n_gates;
    for (unsigned k = 0; k < n_gates; k++) {
        unsigned i = order == SCHEDULE_FIRST_FIRST ? k : n_gates - 1 - k;
        if (!is_runnable(gates[i]))
            continue;
        if (order != SCHEDULE_RANDOM)
            return i;
        if (best == n_gates || preference(gates[i]) > preference(gates[best]))
            best = i;
    }
    return best;
}

/* Under the lock: takes one away, or NULL. */
static struct gated *take(void) {
    static uint64_t stuck_since;
    unsigned i = choose_next();
    if (i == n_gates) {
        uint64_t now = now_ns();
        stuck_since = stuck_since ? stuck_since : now;
        if (now - stuck_since < STUCK_NS)
            return NULL;
        i = n_gates - 1;
    }
    stuck_since = 0;
    struct gated *gated = gates[i];
    memmove(&gates[i], &gates[i + 1], (--n_gates - i) * sizeof *gates);
    return gated;
}

/* Under the lock. */
static void sleep_a_moment(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)QUIET_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&changed, &lock, &until);
}

static void *open_gates(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    while (!stop || n_gates) {
        bool quiet = !held && now_ns() - last_came > QUIET_NS;
        if (n_gates && (stop || wanted || waiting || quiet)) {
            struct gated *gated = take();
            pthread_mutex_unlock(&lock);
            if (gated)
                open_gate(gated);
            else
                rest(UINT32_MAX);
            pthread_mutex_lock(&lock);
            continue;
        }
        wanted = wanted && n_gates;
        if (n_gates && !held)
            sleep_a_moment();
        else
            pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* While a host waits in the driver all that comes is let go: what it waits for may be behind a command that
 * is on its way here just now, or that another thread enqueues before the wait itself is in its queue. */
static void host_waits(bool begins) {
    pthread_mutex_lock(&lock);
    waiting += begins ? 1u : -1u;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

/* --- commands on their way --- */

/* What is passed on of a command's wait list. */
struct passage {
    struct gated *gated;
    cl_event waits[];
};

#include "queues.h"

static cl_event make_gate(cl_command_queue cl) {
    pthread_mutex_lock(&lock);
    struct queue *queue = find_queue(cl);
    cl_context context = queue ? queue->context : NULL;
    pthread_mutex_unlock(&lock);
    cl_int code;
    return context ? next.clCreateUserEvent(context, &code) : NULL;
}

static cl_int layer_before_enqueue(struct layer_enqueue *e) {
    pthread_mutex_lock(&lock);
    bool open = order == SCHEDULE_OPEN;
    pthread_mutex_unlock(&lock);
    if (e->blocking)
        host_waits(true);
    if (e->blocking || open)
        return CL_SUCCESS;
    cl_event gate = make_gate(e->queue);
    struct gated *gated = calloc(1, sizeof *gated + (e->count + 1) * sizeof(cl_event));
    struct passage *passage = calloc(1, sizeof *passage + (e->count + 1) * sizeof(cl_event));
    if (!gate || !gated || !passage) {
        free(gated);
        free(passage);
        return CL_OUT_OF_HOST_MEMORY;
    }
    gated->gate = gate;
    gated->queue = e->queue;
    gated->count = e->count;
    for (cl_uint i = 0; i < e->count; i++) {
        gated->waits[i] = passage->waits[i] = e->events[i];
        next.clRetainEvent(e->events[i]);
    }
    passage->waits[e->count] = gate;
    passage->gated = gated;
    e->events = passage->waits;
    e->count++;
    e->note = passage;
    if (!e->event)
        e->event = &e->own;
    return CL_SUCCESS;
}

/* Under the lock. */
static void keep(struct gated *gated) {
    if (n_gates == capacity) {
        capacity = capacity ? 2 * capacity : 256;
        gates = realloc(gates, capacity * sizeof *gates);
        if (!gates)
            abort();
    }
    gates[n_gates++] = gated;
    widest = n_gates > widest ? n_gates : widest;
    total++;
    last_came = now_ns();
}

static void layer_after_enqueue(struct layer_enqueue *e, cl_int code) {
    struct passage *passage = e->note;
    if (e->blocking)
        host_waits(false);
    if (!passage)
        return;
    struct gated *gated = passage->gated;
    if (code) {
        free(passage);
        drop(gated);
        return;
    }
    gated->event = *e->event;
    next.clRetainEvent(gated->event);
    pthread_mutex_lock(&lock);
    note_command(gated, passage, e->count - 1);
    cl_event before = replace_newest(e->queue, gated->event);
    if (before)
        gated->waits[gated->count++] = before;
    keep(gated);
    if (!running)
        running = pthread_create(&thread, NULL, open_gates, NULL) == 0;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    free(passage);
    if (e->own)
        next.clReleaseEvent(e->own);
}

#include "tests/layers/layer_wrappers.h"

/* --- the host waits --- */

static cl_int CL_API_CALL waiting_clWaitForEvents(cl_uint n, const cl_event *events) {
    host_waits(true);
    cl_int code = next.clWaitForEvents(n, events);
    host_waits(false);
    return code;
}

static cl_int CL_API_CALL noting_clFlush(cl_command_queue queue) {
    note_flush(queue);
    return next.clFlush(queue);
}

static cl_int CL_API_CALL waiting_clFinish(cl_command_queue queue) {
    note_flush(queue);
    host_waits(true);
    cl_int code = next.clFinish(queue);
    host_waits(false);
    return code;
}

/* --- queues come and go --- */

static cl_command_queue CL_API_CALL known_clCreateCommandQueue(
    cl_context context, cl_device_id device, cl_command_queue_properties properties, cl_int *code) {
    return add_queue(context, next.clCreateCommandQueue(context, device, properties, code));
}

static cl_command_queue CL_API_CALL known_clCreateCommandQueueWithProperties(
    cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *code) {
    return add_queue(context,
                     next.clCreateCommandQueueWithProperties(context, device, properties, code));
}

static cl_int CL_API_CALL known_clRetainCommandQueue(cl_command_queue cl) {
    cl_int code = next.clRetainCommandQueue(cl);
    pthread_mutex_lock(&lock);
    struct queue *queue = code ? NULL : find_queue(cl);
    if (queue)
        queue->references++;
    pthread_mutex_unlock(&lock);
    return code;
}

/* The handle may be given to another queue. */
static cl_int CL_API_CALL known_clReleaseCommandQueue(cl_command_queue cl) {
    cl_event event = NULL;
    pthread_mutex_lock(&lock);
    struct queue *queue = find_queue(cl);
    if (queue && --queue->references == 0) {
        event = queue->newest;
        *queue = queues[--n_queues];
    }
    pthread_mutex_unlock(&lock);
    if (event)
        next.clReleaseEvent(event);
    return next.clReleaseCommandQueue(cl);
}

static void layer_override(cl_icd_dispatch *table) {
    table->clWaitForEvents = waiting_clWaitForEvents;
    table->clFinish = waiting_clFinish;
    table->clFlush = noting_clFlush;
    table->clCreateCommandQueue = known_clCreateCommandQueue;
    table->clCreateCommandQueueWithProperties = known_clCreateCommandQueueWithProperties;
    table->clRetainCommandQueue = known_clRetainCommandQueue;
    table->clReleaseCommandQueue = known_clReleaseCommandQueue;
}

static const char *layer_name(void) { return "clstream schedule layer"; }

#include "../layer_loader.h"

/* --- the controls --- */

static void choose(enum schedule_order chosen, uint64_t seed) {
    pthread_mutex_lock(&lock);
    order = chosen;
    has_chosen = true;
    random_state = seed * 2654435761u + 88172645463325252u;
    salt = random_number();
    pthread_mutex_unlock(&lock);
}

static void hold(bool yes) {
    pthread_mutex_lock(&lock);
    held = yes;
    wanted = !yes && n_gates;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static uint64_t gated_so_far(void) {
    pthread_mutex_lock(&lock);
    uint64_t n = total;
    pthread_mutex_unlock(&lock);
    return n;
}

static unsigned widest_so_far(void) {
    pthread_mutex_lock(&lock);
    unsigned n = widest;
    pthread_mutex_unlock(&lock);
    return n;
}

static unsigned unflushed_so_far(void) {
    pthread_mutex_lock(&lock);
    unsigned n = unflushed;
    pthread_mutex_unlock(&lock);
    return n;
}

LAYER_EXPORT extern const struct schedule_controls cls_schedule_controls;
const struct schedule_controls cls_schedule_controls = {choose, hold, gated_so_far, widest_so_far,
                                                        unflushed_so_far};

__attribute__((constructor)) static void read_environment(void) {
    const char *chosen = getenv("CLS_SCHEDULE"), *seed = getenv("CLS_SCHEDULE_SEED");
    if (chosen && !strcmp(chosen, "random"))
        order = SCHEDULE_RANDOM;
    else if (chosen && !strcmp(chosen, "first"))
        order = SCHEDULE_FIRST_FIRST;
    random_state = (seed ? strtoull(seed, NULL, 10) : 1) * 2 + 1;
}

/* No gate stays shut at exit. */
__attribute__((destructor)) static void end(void) {
    pthread_mutex_lock(&lock);
    stop = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    if (running)
        pthread_join(thread, NULL);
}
