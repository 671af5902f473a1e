/* SPDX-License-Identifier: MIT */
/*
 * Pinned host memory for the caller: blocks of cls_host_alloc, their buffers, and telling whether an address lies in
 * one. Blocks are kept in one array sorted by address, since every staged copy asks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/process.h"
#include "driver/memory.h"
#include "memory/buffer.h"
#include "memory/pinned_pool.h"
#include "stream/abandoned.h"
#include "stream/context.h"
#include "stream/hooks.h"
#include "stream/later.h"
#include "stream/wait.h"
#include "stream/worker.h"

struct pinned_block {
    struct pinned pinned;
    struct context *context;  /* retained */
    size_t origin;            /* of the block in the driver's buffer */
    struct buffer *buffer;    /* of cls_host_buffer, retained; NULL: nobody has asked */
    bool librarys;            /* it belongs to an object of the library's */
    struct object_life *life; /* NULL unless lives are kept (base/life.h) */
};

static pthread_mutex_t making_buffer =
    PTHREAD_MUTEX_INITIALIZER; /* and while a block is forgotten */

static pthread_rwlock_t blocks_lock = PTHREAD_RWLOCK_INITIALIZER; /* guards what follows */
static struct pinned_block *blocks;
static size_t n_blocks, n_allocated;

/* Under the lock: the first block whose end is past `memory`. */
static size_t find(const void *memory) {
    size_t low = 0, high = n_blocks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct pinned *pinned = &blocks[middle].pinned;
        if ((uintptr_t)pinned->host + pinned->bytes <= (uintptr_t)memory)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool host_is_pinned(const void *memory, size_t bytes) {
    bool pinned = false;
    pthread_rwlock_rdlock(&blocks_lock);
    size_t i = find(memory);
    if (i < n_blocks) {
        uintptr_t start = (uintptr_t)blocks[i].pinned.host, at = (uintptr_t)memory;
        pinned = at >= start && bytes <= blocks[i].pinned.bytes - (at - start);
    }
    pthread_rwlock_unlock(&blocks_lock);
    return pinned;
}

bool host_find_block(const void *memory, struct host_block *out) {
    pthread_rwlock_rdlock(&blocks_lock);
    const size_t i = find(memory);
    const struct pinned_block *block = i < n_blocks ? &blocks[i] : NULL;
    const bool found = block && (uintptr_t)memory >= (uintptr_t)block->pinned.host;
    if (found)
        *out = (struct host_block){object_handle(&block->context->object), block->pinned.host,
                                   block->pinned.bytes};
    pthread_rwlock_unlock(&blocks_lock);
    return found;
}

bool host_find_place(const void *memory, struct memory_place *out, size_t *offset) {
    pthread_rwlock_rdlock(&blocks_lock);
    const size_t i = find(memory);
    const struct pinned_block *block = i < n_blocks ? &blocks[i] : NULL;
    const bool found = block && block->buffer && (uintptr_t)memory >= (uintptr_t)block->pinned.host;
    if (found) {
        *out = (struct memory_place){block->pinned.memory, block->origin, block->pinned.bytes};
        *offset = block->origin + ((uintptr_t)memory - (uintptr_t)block->pinned.host);
    }
    pthread_rwlock_unlock(&blocks_lock);
    return found;
}

/* Under the lock. */
static cls_status insert_pinned(const struct pinned_block *block) {
    const uintptr_t start = (uintptr_t)block->pinned.host;
    const size_t i = find(block->pinned.host);
    if (i < n_blocks && (uintptr_t)blocks[i].pinned.host - start < block->pinned.bytes)
        return error_set(CLS_ERROR_INVALID_STATE, "memory at %p is pinned already",
                         blocks[i].pinned.host);
    if (i < n_blocks && start - (uintptr_t)blocks[i].pinned.host < blocks[i].pinned.bytes)
        return error_set(CLS_ERROR_INVALID_STATE, "memory at %p is pinned already",
                         block->pinned.host);
    if (!ARRAY_ROOM(blocks, n_blocks, n_allocated, 16))
        return error_no_memory("to keep track of pinned memory");
    memmove(&blocks[i + 1], &blocks[i], (n_blocks - i) * sizeof *blocks);
    blocks[i] = *block;
    n_blocks++;
    return CLS_SUCCESS;
}

static cls_status remember(const struct pinned_block *block) {
    pthread_rwlock_wrlock(&blocks_lock);
    cls_status status = insert_pinned(block);
    pthread_rwlock_unlock(&blocks_lock);
    return status;
}

/* `adopted`: which of both kinds of memory it is. */
static bool forget(const void *memory, bool adopted, struct pinned_block *out) {
    pthread_rwlock_wrlock(&blocks_lock);
    size_t i = find(memory);
    bool found =
        i < n_blocks && blocks[i].pinned.host == memory && blocks[i].pinned.adopted == adopted;
    if (found) {
        *out = blocks[i];
        memmove(&blocks[i], &blocks[i + 1], (n_blocks - i - 1) * sizeof *blocks);
        n_blocks--;
    }
    if (found && !n_blocks) {
        free(blocks);
        blocks = NULL;
        n_allocated = 0;
    }
    pthread_rwlock_unlock(&blocks_lock);
    return found;
}

cls_status context_host_queue(struct context *context, cl_command_queue *out) {
    const struct queue_traits traits = {.out_of_order = false};
    cls_status status = CLS_SUCCESS;
    struct queue *queue = NULL;
    pthread_mutex_lock(&context->lock);
    bool have = context->host_queue != NULL;
    pthread_mutex_unlock(&context->lock);
    if (!have)
        status = queue_create_apart(context, &traits, &queue);
    if (status)
        return status;
    pthread_mutex_lock(&context->lock);
    if (!context->host_queue) {
        context->host_queue = queue;
        queue = NULL;
    }
    *out = context->host_queue->cl;
    pthread_mutex_unlock(&context->lock);
    if (queue)
        queue_unuse(context, queue);
    return CLS_SUCCESS;
}

/* On failure the memory is given back; on success it keeps the caller's reference to the context. */
static cls_status keep_track(struct context *context, const struct pinned *pinned, bool librarys) {
    const struct pinned_block block = {
        .pinned = *pinned,
        .context = context,
        .origin = (size_t)((uintptr_t)pinned->host - (uintptr_t)pinned->mapped),
        .librarys = librarys,
        .life = keeps_lives() ? life_begin() : NULL};
    cls_status status = remember(&block);
    if (status) {
        free(block.life);
        pinned_drop(context, pinned);
    }
    return status;
}

static cls_status allocate(struct context *context, size_t bytes, bool librarys, void **out) {
    struct pinned pinned;
    cls_status status = pinned_take(context, bytes, &pinned);
    if (!status)
        status = keep_track(context, &pinned, librarys);
    if (!status)
        *out = pinned.host;
    return status;
}

static cls_status alloc_for(cls_context handle, size_t bytes, bool librarys, void **out) {
    struct context *context;
    cls_status status = buffer_check_create(bytes, out, "cls_host_alloc");
    if (!status)
        status = context_get(handle, &context);
    if (status)
        return status;
    status = allocate(context, bytes, librarys, out);
    if (status) /* on success the block keeps the reference */
        context_put(context);
    return status;
}

cls_status cls_host_alloc(cls_context handle, size_t bytes, void **out) {
    return alloc_for(handle, bytes, false, out);
}

cls_status host_alloc_owned(cls_context handle, size_t bytes, void **out) {
    return alloc_for(handle, bytes, true, out);
}

void host_visit(void (*visit)(const struct pinned *pinned, const struct object_life *life)) {
    pthread_rwlock_rdlock(&blocks_lock);
    for (size_t i = 0; i < n_blocks; i++)
        if (!blocks[i].librarys)
            visit(&blocks[i].pinned, blocks[i].life);
    pthread_rwlock_unlock(&blocks_lock);
}

/* --- as a buffer --- */

bool host_is_buffer(const void *memory) {
    pthread_rwlock_rdlock(&blocks_lock);
    const size_t i = find(memory);
    const bool is =
        i < n_blocks && (uintptr_t)blocks[i].pinned.host <= (uintptr_t)memory && blocks[i].buffer;
    pthread_rwlock_unlock(&blocks_lock);
    return is;
}

/* The block that begins at `memory`. */
static cls_status look_up(const void *memory, struct pinned_block *out) {
    size_t inside = 0;
    pthread_rwlock_rdlock(&blocks_lock);
    const size_t i = find(memory);
    const bool found = i < n_blocks && (uintptr_t)blocks[i].pinned.host <= (uintptr_t)memory;
    if (found) {
        *out = blocks[i];
        inside = (uintptr_t)memory - (uintptr_t)out->pinned.host;
    }
    pthread_rwlock_unlock(&blocks_lock);
    if (found && inside)
        return error_set(
            CLS_ERROR_INVALID_VALUE,
            "%p is %zu bytes inside memory of cls_host_alloc: give its start, and use the "
            "buffer from that offset on",
            memory, inside);
    return found ? CLS_SUCCESS
                 : error_set(CLS_ERROR_INVALID_VALUE, "%p is no memory of cls_host_alloc", memory);
}

/* Under the lock of making, without which no block is freed. */
static void update(const struct pinned_block *block) {
    pthread_rwlock_wrlock(&blocks_lock);
    blocks[find(block->pinned.host)] = *block;
    pthread_rwlock_unlock(&blocks_lock);
}

/* Under the lock of making. */
static cls_status need_buffer(const void *memory, cls_buffer *out) {
    struct pinned_block block;
    cls_status status = look_up(memory, &block);
    if (!status)
        status = context_check(block.context);
    if (!status && !block.buffer) {
        status = host_buffer_new(block.context, &block.pinned, block.origin, &block.buffer);
        if (!status)
            update(&block);
    }
    if (!status)
        *out = object_handle(&block.buffer->object);
    return status;
}

cls_status cls_host_buffer(const void *memory, cls_buffer *out) {
    if (!memory || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_host_buffer: %s is null",
                         memory ? "out" : "memory");
    cls_status status = process_check();
    if (status)
        return status;
    pthread_mutex_lock(&making_buffer);
    status = need_buffer(memory, out);
    pthread_mutex_unlock(&making_buffer);
    return status;
}

/* --- freeing --- */

static bool uses_block(const struct refs *refs, const void *host, const void *arg) {
    const struct pinned_block *block = arg;
    return (host && (uintptr_t)host - (uintptr_t)block->pinned.host < block->pinned.bytes) ||
           (block->buffer && refs_use(refs, &block->buffer->object));
}

/* Copies may still be on their way from or to the block, to devices of other contexts too, and kernels may use its buffer.
 * Others are not waited for: they may be behind what only this thread is to signal. */
static void drain(const struct pinned_block *block) {
    for (struct stream *stream = stream_next(NULL); stream; stream = stream_next(stream))
        stream_await(stream, stream_last_use(stream, uses_block, block), WAIT_FOREVER);
}

static bool is_used(const struct pinned_block *block) {
    bool used = false;
    for (struct stream *stream = stream_next(NULL); stream; stream = stream_next(stream))
        used = used || stream_last_use(stream, uses_block, block);
    return used;
}

/* Memory that was a buffer is not kept: abandoned work may hold the buffer, which may have taken over the mapping. */
static void release(const struct pinned_block *block) {
    if (block->buffer)
        buffer_put(block->buffer);
    if (block->buffer || block->pinned.adopted) {
        pinned_drop(block->context, &block->pinned);
    } else {
        pinned_give(block->context, &block->pinned);
    }
    context_put(block->context);
}

static void release_later(void *block) {
    if (block)
        release(block);
    free(block);
}

/* Commands that were given up may still write to it. Without memory it stays for good. */
static bool abandon(const struct pinned_block *block) {
    struct pinned_block *kept = malloc(sizeof *kept);
    if (kept)
        *kept = *block;
    if (abandoned_defer(block->pinned.host, block->pinned.bytes, release_later, kept))
        return true;
    free(kept);
    return false;
}

/* No command uses it any more, but for such. */
static void end(const struct pinned_block *block) {
    if (race_on())
        hooks.race.forget_host(block->pinned.host, block->pinned.bytes);
    if (!abandon(block))
        release(block);
}

/* A block that a host function or callback frees, which may not wait. */
struct late_free {
    struct later later;
    struct pinned_block block;
};

static bool end_unused(struct later *later) {
    struct late_free *freed = (struct late_free *)(void *)later;
    if (is_used(&freed->block))
        return false;
    end(&freed->block);
    free(freed);
    return true;
}

static void end_later(struct late_free *freed, const struct pinned_block *block) {
    *freed = (struct late_free){.later.attempt = end_unused, .block = *block};
    if (!end_unused(&freed->later))
        later_add(&freed->later);
}

/* Takes a block out, for end; no further command is to use its buffer. */
static cls_status take_block(const void *memory, bool adopted, struct pinned_block *out) {
    pthread_mutex_lock(&making_buffer);
    const bool known = forget(memory, adopted, out);
    pthread_mutex_unlock(&making_buffer);
    if (!known)
        return error_set(CLS_ERROR_INVALID_VALUE, "%p is no memory of %s", memory,
                         adopted ? "cls_host_register" : "cls_host_alloc");
    free(out->life);
    if (out->buffer)
        buffer_destroy_owned(object_handle(&out->buffer->object));
    return CLS_SUCCESS;
}

cls_status cls_host_free(void *memory) {
    struct pinned_block block;
    if (!memory)
        return CLS_SUCCESS;
    cls_status status = process_check();
    if (status)
        return status;
    struct late_free *freed = worker_in_user_code() ? malloc(sizeof *freed) : NULL;
    if (worker_in_user_code() && !freed)
        return error_no_memory("to free pinned memory later");
    status = take_block(memory, false, &block);
    if (status) {
        free(freed);
        return status;
    }
    if (freed) {
        end_later(freed, &block);
        return CLS_SUCCESS;
    }
    drain(&block);
    end(&block);
    return CLS_SUCCESS;
}

/* --- memory of the program's --- */

static cls_status check_adoptable(const struct context *context, const void *memory, size_t bytes) {
    const struct device *device = context->device;
    cls_status status = buffer_check_most(device, bytes);
    if (status)
        return status;
    if (bytes > UINTPTR_MAX - (uintptr_t)memory)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "%zu bytes pass the end of memory", bytes);
    if ((uintptr_t)memory % device->info.base_align)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "%p is no multiple of %u bytes, the device's base alignment", memory,
                         device->info.base_align);
    if (!device->info.unified_memory)
        return error_set(CLS_ERROR_UNSUPPORTED, "%s has memory of its own", device->info.name);
    return caps_trusts(context->caps, TRUST_HOST_MEMORY) ? CLS_SUCCESS
                                                         : trust_refuse(device, TRUST_HOST_MEMORY);
}

static cls_status adopt(struct context *context, void *memory, size_t bytes) {
    cl_command_queue queue;
    struct pinned pinned;
    cls_status status = check_adoptable(context, memory, bytes);
    if (!status)
        status = context_host_queue(context, &queue);
    if (!status)
        status = pinned_adopt(context->device, context->cl, queue, memory, bytes, &pinned);
    return status ? status : keep_track(context, &pinned, false);
}

cls_status cls_host_register(cls_context handle, void *memory, size_t bytes) {
    struct context *context;
    if (!memory || !bytes)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_host_register: %s",
                         memory ? "0 bytes" : "memory is null");
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = adopt(context, memory, bytes);
    if (status) /* on success the block keeps the reference */
        context_put(context);
    return status;
}

cls_status cls_host_unregister(void *memory) {
    struct pinned_block block;
    cls_status status = process_check();
    if (!status)
        status = check_may_block();
    if (!status)
        status = take_block(memory, true, &block);
    if (status)
        return status;
    drain(&block);
    end(&block);
    return CLS_SUCCESS;
}
