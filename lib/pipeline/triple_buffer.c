/* SPDX-License-Identifier: MIT */
/*
 * Triple buffers: rings of slots that pass through the stages upload, process, download and advance. Each
 * stage counts the slots that it has taken: slot `taken % slots` is its next one, and it may take what the
 * stage before it has taken. The state of a slot follows from the counts. A slot has one event, which each
 * stage records behind its work; recording it again does not disturb waits already made.
 */
#include <clstream/triple_buffer.h>

#include <pthread.h>

#include <clstream/buffer.h>
#include <clstream/context.h>
#include <clstream/event.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "base/handle.h"
#include "base/process.h"
#include "base/sized.h"
#include "pipeline/internals.h"
#include "pipeline/pipeline.h"

/* The first three are the kinds of an async coordinator's operations. */
enum ring_stage {
    UPLOAD = CLS_OP_UPLOAD,
    PROCESS = CLS_OP_COMPUTE,
    DOWNLOAD = CLS_OP_DOWNLOAD,
    ADVANCE,
    STAGES
};

struct slot {
    cls_buffer buffer;
    cls_event event;   /* behind the work of the last stage that submitted some */
    cls_stream stream; /* of the stage that holds it */
    struct stream
        *unrecorded; /* the same, retained, until the event is recorded behind the holder's work */
    unsigned
        submitting; /* operations of async coordinators that have taken it and still submit work */
    pthread_t holder;
    bool submitted; /* the event is recorded behind the holder's work */
    bool refused;   /* the holder's work was not submitted completely: unusable until the reset */
    bool closed;    /* its round is closed, and waits for an earlier one */
};

struct ring {
    struct object object;
    cls_context context;
    cls_stream default_stream;
    size_t bytes;
    unsigned n_slots;
    bool async_reuse;
    pthread_mutex_t lock;    /* guards what follows */
    pthread_cond_t released; /* an operation has submitted its work */
    unsigned resetting;      /* resets in progress: no slot can be taken */
    uint64_t resets;         /* resets done: the counts began anew */
    uint64_t taken[STAGES];
    struct slot slots[CLS_TRIPLE_BUFFER_MAX_SLOTS];
};

static void ring_finalize(struct object *object) {
    struct ring *ring = (struct ring *)(void *)object;
    for (unsigned i = 0; i < ring->n_slots; i++) {
        if (ring->slots[i].buffer)
            buffer_destroy_owned(ring->slots[i].buffer);
        if (ring->slots[i].event)
            cls_event_destroy(ring->slots[i].event);
        if (ring->slots[i].unrecorded)
            stream_put(ring->slots[i].unrecorded);
    }
    pthread_cond_destroy(&ring->released);
    pthread_mutex_destroy(&ring->lock);
}

static struct object_pool ring_pool =
    OBJECT_POOL(16, sizeof(struct ring), "triple buffer", ring_finalize);

static cls_status ring_get(cls_triple_buffer handle, struct ring **out) {
    struct ring *ring = object_acquire(&ring_pool, handle);
    size_t bytes;
    if (!ring)
        return object_invalid(&ring_pool, handle);
    cls_status status = cls_buffer_get_size(ring->slots[0].buffer, &bytes);
    if (status)
        object_release(&ring->object);
    else
        *out = ring;
    return status;
}

static cls_status ring_put(struct ring *ring, cls_status status) {
    object_release(&ring->object);
    return status;
}

/* --- life --- */

static cls_status fill_slots(struct ring *ring, unsigned n_slots) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < n_slots && !status; i++) {
        ring->n_slots = i + 1;
        status = buffer_create_owned(ring->context, ring->bytes, "a triple buffer",
                                     &ring->slots[i].buffer);
        if (!status)
            status = pipeline_event(ring->context, NULL, "a triple buffer", &ring->slots[i].event);
    }
    return status;
}

static cls_status ring_new(cls_context context, size_t bytes,
                           const cls_triple_buffer_config *config, cls_triple_buffer *out) {
    cls_status status = process_enter();
    if (status)
        return status;
    struct ring *ring = object_create(&ring_pool);
    if (!ring || pthread_mutex_init(&ring->lock, NULL)) {
        if (ring)
            object_abandon(&ring->object);
        return object_none(&ring_pool, "a triple buffer");
    }
    pthread_cond_init(&ring->released, NULL);
    ring->context = context;
    ring->bytes = bytes;
    ring->async_reuse = config->async_reuse != 0;
    status = pipeline_context(context, &ring->context, &ring->default_stream);
    if (!status)
        status = fill_slots(ring, config->slots ? config->slots : 3);
    if (status) {
        object_release(&ring->object);
        return status;
    }
    *out = object_handle(&ring->object);
    return CLS_SUCCESS;
}

cls_status cls_triple_buffer_create(cls_context context, size_t bytes,
                                    const cls_triple_buffer_config *given, cls_triple_buffer *out) {
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    if (!out || !bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_triple_buffer_create: %s",
                         out ? "slots of 0 bytes" : "out is null");
    cls_status status = SIZED_IN(cls_triple_buffer_config, &config, given);
    if (!status && config.slots > CLS_TRIPLE_BUFFER_MAX_SLOTS)
        status = error_set(CLS_ERROR_INVALID_VALUE, "a triple buffer has at most %d slots, not %u",
                           CLS_TRIPLE_BUFFER_MAX_SLOTS, config.slots);
    return status ? status : ring_new(context, bytes, &config, out);
}

cls_status cls_triple_buffer_destroy(cls_triple_buffer handle) {
    return object_destroy(&ring_pool, handle) ? CLS_SUCCESS : object_invalid(&ring_pool, handle);
}

/* --- moves, under the lock --- */

static struct slot *next_of(struct ring *ring, enum ring_stage stage) {
    return &ring->slots[ring->taken[stage] % ring->n_slots];
}

static bool is_there(const struct ring *ring, enum ring_stage stage) {
    if (ring->resetting)
        return false;
    if (stage == UPLOAD)
        return ring->taken[UPLOAD] - ring->taken[ADVANCE] < ring->n_slots;
    return ring->taken[stage] < ring->taken[stage - 1];
}

static struct stream *take_unrecorded(struct slot *slot) {
    struct stream *stream = slot->unrecorded;
    slot->unrecorded = NULL;
    return stream;
}

static void forget_unrecorded(struct slot *slot) {
    struct stream *stream = take_unrecorded(slot);
    if (stream)
        stream_put(stream);
}

static cls_status submit(struct slot *slot) {
    cls_status status = cls_event_record(slot->event, slot->stream);
    slot->submitted = !status;
    if (!status)
        forget_unrecorded(slot);
    return status;
}

/* CLS_SUCCESS where the holder's work is submitted. The holder's own thread need not have called submitted. */
static cls_status check_submitted(const struct ring *ring, struct slot *slot) {
    const unsigned index = (unsigned)(slot - ring->slots);
    if (slot->refused)
        return error_set(
            CLS_ERROR_INVALID_STATE,
            "work of an async coordinator on slot %u of the triple buffer was refused: "
            "the slot is unusable until cls_triple_buffer_reset",
            index);
    if (slot->submitted)
        return CLS_SUCCESS;
    return pthread_equal(slot->holder, pthread_self()) ? submit(slot) : CLS_NOT_READY;
}

static cls_status take(struct ring *ring, enum ring_stage stage, cls_stream stream, cls_slot *out) {
    struct slot *slot = next_of(ring, stage);
    struct stream *holder;
    if (!is_there(ring, stage))
        return CLS_NOT_READY;
    cls_status status = stage == UPLOAD ? CLS_SUCCESS : check_submitted(ring, slot);
    if (!status)
        status = cls_stream_wait_event(stream, slot->event);
    if (!status)
        status = stream_get(stream, NULL, &holder);
    if (status)
        return status;
    forget_unrecorded(slot);
    slot->unrecorded = holder;
    slot->stream = stream;
    slot->holder = pthread_self();
    slot->submitted = false;
    *out = (cls_slot){slot->buffer, (unsigned)(slot - ring->slots), ring->taken[stage]};
    ring->taken[stage]++;
    return CLS_SUCCESS;
}

/* Closes a round that is being downloaded. Slots become free in order: this one once those before it are. */
static cls_status close_round(struct ring *ring, uint64_t round) {
    struct slot *slot = &ring->slots[round % ring->n_slots];
    cls_status status = check_submitted(ring, slot);
    slot->closed = !status;
    while (is_there(ring, ADVANCE) && next_of(ring, ADVANCE)->closed) {
        next_of(ring, ADVANCE)->closed = false;
        ring->taken[ADVANCE]++;
    }
    return status;
}

static cls_status advance(struct ring *ring) {
    return is_there(ring, ADVANCE) ? close_round(ring, ring->taken[ADVANCE]) : CLS_NOT_READY;
}

/* Waits until the device is done with the next slot to upload to, and leaves the ring locked on success.
 * Another thread may take that slot meanwhile; then the next one is waited for. */
static cls_status enter_free(struct ring *ring) {
    blocking_lock(&ring->lock);
    while (is_there(ring, UPLOAD)) {
        const uint64_t round = ring->taken[UPLOAD];
        const cls_event event = next_of(ring, UPLOAD)->event;
        blocking_unlock(&ring->lock, CLS_SUCCESS);
        const cls_status status = cls_event_synchronize(event);
        blocking_lock(&ring->lock);
        if (round != ring->taken[UPLOAD] || event != next_of(ring, UPLOAD)->event)
            continue;
        return status ? blocking_unlock(&ring->lock, status) : CLS_SUCCESS;
    }
    return blocking_unlock(&ring->lock, CLS_NOT_READY);
}

static cls_status enter(struct ring *ring, bool waits) {
    if (waits)
        return enter_free(ring);
    blocking_lock(&ring->lock);
    return CLS_SUCCESS;
}

/* `operation`: for an async coordinator, which has waited for the slot, and will say when its work is submitted. */
static cls_status take_held(cls_triple_buffer handle, enum ring_stage stage, bool operation,
                            cls_stream stream, struct held_slot *out) {
    struct ring *ring;
    cls_status status = ring_get(handle, &ring);
    if (status)
        return status;
    stream = stream ? stream : ring->default_stream;
    status = pipeline_check_users_stream(stream, ring->context, "a triple buffer");
    if (!status)
        status = enter(ring, stage == UPLOAD && !operation && !ring->async_reuse);
    if (status)
        return ring_put(ring, status);
    out->resets = ring->resets;
    status = take(ring, stage, stream, &out->slot);
    if (!status && operation) {
        ring->slots[out->slot.index].submitting++;
        object_retain(&ring->object);
        out->ring = ring;
    }
    return ring_put(ring, blocking_unlock(&ring->lock, status));
}

static cls_status take_slot(cls_triple_buffer ring, enum ring_stage stage, cls_stream stream,
                            cls_slot *out) {
    struct held_slot held;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_triple_buffer_*_slot: out is null");
    const cls_status status = take_held(ring, stage, false, stream, &held);
    if (!status)
        *out = held.slot;
    return status;
}

cls_status cls_triple_buffer_upload_slot(cls_triple_buffer ring, cls_stream stream, cls_slot *out) {
    return take_slot(ring, UPLOAD, stream, out);
}

cls_status ring_take(cls_triple_buffer ring, cls_op_kind kind, cls_stream stream,
                     struct held_slot *out) {
    out->kind = kind;
    return take_held(ring, (enum ring_stage)kind, true, stream, out);
}

cls_status ring_await_upload(cls_triple_buffer handle) {
    struct ring *ring;
    cls_status status = ring_get(handle, &ring);
    if (status)
        return status;
    if (!ring->async_reuse) {
        status = enter_free(ring);
        if (!status)
            status = blocking_unlock(&ring->lock, CLS_SUCCESS);
    }
    return ring_put(ring, status == CLS_NOT_READY ? CLS_SUCCESS : status);
}

cls_status cls_triple_buffer_process_slot(cls_triple_buffer ring, cls_stream stream,
                                          cls_slot *out) {
    return take_slot(ring, PROCESS, stream, out);
}

cls_status cls_triple_buffer_download_slot(cls_triple_buffer ring, cls_stream stream,
                                           cls_slot *out) {
    return take_slot(ring, DOWNLOAD, stream, out);
}

cls_status cls_triple_buffer_advance(cls_triple_buffer handle) {
    struct ring *ring;
    cls_status status = ring_get(handle, &ring);
    if (status)
        return status;
    blocking_lock(&ring->lock);
    return ring_put(ring, blocking_unlock(&ring->lock, advance(ring)));
}

/* Whether the round for which the slot was taken is still open. */
static bool is_held(const struct ring *ring, const struct held_slot *held) {
    return !ring->resetting && held->resets == ring->resets &&
           held->slot.round >= ring->taken[ADVANCE];
}

/* Marks the operation's work as submitted. Once a later stage has taken the slot, its event belongs to that
 * stage. */
static cls_status finish_stage(struct ring *ring, const struct held_slot *held) {
    struct slot *slot = &ring->slots[held->slot.index];
    if (!is_held(ring, held))
        return error_set(
            CLS_ERROR_INVALID_STATE,
            "the triple buffer was reset meanwhile: work on its slot %u was being submitted",
            held->slot.index);
    if (held->kind == CLS_OP_DOWNLOAD)
        return close_round(ring, held->slot.round);
    const bool taken_over = held->slot.round < ring->taken[held->kind + 1];
    return slot->submitted || taken_over ? CLS_SUCCESS : submit(slot);
}

/* The operation submits nothing more: unlocks the ring and drops the reference. */
static cls_status end_operation(const struct held_slot *held, cls_status status) {
    struct ring *ring = held->ring;
    ring->slots[held->slot.index].submitting--;
    pthread_cond_broadcast(&ring->released);
    return ring_put(ring, blocking_unlock(&ring->lock, status));
}

cls_status ring_submitted(const struct held_slot *held) {
    struct ring *ring = held->ring;
    blocking_lock(&ring->lock);
    const cls_status status = finish_stage(ring, held);
    return status ? blocking_unlock(&ring->lock, status) : end_operation(held, CLS_SUCCESS);
}

void ring_refuse(const struct held_slot *held) {
    struct ring *ring = held->ring;
    blocking_lock(&ring->lock);
    if (is_held(ring, held))
        ring->slots[held->slot.index].refused = true;
    end_operation(held, CLS_SUCCESS);
}

void ring_close_only(cls_triple_buffer handle, cls_stream compute, cls_stream download) {
    struct ring *ring;
    cls_slot slot;
    if (ring_get(handle, &ring))
        return;
    blocking_lock(&ring->lock);
    for (unsigned i = 0; i < ring->n_slots; i++)
        ring->slots[i].refused = false;
    take(ring, PROCESS, compute, &slot);
    take(ring, DOWNLOAD, download, &slot);
    advance(ring);
    ring_put(ring, blocking_unlock(&ring->lock, CLS_SUCCESS));
}

/* --- states --- */

/* Under the lock: the state is that of the last stage that has taken the slot's round. */
static cls_slot_state state_of(const struct ring *ring, unsigned index) {
    for (uint64_t round = ring->taken[ADVANCE]; round < ring->taken[UPLOAD]; round++) {
        if (round % ring->n_slots != index)
            continue;
        return round < ring->taken[DOWNLOAD]  ? CLS_SLOT_DOWNLOADING
               : round < ring->taken[PROCESS] ? CLS_SLOT_PROCESSING
                                              : CLS_SLOT_UPLOADING;
    }
    return CLS_SLOT_FREE;
}

cls_status cls_triple_buffer_submitted(cls_triple_buffer handle, unsigned index) {
    struct ring *ring;
    cls_status status = ring_get(handle, &ring);
    if (status)
        return status;
    if (index >= ring->n_slots)
        return ring_put(ring,
                        error_set(CLS_ERROR_INVALID_VALUE, "no slot %u; the triple buffer has %u",
                                  index, ring->n_slots));
    blocking_lock(&ring->lock);
    if (state_of(ring, index) == CLS_SLOT_FREE)
        status = error_set(CLS_ERROR_INVALID_STATE,
                           "slot %u of the triple buffer is free: no stage holds it", index);
    else if (!ring->slots[index].submitted)
        status = submit(&ring->slots[index]);
    return ring_put(ring, blocking_unlock(&ring->lock, status));
}

cls_status cls_triple_buffer_get_states(cls_triple_buffer handle, cls_slot_state *states,
                                        unsigned capacity) {
    struct ring *ring;
    cls_status status = ring_get(handle, &ring);
    if (status)
        return status;
    if (!states || capacity < ring->n_slots)
        return ring_put(ring,
                        error_set(CLS_ERROR_INVALID_VALUE,
                                  "states is null, or %u slots do not fit in a capacity of %u",
                                  ring->n_slots, capacity));
    pthread_mutex_lock(&ring->lock);
    for (unsigned i = 0; i < ring->n_slots; i++)
        states[i] = state_of(ring, i);
    pthread_mutex_unlock(&ring->lock);
    return ring_put(ring, CLS_SUCCESS);
}

cls_status cls_triple_buffer_get_size(cls_triple_buffer handle, size_t *bytes) {
    struct ring *ring;
    if (!bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_triple_buffer_get_size: bytes is null");
    cls_status status = ring_get(handle, &ring);
    if (status)
        return status;
    *bytes = ring->bytes;
    return ring_put(ring, CLS_SUCCESS);
}

cls_status cls_triple_buffer_get_slots(cls_triple_buffer handle, unsigned *slots) {
    struct ring *ring;
    if (!slots)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_triple_buffer_get_slots: slots is null");
    cls_status status = ring_get(handle, &ring);
    if (status)
        return status;
    *slots = ring->n_slots;
    return ring_put(ring, CLS_SUCCESS);
}

/* --- reset --- */

/* Under the lock, which is released meanwhile: waits for operations that still submit work on the slot. Within one of
 * them, the calling thread's own is not waited for. */
static void await_operations(struct ring *ring, const struct slot *slot) {
    while (slot->submitting && !pthread_equal(slot->holder, pthread_self()))
        pthread_cond_wait(&ring->released, &ring->lock);
}

/* Waits for the work of a stream that holds a slot, whether it succeeds or not, and drops the reference. What is captured of
 * it is no work. */
static void drain(struct stream *stream) {
    uint64_t position;
    if (!stream)
        return;
    const cls_status marked =
        stream_mark_to_wait(stream, MARK_TO_ASK | MARK_BESIDE, &position, WAIT_FOREVER);
    if (marked && marked != CLS_NOT_READY)
        position = stream_newest(stream);
    stream_wait(stream, position, WAIT_FOREVER);
    stream_put(stream);
}

/* Waits for a slot's work, whether it succeeds or not, and gives the slot a new event. */
static cls_status clear(struct ring *ring, unsigned index) {
    cls_event fresh, old;
    cls_status status = pipeline_event(ring->context, NULL, "a triple buffer", &fresh);
    if (status)
        return status;
    blocking_lock(&ring->lock);
    struct slot *slot = &ring->slots[index];
    await_operations(ring, slot);
    struct stream *unrecorded = take_unrecorded(slot);
    old = slot->event;
    slot->event = fresh;
    slot->submitted = true;
    slot->refused = slot->closed = false;
    blocking_unlock(&ring->lock, CLS_SUCCESS);
    drain(unrecorded);
    status = cls_event_synchronize(old);
    cls_event_destroy(old);
    return status == CLS_ERROR_CONTEXT_DESTROYED || status == CLS_ERROR_CONTEXT_LOST ? status
                                                                                     : CLS_SUCCESS;
}

static void begin_reset(struct ring *ring) {
    pthread_mutex_lock(&ring->lock);
    ring->resetting++;
    pthread_mutex_unlock(&ring->lock);
}

static void end_reset(struct ring *ring, bool all_free) {
    pthread_mutex_lock(&ring->lock);
    for (int stage = 0; stage < STAGES && all_free; stage++)
        ring->taken[stage] = 0;
    ring->resets += all_free;
    ring->resetting--;
    pthread_mutex_unlock(&ring->lock);
}

cls_status cls_triple_buffer_reset(cls_triple_buffer handle) {
    struct ring *ring;
    cls_status status = pipeline_may_block();
    if (!status)
        status = ring_get(handle, &ring);
    if (status)
        return status;
    begin_reset(ring);
    for (unsigned i = 0; i < ring->n_slots && !status; i++)
        status = clear(ring, i);
    end_reset(ring, !status);
    return ring_put(ring, status);
}
