/* SPDX-License-Identifier: MIT */
/* The CPU works while it asks the stream, now and then, whether the device is done. */
#include <stdio.h>

#include "example.h"

enum { COUNT = 1 << 14, ROUNDS = 500 };

int main(int argc, char **argv) {
    const unsigned launches = is_quick(argc, argv) ? 4 : 50;
    const float one = 1;
    cls_context context;
    cls_stream stream;
    cls_buffer buffer;
    cls_status status;
    double sum = 0;
    unsigned asked = 0;
    float got;
    MUST(cls_context_default(&context));
    MUST(cls_stream_create(context, NULL, &stream));
    MUST(cls_buffer_create(context, COUNT * sizeof one, &buffer));
    cls_kernel kernel = busy_kernel(context);
    MUST(cls_fill_async(buffer, 0, COUNT * sizeof one, &one, sizeof one, stream));
    for (unsigned i = 0; i < launches; i++)
        MUST(busy_launch(kernel, buffer, COUNT, ROUNDS, stream));
    while ((status = cls_stream_query(stream)) == CLS_NOT_READY) {
        asked++;
        for (int i = 1; i <= 10000; i++)
            sum += 1.0 / i;
    }
    must_succeed(status, "cls_stream_query(stream)");
    MUST(cls_copy_d2h(&got, buffer, 0, sizeof got, stream));
    if (got != busy_result(one, launches * ROUNDS))
        give_up("the result is %g", (double)got);
    printf("asked %u times; the CPU has summed up %.1f meanwhile\n", asked, sum);
    MUST(cls_kernel_destroy(kernel));
    MUST(cls_buffer_destroy(buffer));
    MUST(cls_stream_destroy(stream));
    return 0;
}
