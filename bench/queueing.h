/* SPDX-License-Identifier: MIT */
/* What the async coordinator adds to the same queues and events by hand. */
#ifndef CLSTREAM_BENCH_QUEUEING_H
#define CLSTREAM_BENCH_QUEUEING_H

#include "rig.h"

void queueing(const struct rig *rig);

#endif
