/* SPDX-License-Identifier: MIT */
/*
 * Late faults, a part of layer.c. The chosen command is held by a user event of the layer's own
 * until the test lets it fail; below, it and its dependents then run, so that what a driver says can be
 * chosen freely: the layer answers for the events it has marked.
 */
#include <pthread.h>
#include <string.h>

enum { LATE_MARKS = 1024 };

static pthread_mutex_t late_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct late_plan late;
static bool late_armed, late_fired;
static int late_call;
static unsigned late_seen, late_wrong;
static cl_event late_gate, late_event;
static cl_command_queue late_queue;
static cl_event
    late_marks[LATE_MARKS]; /* retained; the failed command's and its dependents' events */
static unsigned late_count;

static bool late_is_marked(cl_event event) {
    for (unsigned i = 0; i < late_count; i++)
        if (late_marks[i] == event)
            return true;
    return false;
}

static void late_mark(cl_event event) {
    if (late_count < LATE_MARKS && next.clRetainEvent(event) == CL_SUCCESS)
        late_marks[late_count++] = event;
}

static bool late_is_done(cl_event event) {
    cl_int state = CL_QUEUED;
    cl_int code =
        next.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return code != CL_SUCCESS || state <= CL_COMPLETE;
}

/* Under the lock: whether a marked event is to be told as failed now. */
static bool late_has_failed(cl_event event) {
    return late_fired && late_is_marked(event) && late_is_done(event);
}

static bool late_queue_is_dead(cl_command_queue queue) {
    return late_fired && late.kills_queue && queue == late_queue && late_is_done(late_event);
}

/* A dead queue takes what was pending with it. */
static bool late_queue_fails(cl_command_queue queue) {
    pthread_mutex_lock(&late_lock);
    bool dead = late_queue_is_dead(queue);
    pthread_mutex_unlock(&late_lock);
    return dead;
}

static bool late_is_in_order(cl_command_queue queue) {
    cl_command_queue_properties properties = 0;
    next.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    return !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

/* Under the lock: holds the chosen command. */
static cl_int late_hold(struct layer_enqueue *e) {
    cl_context context;
    cl_int code =
        next.clGetCommandQueueInfo(e->queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    cl_event gate = code ? NULL : next.clCreateUserEvent(context, &code);
    cl_event *waits = calloc(e->count + 1, sizeof *waits);
    if (code || !waits) {
        free(waits);
        return code ? code : CL_OUT_OF_HOST_MEMORY;
    }
    if (e->count)
        memcpy(waits, e->events, e->count * sizeof *waits);
    waits[e->count++] = gate;
    e->events = waits;
    e->note = waits;
    late_gate = gate;
    late_queue = e->queue;
    return CL_SUCCESS;
}

enum late_role { LATE_OTHER, LATE_CHOSEN, LATE_DEPENDENT, LATE_FOLLOWER };

/* Under the lock: whether the command depends on a marked one, or is behind the chosen one. */
static enum late_role late_depends(const struct layer_enqueue *e, bool *on_reported) {
    bool any = false;
    for (cl_uint i = 0; i < e->count; i++) {
        any = any || late_is_marked(e->events[i]);
        *on_reported = *on_reported || late_has_failed(e->events[i]);
    }
    if (any)
        return LATE_DEPENDENT;
    const bool behind = late_event && e->queue == late_queue && late_is_in_order(e->queue);
    return behind ? LATE_FOLLOWER : LATE_OTHER;
}

/* Under the lock: whether the command is to fail. */
static bool late_fails(int role) {
    return role == LATE_CHOSEN ||
           (!late.dependents_run && (role == LATE_DEPENDENT || !late.followers_run));
}

static cl_int late_before_enqueue(struct layer_enqueue *e) {
    cl_int code = CL_SUCCESS;
    enum late_role role = LATE_OTHER;
    if (late_queue_fails(e->queue))
        return CL_INVALID_BINARY;
    pthread_mutex_lock(&late_lock);
    if (late_armed) {
        bool on_reported = false;
        if (!late_event && (int)e->call == late_call && ++late_seen == late.nth)
            role = LATE_CHOSEN;
        else
            role = late_depends(e, &on_reported);
        late_wrong += on_reported;
        if (role == LATE_CHOSEN)
            code = late_hold(e);
        if (role != LATE_OTHER && !e->event)
            e->event = &e->own;
    }
    e->role = role;
    pthread_mutex_unlock(&late_lock);
    return code;
}

static void late_after_enqueue(struct layer_enqueue *e, cl_int code) {
    if (!code && e->role != LATE_OTHER) {
        pthread_mutex_lock(&late_lock);
        if (e->role == LATE_CHOSEN)
            late_event = *e->event;
        if (late_fails(e->role))
            late_mark(*e->event);
        pthread_mutex_unlock(&late_lock);
    }
    if (e->own)
        next.clReleaseEvent(e->own);
    free(e->note);
}

/* --- what the driver says --- */

/* The state to tell; false: the driver's own answer. */
static bool late_state(cl_event event, cl_int *state) {
    pthread_mutex_lock(&late_lock);
    const bool told = late_has_failed(event);
    if (told && event == late_event)
        *state = late.status;
    else if (told)
        *state = late.dependents_stay ? CL_SUBMITTED : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    pthread_mutex_unlock(&late_lock);
    return told;
}

static cl_int wrap_clGetEventInfo(cl_event, cl_event_info, size_t, void *, size_t *);

static cl_int CL_API_CALL late_clGetEventInfo(cl_event event, cl_event_info name, size_t size,
                                              void *value, size_t *size_ret) {
    cl_int code = wrap_clGetEventInfo(event, name, size, value, size_ret);
    if (code || name != CL_EVENT_COMMAND_EXECUTION_STATUS || !value)
        return code;
    cl_int state;
    if (late_state(event, &state))
        memcpy(value, &state, sizeof state);
    return code;
}

static cl_int CL_API_CALL wrap_clWaitForEvents(cl_uint, const cl_event *);

static cl_int CL_API_CALL late_clWaitForEvents(cl_uint count, const cl_event *events) {
    cl_int code = wrap_clWaitForEvents(count, events);
    pthread_mutex_lock(&late_lock);
    for (cl_uint i = 0; i < count && !code; i++)
        if (late_has_failed(events[i]))
            code =
                events[i] == late_event ? late.wait : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    pthread_mutex_unlock(&late_lock);
    return code;
}

/* A callback that was set on a marked event. */
struct late_call_back {
    void(CL_CALLBACK *call)(cl_event, cl_int, void *);
    void *arg;
};

static void CL_CALLBACK late_call_failed(cl_event event, cl_int state, void *arg) {
    struct late_call_back *back = arg;
    (void)state;
    back->call(event, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, back->arg);
    free(back);
}

static cl_int CL_API_CALL wrap_clSetEventCallback(cl_event, cl_int,
                                                  void(CL_CALLBACK *)(cl_event, cl_int, void *),
                                                  void *);

static cl_int CL_API_CALL late_clSetEventCallback(cl_event event, cl_int when,
                                                  void(CL_CALLBACK *call)(cl_event, cl_int, void *),
                                                  void *arg) {
    pthread_mutex_lock(&late_lock);
    bool marked = late_is_marked(event);
    enum late_callback how = late.callback;
    pthread_mutex_unlock(&late_lock);
    if (!marked || how == LATE_CALLBACK_COMPLETE)
        return wrap_clSetEventCallback(event, when, call, arg);
    if (how == LATE_CALLBACK_NEVER)
        return layer_enter(CALL_clSetEventCallback);
    struct late_call_back *back = malloc(sizeof *back);
    if (!back)
        return CL_OUT_OF_HOST_MEMORY;
    *back = (struct late_call_back){call, arg};
    cl_int code = wrap_clSetEventCallback(event, when, late_call_failed, back);
    if (code)
        free(back);
    return code;
}

/* --- controls --- */

static int find(const char *function);

static void late_open(void) {
    if (!late_gate)
        return;
    next.clSetUserEventStatus(late_gate, CL_COMPLETE);
    next.clReleaseEvent(late_gate);
    late_gate = NULL;
}

static void late_arm(const struct late_plan *plan) {
    pthread_mutex_lock(&late_lock);
    late_open();
    for (unsigned i = 0; i < late_count; i++)
        next.clReleaseEvent(late_marks[i]);
    late_count = late_seen = late_wrong = 0;
    late_event = NULL;
    late_queue = NULL;
    late_fired = false;
    late_armed = plan != NULL;
    if (plan) {
        late = *plan;
        late_call = find(plan->function);
    }
    pthread_mutex_unlock(&late_lock);
}

static bool late_fire(void) {
    pthread_mutex_lock(&late_lock);
    bool taken = late_event != NULL;
    late_fired = taken;
    late_open();
    pthread_mutex_unlock(&late_lock);
    return taken;
}

static unsigned late_trespasses(void) {
    pthread_mutex_lock(&late_lock);
    unsigned wrong = late_wrong;
    pthread_mutex_unlock(&late_lock);
    return wrong;
}

static bool late_taken(void) {
    pthread_mutex_lock(&late_lock);
    bool taken = late_event != NULL;
    pthread_mutex_unlock(&late_lock);
    return taken;
}
