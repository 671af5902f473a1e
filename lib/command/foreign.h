/* SPDX-License-Identifier: MIT */
/* Commands whose OpenCL work foreign code enqueues: the user's function (cls_stream_foreign_async), or a library. */
#ifndef CLSTREAM_COMMAND_FOREIGN_H
#define CLSTREAM_COMMAND_FOREIGN_H

#include "stream/command.h"

extern const struct command_type type_foreign;

/* A library's call (op_library): on a worker, which may compile; or by the submitter, on in-order queues only. */
extern const struct command_type type_library, type_library_inline;

#endif
