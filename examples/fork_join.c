/* SPDX-License-Identifier: MIT */
/*
 * Fork and join: one upload, two computations that need it, a third that joins them, and a download of that.
 *
 * For uploads, computing and downloads with dependencies of their own: an async coordinator has a stream for
 * each kind and gives each operation a number for others to depend on. task_graph.c is for any other graph.
 * Look at main(): the dependencies are the arrays of numbers handed to each queue call.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000, ARRAYS = 4 };

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

struct sum {
    cls_array a, b, out;
};

static cls_status add(cls_stream stream, const cls_slot *slot, void *arg) {
    const struct sum *sum = arg;
    (void)slot; /* NULL: no triple buffer was named */
    return cls_add_f32_async(sum->a, sum->b, sum->out, stream);
}

/* `sum` is used during the call only. */
static cls_op queue_sum(cls_async_coordinator coordinator, struct sum sum, const cls_op *deps,
                        unsigned n) {
    const cls_buffer buffers[] = {sum.a.buffer, sum.b.buffer, sum.out.buffer};
    cls_compute compute = CLS_COMPUTE_INIT;
    cls_op op;
    compute.fn = add;
    compute.arg = &sum;
    compute.buffers = buffers;
    compute.n_buffers = 3;
    must(cls_async_coordinator_queue_compute(coordinator, &compute, deps, n, &op));
    return op;
}

int main(void) {
    static float in[COUNT], out[COUNT];
    cls_async_coordinator coordinator;
    cls_array x[ARRAYS];
    cls_op upload, forks[2], join, download;

    must(cls_async_coordinator_create(NULL, NULL, &coordinator));
    for (int i = 0; i < ARRAYS; i++) {
        cls_buffer buffer;
        must(cls_buffer_create(NULL, sizeof in, &buffer));
        x[i] = cls_array_of(buffer, CLS_F32, COUNT);
    }
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)i;

    must(cls_async_coordinator_queue_upload(coordinator, in, sizeof in,
                                            cls_place_buffer(x[0].buffer), NULL, 0, &upload));
    forks[0] = queue_sum(coordinator, (struct sum){x[0], x[0], x[1]}, &upload, 1);
    forks[1] = queue_sum(coordinator, (struct sum){x[0], x[0], x[2]}, &upload, 1);
    join = queue_sum(coordinator, (struct sum){x[1], x[2], x[3]}, forks, 2);
    must(cls_async_coordinator_queue_download(coordinator, cls_place_buffer(x[3].buffer), out,
                                              sizeof out, &join, 1, &download));
    must(cls_async_coordinator_wait(coordinator, download, CLS_FOREVER));

    for (int i = 0; i < COUNT; i++)
        if (out[i] != 4 * in[i]) {
            fprintf(stderr, "element %d is %g, not %g\n", i, (double)out[i], 4 * (double)in[i]);
            return 1;
        }
    printf("operation %llu: upload; %llu and %llu: fork; %llu: join; %llu: download\n",
           (unsigned long long)upload, (unsigned long long)forks[0], (unsigned long long)forks[1],
           (unsigned long long)join, (unsigned long long)download);
    must(cls_async_coordinator_destroy(coordinator));
    for (int i = 0; i < ARRAYS; i++)
        must(cls_buffer_destroy(x[i].buffer));
    return 0;
}
