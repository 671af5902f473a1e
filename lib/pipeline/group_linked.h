/* SPDX-License-Identifier: MIT */
/*
 * Ordinary buffers of devices that reach each other's memory over a link. The data goes through a shareable buffer of the
 * group's, the device's stand-in, by a copy within the device, which takes an eighth of the link's time. Where devices
 * compute in the host's memory such a copy costs as much as the exchange, and there are no stand-ins.
 */
#ifndef CLSTREAM_PIPELINE_GROUP_LINKED_H
#define CLSTREAM_PIPELINE_GROUP_LINKED_H

#include "pipeline/group_reduce.h"

enum { MOST_STAND_IN = 256 << 20 }; /* bytes that a copy moves at once */

/* Under the lock: the member's stand-in, with room for so many bytes. */
cls_status group_stand_in(struct group_member *member, size_t bytes, cls_buffer *out);

/* Under the lock: as group_reduce_directly, with stand-ins for the arrays that are not shareable. */
cls_status group_reduce_linked(const struct reduction *r, bool *taken);

#endif
