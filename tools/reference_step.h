/* SPDX-License-Identifier: MIT */
/* The host reference for one step of a plan. */
#ifndef CLSTREAM_TOOLS_REFERENCE_STEP_H
#define CLSTREAM_TOOLS_REFERENCE_STEP_H

#include "plan.h"

/*
 * What step `i` makes of `count` elements, and the error allowed to each in ULP (0: bit for
 * bit). The arrays do not overlap. False: there is no reference, or no memory for it.
 */
bool step_reference(const struct plan *plan, unsigned i, const void *in, void *out, float *bounds,
                    size_t count);

#endif
