/* SPDX-License-Identifier: MIT */
/* Nodes that are a single call: matrix products and operations on rows. */
#ifndef CLSTREAM_BATCH_CALL_H
#define CLSTREAM_BATCH_CALL_H

#include "batch/batch.h"

/* Submits the call of a node that has elements, by the functions of lib/ops that single calls use too. */
cls_status call_submit(const struct batch *batch, uint32_t node, cls_stream stream);

#endif
