/* SPDX-License-Identifier: MIT */
/* Functions of the pipeline layer's callers that do nothing. */
#ifndef CLSTREAM_TESTS_NOTHING_H
#define CLSTREAM_TESTS_NOTHING_H

#include <clstream.h>

static inline cls_status compute_nothing(cls_stream stream, const cls_slot *slot, void *arg) {
    (void)stream;
    (void)slot;
    (void)arg;
    return CLS_SUCCESS;
}

static inline cls_status stage_nothing(const cls_stage_run *run, void *arg) {
    (void)run;
    (void)arg;
    return CLS_SUCCESS;
}

/* There are no data. */
static inline cls_status load_nothing(void *arg, uint64_t index, void *memory, size_t capacity,
                                      size_t *bytes) {
    (void)arg;
    (void)index;
    (void)memory;
    (void)capacity;
    *bytes = 0;
    return CLS_SUCCESS;
}

#endif
