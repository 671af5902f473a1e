/* SPDX-License-Identifier: MIT */
/* What the examples share: calls that must succeed, time, and a kernel that takes as long as one likes. */
#ifndef CLSTREAM_EXAMPLES_EXAMPLE_H
#define CLSTREAM_EXAMPLES_EXAMPLE_H

#include <clstream.h>

#include <stdbool.h>

/* Prints what a call that failed says, and ends the program. */
void must_succeed(cls_status status, const char *call);
#define MUST(call) must_succeed((call), #call)

/* Ends the program with a message. */
void give_up(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

double now_ms(void);
void sleep_ms(double ms);
void *allocate(size_t bytes);

/* Whether --quick is among the arguments: a size that takes a moment. */
bool is_quick(int argc, char **argv);

/* x[i] = x[i] * 2 + 1, `rounds` times, for `count` floats. */
cls_kernel busy_kernel(cls_context context);
cls_status busy_launch(cls_kernel kernel, cls_buffer x, size_t count, unsigned rounds,
                       cls_stream stream);

/* What busy_launch makes of a value. */
float busy_result(float x, unsigned rounds);

#endif
