/* SPDX-License-Identifier: MIT */
/* Kinds of arguments: buffers of cls_malloc_async, maps of buffers, and memory of the program. */
#include <limits.h>
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

/* --- memory of the program's --- */

static _Alignas(4096) unsigned char own_memory[COPY_BYTES];

static union value good_own_memory(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_pointer(own_memory);
}

static void bad_own_memory(const struct arg *arg, unsigned slot, struct bad_list *list) {
    bad_pointer(arg, slot, list);
    add_bad(list, "not aligned", CLS_ERROR_INVALID_VALUE, of_pointer(own_memory + 1));
}

/* A device with memory of its own has no good value. */
static union value good_registered(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    cls_host_register(stock.handles[CONTEXT].live, own_memory, sizeof own_memory);
    return of_pointer(own_memory);
}

static void bad_registered(const struct arg *arg, unsigned slot, struct bad_list *list) {
    bad_pointer(arg, slot, list);
    add_bad(list, "within a block", CLS_ERROR_INVALID_VALUE, of_pointer(own_memory + 8));
    add_bad(list, "memory of another call", CLS_ERROR_INVALID_VALUE, of_pointer(stock.pinned));
}

static void undo_registered(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    cls_host_unregister(own_memory);
}

/* --- maps --- */

static union value good_map_access(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return (union value){.number = CLS_MAP_READ};
}

static void bad_map_access(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {0, -1, 5, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        add_bad(list, "no such access", CLS_ERROR_INVALID_VALUE,
                (union value){.number = numbers[i]});
}

static void *mapped;

static union value good_mapped(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    if (!mapped && cls_buffer_map_async(stock.handles[BUFFER].live, CLS_MAP_READ, 0, COPY_BYTES,
                                        NULL, &mapped))
        abort();
    return of_pointer(mapped);
}

static void bad_mapped(const struct arg *arg, unsigned slot, struct bad_list *list) {
    (void)arg;
    add_bad(list, "null", CLS_ERROR_INVALID_VALUE, of_pointer(NULL));
    add_bad(list, "no map", CLS_ERROR_INVALID_VALUE, of_pointer(region(slot)));
    add_bad(list, "within a map", CLS_ERROR_INVALID_VALUE,
            of_pointer((char *)good_mapped(arg, slot).pointer + 1));
}

/* The call has ended the map, unless it was refused. */
static void undo_mapped(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    cls_buffer_unmap_async(stock.handles[BUFFER].live, mapped, NULL);
    mapped = NULL;
}

const struct kind memory_kinds[] = {
    {"map_access", good_map_access, bad_map_access, NULL},
    {"own_memory", good_own_memory, bad_own_memory, NULL},
    {"registered", good_registered, bad_registered, undo_registered},
    {"mapped", good_mapped, bad_mapped, undo_mapped},
    {"slot", good_slot, bad_slot, NULL},
    {NULL, NULL, NULL, NULL},
};
