/* SPDX-License-Identifier: MIT */
/*
 * Kinds of arguments: array views. "view:TYPE" with the flags
 *   any   of any type
 *   lone  the call's only one, so that any count will do
 *   out   the call writes to it
 *   beside  the call writes to it too
 *   length  one element, that says how many elements there are
 *   edges  one more element than other views have
 *   mask  the call writes to it, beside its output; may be null, unless it is needed too
 *   optional  may be null
 * and "cell:TYPE" for the one element that a reduction writes, or that counts. "list:TYPE" is a pointer to one view,
 * with "abroad" of the other context.
 */
#include <stdlib.h>

#include "hostile.h"

/* Where they lie in the outputs' buffer, in elements; an output is at 0. */
enum { BESIDE_OFFSET = 32, MASK_OFFSET = 72 };

static cls_dtype dtype_of(const struct arg *arg) {
    cls_dtype dtype;
    if (cls_dtype_parse(first_flag(arg), &dtype))
        abort();
    return dtype;
}

/* Inputs share a buffer, which is allowed; the output has one of its own. */
static cls_array view_of(const struct arg *arg) {
    const size_t offset = has_flag(arg, "mask")     ? MASK_OFFSET
                          : has_flag(arg, "beside") ? BESIDE_OFFSET
                                                    : 0;
    const bool cell = arg->kind[0] == 'c', out = cell || offset || has_flag(arg, "out");
    return cls_array_at(out ? stock.from : stock.handles[BUFFER].live, dtype_of(arg), offset,
                        cell || has_flag(arg, "length") ? 1
                        : has_flag(arg, "edges")        ? VIEW_COUNT + 1
                                                        : VIEW_COUNT);
}

static union value good_view(const struct arg *arg, unsigned slot) {
    (void)slot;
    return (union value){.array = view_of(arg)};
}

static void bad_buffers(const struct arg *arg, cls_array view, struct bad_list *list) {
    const struct handles *of = &stock.handles[BUFFER];
    const struct {
        const char *what;
        void *buffer;
        cls_status status;
    } bad[] = {
        {"a null buffer", NULL, CLS_ERROR_INVALID_HANDLE},
        {"a stale buffer", of->stale, CLS_ERROR_INVALID_HANDLE},
        {"a buffer that is a stream", stock.handles[STREAM].live, CLS_ERROR_INVALID_HANDLE},
        {"a buffer that is garbage", (void *)(uintptr_t)0x1234, CLS_ERROR_INVALID_HANDLE},
        {"an orphaned buffer", of->orphan, CLS_ERROR_CONTEXT_DESTROYED},
        {"another context's buffer", of->foreign, CLS_ERROR_WRONG_CONTEXT},
    };
    const bool optional =
        (has_flag(arg, "mask") && !has_flag(arg, "needed")) || has_flag(arg, "optional");
    for (size_t i = optional; i < sizeof bad / sizeof *bad; i++) {
        view.buffer = bad[i].buffer;
        add_bad(list, bad[i].what, bad[i].status, (union value){.array = view});
    }
}

static void bad_offsets(cls_array view, struct bad_list *list) {
    const size_t size = cls_dtype_size(view.dtype), room = BUFFER_BYTES / size;
    const size_t offsets[] = {room - view.count + 1,
                              room,
                              room + 1,
                              SIZE_MAX,
                              SIZE_MAX / size,
                              SIZE_MAX / size - view.count,
                              SIZE_MAX - view.count,
                              SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        view.offset = offsets[i];
        add_bad(list, "an offset past the end", CLS_ERROR_OUT_OF_RANGE,
                (union value){.array = view});
    }
}

static void bad_counts(const struct arg *arg, cls_array view, struct bad_list *list) {
    const size_t huge[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 8 + 2, BUFFER_BYTES + 1};
    const size_t unequal[] = {0, view.count - 1, view.count + 1};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        view.count = huge[i];
        add_bad(list, "a count past the end", CLS_ERROR_OUT_OF_RANGE, (union value){.array = view});
    }
    for (size_t i = 0; !has_flag(arg, "lone") && i < sizeof unequal / sizeof *unequal; i++) {
        view.count = unequal[i];
        add_bad(list, "an unequal count", CLS_ERROR_SIZE_MISMATCH, (union value){.array = view});
    }
}

static void bad_dtypes(const struct arg *arg, cls_array view, struct bad_list *list) {
    const int none[] = {0, -1, 12, 1000};
    const cls_dtype own = view.dtype;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        view.dtype = (cls_dtype)none[i];
        add_bad(list, "an unknown dtype", CLS_ERROR_INVALID_VALUE, (union value){.array = view});
    }
    view.dtype = own == CLS_F32 ? CLS_U32 : CLS_F32;
    if (!has_flag(arg, "any"))
        add_bad(list, "another dtype", CLS_ERROR_TYPE_MISMATCH, (union value){.array = view});
}

static void bad_view(const struct arg *arg, unsigned slot, struct bad_list *list) {
    cls_array view = view_of(arg);
    (void)slot;
    bad_buffers(arg, view, list);
    bad_offsets(view, list);
    bad_counts(arg, view, list);
    bad_dtypes(arg, view, list);
    if (view.buffer == stock.from) {
        view.buffer = stock.handles[BUFFER].live;
        view.offset = 1;
        add_bad(list, "an overlap with an input", CLS_ERROR_OVERLAP, (union value){.array = view});
    }
}

/* Beside a context argument, which is the other context. */
static cls_array go_abroad(const struct arg *arg, cls_array view) {
    const struct handles *of = &stock.handles[BUFFER];
    if (has_flag(arg, "abroad") && view.buffer == of->live)
        view.buffer = of->foreign;
    else if (has_flag(arg, "abroad") && view.buffer == of->foreign)
        view.buffer = of->live;
    return view;
}

static union value good_list(const struct arg *arg, unsigned slot) {
    static cls_array lists[MAX_ARGS];
    lists[slot] = go_abroad(arg, view_of(arg));
    return of_pointer(&lists[slot]);
}

static void bad_list_of_views(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static cls_array lists[MAX_ARGS][MAX_BAD];
    bad_view(arg, slot, list);
    for (unsigned i = 0; i < list->n; i++) {
        lists[slot][i] = go_abroad(arg, list->bad[i].value.array);
        list->bad[i].value = of_pointer(&lists[slot][i]);
    }
    bad_pointer(arg, slot, list);
}

const struct kind view_kinds[] = {
    {"view", good_view, bad_view, NULL},
    {"cell", good_view, bad_view, NULL},
    {"list", good_list, bad_list_of_views, NULL},
    {NULL, NULL, NULL, NULL},
};
