/* SPDX-License-Identifier: MIT */
/* What the async coordinator adds to the same queues and events by hand. */
#ifndef CLSTREAM_BENCH_QUEUEING_H
#define CLSTREAM_BENCH_QUEUEING_H

#include "rig.h"

/* The three kinds of work of a pipeline. */
enum { STAGES = 3, UPLOAD = 0, COMPUTE = 1, DOWNLOAD = 2 };

void queueing(const struct rig *rig);

#endif
