/* SPDX-License-Identifier: MIT */
/*
 * What the tests of numerics share: values that are hard to get right, views on the device with
 * guards around them, and comparison with the host reference.
 */
#ifndef CLSTREAM_TESTS_ARRAYS_H
#define CLSTREAM_TESTS_ARRAYS_H

#include "../support/trust.h"

#include <stdbool.h>

#include <clstream.h>

#include "tools/reference.h"

/* All of the library's table. */
enum {
#define TYPE(id, name, c_type, opencl, value, bits, size, kind) +1
    TYPES = 0
#include "base/types.def"
#undef TYPE
};
extern const cls_dtype all_types[TYPES];

bool is_float(cls_dtype type);
/* f16 or bf16. */
bool is_narrow(cls_dtype type);

/* To be called first. TEST_FILTER ("*_f32") in the environment picks the tests by their names. */
void prepare_tests(void);

/* Whether an operation, by its number in its family, is run on a type: always with TEST_EFFORT=long, otherwise on
 * f32 and on one more type, another for each of five operations. Each pair is a program for the driver's compiler. */
bool pair_is_chosen(int op, cls_dtype type);
/* The same of casts: those of f16, bf16, i8, i16 and u16 only from and to f32. tests/device/test_narrow and
 * test_small_integers go through the others. */
bool cast_is_chosen(cls_dtype from, cls_dtype to);

/* Whether the device is Oclgrind's, an interpreter with faults of its own. */
bool device_is_oclgrind(void);

/* Whether the driver's own convert_float rounds an i64 twice, by way of f64, as Oclgrind's does. */
bool device_rounds_i64_twice(void);

/* Whether the default context's device has double precision. */
bool device_has_f64(void);
/* Whether its f32 arithmetic takes numbers below the smallest normal one as zero. */
bool device_flushes(void);

/* How many multiprocessors, or cores, it has. */
size_t device_core_count(void);

/* Skips the test of a type that the device has not; the skip says why. */
#define NEED_TYPE(type)                         \
    if ((type) == CLS_F64 && !device_has_f64()) \
    SKIP_BECAUSE("the device has no f64")

/* Where a float keeps more digits from step to step, functions and sums of floats are refused. */
#define NEED_ROUNDING(type) \
    if (is_float(type))     \
    trust_need(NULL, "rounding")

/* `count` elements: the type's limits, the other types' limits and their neighbours, ties, NaN,
 * infinities and zeros first, then pseudo-random ones of every magnitude. The same for the same
 * seed. To be freed. */
void *hard_values(cls_dtype type, size_t count, unsigned seed);
/* The number of those that are not random. */
size_t hard_count(cls_dtype type);

/* Replaces NaN, infinities and what is above `limit` in magnitude. */
void tame(cls_dtype type, void *array, size_t count, double limit);

/* A view of `count` elements of a buffer of its own, `offset` elements into it, with guard
 * elements all around. `from` may be NULL: then the view holds the guard's bytes too. */
cls_array view_make(cls_dtype type, size_t offset, size_t count, const void *from);
/* Downloads the view, checks the guards and destroys the buffer; to be freed. */
void *view_take(cls_array view);
/* The same without destroying it. */
void *view_read(cls_array view);
void view_destroy(cls_array view);

/* Fails the running test, naming the first element that is off by more than `bounds` says, which
 * may be NULL for none. `inputs` (of the given type, may be NULL) is for the message. */
void check_array(const char *what, cls_dtype type, const void *got, const void *expected,
                 const double *bounds, size_t count, cls_dtype input_type, const void *inputs);

#endif
