/* SPDX-License-Identifier: MIT */
#include "batches.h"

#include <stdio.h>

#include "example.h"

void batches_open(struct batches *batches, bool quick) {
    MUST(cls_context_default(&batches->context));
    batches->kernel = busy_kernel(batches->context);
    batches->n = quick ? 8 : MOST_BATCHES;
    batches->count = quick ? 4096 : 1 << 20;
    batches->rounds = 10;
    for (unsigned i = 0; i < batches->n; i++) {
        const size_t bytes = batches->count * sizeof(float);
        void *in, *out;
        MUST(cls_host_alloc(batches->context, bytes, &in));
        MUST(cls_host_alloc(batches->context, bytes, &out));
        batches->in[i] = in;
        batches->out[i] = out;
        for (size_t k = 0; k < batches->count; k++)
            batches->in[i][k] = (float)((i + k) % 1024);
    }
}

void batches_close(struct batches *batches, const char *name, double ms) {
    for (unsigned i = 0; i < batches->n; i++) {
        for (size_t k = 0; k < batches->count; k += 997)
            if (batches->out[i][k] != busy_result(batches->in[i][k], batches->rounds))
                give_up("batch %u, element %zu is %g", i, k, (double)batches->out[i][k]);
        MUST(cls_host_free(batches->in[i]));
        MUST(cls_host_free(batches->out[i]));
    }
    MUST(cls_kernel_destroy(batches->kernel));
    printf("%s: %u batches in %.2f ms\n", name, batches->n, ms);
}

double batches_through_ring(struct batches *batches, unsigned slots) {
    const size_t bytes = batches->count * sizeof(float);
    cls_triple_buffer_config config = CLS_TRIPLE_BUFFER_CONFIG_INIT;
    cls_triple_buffer ring;
    cls_stream up, work, down;
    cls_slot slot;
    config.slots = slots;
    MUST(cls_triple_buffer_create(batches->context, bytes, &config, &ring));
    MUST(cls_stream_create(batches->context, NULL, &up));
    MUST(cls_stream_create(batches->context, NULL, &work));
    MUST(cls_stream_create(batches->context, NULL, &down));
    const double start = now_ms();
    for (unsigned i = 0; i < batches->n; i++) {
        MUST(cls_triple_buffer_upload_slot(ring, up, &slot));
        MUST(cls_copy_h2d_async(slot.buffer, 0, batches->in[i], bytes, up));
        MUST(cls_triple_buffer_process_slot(ring, work, &slot));
        MUST(busy_launch(batches->kernel, slot.buffer, batches->count, batches->rounds, work));
        MUST(cls_triple_buffer_download_slot(ring, down, &slot));
        MUST(cls_copy_d2h_async(batches->out[i], slot.buffer, 0, bytes, down));
        MUST(cls_triple_buffer_advance(ring));
    }
    MUST(cls_stream_synchronize(down));
    const double took = now_ms() - start;
    MUST(cls_stream_destroy(up));
    MUST(cls_stream_destroy(work));
    MUST(cls_stream_destroy(down));
    MUST(cls_triple_buffer_destroy(ring));
    return took;
}
