/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
/* The map of address ranges, beside a sorted array, and its readers beside a writer; ranges that are reserved, and those of others. */
#include "../support/test.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../support/effort.h"
#include "base/address_map.h"
#include "base/hidden.h"
#include "base/reserve.h"

static unsigned draw(unsigned *state, unsigned n) {
    *state = *state * 1664525u + 1013904223u;
    return n ? (unsigned)((uint64_t)*state * n >> 32) : 0;
}

/* --- a model --- */

enum { MOST = 3000, SPACE = 1 << 20 };

struct model {
    struct address_range ranges[MOST];
    unsigned n;
};

/* The first range whose end is behind the address. */
static unsigned place(const struct model *model, uintptr_t address) {
    unsigned i = 0, n = model->n;
    while (n) {
        const struct address_range *range = &model->ranges[i + n / 2];
        const bool before = range->start + range->bytes <= address;
        i = before ? i + n / 2 + 1 : i;
        n = before ? n - n / 2 - 1 : n / 2;
    }
    return i;
}

static bool model_add(struct model *model, const struct address_range *range) {
    const unsigned i = place(model, range->start);
    if (i < model->n && model->ranges[i].start < range->start + range->bytes)
        return false;
    memmove(&model->ranges[i + 1], &model->ranges[i], (model->n - i) * sizeof *range);
    model->ranges[i] = *range;
    model->n++;
    return true;
}

static void model_remove(struct model *model, unsigned i) {
    memmove(&model->ranges[i], &model->ranges[i + 1], (model->n - i - 1) * sizeof model->ranges[0]);
    model->n--;
}

static void expect_range(bool found, const struct address_range *got,
                         const struct address_range *wanted) {
    assert_int_equal(found, wanted != NULL);
    if (wanted)
        assert_memory_equal(got, wanted, sizeof *got);
}

static void compare_at(struct address_map *map, struct address_cache *cache,
                       const struct model *model, uintptr_t address) {
    struct address_range got;
    const unsigned i = place(model, address);
    const struct address_range *at = i < model->n ? &model->ranges[i] : NULL;
    const bool covers = at && at->start <= address;
    bool found = address_map_find(map, address, &got);
    expect_range(found, &got, covers ? at : NULL);
    for (unsigned k = 0; k < 3; k++) {
        found = address_map_find_again(map, cache, address - k % 2, &got);
        const unsigned j = place(model, address - k % 2);
        const bool has = j < model->n && model->ranges[j].start <= address - k % 2;
        expect_range(found, &got, has ? &model->ranges[j] : NULL);
    }
    found = address_map_before(map, address, &got);
    expect_range(found, &got, covers ? at : i ? &model->ranges[i - 1] : NULL);
    found = address_map_behind(map, address, &got);
    const unsigned behind = i + covers;
    expect_range(found, &got, behind < model->n ? &model->ranges[behind] : NULL);
}

static void replace_one(struct address_map *map, struct model *model, unsigned i, size_t bytes) {
    struct address_range range = model->ranges[i];
    range.bytes = bytes;
    range.name = (char *)range.name + 1;
    const bool fits = i + 1 == model->n || model->ranges[i + 1].start - range.start >= bytes;
    assert_int_equal(address_map_replace(map, &range), fits);
    if (fits)
        model->ranges[i] = range;
    range.start++;
    assert_true(range.start == model->ranges[i + 1 < model->n ? i + 1 : i].start ||
                !address_map_replace(map, &range));
}

/* Grows to a number of ranges, shrinks to none, and grows again. */
static void as_its_model(void **state) {
    static struct address_map map;
    static struct model model;
    struct address_cache cache = {0};
    const unsigned times = effort_is_long() ? 2000000 : 100000;
    unsigned seed = 99, most = 200;
    (void)state;
    for (unsigned k = 0; k < times; k++) {
        const uintptr_t start = 4096 + draw(&seed, SPACE);
        if (k % (times / 8) == 0)
            most = most == MOST - 1 ? 0 : most == 0 ? 700 : MOST - 1;
        if (model.n < most) {
            const struct address_range range = {start, 1 + draw(&seed, 200),
                                                (void *)(uintptr_t)(k + 1)};
            const bool added = model_add(&model, &range);
            assert_int_equal(address_map_add(&map, &range),
                             added ? CLS_SUCCESS : CLS_ERROR_OVERLAP);
        } else if (model.n && k % 3 == 0) {
            replace_one(&map, &model, draw(&seed, model.n), 1 + draw(&seed, 300));
        } else if (model.n) {
            const unsigned i = draw(&seed, model.n);
            assert_false(address_map_remove(&map, model.ranges[i].start + SPACE * 2));
            assert_true(address_map_remove(&map, model.ranges[i].start));
            model_remove(&model, i);
        }
        compare_at(&map, &cache, &model, start);
        compare_at(&map, &cache, &model, model.n ? model.ranges[draw(&seed, model.n)].start : 0);
    }
    address_map_free(&map);
}

/* At the ends of all addresses, and ranges that touch. */
static void ends(void **state) {
    static struct address_map map;
    const struct address_range ranges[] = {
        {UINTPTR_MAX - 9, 10, &map}, {1, 9, &map}, {10, 5, &map}};
    const struct address_range across = {9, 1, &map};
    struct address_range got;
    (void)state;
    assert_false(address_map_find(&map, 5, &got));
    assert_false(address_map_behind(&map, 5, &got));
    for (int i = 0; i < 3; i++)
        assert_int_equal(address_map_add(&map, &ranges[i]), CLS_SUCCESS);
    assert_int_equal(address_map_add(&map, &across), CLS_ERROR_OVERLAP);
    assert_true(address_map_find(&map, UINTPTR_MAX, &got));
    assert_true(address_map_find(&map, 9, &got) && got.start == 1);
    assert_true(address_map_find(&map, 10, &got) && got.start == 10);
    assert_false(address_map_find(&map, 0, &got));
    assert_false(address_map_find(&map, 15, &got));
    assert_false(address_map_before(&map, 0, &got));
    assert_false(address_map_behind(&map, UINTPTR_MAX, &got));
    address_map_free(&map);
}

/* --- readers beside a writer --- */

enum { READERS = 3, LASTING = 500, STRIDE = 1 << 16 };

static struct address_map shared;
static _Atomic bool done;

/* Those of odd numbers stay; the writer adds and removes the others. A name tells start and size. */
static struct address_range numbered(unsigned i) {
    const size_t bytes = 100 + i % 50;
    return (struct address_range){(uintptr_t)(i + 1) * STRIDE, bytes,
                                  (void *)((uintptr_t)(i + 1) * STRIDE + bytes)};
}

static bool is_whole(const struct address_range *range) {
    return (uintptr_t)range->name == range->start + range->bytes;
}

static void *read_shared(void *arg) {
    unsigned seed = (unsigned)(uintptr_t)arg, wrong = 0;
    unsigned long found = 0;
    struct address_cache cache = {0};
    while (!atomic_load(&done)) {
        const unsigned i = draw(&seed, 2 * LASTING);
        const struct address_range wanted = numbered(i);
        struct address_range got;
        const uintptr_t address = wanted.start + draw(&seed, 100);
        const bool has = i % 4 < 2 ? address_map_find(&shared, address, &got)
                                   : address_map_find_again(&shared, &cache, address, &got);
        wrong += has ? got.start != wanted.start || !is_whole(&got) : i % 2;
        wrong += address_map_find(&shared, wanted.start + wanted.bytes, &got);
        wrong += address_map_find_again(&shared, &cache, wanted.start + wanted.bytes, &got);
        found += has;
    }
    return wrong || !found ? NULL : arg;
}

static void write_shared(void) {
    static bool has[LASTING];
    unsigned seed = 5;
    for (unsigned k = 0; k < 200000; k++) {
        const unsigned i = draw(&seed, LASTING);
        const struct address_range range = numbered(2 * i);
        const bool good =
            has[i] ? address_map_remove(&shared, range.start) : !address_map_add(&shared, &range);
        assert_true(good);
        has[i] = !has[i];
    }
}

static void readers_beside_a_writer(void **state) {
    pthread_t ids[READERS];
    (void)state;
    for (unsigned i = 1; i < 2 * LASTING; i += 2) {
        const struct address_range range = numbered(i);
        assert_int_equal(address_map_add(&shared, &range), CLS_SUCCESS);
    }
    for (uintptr_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, read_shared, (void *)(i + 1)), 0);
    write_shared();
    atomic_store(&done, true);
    for (unsigned i = 0; i < READERS; i++) {
        void *result;
        assert_int_equal(pthread_join(ids[i], &result), 0);
        assert_non_null(result);
    }
    address_map_free(&shared);
}

/* --- reserved ranges --- */

static void reserved(void **state) {
    enum { LIVE = 100, FIFTHS = 5 };
    static struct address_map map;
    uintptr_t starts[LIVE] = {0};
    size_t sizes[LIVE];
    unsigned seed = 3, taken = 0;
    (void)state;
    for (int k = 0; k < 10000; k++) {
        const unsigned i = draw(&seed, LIVE);
        if (starts[i]) {
            assert_true(address_map_remove(&map, starts[i]));
            reserve_give(starts[i], sizes[i]);
            starts[i] = 0;
            continue;
        }
        sizes[i] = (size_t)1 << draw(&seed, 20);
        sizes[i] += draw(&seed, 2) ? draw(&seed, 5000) : 0;
        assert_int_equal(reserve_take(sizes[i], &starts[i]), CLS_SUCCESS);
        assert_int_equal(starts[i] % RESERVE_ALIGN, 0);
        assert_true(reserve_has(starts[i]) && reserve_has(starts[i] + sizes[i]));
        /* With the byte behind it. */
        const struct address_range range = {starts[i], sizes[i] + 1, &map};
        assert_int_equal(address_map_add(&map, &range), CLS_SUCCESS);
    }
    assert_false(reserve_has((uintptr_t)&map));
    assert_false(reserve_has((uintptr_t)&seed));
    assert_int_equal(reserve_take(SIZE_MAX - 100, &starts[0]), CLS_ERROR_OUT_OF_MEMORY);
    cls_status status;
    while ((status = reserve_take(SIZE_MAX / FIFTHS, &starts[0])) == CLS_SUCCESS)
        assert_true(++taken < FIFTHS); /* 32 bits have some */
    assert_int_equal(status, CLS_ERROR_OUT_OF_MEMORY);
    address_map_free(&map);
}

/* --- mappings of others --- */

static bool tells_readable(void) {
    const int readable = 1;
    return hidden_is_readable((uintptr_t)&readable, sizeof readable);
}

#define SKIP_UNLESS_READABLE() \
    if (!tells_readable())     \
    SKIP_BECAUSE("this system has no process_vm_readv, as under QEMU")

static void claimed(void **state) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)state;
    SKIP_UNLESS_READABLE();
    char *pages = mmap(NULL, 8 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    const uintptr_t start = (uintptr_t)pages;
    assert_false(reserve_claim(start, page));
    assert_int_equal(munmap(pages, 6 * page), 0);
    assert_true(reserve_claim(start + 100, page));
    assert_true(reserve_has(start) && reserve_has(start + 2 * page - 1));
    assert_false(reserve_has(start + 2 * page));
    assert_true(reserve_claim(start + page, 4 * page));
    assert_true(reserve_has(start + 5 * page - 1));
    assert_false(reserve_claim(start + 5 * page, 2 * page));
    assert_false(reserve_claim(UINTPTR_MAX - 5, 3));
    assert_false(reserve_claim((uintptr_t)&page, 1));
    assert_int_equal(munmap(pages + 6 * page, 2 * page), 0);
}

static void hidden(void **state) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)state;
    SKIP_UNLESS_READABLE();
    char *pages = mmap(NULL, 8 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    const uintptr_t start = (uintptr_t)pages;
    assert_false(hidden_was_seen(start) && !hidden_is_readable(start, 1));
    assert_true(hidden_has(start + 1, 8 * page - 1));
    assert_true(hidden_was_seen(start + 2) && !hidden_is_readable(start + 2, 1));
    assert_int_equal(mprotect(pages + 4 * page, page, PROT_READ), 0);
    assert_true(hidden_was_seen(start) && !hidden_is_readable(start, 1));
    assert_false(hidden_was_seen(start + 4 * page) && !hidden_is_readable(start + 4 * page, 1));
    assert_false(hidden_has(start + page, 4 * page));
    assert_true(hidden_has(start + page, 3 * page));
    assert_true(hidden_is_readable(start + 4 * page, page));
    assert_false(hidden_is_readable(start + 4 * page, page + 1));
    assert_int_equal(mprotect(pages + 4 * page, page, PROT_NONE), 0);
    assert_true(hidden_has(start, 8 * page));
    assert_int_equal(munmap(pages, 8 * page), 0);
    assert_false(hidden_has((uintptr_t)&page, sizeof page));
    assert_false(hidden_has(UINTPTR_MAX - 5, 10));
    assert_true(hidden_is_readable((uintptr_t)&page, sizeof page));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_its_model),
        cmocka_unit_test(ends),
        cmocka_unit_test(readers_beside_a_writer),
        cmocka_unit_test(reserved),
        cmocka_unit_test(claimed),
        cmocka_unit_test(hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
