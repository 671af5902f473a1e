/* SPDX-License-Identifier: MIT */
/* The baseline: upload, work and download of one batch after the other, each waited for. */
#include "batches.h"
#include "example.h"

int main(int argc, char **argv) {
    struct batches batches;
    cls_buffer buffer;
    batches_open(&batches, is_quick(argc, argv));
    const size_t bytes = batches.count * sizeof(float);
    MUST(cls_buffer_create(batches.context, bytes, &buffer));
    const double start = now_ms();
    for (unsigned i = 0; i < batches.n; i++) {
        MUST(cls_copy_h2d(buffer, 0, batches.in[i], bytes, NULL));
        MUST(busy_launch(batches.kernel, buffer, batches.count, batches.rounds, NULL));
        MUST(cls_stream_synchronize(NULL));
        MUST(cls_copy_d2h(batches.out[i], buffer, 0, bytes, NULL));
    }
    const double took = now_ms() - start;
    MUST(cls_buffer_destroy(buffer));
    batches_close(&batches, "sequential", took);
    return 0;
}
