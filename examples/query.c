/* SPDX-License-Identifier: MIT */
/*
 * Asking instead of waiting: the CPU has work of its own and asks, now and then, whether the device is done.
 *
 * For a loop that must go on: a frame to draw, a socket to serve. Look at the while loop: CLS_NOT_READY is no
 * error; the last answer is success or the stream's error. Asking is enough: nothing needs to be waited for.
 */
#include <clstream.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1 << 14, ROUNDS = 500 };

static const char source[] = "kernel void work(global uint *x, uint rounds) {\n"
                             "    uint y = x[get_global_id(0)];\n"
                             "    for (uint i = 0; i < rounds; i++)\n"
                             "        y = y * 1664525u + 1013904223u;\n"
                             "    x[get_global_id(0)] = y;\n"
                             "}\n";

static void must(cls_status status) {
    if (status) {
        fprintf(stderr, "%s: %s\n", cls_status_string(status), cls_last_error_detail());
        _Exit(1);
    }
}

int main(int argc, char **argv) {
    const unsigned launches = argc > 1 && !strcmp(argv[1], "--quick") ? 4 : 50;
    const cls_launch launch = cls_launch_1d(COUNT);
    uint32_t expected = 1, got;
    cls_program program;
    cls_kernel kernel;
    cls_stream stream;
    cls_buffer buffer;
    cls_status status;
    double sum = 0;
    unsigned asked = 0;

    must(cls_program_from_source(NULL, source, "work.cl", NULL, &program));
    must(cls_kernel_create(program, "work", &kernel));
    must(cls_program_destroy(program));
    must(cls_stream_create(NULL, NULL, &stream));
    must(cls_buffer_create(NULL, COUNT * sizeof got, &buffer));
    must(cls_fill_async(buffer, 0, COUNT * sizeof got, &expected, sizeof got, stream));
    const cls_arg args[] = {cls_arg_buffer(buffer), cls_arg_u32(ROUNDS)};
    for (unsigned i = 0; i < launches; i++)
        must(cls_kernel_launch_async(kernel, &launch, args, 2, stream));
    must(cls_copy_d2h_async(&got, buffer, 0, sizeof got, stream));

    while ((status = cls_stream_query(stream)) == CLS_NOT_READY) {
        asked++;
        for (int i = 1; i <= 10000; i++) /* the CPU's own work */
            sum += 1.0 / i;
    }
    must(status);

    for (unsigned i = 0; i < launches * ROUNDS; i++)
        expected = expected * 1664525u + 1013904223u;
    if (got != expected) {
        fprintf(stderr, "the result is %u, not %u\n", got, expected);
        return 1;
    }
    printf("%u launches; asked %u times, and the CPU added up %.1f meanwhile\n", launches, asked,
           sum);
    must(cls_kernel_destroy(kernel));
    must(cls_buffer_destroy(buffer));
    must(cls_stream_destroy(stream));
    return 0;
}
