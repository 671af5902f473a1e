/* SPDX-License-Identifier: MIT */
/* The kernels of cl/select.cl. */
#ifndef CLSTREAM_OPS_SPEC_SELECT_H
#define CLSTREAM_OPS_SPEC_SELECT_H

#include <clstream/select.h>

#include "ops/spec.h"

/* What elements are selected by: from SELECT_BY_VALUE on the comparisons. */
enum selection { SELECT_BY_FLAGS, SELECT_BY_HEADS, SELECT_BY_ENDS, SELECT_BY_VALUE };
enum { SELECTIONS = SELECT_BY_VALUE + CLS_NOT_EQUAL };

static inline enum selection selection_of(cls_comparison comparison) {
    return (enum selection)(SELECT_BY_VALUE + (unsigned)comparison - 1);
}

/* What stands beside the elements: nothing, elements of 1 to 8 bytes, or numbers. */
enum beside { BESIDE_NONE, BESIDE_1, BESIDE_2, BESIDE_4, BESIDE_8, BESIDE_NUMBERS, BESIDES };

enum beside beside_of(cls_dtype dtype);

struct select_kind {
    enum selection by;
    cls_dtype dtype;
    enum beside beside;
    bool partition;
    bool wide; /* 2^32 elements or more */
};

/* The bytes of a part. */
static inline size_t spec_select_part(const struct select_kind *kind) { return kind->wide ? 8 : 4; }

/* `lean` as in spec_scan.h. */
cls_status spec_of_select(const struct select_kind *kind, enum shape shape, bool lean,
                          const struct spec **spec);
cls_status spec_of_run_lengths(const struct spec **spec);

#endif
