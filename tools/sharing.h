/* SPDX-License-Identifier: MIT */
/* Which devices can use each other's memory. */
#ifndef CLSTREAM_TOOLS_SHARING_H
#define CLSTREAM_TOOLS_SHARING_H

#include <clstream/share.h>

/* cls_context_can_share for a context of each device. */
cls_status sharing_find(size_t owner, size_t other, cls_share_info *info);

/* "none", "host_memory" or "direct_link". */
const char *sharing_name(cls_share_kind kind);

#endif
