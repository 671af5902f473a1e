/* SPDX-License-Identifier: MIT */
/* Element-wise operations on arrays, as they were submitted one after the other, as a batch: graphs fuse them. */
#ifndef CLSTREAM_BATCH_CHAIN_H
#define CLSTREAM_BATCH_CHAIN_H

#include <clstream/batch.h>

#include "ops/map.h"

/* An operation. The buffers are kept by the owner. */
struct chain_step {
    const struct op_row *row; /* of the cast, where, unary or binary families */
    unsigned n_views;
    struct op_view views[OP_MAX_VIEWS]; /* inputs first, the output last; of equal counts */
    bool has_parameter;
    struct op_parameter parameter;
    bool forgotten; /* nobody reads the output but other steps: it need not be in memory */
};

/* Whether they are the same elements. */
static inline bool chain_same_view(const struct op_view *a, const struct op_view *b) {
    return a->buffer == b->buffer && a->address == b->address && a->dtype == b->dtype;
}

/* Makes a batch that leaves in memory what the steps, one after the other, leave there. No written view may overlap
 * another view without being the same. The caller destroys the batch, which keeps the buffers. */
cls_status batch_of_chain(struct context *context, const struct chain_step *const *steps,
                          unsigned n_steps, cls_batch *out);

#endif
