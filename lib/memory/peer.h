/* SPDX-License-Identifier: MIT */
/* Copies between buffers of two contexts, of which the command keeps both. */
#ifndef CLSTREAM_MEMORY_PEER_H
#define CLSTREAM_MEMORY_PEER_H

#include "stream/command.h"

extern const struct command_type type_peer_copy, type_peer_copy_rect;

#endif
