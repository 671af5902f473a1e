/* SPDX-License-Identifier: MIT */
/* Several devices: all those of the default device's platform and type, else parts of it, else two contexts of
 * it. */
#ifndef CLSTREAM_BENCH_SEVERAL_H
#define CLSTREAM_BENCH_SEVERAL_H

#include <stdbool.h>

#include "rig.h"

enum { MOST_DEVICES = 8 };

struct several {
    unsigned n;
    bool apart; /* devices of their own, not parts of one */
    const char *what;
    cls_context contexts[MOST_DEVICES];
    cl_context cl[MOST_DEVICES];
    cl_device_id ids[MOST_DEVICES];
};

void several_open(struct several *several, const struct rig *rig);
/* Memory of zeros. */
cls_buffer several_buffer(cls_context context, size_t bytes, bool shareable);

void several_close(struct several *several);

#endif
