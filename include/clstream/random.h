/* SPDX-License-Identifier: MIT */
/**
 * @file random.h
 * Random numbers on a stream: uniform, normal, integers, Bernoulli masks, dropout.
 *
 * The generator is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011), a function of a counter of 128 bits and a key of 64, which gives four words of 32 bits. A
 * generator's state is three numbers in device memory: the seed is the key, the offset the lower half of the counter,
 * the sequence its upper half; lower words come first, as in Random123. Element i of a draw is computed from
 * words of the counter `offset + i / k`, where k is the number of elements that a counter gives:
 *
 * | draw                          | type                  | k | element j of a counter, from its words w          |
 * |-------------------------------|-----------------------|---|---------------------------------------------------|
 * | integers, n = 0               | i8 to i32, u8 to u32  | 4 | the low bits of w[j]                              |
 * | integers, n = 0               | i64                   | 2 | w[2j] + 2^32 w[2j + 1]                            |
 * | integers, n > 0               | i8 to i32, u8 to u32  | 2 | floor(x n / 2^64), x = w[2j] + 2^32 w[2j + 1]     |
 * | integers, n > 0               | i64                   | 1 | floor(x n / 2^128), x all four words              |
 * | uniform                       | f32, f16, bf16        | 4 | of the upper 24 bits of w[j]                      |
 * | uniform                       | f64                   | 2 | of the upper 53 bits of w[2j] + 2^32 w[2j + 1]    |
 * | normal                        | f32, f16, bf16        | 4 | of w[0] and w[1], or w[2] and w[3]: two elements  |
 * | normal                        | f64                   | 2 | of all four words: two elements                   |
 * | bernoulli, dropout            | all                   | 4 | w[j] against the probability                      |
 *
 * So an element depends on state and i alone: not on the device, the shape of the launch, the view's place or its
 * count. A draw of `count` elements uses ceil(count / k) counters and adds that number to the offset, modulo
 * 2^64. Two draws of a multiple of k elements are the two parts of one draw of both.
 *
 * **Order.** A draw is two commands of its stream: one that reads the state and writes the array, and one that
 * advances the offset. The state is memory like that of a buffer. Draws of one generator on several streams, and reads
 * and writes of its state, are ordered by events or the like, as commands that use one buffer are; the race
 * checker (check.h) finds those that are not. Without an order two draws may give the same numbers. A captured
 * draw advances the state in each launch of its graph, so that each launch draws anew. After a failure of the
 * stream the state may have been advanced or not; cls_random_set_state makes it known again.
 *
 * **Threads.** Every function may be called from any thread. Draws of several threads on one stream do not mix: each
 * has numbers of its own.
 *
 * **The same bits on every device** have integers, Bernoulli masks, dropout and uniform numbers, unless a device flushes
 * denormal numbers and there are such. Normal numbers of f32, f16 and bf16 are calculated by fma() and have the same bits
 * on every device whose fma() rounds once; their error, and that of f64, is stated there.
 *
 * The common rules and statuses are those of cast.h: views, NULL streams, `_async` forms, zero elements. A draw can also
 * return
 * @retval CLS_ERROR_INVALID_HANDLE also of the generator
 * @retval CLS_ERROR_WRONG_CONTEXT  also if generator and arrays belong to different contexts
 * @retval CLS_ERROR_UNSUPPORTED    also for uniform and normal numbers on a device whose floats round wrongly
 */
#ifndef CLSTREAM_RANDOM_H
#define CLSTREAM_RANDOM_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A generator. */
typedef struct cls_random_handle *cls_random;

/** The state of a generator. */
typedef struct cls_random_state {
    uint64_t seed;     /**< the key */
    uint64_t sequence; /**< the upper half of the counters: sequences of one seed are independent */
    uint64_t offset;   /**< the lower half of the next draw's first counter */
} cls_random_state;

/**
 * Creates a generator with the state {seed, 0, 0}, which is uploaded on the context's default stream as by
 * cls_buffer_from_host. The caller destroys it.
 * @retval CLS_ERROR_INVALID_VALUE  `out` is null
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 * @retval CLS_ERROR_LIMIT          there are too many generators
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 * @return also the error of the default stream
 */
CLS_API cls_status cls_random_create(cls_context context, uint64_t seed, cls_random *out);

/** Destroys a generator and returns at once. Submitted draws, and graphs that draw, keep its state. */
CLS_API cls_status cls_random_destroy(cls_random random);

/**
 * Gets the state as it is after the stream's work so far, and waits.
 * @retval CLS_ERROR_INVALID_VALUE `state` is null
 */
CLS_API cls_status cls_random_get_state(cls_random random, cls_random_state *state,
                                        cls_stream stream);

/**
 * Sets the state for later draws. The call copies `state`.
 * @retval CLS_ERROR_INVALID_VALUE `state` is null
 */
CLS_API cls_status cls_random_set_state(cls_random random, const cls_random_state *state,
                                        cls_stream stream);
/** Like cls_random_set_state; only submits. */
CLS_API cls_status cls_random_set_state_async(cls_random random, const cls_random_state *state,
                                              cls_stream stream);

/**
 * Numbers that are uniformly distributed in [low, high). `low` and `high` are rounded to the type first. Of f32 a
 * number is low + (high - low) u, each operation rounded once, where u is a multiple of 2^-24 in [0, 1); of f64 one of
 * 2^-53. f16 and bf16 are calculated as f32 and rounded. What rounding brings to `high` or beyond becomes the largest
 * number of the type below it.
 * @retval CLS_ERROR_TYPE_MISMATCH the type is no float
 * @retval CLS_ERROR_INVALID_VALUE low < high does not hold, or one of them or high - low is not finite (of f16 and
 *                                 bf16 the difference in f32)
 */
CLS_API cls_status cls_random_uniform(cls_random random, cls_array out, double low, double high,
                                      cls_stream stream);
/** Like cls_random_uniform; only submits. */
CLS_API cls_status cls_random_uniform_async(cls_random random, cls_array out, double low,
                                            double high, cls_stream stream);

/**
 * Normally distributed numbers, mean + deviation z. z is by Box and Muller ("A note on the generation of random normal
 * deviates", 1958): sqrt(-2 ln u) cos(a) and sqrt(-2 ln u) sin(a). Of f32 u is (k + 1/2) / 2^31 and a is pi/2 times i / 2^30
 * for i from -2^30 to 2^30 - 1, both fractions rounded to f32, and a bit is the cosine's sign. Of f64 u is (k + 1/2) / 2^52
 * and a a multiple of 2 pi / 2^64. So |z| is at most 6.7 (of f64 8.6). The error of z is at most 8 ULP, and of f64 16 ULP.
 * `mean` and `deviation` are rounded to the type, of f16 and bf16 to f32; deviation z + mean is rounded once, of f64 twice.
 * f16 and bf16 are calculated as f32 and rounded; beyond the range of f16 they are infinite.
 * @retval CLS_ERROR_TYPE_MISMATCH the type is no float
 * @retval CLS_ERROR_INVALID_VALUE `mean` or `deviation` is not finite, or `deviation` is below 0
 */
CLS_API cls_status cls_random_normal(cls_random random, cls_array out, double mean,
                                     double deviation, cls_stream stream);
/** Like cls_random_normal; only submits. */
CLS_API cls_status cls_random_normal_async(cls_random random, cls_array out, double mean,
                                           double deviation, cls_stream stream);

/**
 * Integers from 0 to n - 1; with n = 0 all values of the type, each bit random. They are the upper half of a product
 * of n and 64 random bits, of i64 128: the probability of a value differs from 1 / n by less than 2^-64, of i64 2^-128.
 * @retval CLS_ERROR_TYPE_MISMATCH the type is a float
 * @retval CLS_ERROR_INVALID_VALUE n - 1 is no value of the type
 */
CLS_API cls_status cls_random_integers(cls_random random, cls_array out, uint64_t n,
                                       cls_stream stream);
/** Like cls_random_integers; only submits. */
CLS_API cls_status cls_random_integers_async(cls_random random, cls_array out, uint64_t n,
                                             cls_stream stream);

/**
 * A mask of u8: 1 with the given probability, which is rounded to a multiple of 2^-32, else 0.
 * @retval CLS_ERROR_TYPE_MISMATCH the type is not u8
 * @retval CLS_ERROR_INVALID_VALUE the probability is not from 0 to 1
 */
CLS_API cls_status cls_random_bernoulli(cls_random random, cls_array out, double probability,
                                        cls_stream stream);
/** Like cls_random_bernoulli; only submits. */
CLS_API cls_status cls_random_bernoulli_async(cls_random random, cls_array out, double probability,
                                              cls_stream stream);

/**
 * Dropout: an element of `out` is 0 with the given probability, rounded to a multiple of 2^-32, and else that of `in`
 * times 1 / (1 - probability), rounded once. All elements are 0 with probability 1. `in` and `out` may be the same
 * bytes. `mask`, unless its buffer is NULL, is an array of u8 that gets 1 for an element that stays and 0 for one that
 * is dropped; it shares no bytes with the others. It is not cls_random_bernoulli's mask of the same state, which has a 1
 * where a dropout of that probability has a 0.
 * @retval CLS_ERROR_TYPE_MISMATCH `in` is no float, `out` is of another type, or `mask` is not u8
 * @retval CLS_ERROR_INVALID_VALUE the probability is not from 0 to 1
 */
CLS_API cls_status cls_dropout(cls_random random, cls_array in, cls_array mask, cls_array out,
                               double probability, cls_stream stream);
/** Like cls_dropout; only submits. */
CLS_API cls_status cls_dropout_async(cls_random random, cls_array in, cls_array mask, cls_array out,
                                     double probability, cls_stream stream);

CLS_END_DECLS

#endif
