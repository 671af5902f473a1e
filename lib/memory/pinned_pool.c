/* SPDX-License-Identifier: MIT */
#include "memory/pinned_pool.h"

#include <stdlib.h>

#include <clstream/buffer.h>
#include <utlist.h>

#include "base/error.h"
#include "base/size_class.h"
#include "driver/memory.h"
#include "stream/context.h"
#include "system/pages.h"

enum { UNIT_SHIFT = 12 };

/* One piece of memory, as large as its size class or larger. */
struct kept {
    struct pinned pinned;
    size_t bytes; /* of the size class */
    unsigned size_class;
    struct kept *next, *prev;   /* all that is kept, by age */
    struct kept *older, *newer; /* of the class */
};

struct pinned_pool {
    size_t bytes;
    struct kept *oldest;               /* the head of the list by age */
    struct kept *newest[SIZE_CLASSES]; /* the heads of the classes' lists */
};

static cls_status create(struct context *context, size_t bytes, struct pinned *out) {
    cl_command_queue queue;
    cls_status status = context_host_queue(context, &queue);
    if (status)
        return status;
    return pinned_create(context->device, context->cl, queue, bytes, pages_bytes(), out);
}

void pinned_drop(struct context *context, const struct pinned *pinned) {
    cl_command_queue queue;
    if (!context_host_queue(context, &queue))
        pinned_release(context->device, queue, pinned);
}

/* Under the lock: takes a piece out; NULL stays NULL. */
static struct kept *take_out(struct pinned_pool *pool, struct kept *kept) {
    if (!kept)
        return NULL;
    DL_DELETE(pool->oldest, kept);
    DL_DELETE2(pool->newest[kept->size_class], kept, newer, older);
    pool->bytes -= kept->bytes;
    return kept;
}

static struct kept *take_class(struct context *context, unsigned size_class) {
    struct kept *kept = NULL;
    pthread_mutex_lock(&context->lock);
    if (context->pinned_pool)
        kept = take_out(context->pinned_pool, context->pinned_pool->newest[size_class]);
    pthread_mutex_unlock(&context->lock);
    return kept;
}

/* The oldest piece, while more than `keep` bytes are kept. */
static struct kept *take_oldest(struct context *context, size_t keep) {
    struct kept *kept = NULL;
    pthread_mutex_lock(&context->lock);
    struct pinned_pool *pool = context->pinned_pool;
    if (pool && pool->bytes > keep)
        kept = take_out(pool, pool->oldest);
    pthread_mutex_unlock(&context->lock);
    return kept;
}

bool pinned_trim(struct context *context, size_t keep) {
    struct kept *kept;
    bool any = false;
    while ((kept = take_oldest(context, keep)) != NULL) {
        pinned_drop(context, &kept->pinned);
        free(kept);
        any = true;
    }
    return any;
}

/* The size class of `bytes`, and that class's size as the result; 0: memory of this size is not kept. */
static size_t find_class(const struct context *context, size_t bytes, unsigned *size_class) {
    if (bytes > PINNED_KEPT)
        return 0;
    *size_class = size_class_of(bytes, UNIT_SHIFT);
    const size_t class_bytes = size_class_bytes(*size_class, UNIT_SHIFT);
    return class_bytes <= context->device->info.max_allocation ? class_bytes : 0;
}

cls_status pinned_take(struct context *context, size_t bytes, struct pinned *out) {
    unsigned size_class;
    cls_status status = CLS_SUCCESS;
    const size_t class_bytes = find_class(context, bytes, &size_class);
    const size_t room = class_bytes ? class_bytes : bytes;
    struct kept *kept = class_bytes ? take_class(context, size_class) : NULL;
    if (kept)
        *out = kept->pinned;
    else
        status = create(context, room, out);
    if (status && pinned_trim(context, 0)) /* the driver may be out of memory */
        status = create(context, room, out);
    if (!status)
        out->bytes = bytes;
    free(kept);
    return status;
}

/* Under the lock; `kept` is filled in. False: without memory, or no more memory is to be kept. */
static bool put_in(struct context *context, struct kept *kept) {
    if (!context->pinned_pool && !atomic_load(&context->closed))
        context->pinned_pool = calloc(1, sizeof *context->pinned_pool);
    struct pinned_pool *pool = context->pinned_pool;
    if (!pool || atomic_load(&context->closed))
        return false;
    DL_APPEND(pool->oldest, kept);
    DL_PREPEND2(pool->newest[kept->size_class], kept, newer, older);
    pool->bytes += kept->bytes;
    return true;
}

static bool try_to_keep(struct context *context, const struct pinned *pinned) {
    unsigned size_class;
    const size_t bytes = find_class(context, pinned->bytes, &size_class);
    struct kept *kept = bytes ? malloc(sizeof *kept) : NULL;
    if (!kept)
        return false;
    *kept = (struct kept){.pinned = *pinned, .bytes = bytes, .size_class = size_class};
    pthread_mutex_lock(&context->lock);
    const bool is_in = put_in(context, kept);
    pthread_mutex_unlock(&context->lock);
    if (!is_in)
        free(kept);
    return is_in;
}

void pinned_give(struct context *context, const struct pinned *pinned) {
    if (try_to_keep(context, pinned))
        pinned_trim(context, PINNED_KEPT);
    else
        pinned_drop(context, pinned);
}

void pinned_pool_end(struct context *context) {
    pinned_trim(context, 0);
    free(context->pinned_pool);
}

cls_status cls_host_trim(cls_context handle, size_t keep) {
    struct context *context;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    pinned_trim(context, keep);
    context_put(context);
    return CLS_SUCCESS;
}
