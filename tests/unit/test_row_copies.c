/* SPDX-License-Identifier: MIT */
/* Rows moved by several threads: every byte of them and none between, from one caller and from many. */
#include "../support/test.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mover.h"
#include "system/clocks.h"

enum { CALLERS = 6, UNTOUCHED = 0xA5 };

struct shape {
    size_t width, height, to_gap, from_gap;
};

static const struct shape shapes[] = {
    {0, 0, 0, 0},
    {1, 1, 0, 0},
    {4 << 20, 1, 0, 0},
    {(4 << 20) + 1, 1, 0, 0},
    {(1 << 20) - 1, 1, 0, 0},
    {1 << 20, 1, 0, 0},
    {1, 2000000, 1, 0},
    {3, 700001, 0, 2},
    {1000, 4001, 24, 0},
    {4096, 1024, 0, 4096},
    {700000, 5, 3, 17},
    {63, 33333, 1, 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static unsigned char byte_at(size_t i, unsigned seed) {
    return (unsigned char)((i * 2654435761u + seed) >> 7);
}

/* Whether all of one move is as it should be. */
static bool is_right(const struct shape *shape, const unsigned char *to,
                     const unsigned char *from) {
    const size_t to_pitch = shape->width + shape->to_gap,
                 from_pitch = shape->width + shape->from_gap;
    for (size_t row = 0; row < shape->height; row++) {
        if (memcmp(to + row * to_pitch, from + row * from_pitch, shape->width))
            return false;
        for (size_t i = shape->width; i < to_pitch; i++)
            if (to[row * to_pitch + i] != UNTOUCHED)
                return false;
    }
    return true;
}

static bool moves_well(const struct shape *shape, unsigned seed) {
    const size_t to_bytes = (shape->width + shape->to_gap) * shape->height;
    const size_t from_bytes = (shape->width + shape->from_gap) * shape->height;
    unsigned char *to = malloc(to_bytes + 1), *from = malloc(from_bytes + 1);
    bool good = to && from;
    for (size_t i = 0; good && i < from_bytes; i++)
        from[i] = byte_at(i, seed);
    if (good) {
        memset(to, UNTOUCHED, to_bytes + 1);
        move_rows(&(struct row_copy){.to = (char *)to,
                                     .from = (const char *)from,
                                     .to_pitch = shape->width + shape->to_gap,
                                     .from_pitch = shape->width + shape->from_gap,
                                     .width = shape->width,
                                     .height = shape->height});
        good = is_right(shape, to, from) && to[to_bytes] == UNTOUCHED;
    }
    free(to);
    free(from);
    return good;
}

static void moves_every_shape(void **state) {
    (void)state;
    for (unsigned i = 0; i < SHAPES; i++)
        assert_true(moves_well(&shapes[i], i));
}

static void *move_all(void *number) {
    const unsigned first = *(const unsigned *)number;
    bool good = true;
    for (unsigned i = 0; i < 2 * SHAPES && good; i++)
        good = moves_well(&shapes[(first + i) % SHAPES], first + i);
    return good ? number : NULL;
}

static void serves_many_callers(void **state) {
    pthread_t threads[CALLERS];
    unsigned numbers[CALLERS];
    (void)state;
    for (unsigned i = 0; i < CALLERS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, move_all, &numbers[i]), 0);
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        void *good;
        assert_int_equal(pthread_join(threads[i], &good), 0);
        assert_ptr_equal(good, &numbers[i]);
    }
}

static void moves_alone_once_stopped(void **state) {
    (void)state;
    movers_stop(clock_now_ns() + 20 * CLOCK_SECOND);
    moves_every_shape(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves_every_shape),
        cmocka_unit_test(serves_many_callers),
        cmocka_unit_test(moves_alone_once_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
