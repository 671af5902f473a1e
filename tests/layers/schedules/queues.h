/* SPDX-License-Identifier: MIT */
/*
 * The queues as the layer knows them, a part of layer.c: which are in-order, their newest
 * commands, and what was flushed of them. Guarded by its lock.
 */
enum { MAX_QUEUES = 256 };

struct queue {
    cl_command_queue cl;
    unsigned references; /* the host's */
    bool in_order;
    cl_context context;
    cl_event newest; /* its newest command, retained, where it is in-order */
    uint64_t enqueued, flushed;
};

static struct queue queues[MAX_QUEUES];
static unsigned n_queues;

/* Under the lock. */
static struct queue *find_queue(cl_command_queue cl) {
    for (unsigned i = 0; i < n_queues; i++)
        if (queues[i].cl == cl)
            return &queues[i];
    return NULL;
}

static cl_command_queue add_queue(cl_context context, cl_command_queue cl) {
    cl_command_queue_properties properties = 0;
    if (!cl)
        return NULL;
    next.clGetCommandQueueInfo(cl, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    bool in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    pthread_mutex_lock(&lock);
    if (n_queues == MAX_QUEUES)
        abort();
    queues[n_queues++] =
        (struct queue){.cl = cl, .references = 1, .in_order = in_order, .context = context};
    pthread_mutex_unlock(&lock);
    return cl;
}

/* Under the lock: makes the command the newest of an in-order queue; the one before, or NULL. */
static cl_event replace_newest(cl_command_queue cl, cl_event event) {
    struct queue *queue = find_queue(cl);
    if (!queue || !queue->in_order)
        return NULL;
    cl_event before = queue->newest;
    next.clRetainEvent(event);
    queue->newest = event;
    return before;
}

/* Under the lock: whether the wait is for a command of another queue that nobody flushed. */
static bool is_unflushed(cl_command_queue cl, cl_event wait) {
    for (unsigned i = 0; i < n_gates; i++) {
        const struct gated *gated = gates[i];
        if (gated->event != wait || gated->queue == cl)
            continue;
        const struct queue *queue = find_queue(gated->queue);
        return queue && queue->flushed < gated->number;
    }
    return false;
}

/* Under the lock: numbers the command in its queue, and looks at what it waits for. */
static void note_command(struct gated *gated, const struct passage *passage, cl_uint waits) {
    struct queue *queue = find_queue(gated->queue);
    if (queue)
        gated->number = ++queue->enqueued;
    for (cl_uint i = 0; i < waits; i++)
        unflushed += has_chosen && is_unflushed(gated->queue, passage->waits[i]);
}

static void note_flush(cl_command_queue cl) {
    pthread_mutex_lock(&lock);
    struct queue *queue = find_queue(cl);
    if (queue)
        queue->flushed = queue->enqueued;
    pthread_mutex_unlock(&lock);
}
