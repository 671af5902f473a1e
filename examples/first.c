/* SPDX-License-Identifier: MIT */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>

static const char *source = "__kernel void square(__global const float *x, __global float *y) {"
                            "    size_t i = get_global_id(0); y[i] = x[i] * x[i]; }";

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

int main(void) {
    float x[4] = {1, 2, 3, 4}, y[4];
    cls_stream upload, compute;
    cls_event uploaded;
    cls_buffer in, out;
    cls_program program;
    cls_kernel square;

    must(cls_stream_create(NULL, NULL, &upload)); /* NULL: the default context, default options */
    must(cls_stream_create(NULL, NULL, &compute));
    must(cls_event_create(NULL, NULL, &uploaded));
    must(cls_buffer_create(NULL, sizeof x, &in));
    must(cls_buffer_create(NULL, sizeof y, &out));
    must(cls_program_from_source(NULL, source, "square.cl", NULL, &program));
    must(cls_kernel_create(program, "square", &square));

    cls_launch launch = cls_launch_1d(4);
    cls_arg args[] = {cls_arg_buffer(in), cls_arg_buffer(out)};
    must(cls_copy_h2d_async(in, 0, x, sizeof x, upload));
    must(cls_event_record(uploaded, upload));
    must(cls_stream_wait_event(compute, uploaded));
    must(cls_kernel_launch_async(square, &launch, args, 2, compute));
    must(cls_copy_d2h_async(y, out, 0, sizeof y, compute));
    must(cls_stream_synchronize(compute)); /* the only call that waits */
    printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
    return 0;
}
