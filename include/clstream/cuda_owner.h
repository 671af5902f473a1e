/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_owner.h
 * Owners of the coarse-grained managed memory of clstream/cuda_runtime.h: the streams that use it, and its way from the host
 * to the device and back. cuda_managed.h has the rules.
 *
 * Every function may be called from any thread.
 */
#ifndef CLSTREAM_CUDA_OWNER_H
#define CLSTREAM_CUDA_OWNER_H

#include <stdlib.h>

#include <clstream/buffer.h>
#include <clstream/cuda_error.h>
#include <clstream/event.h>
#include <clstream/graph.h>
#include <clstream/stream.h>

CLS_BEGIN_DECLS

#define cudaMemAttachGlobal 0x01 /**< managed memory of all streams */
#define cudaMemAttachHost 0x02   /**< managed memory of the host alone */
#define cudaMemAttachSingle 0x04 /**< managed memory of one stream: as cudaMemAttachGlobal */

/** @cond */
/* Whose coarse-grained memory is. */
enum cls_cuda_owner {
    CLS_CUDA_HOST,   /* the host's now */
    CLS_CUDA_DEVICE, /* from some point of each stream that uses it on */
    CLS_CUDA_PASSING, /* the host's from the end of its uses on, but for a prefetch that follows them */
    CLS_CUDA_RETURNING /* unused, and the host's once `returned` is done */
};

/* A stream that uses memory, until that is known to be over. */
struct cls_cuda_use {
    struct cls_cuda_use *next;
    cls_stream stream;
    cls_event event; /* behind the latest use */
    unsigned open;   /* uses that are being submitted: the event is not behind them yet */
    int passed;      /* the stream has handed the memory to the host since */
};

/* Coarse-grained managed memory. All members are read and written under cls_cuda_coarse_lock. */
struct cls_cuda_coarse {
    struct cls_cuda_coarse *next;
    cls_context context;
    cls_buffer buffer;
    uintptr_t start;
    size_t bytes;
    cls_stream internal; /* of the device, for prefetches in no stream's order */
    cls_event returned;  /* behind the latest prefetch by which a wait gives the memory back */
    enum cls_cuda_owner owner;
    unsigned attached;         /* a cudaMemAttach* */
    int in_graphs;             /* a capture or a node has used it */
    struct cls_cuda_use *uses; /* none: the next wait makes it the host's */
};

/* Whether what a stream is given is captured. */
static inline int cls_cuda_captures(cls_stream stream) {
    cls_capture_info info = CLS_CAPTURE_INFO_INIT;
    return cls_stream_get_capture(stream, &info) == CLS_SUCCESS && info.state != CLS_CAPTURE_NONE;
}

/* Whether the program has such memory. A program without it pays for no more than the answer. */
static inline int cls_cuda_has_coarse(void) {
    return __atomic_load_n(&cls_cuda_state.coarse, __ATOMIC_ACQUIRE) != NULL;
}

/* --- uses. The lock is held --- */

static inline int cls_cuda_is_over(const struct cls_cuda_use *use) {
    return use->open == 0 && cls_event_query(use->event) == CLS_SUCCESS;
}

static inline void cls_cuda_drop_use(struct cls_cuda_use **place) {
    struct cls_cuda_use *use = *place;
    *place = use->next;
    cls_event_destroy(use->event);
    free(use);
}

static inline void cls_cuda_drop_uses_over(struct cls_cuda_coarse *memory) {
    struct cls_cuda_use **place = &memory->uses;
    while (*place)
        if (cls_cuda_is_over(*place))
            cls_cuda_drop_use(place);
        else
            place = &(*place)->next;
}

/* NULL: keeps none. */
static inline void cls_cuda_drop_uses_but(struct cls_cuda_coarse *memory,
                                          const struct cls_cuda_use *kept) {
    struct cls_cuda_use **place = &memory->uses;
    while (*place)
        if (*place != kept)
            cls_cuda_drop_use(place);
        else
            place = &(*place)->next;
}

static inline struct cls_cuda_use *cls_cuda_find_use(const struct cls_cuda_coarse *memory,
                                                     cls_stream stream) {
    struct cls_cuda_use *use = memory->uses;
    while (use && use->stream != stream)
        use = use->next;
    return use;
}

/* Adds a use that is over. */
static inline cls_status cls_cuda_add_use(struct cls_cuda_coarse *memory, cls_stream stream,
                                          struct cls_cuda_use **out) {
    struct cls_cuda_use *use = CLS_CUDA_CAST(struct cls_cuda_use *, calloc(1, sizeof *use));
    cls_status status =
        use ? cls_event_create(memory->context, NULL, &use->event) : CLS_ERROR_OUT_OF_MEMORY;
    if (status != CLS_SUCCESS) {
        free(use);
        return status;
    }
    use->stream = stream;
    use->next = memory->uses;
    memory->uses = *out = use;
    return CLS_SUCCESS;
}

/* Begins a use, for which the memory is the device's. Prefetches of memory come after each other, so that a second stream
 * waits until the device has it, and one that has handed it to the host until the device has it again; no work follows on
 * the internal stream. */
static inline cls_status cls_cuda_open_use(struct cls_cuda_coarse *memory, cls_stream stream) {
    struct cls_cuda_use *use = cls_cuda_find_use(memory, stream);
    int is_ordered =
        memory->owner == CLS_CUDA_DEVICE && ((use && !use->passed) || stream == memory->internal);
    cls_status status = use ? CLS_SUCCESS : cls_cuda_add_use(memory, stream, &use);
    if (status == CLS_SUCCESS && !is_ordered)
        status = cls_prefetch_async(memory->buffer, CLS_TO_DEVICE, stream);
    if (status == CLS_SUCCESS) {
        memory->owner = CLS_CUDA_DEVICE;
        use->open++;
        use->passed = 0;
    }
    return status;
}

/* A use whose end could not be recorded stays open, and the memory the device's. */
static inline cls_status cls_cuda_close_use(struct cls_cuda_coarse *memory, cls_stream stream) {
    struct cls_cuda_use *use = cls_cuda_find_use(memory, stream);
    cls_status status = CLS_SUCCESS;
    if (!use || use->open == 0)
        return CLS_SUCCESS;
    if (use->open == 1)
        status = cls_event_record(use->event, stream);
    if (status == CLS_SUCCESS)
        use->open--;
    return status;
}

/* Hands memory to the host in the order of a stream, behind the uses by all streams. */
static inline cls_status cls_cuda_to_host(struct cls_cuda_coarse *memory, cls_stream stream) {
    struct cls_cuda_use *mine = cls_cuda_find_use(memory, stream);
    const struct cls_cuda_use *use;
    cls_status status = CLS_SUCCESS;
    if (memory->owner == CLS_CUDA_HOST)
        return CLS_SUCCESS;
    if (!mine)
        status = cls_cuda_add_use(memory, stream, &mine);
    for (use = memory->uses; use && status == CLS_SUCCESS; use = use->next)
        if (use != mine)
            status = cls_stream_wait_event(stream, use->event);
    if (status == CLS_SUCCESS)
        status = cls_event_record(mine->event, stream);
    if (status == CLS_SUCCESS)
        status = cls_prefetch_async(memory->buffer, CLS_TO_HOST, stream);
    if (status == CLS_SUCCESS) {
        memory->owner = CLS_CUDA_PASSING;
        mine->passed = 1;
        cls_cuda_drop_uses_but(memory, mine);
    }
    return status;
}

/* Whether the device owns memory that work of a stream uses, and no work of another one that is pending. */
static inline int cls_cuda_uses_alone(const struct cls_cuda_coarse *memory, cls_stream stream) {
    const struct cls_cuda_use *use;
    for (use = memory->uses; use; use = use->next)
        if (use->stream == stream ? use->open != 0 : !cls_cuda_is_over(use))
            return 0;
    return memory->owner == CLS_CUDA_DEVICE && cls_cuda_find_use(memory, stream);
}

/* --- memory --- */

/* Finds memory by a byte of it. The lock is held. */
static inline struct cls_cuda_coarse *cls_cuda_coarse_at(const void *pointer) {
    struct cls_cuda_coarse *memory = cls_cuda_state.coarse;
    while (memory && CLS_CUDA_POINTER(uintptr_t, pointer) - memory->start >= memory->bytes)
        memory = memory->next;
    return memory;
}

/* Gets a device's stream for prefetches in no stream's order. The lock is held. */
static inline cls_status cls_cuda_internal_stream(int device, cls_context context,
                                                  cls_stream *out) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_status status = CLS_SUCCESS;
    config.non_blocking = 1;
    if (!cls_cuda_state.internal_streams[device])
        status = cls_stream_create(context, &config, &cls_cuda_state.internal_streams[device]);
    *out = cls_cuda_state.internal_streams[device];
    return status;
}

/* Makes memory of cls_managed_alloc known. */
static inline cls_status cls_cuda_add_coarse(int device, cls_context context, cls_buffer buffer,
                                             const void *start, size_t bytes, unsigned attached) {
    struct cls_cuda_coarse *memory =
        CLS_CUDA_CAST(struct cls_cuda_coarse *, calloc(1, sizeof *memory));
    cls_status status;
    if (!memory)
        return CLS_ERROR_OUT_OF_MEMORY;
    memory->context = context;
    memory->buffer = buffer;
    memory->start = CLS_CUDA_POINTER(uintptr_t, start);
    memory->bytes = bytes;
    memory->owner = CLS_CUDA_HOST;
    memory->attached = attached;
    pthread_mutex_lock(&cls_cuda_coarse_lock);
    status = cls_cuda_internal_stream(device, context, &memory->internal);
    if (status == CLS_SUCCESS)
        status = cls_event_create(context, NULL, &memory->returned);
    if (status == CLS_SUCCESS) {
        memory->next = cls_cuda_state.coarse;
        __atomic_store_n(&cls_cuda_state.coarse, memory, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&cls_cuda_coarse_lock);
    if (status != CLS_SUCCESS)
        free(memory);
    return status;
}

/* Forgets the memory that begins at an address, or all memory of a context. */
static inline void cls_cuda_forget_coarse(const void *start, cls_context context) {
    struct cls_cuda_coarse **place, *memory;
    if (!cls_cuda_has_coarse())
        return;
    pthread_mutex_lock(&cls_cuda_coarse_lock);
    for (place = &cls_cuda_state.coarse; (memory = *place) != NULL;)
        if (memory->start == CLS_CUDA_POINTER(uintptr_t, start) || memory->context == context) {
            __atomic_store_n(place, memory->next, __ATOMIC_RELEASE);
            cls_cuda_drop_uses_but(memory, NULL);
            cls_event_destroy(memory->returned);
            free(memory);
        } else
            place = &memory->next;
    pthread_mutex_unlock(&cls_cuda_coarse_lock);
}

/* Forgets the memory of a device whose context ends. */
static inline void cls_cuda_reset_coarse(int device, cls_context context) {
    cls_cuda_forget_coarse(NULL, context);
    pthread_mutex_lock(&cls_cuda_coarse_lock);
    if (cls_cuda_state.internal_streams[device])
        cls_stream_destroy(cls_cuda_state.internal_streams[device]);
    cls_cuda_state.internal_streams[device] = NULL;
    pthread_mutex_unlock(&cls_cuda_coarse_lock);
}

/* Whether a pointer is into known memory. */
static inline int cls_cuda_is_coarse(const void *pointer) {
    int found;
    pthread_mutex_lock(&cls_cuda_coarse_lock);
    found = cls_cuda_coarse_at(pointer) != NULL;
    pthread_mutex_unlock(&cls_cuda_coarse_lock);
    return found;
}

/* Attaches known memory. Memory of the host alone is handed over in the order of the stream. `attached` 0: hands it over, and
 * no more. */
static inline cls_status cls_cuda_attach(const void *pointer, unsigned attached,
                                         cls_stream stream) {
    struct cls_cuda_coarse *memory;
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&cls_cuda_coarse_lock);
    memory = cls_cuda_coarse_at(pointer);
    if (memory && (attached == 0 || attached == cudaMemAttachHost))
        status = cls_cuda_to_host(memory, stream);
    if (memory && attached && status == CLS_SUCCESS)
        memory->attached = attached;
    pthread_mutex_unlock(&cls_cuda_coarse_lock);
    return status;
}

/* Has memory go back to the host whose uses are over. CLS_NOT_READY: it is on its way. The lock is held. */
static inline cls_status cls_cuda_give_back(struct cls_cuda_coarse *memory) {
    cls_status status = CLS_SUCCESS;
    cls_cuda_drop_uses_over(memory);
    if (memory->uses || memory->owner == CLS_CUDA_HOST)
        return CLS_SUCCESS;
    if (memory->owner != CLS_CUDA_RETURNING) {
        status = cls_prefetch_async(memory->buffer, CLS_TO_HOST, memory->internal);
        if (status == CLS_SUCCESS)
            status = cls_event_record(memory->returned, memory->internal);
        if (status == CLS_SUCCESS)
            memory->owner = CLS_CUDA_RETURNING;
    }
    if (status == CLS_SUCCESS)
        status = cls_event_query(memory->returned);
    if (status == CLS_SUCCESS)
        memory->owner = CLS_CUDA_HOST;
    return status;
}

/* The same of all memory. `way` gets a stream on which some is on its way. */
static inline cls_status cls_cuda_give_all_back(cls_stream *way) {
    struct cls_cuda_coarse *memory;
    cls_status all = CLS_SUCCESS;
    pthread_mutex_lock(&cls_cuda_coarse_lock);
    for (memory = cls_cuda_state.coarse; memory; memory = memory->next) {
        cls_status status = cls_cuda_give_back(memory);
        if (status == CLS_NOT_READY)
            *way = memory->internal;
        if (status != CLS_SUCCESS && (all == CLS_SUCCESS || all == CLS_NOT_READY))
            all = status;
    }
    pthread_mutex_unlock(&cls_cuda_coarse_lock);
    return all;
}

/* What a call that has asked returns: with success, memory whose uses are over is the host's. */
static inline cls_status cls_cuda_asked(cls_status status) {
    cls_stream way;
    return status == CLS_SUCCESS && cls_cuda_has_coarse() ? cls_cuda_give_all_back(&way) : status;
}

/* The same of a call that has waited, and waits for that. Not under the lock: the device may be busy for long. */
static inline cls_status cls_cuda_waited(cls_status status) {
    cls_stream way = NULL;
    if (status != CLS_SUCCESS || !cls_cuda_has_coarse())
        return status;
    status = cls_cuda_give_all_back(&way);
    while (status == CLS_NOT_READY) {
        status = cls_stream_synchronize(way);
        if (status == CLS_SUCCESS)
            status = cls_cuda_give_all_back(&way);
    }
    return status;
}

/* Lets the host function that a stream gets next use what work of that stream alone uses. */
static inline cls_status cls_cuda_host_follows(cls_stream stream) {
    struct cls_cuda_coarse *memory;
    cls_status status = CLS_SUCCESS;
    if (!cls_cuda_has_coarse() || cls_cuda_captures(stream))
        return CLS_SUCCESS;
    pthread_mutex_lock(&cls_cuda_coarse_lock);
    for (memory = cls_cuda_state.coarse; memory && status == CLS_SUCCESS; memory = memory->next)
        if (cls_cuda_uses_alone(memory, stream))
            status = cls_cuda_to_host(memory, stream);
    pthread_mutex_unlock(&cls_cuda_coarse_lock);
    return status;
}
/** @endcond */

CLS_END_DECLS

#endif
