/* SPDX-License-Identifier: MIT */
/* Dependencies of one's own: one upload, two computations that depend on it, and a third that joins them. */
#include <stdio.h>

#include "example.h"

enum { COUNT = 1000 };

struct sum {
    cls_array a, b, out;
};

static cls_status add(cls_stream stream, const cls_slot *slot, void *arg) {
    const struct sum *sum = arg;
    (void)slot;
    return cls_binary_async(CLS_BINARY_ADD, sum->a, sum->b, sum->out, stream);
}

static cls_op queue_sum(cls_async_coordinator coordinator, struct sum *sum, const cls_op *deps,
                        unsigned n) {
    const cls_buffer buffers[] = {sum->a.buffer, sum->b.buffer, sum->out.buffer};
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_op op;
    compute.fn = add;
    compute.arg = sum;
    compute.buffers = buffers;
    compute.n_buffers = 3;
    MUST(cls_async_coordinator_queue_compute(coordinator, &compute, deps, n, &op));
    return op;
}

int main(void) {
    static float in[COUNT], out[COUNT];
    cls_async_coordinator coordinator;
    cls_buffer buffers[4];
    cls_array x[4];
    cls_op upload, forks[2], join, download;
    MUST(cls_async_coordinator_create(NULL, NULL, &coordinator));
    for (int i = 0; i < 4; i++) {
        MUST(cls_buffer_create(NULL, sizeof in, &buffers[i]));
        x[i] = cls_array_of(buffers[i], CLS_F32, COUNT);
    }
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)i;
    struct sum twice = {x[0], x[0], x[1]}, again = {x[0], x[0], x[2]}, both = {x[1], x[2], x[3]};
    MUST(cls_async_coordinator_queue_upload(coordinator, in, sizeof in,
                                            cls_place_buffer(buffers[0]), NULL, 0, &upload));
    forks[0] = queue_sum(coordinator, &twice, &upload, 1);
    forks[1] = queue_sum(coordinator, &again, &upload, 1);
    join = queue_sum(coordinator, &both, forks, 2);
    MUST(cls_async_coordinator_queue_download(coordinator, cls_place_buffer(buffers[3]), out,
                                              sizeof out, &join, 1, &download));
    MUST(cls_async_coordinator_wait(coordinator, download));
    for (int i = 0; i < COUNT; i++)
        if (out[i] != 4 * in[i])
            give_up("element %d is %g", i, (double)out[i]);
    printf("operations %llu to %llu: fork and join\n", (unsigned long long)upload,
           (unsigned long long)download);
    MUST(cls_async_coordinator_destroy(coordinator));
    for (int i = 0; i < 4; i++)
        MUST(cls_buffer_destroy(buffers[i]));
    return 0;
}
