/* SPDX-License-Identifier: MIT */
/* Kinds of arguments: buffers of cls_malloc_async, which cls_free_async takes. */
#include <stdlib.h>

#include "hostile.h"

static cls_buffer allocate(void) {
    cls_buffer made;
    if (cls_malloc_async(stock.handles[STREAM].live, COPY_BYTES, &made))
        abort();
    return made;
}

static union value good_slot(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_pointer(allocate());
}

static void bad_slot(const struct arg *arg, unsigned slot, struct bad_list *list) {
    const struct handles *buffers = &stock.handles[BUFFER];
    const cls_buffer freed = allocate();
    (void)arg;
    if (cls_free_async(freed, stock.handles[STREAM].live))
        abort();
    add_bad(list, "null", CLS_ERROR_INVALID_HANDLE, of_pointer(NULL));
    add_bad(list, "freed already", CLS_ERROR_INVALID_HANDLE, of_pointer(freed));
    add_bad(list, "destroyed", CLS_ERROR_INVALID_HANDLE, of_pointer(buffers->stale));
    add_bad(list, "garbage", CLS_ERROR_INVALID_HANDLE, of_pointer(region(slot)));
    for (int other = 0; other < HANDLE_TYPES; other++)
        if (other != BUFFER)
            add_bad(list, "a handle of another type", CLS_ERROR_INVALID_HANDLE,
                    of_pointer(stock.handles[other].live));
}

const struct kind memory_kinds[] = {
    {"slot", good_slot, bad_slot, NULL},
    {NULL, NULL, NULL, NULL},
};
