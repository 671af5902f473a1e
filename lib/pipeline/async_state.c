/* SPDX-License-Identifier: MIT */
/* The operations, buffers and reports of an async coordinator. */
#include <stdlib.h>

#include <clstream/event.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "core/mutant.h"
#include "pipeline/async.h"

enum { LOOK_AT = 256, LOOK_EVERY = 64, FEW_BUFFERS = 64 };

/* --- reports --- */

/* Without memory for another one the oldest goes. */
static void report(struct reports *reports, const cls_completion *completion) {
    if (reports->count == reports->capacity && reports->capacity < reports->limit) {
        size_t capacity = reports->capacity ? reports->capacity * 2 : 64;
        capacity = capacity < reports->limit ? capacity : reports->limit;
        cls_completion *ring = malloc(capacity * sizeof *ring);
        if (ring) {
            for (size_t i = 0; i < reports->count; i++)
                ring[i] = reports->ring[(reports->first + i) % reports->capacity];
            free(reports->ring);
            reports->ring = ring;
            reports->capacity = capacity;
            reports->first = 0;
        }
    }
    if (!reports->capacity)
        return;
    if (reports->count == reports->capacity) {
        reports->first = (reports->first + 1) % reports->capacity;
        reports->count--;
    }
    reports->ring[(reports->first + reports->count++) % reports->capacity] = *completion;
}

/* --- operations --- */

struct op *async_find(struct async *async, cls_op id) {
    struct op *op = NULL;
    HASH_FIND(hh, async->by_id, &id, sizeof id, op);
    return op;
}

void async_forget(struct async *async, struct op *op) {
    HASH_DEL(async->by_id, op);
    async_give_back(async, op);
}

static void complete(struct async *async, cls_op_kind kind, cls_status status) {
    struct op *op = async->head[kind];
    const cls_completion completion = {op->id, kind, status};
    async->head[kind] = op->next;
    if (!op->next)
        async->tail[kind] = NULL;
    async->live--;
    op->done = true;
    op->status = status;
    report(&async->reports, &completion);
    if (!status && !op->pins)
        async_forget(async, op);
}

void async_progress(struct async *async) {
    for (int kind = 0; kind < KINDS; kind++)
        while (async->head[kind]) {
            const cls_status status = cls_event_query(async->head[kind]->event);
            if (status == CLS_NOT_READY)
                break;
            complete(async, (cls_op_kind)kind, status);
        }
    async->since_look = 0;
}

struct op *async_take(struct async *async) {
    if (++async->since_look >= LOOK_EVERY && async->live >= LOOK_AT)
        async_progress(async);
    struct op *op = async->spare;
    if (op) {
        async->spare = op->next;
        return op;
    }
    op = calloc(1, sizeof *op);
    if (!op) {
        error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for an operation");
        return NULL;
    }
    if (cls_event_create(async->context, NULL, &op->event)) {
        free(op);
        return NULL;
    }
    return op;
}

void async_give_back(struct async *async, struct op *op) {
    op->next = async->spare;
    async->spare = op;
}

static cls_status file(struct async *async, struct op *op, cls_op_kind kind) {
    op->id = async->issued + 1;
    op->kind = kind;
    op->done = false;
    op->pins = 0;
    op->next = NULL;
    HASH_ADD(hh, async->by_id, id, sizeof op->id, op);
    return op->hh.tbl ? CLS_SUCCESS
                      : error_set(CLS_ERROR_OUT_OF_MEMORY, "no memory for an operation's number");
}

cls_status async_record(struct async *async, struct op *op, cls_op_kind kind) {
    cls_status status = file(async, op, kind);
    if (status)
        return status;
    status = cls_event_record(op->event, async->streams[kind]);
    if (status) {
        HASH_DEL(async->by_id, op);
        return status;
    }
    async->issued++;
    if (async->tail[kind])
        async->tail[kind]->next = op;
    else
        async->head[kind] = op;
    async->tail[kind] = op;
    async->live++;
    return CLS_SUCCESS;
}

cls_status async_wait_for(struct async *async, cls_op_kind kind, cls_op id) {
    const struct op *op = id ? async_find(async, id) : NULL;
    if (!op || op->kind == kind || (op->done && !op->status) || mutant(MUTANT_OPERATION))
        return CLS_SUCCESS;
    return cls_stream_wait_event(async->streams[kind], op->event);
}

/* --- buffers --- */

static void drop_settled(struct async *async) {
    struct touched *touched, *next;
    HASH_ITER(hh, async->touched, touched, next) {
        if (touched->last && async_find(async, touched->last))
            continue;
        HASH_DEL(async->touched, touched);
        free(touched);
    }
}

struct touched *async_touch(struct async *async, cls_buffer buffer) {
    struct touched *touched = NULL;
    HASH_FIND(hh, async->touched, &buffer, sizeof buffer, touched);
    if (touched)
        return touched;
    if (HASH_COUNT(async->touched) >= FEW_BUFFERS + 2 * async->live)
        drop_settled(async);
    touched = calloc(1, sizeof *touched);
    if (!touched)
        return NULL;
    touched->buffer = buffer;
    HASH_ADD(hh, async->touched, buffer, sizeof buffer, touched);
    if (!touched->hh.tbl) {
        free(touched);
        return NULL;
    }
    return touched;
}

/* --- the end --- */

static void free_op(struct op *op) {
    cls_event_destroy(op->event);
    free(op);
}

void async_free(struct async *async) {
    struct op *op, *next_op;
    struct touched *touched, *next;
    HASH_ITER(hh, async->by_id, op, next_op) {
        HASH_DEL(async->by_id, op);
        free_op(op);
    }
    while (async->spare) {
        op = async->spare;
        async->spare = op->next;
        free_op(op);
    }
    HASH_ITER(hh, async->touched, touched, next) {
        HASH_DEL(async->touched, touched);
        free(touched);
    }
    free(async->reports.ring);
}
