/* SPDX-License-Identifier: MIT */
/* Kinds of arguments: handles, the outputs that take new ones, and what they point to. */
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

static enum handle_type type_of(const struct arg *arg) {
    for (int type = 0; type < HANDLE_TYPES; type++)
        if (!strcmp(arg->kind, handle_rows[type].name))
            return (enum handle_type)type;
    abort();
}

static void *fresh(enum handle_type type) {
    void *made;
    if (handle_rows[type].make(stock.handles[CONTEXT].live, &made))
        abort();
    return made;
}

/* A context argument stands alone or beside OpenCL objects: those of the stock are the other context's,
 * where no stream is poisoned. */
static union value good_handle(const struct arg *arg, unsigned slot) {
    const enum handle_type type = type_of(arg);
    (void)slot;
    if (has_flag(arg, "own"))
        return of_pointer(fresh(type));
    if (has_flag(arg, "from"))
        return of_pointer(stock.from);
    if (has_flag(arg, "timed") || has_flag(arg, "recorded"))
        return of_pointer(stock.timed);
    return of_pointer(type == CONTEXT ? stock.handles[type].foreign : stock.handles[type].live);
}

static void bad_handle(const struct arg *arg, unsigned slot, struct bad_list *list) {
    const enum handle_type type = type_of(arg);
    const struct handles *of = &stock.handles[type];
    const uintptr_t mine = (uintptr_t)of->live;
    const uintptr_t garbage[] = {1,
                                 8,
                                 0x1234,
                                 UINTPTR_MAX,
                                 (uintptr_t)INTPTR_MIN,
                                 (uintptr_t)region(slot),
                                 mine ^ 1,
                                 mine + (1u << 20),
                                 mine + ((uintptr_t)1 << (sizeof mine * 8 - 8))};
    if (!has_flag(arg, "default"))
        add_bad(list, "null", CLS_ERROR_INVALID_HANDLE, of_pointer(NULL));
    add_bad(list, "a stale handle", CLS_ERROR_INVALID_HANDLE, of_pointer(of->stale));
    for (int other = 0; other < HANDLE_TYPES; other++)
        if (other != (int)type && stock.handles[other].live)
            add_bad(list, "a handle of another type", CLS_ERROR_INVALID_HANDLE,
                    of_pointer(stock.handles[other].live));
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++)
        add_bad(list, "garbage", CLS_ERROR_INVALID_HANDLE,
                (union value){.pointer = (void *)garbage[i]});
    if (of->orphan && !has_flag(arg, "own") && !has_flag(arg, "owed"))
        add_bad(list, "an orphan", CLS_ERROR_CONTEXT_DESTROYED, of_pointer(of->orphan));
    if (has_flag(arg, "peer"))
        add_bad(list, "another context's", CLS_ERROR_WRONG_CONTEXT, of_pointer(of->foreign));
    if (has_flag(arg, "work"))
        add_bad(list, "a poisoned stream", CLS_ERROR_COMMAND_FAILED, of_pointer(stock.poisoned));
}

static void bad_context(const struct arg *arg, unsigned slot, struct bad_list *list) {
    bad_handle(arg, slot, list);
    if (has_flag(arg, "own"))
        add_bad(list, "the default context", CLS_ERROR_INVALID_VALUE,
                of_pointer(stock.default_context));
}

static void bad_stream(const struct arg *arg, unsigned slot, struct bad_list *list) {
    bad_handle(arg, slot, list);
    if (has_flag(arg, "own"))
        add_bad(list, "a default stream", CLS_ERROR_INVALID_VALUE,
                of_pointer(stock.default_stream));
}

static void bad_event(const struct arg *arg, unsigned slot, struct bad_list *list) {
    bad_handle(arg, slot, list);
    if (has_flag(arg, "timed")) {
        add_bad(list, "not timed", CLS_ERROR_NOT_TIMED, of_pointer(stock.untimed));
        add_bad(list, "never recorded", CLS_ERROR_NOT_TIMED, of_pointer(stock.unrecorded));
    }
    if (has_flag(arg, "recorded"))
        add_bad(list, "never recorded", CLS_ERROR_INVALID_STATE, of_pointer(stock.unrecorded));
}

/* --- outputs --- */

static union value good_region(const struct arg *arg, unsigned slot) {
    (void)arg;
    return of_pointer(region(slot));
}

static void undo_out(const struct arg *arg, unsigned slot) {
    void *made;
    memcpy(&made, region(slot), sizeof made);
    for (int type = 0; type < HANDLE_TYPES; type++)
        if (has_flag(arg, handle_rows[type].name))
            handle_rows[type].destroy(made);
    if (has_flag(arg, "pinned"))
        cls_host_free(made);
    else if (has_flag(arg, "pointer"))
        cls_device_free(made);
    else if (has_flag(arg, "map"))
        cls_buffer_unmap_async(stock.handles[BUFFER].live, made, NULL);
    else if (has_flag(arg, "cl_event"))
        clReleaseEvent(made);
}

/* --- the caller's OpenCL objects --- */

static const struct interop {
    const char *kind;
    size_t good, foreign; /* places in the stock */
} interops[] = {
    {"cl_context", offsetof(struct stock, cl_context), 0},
    {"cl_device", offsetof(struct stock, cl_device), 0},
    {"cl_mem", offsetof(struct stock, cl_mem), offsetof(struct stock, cl_foreign_mem)},
    {"cl_program", offsetof(struct stock, cl_program), offsetof(struct stock, cl_foreign_program)},
    {"cl_queue", offsetof(struct stock, cl_queue), offsetof(struct stock, cl_foreign_queue)},
    {"cl_event", offsetof(struct stock, cl_event), 0},
};

static const struct interop *interop_of(const struct arg *arg) {
    for (size_t i = 0; i < sizeof interops / sizeof *interops; i++)
        if (!strcmp(arg->kind, interops[i].kind))
            return &interops[i];
    abort();
}

static void *stocked(size_t place) {
    void *object;
    memcpy(&object, (const char *)&stock + place, sizeof object);
    return object;
}

static union value good_cl(const struct arg *arg, unsigned slot) {
    (void)slot;
    return of_pointer(stocked(interop_of(arg)->good));
}

static void bad_cl(const struct arg *arg, unsigned slot, struct bad_list *list) {
    const struct interop *interop = interop_of(arg);
    bad_pointer(arg, slot, list);
    if (interop->foreign)
        add_bad(list, "another context's", CLS_ERROR_WRONG_CONTEXT,
                of_pointer(stocked(interop->foreign)));
}

/* One row a kind. */
/* clang-format off */
const struct kind handle_kinds[] = {
    {"context", good_handle, bad_context, NULL},
    {"stream", good_handle, bad_stream, NULL},
    {"event", good_handle, bad_event, NULL},
    {"buffer", good_handle, bad_handle, NULL},
    {"image", good_handle, bad_handle, NULL},
    {"program", good_handle, bad_handle, NULL},
    {"kernel", good_handle, bad_handle, NULL},
    {"timeline", good_handle, bad_handle, NULL},
    {"coordinator", good_handle, bad_handle, NULL},
    {"batch", good_handle, bad_handle, NULL},
    {"mempool", good_handle, bad_handle, NULL},
    {"profiler", good_handle, bad_handle, NULL},
    {"profile", good_handle, bad_handle, NULL},
    {"pool", good_handle, bad_handle, NULL},
    {"task_graph", good_handle, bad_handle, NULL},
    {"triple_buffer", good_handle, bad_handle, NULL},
    {"async", good_handle, bad_handle, NULL},
    {"prefetcher", good_handle, bad_handle, NULL},
    {"pipeline", good_handle, bad_handle, NULL},
    {"managed", good_handle, bad_handle, NULL},
    {"device_group", good_handle, bad_handle, NULL},
    {"random", good_handle, bad_handle, NULL},
    {"optimizer", good_handle, bad_handle, NULL},
    {"fft_plan", good_handle, bad_handle, NULL},
    {"graph", good_handle, bad_handle, NULL},
    {"graph_exec", good_handle, bad_handle, NULL},
    {"out", good_region, bad_pointer, undo_out},
    {"memory", good_region, bad_pointer, NULL},
    {"cl_context", good_cl, bad_cl, NULL},
    {"cl_device", good_cl, bad_cl, NULL},
    {"cl_mem", good_cl, bad_cl, NULL},
    {"cl_program", good_cl, bad_cl, NULL},
    {"cl_queue", good_cl, bad_cl, NULL},
    {"cl_event", good_cl, bad_cl, NULL},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */
