/* SPDX-License-Identifier: MIT */
#include "memory/share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/error.h"
#include "base/range.h"
#include "base/sized.h"
#include "driver/share_link.h"
#include "memory/buffer.h"
#include "memory/mempool.h"
#include "stream/context.h"
#include "stream/hooks.h"

/* The memory in one cl_context. */
struct import {
    struct import *next;
    struct context *context; /* retained; any one of those on its cl_context */
    cl_mem memory;
};

struct share {
    struct share *previous, *next; /* in the list of all */
    _Atomic unsigned users;        /* buffers, and calls that make one */
    struct shareable *memory;
    struct context *context; /* that it was made in, retained: the memory counts as that one's */
    pthread_mutex_t lock;    /* guards what follows; held while a context imports the memory */
    struct import *imports;
};

/* --- the list of all --- */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows; a leaf */
static struct share *shares;

static void list(struct share *share) {
    pthread_mutex_lock(&list_lock);
    DL_PREPEND2(shares, share, previous, next);
    pthread_mutex_unlock(&list_lock);
}

static void unlist(struct share *share) {
    pthread_mutex_lock(&list_lock);
    DL_DELETE2(shares, share, previous, next);
    pthread_mutex_unlock(&list_lock);
}

/* One whose last user is gone, and which is about to leave the list, is not given out again. */
static bool try_use(struct share *share) {
    unsigned users = atomic_load(&share->users);
    while (users && !atomic_compare_exchange_weak(&share->users, &users, users + 1))
        ;
    return users;
}

/* The memory that the descriptor names, with a reference, if this process has it; or NULL. */
static struct share *find_named(int fd) {
    pthread_mutex_lock(&list_lock);
    struct share *share = shares;
    while (share && !(shareable_is(share->memory, fd) && try_use(share)))
        share = share->next;
    pthread_mutex_unlock(&list_lock);
    return share;
}

/* --- making and ending --- */

static cls_status find_link(const struct context *owner, const struct context *other,
                            const struct share_link **out) {
    return share_link_find((struct share_end){owner->device, owner->cl},
                           (struct share_end){other->device, other->cl}, out);
}

/* The link of the context's device to itself, of which there is an exporter. */
static cls_status find_own_link(struct context *context, const struct share_link **out) {
    cls_status status = find_link(context, context, out);
    return status || (*out)->exporter ? status : share_link_refuse(*out);
}

cls_status share_check(struct context *context) {
    const struct share_link *link;
    return find_own_link(context, &link);
}

static cls_status allocate(struct context *context, size_t bytes, struct shareable **out) {
    const struct share_link *link;
    struct detail held;
    cls_status status = find_own_link(context, &link);
    if (status)
        return status;
    error_save(&held);
    status = shareable_make(link->exporter, context->device, bytes, out);
    if (status == CLS_ERROR_OUT_OF_DEVICE_MEMORY && context_trim_mempools(context))
        status = shareable_make(link->exporter, context->device, bytes, out);
    return error_restore(&held, status);
}

/* Takes over the memory, also where it fails. */
static cls_status enclose(struct context *context, struct shareable *memory, struct share **out) {
    struct share *share = calloc(1, sizeof *share);
    cl_mem unused;
    if (!share || pthread_mutex_init(&share->lock, NULL)) {
        free(share);
        shareable_drop(memory);
        return error_no_memory("for shareable memory");
    }
    atomic_init(&share->users, 1);
    share->memory = memory;
    share->context = context;
    object_retain(&context->object);
    context_count_memory(context, (int64_t)memory->bytes);
    list(share);
    cls_status status = share_import(share, context, &unused);
    if (status)
        share_put(share);
    else
        *out = share;
    return status;
}

cls_status share_new(struct context *context, size_t bytes, struct share **out) {
    struct shareable *memory;
    cls_status status = buffer_check_most(context->device, bytes);
    if (!status)
        status = allocate(context, bytes, &memory);
    return status ? status : enclose(context, memory, out);
}

static void end_import(struct import *import) {
    shareable_end_import(import->context->device, import->memory);
    context_put(import->context);
    free(import);
}

/* Called for the last reference to a buffer, perhaps under a stream's lock. */
void share_put(struct share *share) {
    if (atomic_fetch_sub(&share->users, 1) != 1)
        return;
    unlist(share);
    if (race_on() && share->imports)
        hooks.race.forget_memory(share->imports->context->device, share->imports->memory);
    while (share->imports) {
        struct import *import = share->imports;
        share->imports = import->next;
        end_import(import);
    }
    context_count_memory(share->context, -(int64_t)share->memory->bytes);
    context_put(share->context);
    shareable_drop(share->memory);
    pthread_mutex_destroy(&share->lock);
    free(share);
}

/* --- the memory in a context --- */

static cls_status check_reach(const struct share *share, const struct context *context) {
    const struct share_link *link;
    cls_status status = find_link(share->context, context, &link);
    if (status)
        return status;
    return link->exporter == share->memory->exporter ? CLS_SUCCESS : share_link_refuse(link);
}

static cls_status add_import(struct share *share, struct context *context, struct import **out) {
    cls_status status = check_reach(share, context);
    if (!status)
        status = buffer_check_most(context->device, share->memory->bytes);
    if (status)
        return status;
    struct import *import = malloc(sizeof *import);
    if (!import)
        return error_no_memory("for an import");
    status = shareable_import(share->memory, context->device, context->cl, &import->memory);
    if (status) {
        free(import);
        return status;
    }
    object_retain(&context->object);
    import->context = context;
    import->next = share->imports;
    share->imports = import;
    *out = import;
    return CLS_SUCCESS;
}

cls_status share_import(struct share *share, struct context *context, cl_mem *out) {
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&share->lock);
    struct import *import = share->imports;
    while (import && import->context->cl != context->cl)
        import = import->next;
    if (!import)
        status = add_import(share, context, &import);
    if (!status)
        *out = import->memory;
    pthread_mutex_unlock(&share->lock);
    return status;
}

bool share_reach(const struct buffer *buffer, struct context *context, cl_mem *out,
                 size_t *origin) {
    struct detail held;
    if (!buffer->share)
        return false;
    error_save(&held);
    const bool reached = share_import(buffer->share, context, out) == CLS_SUCCESS;
    error_restore(&held, CLS_SUCCESS);
    if (reached)
        *origin = buffer->origin;
    return reached;
}

/* --- buffers of it --- */

/* A cl_mem for a buffer to own. */
static cls_status take_part(struct share *share, struct context *context, size_t origin,
                            size_t bytes, cl_mem *out) {
    const struct device *device = context->device;
    cl_mem whole;
    cls_status status = share_import(share, context, &whole);
    if (status)
        return status;
    if (bytes < share->memory->bytes)
        return memory_create_part(device, whole, origin, bytes, out);
    status = memory_retain(device, whole);
    if (!status)
        *out = whole;
    return status;
}

cls_status share_new_buffer(struct share *share, struct context *context, size_t origin,
                            size_t bytes, struct buffer **out) {
    cl_mem memory;
    struct buffer *buffer;
    cls_status status = take_part(share, context, origin, bytes, &memory);
    if (status)
        return status;
    status = buffer_new_uncounted(context, memory, bytes, &buffer);
    if (status) {
        memory_release(context->device, memory);
        return status;
    }
    atomic_fetch_add(&share->users, 1);
    buffer->share = share;
    buffer->origin = origin;
    *out = buffer;
    return CLS_SUCCESS;
}

/* --- the calls --- */

static cls_status create(struct context *context, size_t bytes, cls_buffer *out) {
    struct share *share;
    struct buffer *buffer;
    cls_status status = share_new(context, bytes, &share);
    if (status)
        return status;
    status = share_new_buffer(share, context, 0, bytes, &buffer);
    if (!status) {
        buffer->kind = CLS_BUFFER_SHAREABLE;
        *out = object_handle(&buffer->object);
    }
    share_put(share);
    return status;
}

cls_status cls_buffer_create_shareable(cls_context handle, size_t bytes, cls_buffer *out) {
    struct context *context;
    cls_status status = buffer_check_create(bytes, out, "cls_buffer_create_shareable");
    if (!status)
        status = context_get(handle, &context);
    if (status)
        return status;
    status = create(context, bytes, out);
    if (!status)
        object_note_call(*out, "cls_buffer_create_shareable");
    context_put(context);
    return status;
}

static cls_status not_shareable(void) {
    return error_set(
        CLS_ERROR_INVALID_VALUE,
        "the buffer is not shareable: cls_buffer_create_shareable and shareable memory "
        "pools make those");
}

void share_leave_slot(struct buffer *slot) {
    atomic_fetch_sub(&slot->opened, 1);
    buffer_put(slot);
}

/* Keeps the pool's slot that the buffer is, or was opened from, from being given out again. NULL: there is none. */
static struct buffer *keep_slot(struct buffer *buffer) {
    struct buffer *slot = buffer->block ? buffer : buffer->slot;
    if (!slot)
        return NULL;
    object_retain(&slot->object);
    atomic_fetch_add(&slot->opened, 1);
    return slot;
}

/* Called with the slot kept. A free of it by another thread either finds it opened, and its size stays, or has made the
 * handle stale before. */
static cls_status open_kept(struct context *context, const struct buffer *buffer, cls_buffer handle,
                            struct buffer **out) {
    if (!object_is(&buffer->object, handle))
        return object_invalid(&buffer_pool, handle);
    return share_new_buffer(buffer->share, context, buffer->origin, buffer->bytes, out);
}

static cls_status open_in(struct context *context, struct buffer *buffer, cls_buffer handle,
                          cls_buffer *out) {
    struct buffer *opened;
    if (!buffer->share)
        return not_shareable();
    struct buffer *slot = keep_slot(buffer);
    cls_status status = open_kept(context, buffer, handle, &opened);
    if (status) {
        if (slot)
            share_leave_slot(slot);
        return status;
    }
    opened->kind = CLS_BUFFER_OPENED;
    opened->slot = slot;
    *out = object_handle(&opened->object);
    return CLS_SUCCESS;
}

cls_status cls_buffer_open(cls_context handle, cls_buffer buffer_handle, cls_buffer *out) {
    struct buffer *buffer;
    struct context *context;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_buffer_open: out is null");
    cls_status status = buffer_get(buffer_handle, &buffer);
    if (status)
        return status;
    status = context_get(handle, &context);
    if (!status) {
        status = open_in(context, buffer, buffer_handle, out);
        context_put(context);
    }
    if (!status)
        object_note_call(*out, "cls_buffer_open");
    buffer_put(buffer);
    return status;
}

/* --- other processes --- */

static cls_status export(const struct buffer *buffer, int *fd) {
    if (!buffer->share)
        return not_shareable();
    if (buffer->block || buffer->slot)
        return error_set(
            CLS_ERROR_INVALID_VALUE,
            "the buffer is of a memory pool: only buffers with memory of their own are "
            "exported, and opened handles by cls_buffer_export_part");
    return shareable_export(buffer->share->memory, fd);
}

/* A slot itself could be freed, and given out again, while the other process uses it. */
static cls_status export_part(const struct buffer *buffer, int *fd, cls_buffer_part *part) {
    if (!buffer->share)
        return not_shareable();
    if (buffer->block)
        return error_set(
            CLS_ERROR_INVALID_VALUE,
            "the buffer is of a memory pool: open it (cls_buffer_open), and export the "
            "opened handle");
    const cls_buffer_part found = {buffer->share->memory->bytes, buffer->origin, buffer->bytes};
    cls_status status = shareable_export(buffer->share->memory, fd);
    if (!status)
        *part = found;
    return status;
}

cls_status cls_buffer_export_part(cls_buffer handle, int *fd, cls_buffer_part *part) {
    struct buffer *buffer;
    if (!fd || !part)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_buffer_export_part: %s is null",
                         fd ? "part" : "fd");
    cls_status status = buffer_get(handle, &buffer);
    if (status)
        return status;
    status = export_part(buffer, fd, part);
    buffer_put(buffer);
    return status;
}

cls_status cls_buffer_export(cls_buffer handle, int *fd) {
    struct buffer *buffer;
    if (!fd)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_buffer_export: fd is null");
    cls_status status = buffer_get(handle, &buffer);
    if (status)
        return status;
    status = export(buffer, fd);
    buffer_put(buffer);
    return status;
}

static cls_status open_new(struct context *context, int fd, size_t bytes, struct share **out) {
    const struct share_link *link;
    struct shareable *memory;
    cls_status status = find_own_link(context, &link);
    if (!status)
        status = shareable_open(link->exporter, fd, bytes, &memory);
    return status ? status : enclose(context, memory, out);
}

/* Held from the search for a descriptor's memory until the memory is listed, so that no two calls open the same. Taken
 * without any other lock. */
static pthread_mutex_t opening_lock = PTHREAD_MUTEX_INITIALIZER;

/* Memory that the process has already, its own or imported, stays one memory. */
static cls_status find_or_open(struct context *context, int fd, size_t bytes, struct share **out) {
    cls_status status = CLS_SUCCESS;
    pthread_mutex_lock(&opening_lock);
    struct share *share = find_named(fd);
    if (!share)
        status = open_new(context, fd, bytes, &share);
    pthread_mutex_unlock(&opening_lock);
    if (!status)
        *out = share;
    return status;
}

static cls_status import_in(struct context *context, int fd, const cls_buffer_part *part,
                            cls_buffer *out) {
    struct buffer *buffer;
    struct share *share;
    cls_status status = buffer_check_most(context->device, part->memory_bytes);
    if (!status)
        status = find_or_open(context, fd, part->memory_bytes, &share);
    if (status)
        return status;
    status = shareable_check_size(share->memory->bytes, part->memory_bytes);
    if (!status)
        status = share_new_buffer(share, context, part->offset, part->bytes, &buffer);
    if (!status) {
        buffer->kind = CLS_BUFFER_OPENED;
        *out = object_handle(&buffer->object);
    }
    share_put(share);
    return status;
}

static cls_status import_part(cls_context handle, int fd, const cls_buffer_part *part,
                              const char *call, cls_buffer *out) {
    struct context *context;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    const size_t align = context->device->info.base_align;
    if (part->offset % align)
        status = error_set(CLS_ERROR_INVALID_VALUE,
                           "a part at offset %zu: buffers of this device begin at multiples of %zu",
                           part->offset, align);
    if (!status)
        status = import_in(context, fd, part, out);
    if (!status)
        object_note_call(*out, call);
    context_put(context);
    return status;
}

cls_status cls_buffer_import(cls_context context, int fd, size_t bytes, cls_buffer *out) {
    const cls_buffer_part whole = {bytes, 0, bytes};
    cls_status status = buffer_check_create(bytes, out, "cls_buffer_import");
    return status ? status : import_part(context, fd, &whole, "cls_buffer_import", out);
}

cls_status cls_buffer_import_part(cls_context context, int fd, const cls_buffer_part *part,
                                  cls_buffer *out) {
    if (!part)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_buffer_import_part: part is null");
    cls_status status = buffer_check_create(part->bytes, out, "cls_buffer_import_part");
    if (!status)
        status = range_check(part->offset, part->bytes, part->memory_bytes);
    return status ? status : import_part(context, fd, part, "cls_buffer_import_part", out);
}

/* --- cls_context_can_share --- */

static void describe(const struct share_link *link, cls_share_info *info) {
    info->kind = link->exporter ? shareable_kind(link->exporter) : CLS_SHARE_NONE;
    info->gb_per_s = link->gb_per_s;
    info->latency_ns = link->latency_ns;
    memcpy(info->reason, link->reason, sizeof info->reason);
}

cls_status cls_context_can_share(cls_context owner_handle, cls_context other_handle,
                                 cls_share_info *out) {
    struct context *owner, *other;
    const struct share_link *link;
    cls_share_info info = CLS_SHARE_INFO_INIT;
    cls_status status = SIZED_CHECK(cls_share_info, out);
    if (!status)
        status = context_get(owner_handle, &owner);
    if (status)
        return status;
    status = context_get(other_handle, &other);
    if (!status) {
        status = find_link(owner, other, &link);
        context_put(other);
    }
    context_put(owner);
    if (status)
        return status;
    describe(link, &info);
    SIZED_OUT(cls_share_info, out, &info);
    return CLS_SUCCESS;
}
