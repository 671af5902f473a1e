/* SPDX-License-Identifier: MIT */
#include "example.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void must_succeed(cls_status status, const char *call) {
    if (status)
        give_up("%s\n    %s: %s", call, cls_status_string(status), cls_last_error_detail());
}

void give_up(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

void sleep_ms(double ms) {
    struct timespec span = {(time_t)(ms / 1e3), (long)((ms - 1e3 * (time_t)(ms / 1e3)) * 1e6)};
    while (nanosleep(&span, &span) != 0)
        continue;
}

void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory)
        give_up("no memory for %zu bytes", bytes);
    return memory;
}

bool is_quick(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--quick"))
            return true;
    return false;
}

/* Modulo 1024, so that the values stay exact; fmod takes several times as long on a CPU. */
static const char source[] = "kernel void busy(global float *x, uint rounds) {\n"
                             "    float y = x[get_global_id(0)];\n"
                             "    for (uint i = 0; i < rounds; i++)\n"
                             "        y = y * 2.0f + 1.0f, y -= 1024.0f * (int)(y / 1024.0f);\n"
                             "    x[get_global_id(0)] = y;\n"
                             "}\n";

cls_kernel busy_kernel(cls_context context) {
    cls_program program;
    cls_kernel kernel;
    MUST(cls_program_from_source(context, source, "busy.cl", NULL, &program));
    MUST(cls_kernel_create(program, "busy", &kernel));
    MUST(cls_program_destroy(program));
    return kernel;
}

cls_status busy_launch(cls_kernel kernel, cls_buffer x, size_t count, unsigned rounds,
                       cls_stream stream) {
    const cls_launch shape = cls_launch_1d(count);
    const cls_arg args[] = {cls_arg_buffer(x), cls_arg_u32(rounds)};
    return cls_kernel_launch_async(kernel, &shape, args, 2, stream);
}

float busy_result(float x, unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++) {
        x = x * 2 + 1;
        x -= 1024 * (float)(int)(x / 1024);
    }
    return x;
}
