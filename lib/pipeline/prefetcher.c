/* SPDX-License-Identifier: MIT */
/*
 * Prefetchers: worker threads load batches of data into pinned memory and upload them ahead of the caller.
 *
 * A slot has pinned memory, a device buffer, and two events: behind the upload, and behind the caller's last
 * use. Batch i is in slot i % depth, or in the next free one where the caller still holds an older batch
 * there. Before a worker loads into the pinned memory again it waits for the upload; before the buffer is
 * written again the upload stream waits for the caller's work.
 *
 * Workers exist until the prefetcher is destroyed. The last one frees the pinned memory, which only they use,
 * because freeing it blocks, and no thread of the caller's should.
 */
#include <clstream/prefetcher.h>

#include <stdio.h>

#include <clstream/buffer.h>
#include <clstream/event.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "base/process.h"
#include "base/sized.h"
#include "pipeline/internals.h"
#include "pipeline/loaders.h"
#include "pipeline/pipeline.h"

enum state { EMPTY, LOADING, LOADED, TAKEN };

struct prefetch_slot {
    enum state state;
    uint64_t index;
    size_t bytes;
    cls_status status;
    char message[CLS_PREFETCHER_MAX_MESSAGE + 1]; /* why it was not loaded; "": nobody says */
    unsigned worker;                              /* that loaded it */
    void *memory;
    cls_buffer buffer;
    cls_event uploaded, released;
};

struct prefetcher {
    struct loaders loaders; /* first: an object with threads */
    cls_context context;
    cls_stream default_stream, upload;
    cls_load_fn load;
    cls_load_end_fn end; /* NULL until creation has succeeded */
    void *arg;
    size_t capacity;
    unsigned depth;
    pthread_cond_t changed;
    uint64_t next_load, next_out;
    bool ended;   /* the data has ended, or failed: `load` is not called any more */
    bool stopped; /* by the caller: no batch is returned any more */
    bool left;    /* the workers have ended */
    struct prefetch_slot slots[CLS_PREFETCHER_MAX_DEPTH];
};

static void prefetcher_finalize(struct object *object) {
    struct prefetcher *prefetcher = (struct prefetcher *)(void *)object;
    for (unsigned i = 0; i < prefetcher->depth; i++) {
        struct prefetch_slot *slot = &prefetcher->slots[i];
        if (slot->buffer)
            buffer_destroy_owned(slot->buffer);
        if (slot->uploaded)
            cls_event_destroy(slot->uploaded);
        if (slot->released)
            cls_event_destroy(slot->released);
    }
    if (prefetcher->upload)
        stream_destroy_owned(prefetcher->upload);
    pthread_cond_destroy(&prefetcher->changed);
    loaders_fini(&prefetcher->loaders);
}

static struct object_pool prefetcher_pool =
    OBJECT_POOL(18, sizeof(struct prefetcher), "prefetcher", prefetcher_finalize);

static cls_status prefetcher_get(cls_prefetcher handle, struct prefetcher **out) {
    struct prefetcher *prefetcher = object_acquire(&prefetcher_pool, handle);
    if (!prefetcher)
        return object_invalid(&prefetcher_pool, handle);
    cls_status status = pipeline_check_stream(prefetcher->upload, prefetcher->context);
    if (status)
        object_release(&prefetcher->loaders.object);
    else
        *out = prefetcher;
    return status;
}

static cls_status prefetcher_put(struct prefetcher *prefetcher, cls_status status) {
    object_release(&prefetcher->loaders.object);
    return status;
}

/* Under the lock: the slot of a batch; NULL: it has none yet, or no longer. */
static struct prefetch_slot *slot_of(struct prefetcher *prefetcher, uint64_t index) {
    for (unsigned i = 0; i < prefetcher->depth; i++) {
        struct prefetch_slot *slot = &prefetcher->slots[(index + i) % prefetcher->depth];
        if (slot->state != EMPTY && slot->index == index)
            return slot;
    }
    return NULL;
}

/* Under the lock: a free slot for a batch; NULL: there is none. */
static struct prefetch_slot *room_for(struct prefetcher *prefetcher, uint64_t index) {
    for (unsigned i = 0; i < prefetcher->depth; i++) {
        struct prefetch_slot *slot = &prefetcher->slots[(index + i) % prefetcher->depth];
        if (slot->state == EMPTY)
            return slot;
    }
    return NULL;
}

/* --- the workers' side --- */

/* Later uploads run behind the caller's last use of the buffer, but do not inherit its failure. */
static cls_status await_return(const struct prefetcher *prefetcher,
                               const struct prefetch_slot *slot) {
    struct stream *stream, *other;
    uint64_t position;
    cls_status status = stream_get(prefetcher->upload, NULL, &stream);
    if (status)
        return status;
    status = event_snapshot(slot->released, &other, &position);
    if (!status && other) {
        status = stream_follow(stream, other, position);
        stream_put(other);
    }
    stream_put(stream);
    return status;
}

/* What the calling thread's loader fills, or NULL. */
static _Thread_local struct prefetch_slot *loading;

static void say(struct prefetch_slot *slot, const char *message) {
    snprintf(slot->message, sizeof slot->message, "%s", message);
}

/* A positive status is no error: stored, CLS_NOT_READY would keep pollers waiting for ever. */
static cls_status load_batch(const struct prefetcher *prefetcher, struct prefetch_slot *slot,
                             uint64_t index, size_t *bytes) {
    const unsigned long before = error_count();
    loading = slot;
    const cls_status status =
        prefetcher->load(prefetcher->arg, index, slot->memory, prefetcher->capacity, bytes);
    loading = NULL;
    if (status < 0 && !*slot->message && error_count() != before)
        say(slot, cls_last_error_detail());
    if (status > 0 && !*slot->message)
        say(slot, "the loader returned CLS_NOT_READY, which is no error");
    return status > 0 ? CLS_ERROR_INVALID_STATE : status;
}

static cls_status check_in_loader(const char *call, const void *argument) {
    if (!argument)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: a null pointer", call);
    return loading
               ? CLS_SUCCESS
               : error_set(CLS_ERROR_INVALID_STATE, "%s: the calling thread is in no loader", call);
}

cls_status cls_prefetcher_get_worker(unsigned *worker) {
    const cls_status status = check_in_loader("cls_prefetcher_get_worker", worker);
    if (!status)
        *worker = loading->worker;
    return status;
}

cls_status cls_prefetcher_set_message(const char *message) {
    const cls_status status = check_in_loader("cls_prefetcher_set_message", message);
    if (!status)
        say(loading, message);
    return status;
}

static bool is_stopped(struct prefetcher *prefetcher) {
    pthread_mutex_lock(&prefetcher->loaders.lock);
    const bool stopped = prefetcher->stopped;
    pthread_mutex_unlock(&prefetcher->loaders.lock);
    return stopped;
}

/* Loads and uploads a batch, without the lock. A stop may come while it waits for the memory to be free. */
static cls_status fetch(struct prefetcher *prefetcher, struct prefetch_slot *slot, uint64_t index,
                        size_t *bytes) {
    cls_status status = cls_event_synchronize(slot->uploaded);
    *bytes = 0;
    if (!status && !is_stopped(prefetcher))
        status = load_batch(prefetcher, slot, index, bytes);
    if (status || !*bytes)
        return status;
    if (*bytes > prefetcher->capacity) {
        snprintf(slot->message, sizeof slot->message,
                 "the loader reports %zu bytes, more than the capacity of %zu", *bytes,
                 prefetcher->capacity);
        return CLS_ERROR_OUT_OF_RANGE;
    }
    status = await_return(prefetcher, slot);
    if (!status)
        status = cls_copy_h2d_async(slot->buffer, 0, slot->memory, *bytes, prefetcher->upload);
    if (!status)
        status = cls_event_record(slot->uploaded, prefetcher->upload);
    if (status)
        say(slot, cls_last_error_detail());
    return status;
}

/* The workers' step, with the lock held: loads one batch, if a slot is free. */
static bool load_one(struct loaders *loaders) {
    struct prefetcher *prefetcher = (struct prefetcher *)(void *)loaders;
    const uint64_t index = prefetcher->next_load;
    struct prefetch_slot *slot = room_for(prefetcher, index);
    if (prefetcher->ended || !slot)
        return false;
    size_t bytes;
    prefetcher->next_load++;
    slot->state = LOADING;
    slot->index = index;
    slot->worker = loaders_number();
    *slot->message = 0;
    pthread_mutex_unlock(&loaders->lock);
    const cls_status status = fetch(prefetcher, slot, index, &bytes);
    pthread_mutex_lock(&loaders->lock);
    slot->bytes = bytes;
    slot->status = status;
    slot->state = LOADED;
    if (status || !bytes)
        prefetcher->ended = true;
    pthread_cond_broadcast(&prefetcher->changed);
    return true;
}

static void free_pinned(struct prefetcher *prefetcher) {
    for (unsigned i = 0; i < prefetcher->depth; i++)
        if (prefetcher->slots[i].memory)
            cls_host_free(prefetcher->slots[i].memory);
}

/* Called by the last worker. Workers of a prefetcher that is not destroyed end only at process exit; a thread
 * that waits for a batch then must be woken, because an exit handler of the program may join it. */
static void end(struct loaders *loaders) {
    struct prefetcher *prefetcher = (struct prefetcher *)(void *)loaders;
    pthread_mutex_lock(&loaders->lock);
    prefetcher->left = true;
    pthread_cond_broadcast(&prefetcher->changed);
    pthread_mutex_unlock(&loaders->lock);
    free_pinned(prefetcher);
    if (prefetcher->end)
        prefetcher->end(prefetcher->arg);
}

static const struct loader_type loader_type = {load_one, end};

/* --- life --- */

static cls_status open_slots(struct prefetcher *prefetcher, unsigned depth) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < depth && !status; i++) {
        struct prefetch_slot *slot = &prefetcher->slots[i];
        prefetcher->depth = i + 1;
        status = host_alloc_owned(prefetcher->context, prefetcher->capacity, &slot->memory);
        if (!status)
            status = buffer_create_owned(prefetcher->context, prefetcher->capacity, "a prefetcher",
                                         &slot->buffer);
        if (!status)
            status = pipeline_event(prefetcher->context, NULL, "a prefetcher", &slot->uploaded);
        if (!status)
            status = pipeline_event(prefetcher->context, NULL, "a prefetcher", &slot->released);
    }
    return status;
}

static cls_status start(struct prefetcher *prefetcher, const cls_prefetcher_config *config) {
    const unsigned workers = config->workers ? config->workers : 2;
    const unsigned depth = config->depth ? config->depth : workers + 2;
    cls_stream_config stream = CLS_STREAM_CONFIG_INIT;
    stream.name = "prefetch";
    cls_status status =
        pipeline_context(prefetcher->context, &prefetcher->context, &prefetcher->default_stream);
    if (!status)
        status =
            stream_create_owned(prefetcher->context, &stream, "a prefetcher", &prefetcher->upload);
    if (!status)
        status = open_slots(prefetcher, depth);
    if (status) {
        free_pinned(prefetcher);
        return status;
    }
    status = loaders_start(&prefetcher->loaders, workers);
    if (status)
        return status;
    prefetcher->end = config->end;
    loaders_go(&prefetcher->loaders);
    return CLS_SUCCESS;
}

static cls_status check_config(const cls_prefetcher_config *config) {
    if (config->workers > CLS_PREFETCHER_MAX_WORKERS)
        return error_set(CLS_ERROR_INVALID_VALUE, "a prefetcher has at most %d workers, not %u",
                         CLS_PREFETCHER_MAX_WORKERS, config->workers);
    if (config->depth > CLS_PREFETCHER_MAX_DEPTH)
        return error_set(CLS_ERROR_INVALID_VALUE, "a prefetcher's depth is at most %d, not %u",
                         CLS_PREFETCHER_MAX_DEPTH, config->depth);
    return CLS_SUCCESS;
}

cls_status cls_prefetcher_create(cls_context context, size_t capacity, cls_load_fn load, void *arg,
                                 const cls_prefetcher_config *given, cls_prefetcher *out) {
    cls_prefetcher_config config = CLS_PREFETCHER_CONFIG_INIT;
    if (!out || !load || !capacity)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_prefetcher_create: %s",
                         !out    ? "out is null"
                         : !load ? "load is null"
                                 : "0 bytes");
    cls_status status = SIZED_IN(cls_prefetcher_config, &config, given);
    if (!status)
        status = check_config(&config);
    if (!status)
        status = process_enter();
    struct prefetcher *prefetcher = status ? NULL : object_create(&prefetcher_pool);
    if (status)
        return status;
    if (!prefetcher || !loaders_init(&prefetcher->loaders, &loader_type)) {
        if (prefetcher)
            object_abandon(&prefetcher->loaders.object);
        return object_none(&prefetcher_pool, "a prefetcher");
    }
    pthread_cond_init(&prefetcher->changed, NULL);
    prefetcher->context = context;
    prefetcher->capacity = capacity;
    prefetcher->load = load;
    prefetcher->arg = arg;
    status = start(prefetcher, &config);
    if (status)
        return prefetcher_put(prefetcher, status);
    *out = object_handle(&prefetcher->loaders.object);
    return CLS_SUCCESS;
}

static void stop(struct prefetcher *prefetcher) {
    pthread_mutex_lock(&prefetcher->loaders.lock);
    prefetcher->ended = prefetcher->stopped = true;
    pthread_cond_broadcast(&prefetcher->changed);
    pthread_mutex_unlock(&prefetcher->loaders.lock);
}

cls_status cls_prefetcher_destroy(cls_prefetcher handle) {
    struct prefetcher *prefetcher = object_acquire(&prefetcher_pool, handle);
    if (!prefetcher)
        return object_invalid(&prefetcher_pool, handle);
    const bool mine = object_destroy(&prefetcher_pool, handle);
    if (mine) {
        stop(prefetcher);
        loaders_quit(&prefetcher->loaders);
    }
    return prefetcher_put(prefetcher,
                          mine ? CLS_SUCCESS : object_invalid(&prefetcher_pool, handle));
}

cls_status cls_prefetcher_stop(cls_prefetcher handle) {
    struct prefetcher *prefetcher;
    cls_status status = prefetcher_get(handle, &prefetcher);
    if (status)
        return status;
    stop(prefetcher);
    return prefetcher_put(prefetcher, CLS_SUCCESS);
}

/* --- the caller's side --- */

/* Under the lock: waits until the next batch is loaded or the data has ended. */
static cls_status await_next(struct prefetcher *prefetcher, bool may_wait) {
    for (;;) {
        const struct prefetch_slot *slot = slot_of(prefetcher, prefetcher->next_out);
        if (prefetcher->stopped || (slot && slot->state == LOADED))
            return CLS_SUCCESS;
        if (!slot && !room_for(prefetcher, prefetcher->next_out))
            return error_set(CLS_ERROR_LIMIT,
                             "the caller holds all %u batches of the prefetcher (its depth): "
                             "release one before it takes batch %llu",
                             prefetcher->depth, (unsigned long long)prefetcher->next_out);
        if (prefetcher->left)
            return error_set(CLS_ERROR_SHUTDOWN, "the process is exiting");
        if (!may_wait)
            return CLS_NOT_READY;
        pthread_cond_wait(&prefetcher->changed, &prefetcher->loaders.lock);
    }
}

/* Under the lock, which is released meanwhile: an upload that has failed ends the data. */
static void check_upload(struct prefetcher *prefetcher) {
    struct prefetch_slot *slot = slot_of(prefetcher, prefetcher->next_out);
    const uint64_t index = prefetcher->next_out;
    if (prefetcher->stopped || slot->status || !slot->bytes)
        return;
    pthread_mutex_unlock(&prefetcher->loaders.lock);
    const cls_status status = cls_event_query(slot->uploaded);
    pthread_mutex_lock(&prefetcher->loaders.lock);
    if (status == CLS_SUCCESS || status == CLS_NOT_READY || slot->state != LOADED ||
        slot->index != index)
        return;
    slot->status = status;
    say(slot, cls_last_error_detail());
    prefetcher->ended = true;
}

/* Under the lock: waits until the next batch can be taken or the data has ended. Another thread may take the
 * batch while its upload is checked, so that is waited for again. */
static cls_status await_batch(struct prefetcher *prefetcher, bool may_wait) {
    cls_status status = await_next(prefetcher, may_wait);
    if (status)
        return status;
    check_upload(prefetcher);
    return await_next(prefetcher, may_wait);
}

/* Under the lock: returns the next batch. An end or an error stays, for later calls. */
static cls_status take(struct prefetcher *prefetcher, cls_stream stream, cls_prefetched *out) {
    struct prefetch_slot *slot = slot_of(prefetcher, prefetcher->next_out);
    const uint64_t index = prefetcher->next_out;
    if (prefetcher->stopped || (!slot->status && !slot->bytes)) {
        *out = (cls_prefetched){NULL, 0, index};
        return CLS_SUCCESS;
    }
    if (slot->status)
        return error_set(slot->status, "worker %u of the prefetcher did not load batch %llu: %s",
                         slot->worker, (unsigned long long)index,
                         *slot->message ? slot->message : cls_status_string(slot->status));
    cls_status status = cls_stream_wait_event(stream, slot->uploaded);
    if (status)
        return status;
    slot->state = TAKEN;
    prefetcher->next_out++;
    *out = (cls_prefetched){slot->buffer, slot->bytes, index};
    return CLS_SUCCESS;
}

static cls_status next(cls_prefetcher handle, cls_stream stream, cls_prefetched *out,
                       bool may_wait) {
    struct prefetcher *prefetcher;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_prefetcher_next: out is null");
    cls_status status = may_wait ? pipeline_may_block() : CLS_SUCCESS;
    if (!status)
        status = prefetcher_get(handle, &prefetcher);
    if (status)
        return status;
    stream = stream ? stream : prefetcher->default_stream;
    status = pipeline_check_users_stream(stream, prefetcher->context, "a prefetcher");
    if (!status) {
        pthread_mutex_lock(&prefetcher->loaders.lock);
        status = await_batch(prefetcher, may_wait);
        if (!status)
            status = take(prefetcher, stream, out);
        pthread_mutex_unlock(&prefetcher->loaders.lock);
    }
    return prefetcher_put(prefetcher, status);
}

cls_status cls_prefetcher_next(cls_prefetcher prefetcher, cls_stream stream, cls_prefetched *out) {
    return next(prefetcher, stream, out, true);
}

cls_status cls_prefetcher_try_next(cls_prefetcher prefetcher, cls_stream stream,
                                   cls_prefetched *out) {
    return next(prefetcher, stream, out, false);
}

/* Under the lock. */
static cls_status release(struct prefetcher *prefetcher, const cls_prefetched *batch,
                          cls_stream stream) {
    struct prefetch_slot *slot = slot_of(prefetcher, batch->index);
    if (!slot || slot->state != TAKEN || slot->buffer != batch->buffer)
        return error_set(CLS_ERROR_INVALID_STATE, "batch %llu is not the caller's",
                         (unsigned long long)batch->index);
    cls_status status = cls_event_record(slot->released, stream);
    if (status)
        return status;
    slot->state = EMPTY;
    loaders_wake(&prefetcher->loaders);
    return CLS_SUCCESS;
}

cls_status cls_prefetcher_release(cls_prefetcher handle, const cls_prefetched *batch,
                                  cls_stream stream) {
    struct prefetcher *prefetcher;
    if (!batch)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_prefetcher_release: batch is null");
    cls_status status = prefetcher_get(handle, &prefetcher);
    if (status)
        return status;
    stream = stream ? stream : prefetcher->default_stream;
    status = pipeline_check_users_stream(stream, prefetcher->context, "a prefetcher");
    if (!status) {
        blocking_lock(&prefetcher->loaders.lock);
        status = blocking_unlock(&prefetcher->loaders.lock, release(prefetcher, batch, stream));
    }
    return prefetcher_put(prefetcher, status);
}
