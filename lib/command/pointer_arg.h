/* SPDX-License-Identifier: MIT */
/*
 * Arguments by pointers (cls_arg_pointer). A launch looks them up first, and has arguments by handles from there on: a
 * buffer for its start, a part of it for any other byte. The kernel may use all of the buffer in both cases.
 */
#ifndef CLSTREAM_COMMAND_POINTER_ARG_H
#define CLSTREAM_COMMAND_POINTER_ARG_H

#include <stdbool.h>

#include <clstream/kernel.h>

/* A part that a pointer names is marked by its `type`, which no other part has. */
static inline bool arg_uses_all(const cls_arg *arg) {
    return arg->kind == CLS_ARG_BUFFER_PART && arg->type == CLS_ARG_INTEGER;
}

static inline bool args_have_pointer(const cls_arg *args, unsigned n_args) {
    bool found = false;
    for (unsigned i = 0; args && i < n_args; i++)
        found |= args[i].kind == CLS_ARG_POINTER;
    return found;
}

/* Copies arguments to `out`; a pointer becomes the buffer that has it, or a part of the buffer. CLS_ERROR_NOT_FOUND for a pointer in no buffer. */
cls_status pointer_args_find(const cls_arg *args, unsigned n_args, cls_arg *out);

/* The same of buffers that a kernel reaches (cls_launch.reaches): a pointer names the whole of its buffer. */
cls_status pointer_reaches_find(const cls_arg *reaches, unsigned n_reaches, cls_arg *out);

#endif
