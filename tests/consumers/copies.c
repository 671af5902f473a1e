/* SPDX-License-Identifier: MIT */
/* A part of a program, compiled once for each of two copies of the library, with another CLS_PREFIX: a kernel on a
 * stream of that copy. main is in the one with OTHER, and runs both. */
#include <clstream.h>
#include <stdio.h>

#define JOIN(prefix, name) prefix##name
#define NAME(prefix, name) JOIN(prefix, name)

static const char source[] = "kernel void add(global int *x, int n) { x[get_global_id(0)] += n; }";

static cls_status run(int *values, int n) {
    cls_stream stream;
    cls_buffer buffer;
    cls_program program;
    cls_kernel kernel = NULL;
    cls_status status = cls_stream_create(NULL, NULL, &stream);
    if (!status)
        status = cls_buffer_create(NULL, 64 * sizeof *values, &buffer);
    if (!status)
        status = cls_program_from_source(NULL, source, "add.cl", NULL, &program);
    if (!status)
        status = cls_kernel_create(program, "add", &kernel);
    if (!status)
        status = cls_copy_h2d_async(buffer, 0, values, 64 * sizeof *values, stream);
    const cls_arg args[] = {cls_arg_buffer(buffer), cls_arg_i32(n)};
    const cls_launch launch = cls_launch_1d(64);
    if (!status)
        status = cls_kernel_launch_async(kernel, &launch, args, 2, stream);
    if (!status)
        status = cls_copy_d2h_async(values, buffer, 0, 64 * sizeof *values, stream);
    return status ? status : cls_stream_synchronize(stream);
}

int NAME(CLS_PREFIX, run)(void);

int NAME(CLS_PREFIX, run)(void) {
    int values[64] = {0};
    const cls_status status = run(values, 42);
    if (status)
        printf("%s: %s\n", cls_status_string(status), cls_last_error_detail());
    return status == CLS_ERROR_NO_DEVICE ? 77 : status || values[0] != 42 || values[63] != 42;
}

#ifdef OTHER
int NAME(OTHER, run)(void);

int main(void) {
    const int result = NAME(CLS_PREFIX, run)();
    return result ? result : NAME(OTHER, run)();
}
#endif
