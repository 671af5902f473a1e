/* SPDX-License-Identifier: MIT */
#include "command/pointer_arg.h"

#include <stddef.h>
#include <string.h>

#include "memory/pointers.h"

/* With an access the whole buffer is declared. */
static cls_arg arg_of(const struct pointed *at, cls_access access) {
    cls_arg arg = at->offset ? cls_arg_buffer_at(at->buffer, at->offset, at->bytes - at->offset)
                             : cls_arg_buffer(at->buffer);
    arg.access = access;
    if (at->offset)
        arg.type = CLS_ARG_INTEGER;
    else if (access)
        arg = cls_arg_declared(at->buffer, access, 0, at->bytes);
    return arg;
}

static cls_status find_named_by(const cls_arg *given, cls_arg *out) {
    struct pointed at;
    if (!given->u.pointer) {
        *out = cls_arg_buffer(NULL);
        return CLS_SUCCESS;
    }
    cls_status status = pointer_find_buffer(given->u.pointer, &at);
    if (!status)
        *out = arg_of(&at, given->access);
    return status;
}

/* Of a value only what there is: the rest of its room is not read. */
static void copy_given(const cls_arg *given, cls_arg *out) {
    const size_t used = given->kind == CLS_ARG_VALUE && given->size < sizeof given->u.bytes
                            ? given->size
                            : sizeof given->u.bytes;
    const size_t least = sizeof given->u.part;
    memcpy(out, given, offsetof(cls_arg, u) + (used > least ? used : least));
}

cls_status pointer_reaches_find(const cls_arg *reaches, unsigned n_reaches, cls_arg *out) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < n_reaches && !status; i++) {
        struct pointed at;
        const bool is_pointer = reaches[i].kind == CLS_ARG_POINTER;
        if (is_pointer)
            status = pointer_find_buffer(reaches[i].u.pointer, &at);
        else
            copy_given(&reaches[i], &out[i]);
        if (is_pointer && !status)
            out[i] = cls_arg_declared(at.buffer, reaches[i].access, 0, at.bytes);
    }
    return status;
}

cls_status pointer_args_find(const cls_arg *args, unsigned n_args, cls_arg *out) {
    cls_status status = CLS_SUCCESS;
    for (unsigned i = 0; i < n_args && !status; i++)
        if (args[i].kind == CLS_ARG_POINTER)
            status = find_named_by(&args[i], &out[i]);
        else
            copy_given(&args[i], &out[i]);
    return status;
}
