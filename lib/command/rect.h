/* SPDX-License-Identifier: MIT */
/* The rectangles of calls: checked, and brought into the form with the fewest dimensions. */
#ifndef CLSTREAM_COMMAND_RECT_H
#define CLSTREAM_COMMAND_RECT_H

#include <clstream/buffer.h>

#include "driver/queue.h"

cls_status rect_check_given(const cls_rect *rect);

/* Takes the rectangle of a call. An empty one has the depth 0. Returns CLS_ERROR_INVALID_VALUE for a pitch that is too
 * small, and CLS_ERROR_OUT_OF_RANGE for a side that passes the end of its memory (SIZE_MAX: not known). */
cls_status rect_read(const cls_rect *rect, size_t dst_bytes, size_t src_bytes, struct rect_3d *out);

/* Where the side ends. */
size_t rect_end(const struct rect_3d *rect, const struct rect_side *side);

/* Whether both sides, in one buffer, are the same bytes, or have some in common. */
bool rect_is_onto_itself(const struct rect_3d *rect);
bool rect_overlaps(const struct rect_3d *rect);

#endif
