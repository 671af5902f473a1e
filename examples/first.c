/* SPDX-License-Identifier: MIT */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

int main(void) {
    float x[4] = {1, 2, 3, 4};
    cls_stream upload, compute;
    cls_event uploaded;
    cls_buffer data;

    must(cls_stream_create(NULL, NULL, &upload)); /* NULL: the default context, default options */
    must(cls_stream_create(NULL, NULL, &compute));
    must(cls_event_create(NULL, NULL, &uploaded));
    must(cls_buffer_create(NULL, sizeof x, &data));
    cls_array squares = cls_array_of(data, CLS_F32, 4);
    must(cls_copy_h2d_async(data, 0, x, sizeof x, upload));
    must(cls_event_record(uploaded, upload));
    must(cls_stream_wait_event(compute, uploaded));
    must(cls_sqr_f32_async(squares, squares, compute));
    must(cls_copy_d2h_async(x, data, 0, sizeof x, compute));
    must(cls_stream_synchronize(compute)); /* the only call that waits */
    printf("%g %g %g %g\n", x[0], x[1], x[2], x[3]);
}
