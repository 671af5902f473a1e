/* SPDX-License-Identifier: MIT */
/* Four independent streams: what they do overlaps as far as the device can. */
#include <stdio.h>

#include "example.h"

enum { STREAMS = 4, COUNT = 1 << 14, ROUNDS = 200 };

int main(int argc, char **argv) {
    const unsigned launches = is_quick(argc, argv) ? 4 : 100;
    cls_context context;
    cls_stream streams[STREAMS];
    cls_buffer buffers[STREAMS];
    MUST(cls_context_default(&context));
    cls_kernel kernel = busy_kernel(context);
    for (int i = 0; i < STREAMS; i++) {
        const float value = (float)i;
        MUST(cls_stream_create(context, NULL, &streams[i]));
        MUST(cls_buffer_create(context, COUNT * sizeof value, &buffers[i]));
        MUST(cls_fill_async(buffers[i], 0, COUNT * sizeof value, &value, sizeof value, streams[i]));
    }
    const double start = now_ms();
    for (unsigned k = 0; k < launches; k++)
        for (int i = 0; i < STREAMS; i++)
            MUST(busy_launch(kernel, buffers[i], COUNT, ROUNDS, streams[i]));
    const double submitted = now_ms() - start;
    for (int i = 0; i < STREAMS; i++) {
        float got;
        MUST(cls_copy_d2h(&got, buffers[i], 0, sizeof got, streams[i]));
        if (got != busy_result((float)i, launches * ROUNDS))
            give_up("stream %d gives %g", i, (double)got);
        MUST(cls_stream_destroy(streams[i]));
        MUST(cls_buffer_destroy(buffers[i]));
    }
    MUST(cls_kernel_destroy(kernel));
    printf("%u launches: submitted in %.2f ms, done in %.2f ms\n", launches * STREAMS, submitted,
           now_ms() - start);
    return 0;
}
