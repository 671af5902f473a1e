/* SPDX-License-Identifier: MIT */
/* Has the later work of one stream wait for work of another. */
#ifndef CLSTREAM_STREAM_FOLLOW_H
#define CLSTREAM_STREAM_FOLLOW_H

#include "stream/failure.h"

/* stream_wait_for makes later work of `stream` wait for `other`'s work up to `position`. stream_enter_behind does that and,
 * unless it fails, leaves the stream locked, so that the work that is to wait follows at once; `other` NULL: it only locks. */
cls_status stream_enter_behind(struct stream *stream, struct stream *other, uint64_t position);
cls_status stream_wait_for(struct stream *stream, struct stream *other, uint64_t position);

/* The same for the order only: a failure of the other's work is not inherited. */
cls_status stream_come_after(struct stream *stream, struct stream *other, uint64_t position);

/* Adds the wait to `stream`, which is entered, and takes over what the work that it waits for has come to; `dep`
 * NULL: that work is over. */
cls_status stream_follow_entered(struct stream *stream, const struct stream *other,
                                 uint64_t position, const struct dep *dep,
                                 const struct learned *learned);

/* stream_wait_for, but what is known to have failed is no failure of what comes after it: of that only the end is
 * waited for, since work before the failure may be under way still. */
static inline cls_status stream_follow(struct stream *stream, struct stream *other,
                                       uint64_t position) {
    return stream_failure_at(other, position) ? stream_come_after(stream, other, position)
                                              : stream_wait_for(stream, other, position);
}

#endif
