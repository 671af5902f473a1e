/* SPDX-License-Identifier: MIT */
/* Transforms (clstream/fft.h). */
#include "ops/fft.h"

static cls_status fft_call(cls_fft_plan handle, const cls_array *in, const cls_array *out,
                           cls_fft_direction direction, cls_stream stream, bool blocking) {
    const cls_array *const views[] = {in, out};
    struct fft_plan *plan = object_acquire(&fft_plan_pool, handle);
    if (!plan)
        return object_invalid(&fft_plan_pool, handle);
    const cls_status status = fft_transform(plan, views, direction, stream, blocking);
    object_release(&plan->object);
    return status;
}

cls_status cls_fft(cls_fft_plan plan, cls_array in, cls_array out, cls_fft_direction direction,
                   cls_stream stream) {
    return fft_call(plan, &in, &out, direction, stream, true);
}

cls_status cls_fft_async(cls_fft_plan plan, cls_array in, cls_array out,
                         cls_fft_direction direction, cls_stream stream) {
    return fft_call(plan, &in, &out, direction, stream, false);
}
