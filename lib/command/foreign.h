/* SPDX-License-Identifier: MIT */
/* The user's own enqueues as a command of a stream (cls_stream_foreign_async). */
#ifndef CLSTREAM_COMMAND_FOREIGN_H
#define CLSTREAM_COMMAND_FOREIGN_H

#include "stream/command.h"

extern const struct command_type type_foreign;

#endif
