/* SPDX-License-Identifier: MIT */
/* What the tests of stream pools share. */
#ifndef CLSTREAM_TESTS_POOLS_H
#define CLSTREAM_TESTS_POOLS_H

#include "../support/rig.h"

#include <clstream/pool.h>

static inline cls_pool_info info_of(cls_pool pool) {
    cls_pool_info info = CLS_POOL_INFO_INIT;
    OK(cls_pool_get_info(pool, &info));
    return info;
}

static inline void hold(cls_stream stream, struct gate *gate, unsigned times) {
    for (unsigned i = 0; i < times; i++)
        OK(cls_stream_launch_host_async(stream, gate_hold, gate));
}

static inline void let_go(struct gate *gate, unsigned times) {
    for (unsigned i = 0; i < times; i++)
        gate_open(gate);
    OK(cls_context_synchronize(rig.context));
}

#endif
