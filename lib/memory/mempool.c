/* SPDX-License-Identifier: MIT */
/* Memory pools: creation, the pools of a context, options, trimming and destruction. */
#include "memory/mempool.h"

#include "base/error.h"
#include "base/sized.h"
#include "memory/magazine.h"
#include "memory/pinned_pool.h"
#include "memory/share.h"
#include "stream/context.h"
#include "system/conditions.h"

/* Slots start at multiples of this many bytes, or of the device's base alignment where that is more. */
enum { LEAST_UNIT = 256 };

static const cls_mempool_config default_config = CLS_MEMPOOL_CONFIG_INIT;

static void mempool_finalize(struct object *object) {
    struct mempool *pool = (struct mempool *)(void *)object;
    pthread_cond_destroy(&pool->left);
    pthread_mutex_destroy(&pool->lock);
    context_put(pool->context);
}

struct object_pool mempool_objects =
    OBJECT_POOL(13, sizeof(struct mempool), "memory pool", mempool_finalize);

cls_status mempool_get(cls_mempool handle, struct mempool **out) {
    struct mempool *pool = object_acquire(&mempool_objects, handle);
    if (!pool)
        return object_invalid(&mempool_objects, handle);
    cls_status status = context_check(pool->context);
    if (status)
        mempool_put(pool);
    else
        *out = pool;
    return status;
}

/* --- creation --- */

static unsigned unit_shift_of(const struct device *device) {
    unsigned shift = 0;
    size_t least = device->info.base_align > LEAST_UNIT ? device->info.base_align : LEAST_UNIT;
    while (((size_t)1 << shift) < least)
        shift++;
    return shift;
}

static void set_config(struct mempool *pool, const cls_mempool_config *config) {
    atomic_store(&pool->release_threshold, config->release_threshold);
    atomic_store(&pool->max_bytes, config->max_bytes);
    atomic_store(&pool->reuse, (unsigned)config->reuse);
}

static cls_status read_config(const cls_mempool_config *given, cls_mempool_config *config) {
    *config = default_config;
    cls_status status = SIZED_IN(cls_mempool_config, config, given);
    if (!status && (unsigned)config->reuse & ~(unsigned)CLS_REUSE_ALL)
        status = error_set(CLS_ERROR_INVALID_VALUE, "%d is no combination of cls_reuse",
                           (int)config->reuse);
    return status;
}

static bool make_lock(struct mempool *pool) {
    if (pthread_mutex_init(&pool->lock, NULL))
        return false;
    if (condition_init(&pool->left))
        return true;
    pthread_mutex_destroy(&pool->lock);
    return false;
}

static cls_status mempool_new(struct context *context, const cls_mempool_config *config,
                              struct mempool **out) {
    struct mempool *pool = object_create(&mempool_objects);
    if (!pool || !make_lock(pool)) {
        if (pool)
            object_abandon(&pool->object);
        return object_none(&mempool_objects, "a memory pool");
    }
    object_retain(&context->object);
    pool->context = context;
    pool->unit_shift = unit_shift_of(context->device);
    pool->is_shareable = config->shareable;
    set_config(pool, config);
    *out = pool;
    return CLS_SUCCESS;
}

cls_status cls_mempool_create(cls_context handle, const cls_mempool_config *given,
                              cls_mempool *out) {
    cls_mempool_config config;
    struct context *context;
    struct mempool *pool;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_mempool_create: out is null");
    cls_status status = read_config(given, &config);
    if (!status)
        status = context_get(handle, &context);
    if (status)
        return status;
    if (config.shareable)
        status = share_check(context);
    if (!status)
        status = mempool_new(context, &config, &pool);
    if (!status)
        *out = object_handle(&pool->object);
    context_put(context);
    return status;
}

/* --- the context's pools --- */

cls_status context_share_default_mempool(struct context *context) {
    cls_status status = share_check(context);
    if (!status)
        context->has_shareable_pool = true;
    return status;
}

static cls_status default_mempool_new(struct context *context, struct mempool **out) {
    cls_mempool_config config = default_config;
    config.shareable = context->has_shareable_pool;
    return mempool_new(context, &config, out);
}

cls_status context_default_mempool(struct context *context, struct mempool **out) {
    struct mempool *made = NULL;
    pthread_mutex_lock(&context->lock);
    bool have = context->default_mempool != NULL;
    pthread_mutex_unlock(&context->lock);
    cls_status status = have ? CLS_SUCCESS : default_mempool_new(context, &made);
    if (status)
        return status;
    pthread_mutex_lock(&context->lock);
    if (made && !context->default_mempool && !atomic_load(&context->closed)) {
        made->is_default = true;
        context->default_mempool = made;
        made = NULL;
    }
    struct mempool *pool = context->default_mempool;
    if (pool)
        object_retain(&pool->object);
    pthread_mutex_unlock(&context->lock);
    if (made)
        mempool_put(made);
    if (!pool)
        return context_check(context);
    *out = pool;
    return CLS_SUCCESS;
}

/* Under the context's lock: puts the pool, which may be NULL: the default one when it is needed, in the current one's
 * place. What comes back is a reference to be put without the lock, or NULL: the one before it, or the pool itself
 * where it or the context is being destroyed, as it must not stay here then. */
static struct mempool *exchange_current(struct context *context, struct mempool *pool) {
    const bool gone = pool && (atomic_load(&context->closed) || atomic_load(&pool->closed));
    return gone ? pool : atomic_exchange(&context->mempool, pool);
}

/* Takes over a reference to `pool`. False where it is not current then. */
static bool set_current(struct context *context, struct mempool *pool) {
    pthread_mutex_lock(&context->lock);
    struct mempool *old = exchange_current(context, pool);
    const bool set = atomic_load(&context->mempool) == pool;
    pthread_mutex_unlock(&context->lock);
    if (old)
        mempool_put(old);
    return set;
}

/* The same in the place of `before` only: others may have set another one meanwhile. */
static void replace_current(struct context *context, struct mempool *before, struct mempool *pool) {
    pthread_mutex_lock(&context->lock);
    const bool same = atomic_load(&context->mempool) == before;
    struct mempool *old = same ? exchange_current(context, pool) : pool;
    pthread_mutex_unlock(&context->lock);
    if (old)
        mempool_put(old);
}

cls_status context_mempool(struct context *context, struct mempool **out) {
    pthread_mutex_lock(&context->lock);
    struct mempool *pool = atomic_load(&context->mempool);
    if (pool)
        object_retain(&pool->object);
    pthread_mutex_unlock(&context->lock);
    cls_status status = pool ? CLS_SUCCESS : context_default_mempool(context, &pool);
    if (status)
        return status;
    if (pool->is_default && !atomic_load(&context->mempool)) {
        object_retain(&pool->object);
        replace_current(context, NULL, pool);
    }
    *out = pool;
    return CLS_SUCCESS;
}

/* Unused memory is returned at once, the rest when it is freed and its work is known to be done. */
static void close_pool(struct mempool *pool) {
    atomic_store(&pool->closed, true);
    pool_trim(pool, 0);
}

void context_close_mempools(struct context *context) {
    set_current(context, NULL);
    pthread_mutex_lock(&context->lock);
    struct mempool *pool = context->default_mempool;
    context->default_mempool = NULL;
    pthread_mutex_unlock(&context->lock);
    if (!pool)
        return;
    object_retain(&pool->object);
    object_destroy(&mempool_objects, object_handle(&pool->object));
    close_pool(pool);
    mempool_put(pool);
}

bool context_trim_mempools(struct context *context) {
    bool any = pinned_trim(context, 0);
    struct mempool *pools[2] = {NULL, NULL};
    pthread_mutex_lock(&context->lock);
    pools[0] = context->default_mempool;
    pools[1] = atomic_load(&context->mempool);
    for (int i = 0; i < 2; i++)
        if (pools[i])
            object_retain(&pools[i]->object);
    pthread_mutex_unlock(&context->lock);
    for (int i = 0; i < 2; i++)
        if (pools[i]) {
            any = pool_trim(pools[i], 0) || any;
            mempool_put(pools[i]);
        }
    return any;
}

cls_status cls_mempool_destroy(cls_mempool handle) {
    struct mempool *pool = object_acquire(&mempool_objects, handle);
    if (!pool)
        return object_invalid(&mempool_objects, handle);
    cls_status status = CLS_SUCCESS;
    if (pool->is_default) {
        status = error_set(CLS_ERROR_INVALID_VALUE,
                           "a default pool belongs to its context and cannot be destroyed");
    } else if (object_destroy(&mempool_objects, handle)) {
        atomic_store(&pool->closed, true); /* from here on it is set nowhere */
        replace_current(pool->context, pool, NULL);
        close_pool(pool);
    } else {
        status = object_invalid(&mempool_objects, handle);
    }
    mempool_put(pool);
    return status;
}

/* The handle of one of a context's pools. */
static cls_status give_pool(const char *call, cls_context handle,
                            cls_status (*find)(struct context *, struct mempool **),
                            cls_mempool *out) {
    struct context *context;
    struct mempool *pool;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: out is null", call);
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = find(context, &pool);
    if (!status) {
        *out = object_handle(&pool->object);
        mempool_put(pool);
    }
    context_put(context);
    return status;
}

cls_status cls_mempool_default(cls_context handle, cls_mempool *out) {
    return give_pool(__func__, handle, context_default_mempool, out);
}

cls_status cls_context_set_mempool(cls_context handle, cls_mempool pool_handle) {
    struct context *context;
    struct mempool *pool = NULL;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status =
        pool_handle ? mempool_get(pool_handle, &pool) : context_default_mempool(context, &pool);
    if (!status && pool->context != context) {
        status = error_set(CLS_ERROR_WRONG_CONTEXT, "the pool is of another context");
        mempool_put(pool);
    }
    if (!status && !set_current(context, pool)) {
        status = context_check(context);
        if (!status)
            status = object_invalid(&mempool_objects, pool_handle);
    }
    context_put(context);
    return status;
}

cls_status cls_context_get_mempool(cls_context handle, cls_mempool *out) {
    return give_pool(__func__, handle, context_mempool, out);
}

/* --- options --- */

cls_status cls_mempool_get_config(cls_mempool handle, cls_mempool_config *config) {
    cls_mempool_config now = CLS_MEMPOOL_CONFIG_INIT;
    struct mempool *pool;
    cls_status status = SIZED_CHECK(cls_mempool_config, config);
    if (!status)
        status = mempool_get(handle, &pool);
    if (status)
        return status;
    now.release_threshold = atomic_load(&pool->release_threshold);
    now.max_bytes = atomic_load(&pool->max_bytes);
    now.reuse = (cls_reuse)atomic_load(&pool->reuse);
    now.shareable = pool->is_shareable;
    SIZED_OUT(cls_mempool_config, config, &now);
    mempool_put(pool);
    return CLS_SUCCESS;
}

cls_status cls_mempool_set_config(cls_mempool handle, const cls_mempool_config *given) {
    cls_mempool_config config;
    struct mempool *pool;
    cls_status status = read_config(given, &config);
    if (!status)
        status = mempool_get(handle, &pool);
    if (status)
        return status;
    set_config(pool, &config);
    mempool_put(pool);
    return CLS_SUCCESS;
}

cls_status cls_mempool_trim(cls_mempool handle, size_t keep) {
    struct mempool *pool;
    cls_status status = mempool_get(handle, &pool);
    if (status)
        return status;
    pool_trim(pool, keep);
    mempool_put(pool);
    return CLS_SUCCESS;
}
