/* SPDX-License-Identifier: MIT */
/* Resetting a poisoned stream from inside the library. */
#ifndef CLSTREAM_API_RESET_H
#define CLSTREAM_API_RESET_H

#include "stream/stream.h"

/* cls_stream_reset of a stream that the caller keeps. */
cls_status stream_reset(struct stream *stream);

#endif
