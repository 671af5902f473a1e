/* SPDX-License-Identifier: MIT */
/* The type of the command that calls the user's function to enqueue OpenCL work itself (cls_stream_foreign_async). */
#ifndef CLSTREAM_COMMAND_FOREIGN_H
#define CLSTREAM_COMMAND_FOREIGN_H

#include "stream/command.h"

extern const struct command_type type_foreign;

#endif
