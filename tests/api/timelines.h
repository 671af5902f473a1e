/* SPDX-License-Identifier: MIT */
/* What the tests of timelines share. */
#ifndef CLSTREAM_TESTS_TIMELINES_H
#define CLSTREAM_TESTS_TIMELINES_H

#include "../support/rig.h"

#include <clstream/timeline.h>

enum { MS = 1000000 }; /* in nanoseconds */

static inline cls_timeline make(const char *name, uint64_t initial, cls_stream signaller) {
    const cls_timeline_config config = {sizeof config, name, initial, signaller};
    cls_timeline timeline = NULL;
    OK(cls_timeline_create(&config, &timeline));
    return timeline;
}

static inline uint64_t value_of(cls_timeline timeline) {
    cls_timeline_info info = CLS_TIMELINE_INFO_INIT;
    OK(cls_timeline_get_info(timeline, &info));
    return info.value;
}

#endif
