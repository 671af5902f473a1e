/* SPDX-License-Identifier: MIT */
/* The three kinds of work of a pipeline, and a kernel that takes as many rounds as it is told. */
#ifndef CLSTREAM_BENCH_WORK_H
#define CLSTREAM_BENCH_WORK_H

#include "rig.h"

enum { STAGES = 3, UPLOAD = 0, COMPUTE = 1, DOWNLOAD = 2 };

/* work(global float4 *x, uint rounds), for each side. */
cls_kernel work_kernel(const struct rig *rig);
cl_kernel work_kernel_by_hand(const struct rig *rig);

#endif
