/* SPDX-License-Identifier: MIT */
/*
 * Kinds of arguments: pointers into device memory, "pointer" with the flags
 *   from  of a second buffer
 *   peer  one of another context is CLS_ERROR_WRONG_CONTEXT
 * and, for calls that free it, "allocation", or "allocation:kept" for one that does not; and the pitches, widths and rows of copies in two dimensions.
 */
#include <stdlib.h>
#include <string.h>

#include "hostile.h"

void *pointers_of(cls_buffer buffer) {
    void *pointer;
    if (cls_buffer_get_pointer(buffer, &pointer))
        abort();
    return pointer;
}

static void *orphan;

bool pointers_make(void) {
    const cls_buffer buffer = stock.handles[BUFFER].orphan;
    return !cls_buffer_get_pointer(buffer, &orphan);
}

void *pointers_orphan(void) { return orphan; }

static void *allocate(void) {
    void *made;
    if (cls_device_malloc(stock.handles[CONTEXT].live, COPY_BYTES, &made))
        abort();
    return made;
}

/* Out of a reserved range, of a size that nothing else has: an address that kernels see may be anybody's by now. NULL:
 * there is none. */
static void *freed(void) {
    enum { ODD_SIZE = (3 << 20) + 5 };
    static void *made;
    void *pointer;
    cls_pointer_info info = CLS_POINTER_INFO_INIT;
    if (made)
        return made;
    if (cls_device_malloc(stock.handles[CONTEXT].live, ODD_SIZE, &pointer) ||
        cls_pointer_get_info(pointer, &info) || cls_device_free(pointer))
        abort();
    return info.is_address ? NULL : (made = pointer);
}

static union value good_pointer(const struct arg *arg, unsigned slot) {
    (void)slot;
    return of_pointer(pointers_of(has_flag(arg, "from") ? stock.from : stock.handles[BUFFER].live));
}

static void bad_device_pointer(const struct arg *arg, unsigned slot, struct bad_list *list) {
    bad_pointer(arg, slot, list);
    if (freed())
        add_bad(list, "freed", CLS_ERROR_NOT_FOUND, of_pointer(freed()));
    add_bad(list, "the last byte", CLS_ERROR_OUT_OF_RANGE,
            of_pointer((char *)good_pointer(arg, slot).pointer + BUFFER_BYTES - 1));
    add_bad(list, "an orphan", CLS_ERROR_CONTEXT_DESTROYED, of_pointer(orphan));
    if (has_flag(arg, "peer"))
        add_bad(list, "of another context", CLS_ERROR_WRONG_CONTEXT,
                of_pointer(pointers_of(stock.handles[BUFFER].foreign)));
}

/* --- freeing --- */

static union value good_allocation(const struct arg *arg, unsigned slot) {
    (void)slot;
    return of_pointer(has_flag(arg, "kept") ? pointers_of(stock.from) : allocate());
}

static void bad_allocation(const struct arg *arg, unsigned slot, struct bad_list *list) {
    const struct handles *buffers = &stock.handles[BUFFER];
    if (freed())
        add_bad(list, "freed", CLS_ERROR_NOT_FOUND, of_pointer(freed()));
    add_bad(list, "the host's", CLS_ERROR_NOT_FOUND, of_pointer(region(slot)));
    add_bad(list, "garbage", CLS_ERROR_NOT_FOUND, (union value){.pointer = (void *)(uintptr_t)8});
    if (has_flag(arg, "kept"))
        return;
    add_bad(list, "inside", CLS_ERROR_INVALID_VALUE,
            of_pointer((char *)pointers_of(buffers->live) + 1));
    add_bad(list, "the end", CLS_ERROR_INVALID_VALUE,
            of_pointer((char *)pointers_of(buffers->live) + BUFFER_BYTES - 1));
}

/* --- two dimensions --- */

enum { WIDTH = 16, PITCH = 32, ROWS = 4 };

static union value good_pitch(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_size(PITCH);
}

static void bad_pitch(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const size_t narrow[] = {0, 1, WIDTH - 1};
    static const size_t wide[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 3 + 1};
    (void)arg;
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(narrow); i++)
        add_bad(list, "below the width", CLS_ERROR_INVALID_VALUE, of_size(narrow[i]));
    for (size_t i = 0; i < COUNT_OF(wide); i++)
        add_bad(list, "without end", CLS_ERROR_OUT_OF_RANGE, of_size(wide[i]));
}

static union value good_width(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_size(WIDTH);
}

static void bad_width(const struct arg *arg, unsigned slot, struct bad_list *list) {
    (void)arg;
    (void)slot;
    add_bad(list, "above the pitch", CLS_ERROR_INVALID_VALUE, of_size(PITCH + 1));
    add_bad(list, "above the pitch", CLS_ERROR_INVALID_VALUE, of_size(SIZE_MAX));
}

static union value good_rows(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_size(ROWS);
}

static void bad_rows(const struct arg *arg, unsigned slot, struct bad_list *list) {
    (void)arg;
    (void)slot;
    add_bad(list, "past the end", CLS_ERROR_OUT_OF_RANGE, of_size(BUFFER_BYTES / PITCH + 1));
    add_bad(list, "without end", CLS_ERROR_OUT_OF_RANGE, of_size(SIZE_MAX));
}

const struct kind pointer_kinds[] = {
    {"pointer", good_pointer, bad_device_pointer, NULL},
    {"allocation", good_allocation, bad_allocation, NULL},
    {"pitch", good_pitch, bad_pitch, NULL},
    {"width", good_width, bad_width, NULL},
    {"rows", good_rows, bad_rows, NULL},
    {NULL, NULL, NULL, NULL},
};
