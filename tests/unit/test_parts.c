/* SPDX-License-Identifier: MIT */
/* The order in which sub-buffers are released where the driver crashes when one is released before a younger one that
 * overlaps it. The driver is made up, gives a released handle out again at once, and notes when it would crash. */
#include "../support/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "driver/memory.h"
#include "driver/quirk.h"
#include "failing_memory.h"

enum { MOST = 4096, THREADS = 4 };

/* --- the driver --- */

struct made {
    cl_mem root;
    size_t start, end;
    unsigned references; /* 0: the handle is free */
    unsigned long born;
};

static struct {
    pthread_mutex_t lock; /* guards what follows */
    struct made made[MOST];
    unsigned long births;
    unsigned most; /* entries of `made` that were ever used */
    char log[16];  /* the names of the parts that were released: A, B, ... in order of creation */
    unsigned n_log;
    unsigned crashes;
    cl_int refuses;
    cl_mem drops; /* what a destructor callback releases */
} driver = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct device device = {.quirks = QUIRK_PART_RELEASE_CRASHES};

cl_mem __wrap_clCreateSubBuffer(cl_mem root, cl_mem_flags flags, cl_buffer_create_type type,
                                const void *info, cl_int *code);
cl_int __wrap_clRetainMemObject(cl_mem memory);
cl_int __wrap_clReleaseMemObject(cl_mem memory);

static struct made *made_of(cl_mem memory) { return (struct made *)(void *)memory; }

static struct made *free_handle(void) {
    unsigned i = 0;
    while (driver.made[i].references)
        i++;
    if (i == driver.most)
        driver.most++;
    return &driver.made[i];
}

cl_mem __wrap_clCreateSubBuffer(cl_mem root, cl_mem_flags flags, cl_buffer_create_type type,
                                const void *info, cl_int *code) {
    const cl_buffer_region *region = info;
    struct made *made = NULL;
    assert_true(!flags && type == CL_BUFFER_CREATE_TYPE_REGION);
    pthread_mutex_lock(&driver.lock);
    *code = driver.refuses;
    if (!driver.refuses) {
        made = free_handle();
        *made =
            (struct made){root, region->origin, region->origin + region->size, 1, ++driver.births};
    }
    pthread_mutex_unlock(&driver.lock);
    return (cl_mem)(void *)made;
}

cl_int __wrap_clRetainMemObject(cl_mem memory) {
    pthread_mutex_lock(&driver.lock);
    made_of(memory)->references++;
    pthread_mutex_unlock(&driver.lock);
    return CL_SUCCESS;
}

static bool would_crash(const struct made *ended) {
    for (unsigned i = 0; i < driver.most; i++) {
        const struct made *other = &driver.made[i];
        if (other->references && other->root == ended->root && other->born > ended->born &&
            other->start < ended->end && ended->start < other->end)
            return true;
    }
    return false;
}

cl_int __wrap_clReleaseMemObject(cl_mem memory) {
    struct made *made = made_of(memory);
    pthread_mutex_lock(&driver.lock);
    if (!made->references)
        driver.crashes++;
    else if (--made->references == 0) {
        driver.crashes += would_crash(made);
        if (driver.n_log < sizeof driver.log - 1)
            driver.log[driver.n_log++] = (char)('A' + made->born - 1);
    }
    cl_mem dropped = driver.drops;
    driver.drops = NULL;
    pthread_mutex_unlock(&driver.lock);
    if (dropped)
        memory_release(&device, dropped);
    return CL_SUCCESS;
}

static int begin(void **state) {
    (void)state;
    memset(driver.log, 0, sizeof driver.log);
    driver.n_log = 0;
    driver.births = 0;
    driver.crashes = 0;
    driver.most = 0;
    return 0;
}

static int end(void **state) {
    (void)state;
    assert_int_equal(driver.crashes, 0);
    for (unsigned i = 0; i < driver.most; i++)
        assert_int_equal(driver.made[i].references, 0);
    return 0;
}

static char roots[2];
static cl_mem root_at(unsigned i) { return (cl_mem)(void *)&roots[i]; }

static cl_mem part_of(unsigned root, size_t start, size_t bytes) {
    cl_mem memory = NULL;
    OK(memory_create_part(&device, root_at(root), start, bytes, &memory));
    return memory;
}

static void release(cl_mem memory) { memory_release(&device, memory); }

static void expect_log(const char *wanted) { assert_string_equal(driver.log, wanted); }

/* --- orders --- */

static const struct order {
    const char *name;
    size_t regions[3][2]; /* start and bytes of A, B and C */
    const char *order;    /* in which they are released */
    const char *logs[3];  /* what the driver has released after each */
} orders[] = {
    {"disjoint", {{0, 4}, {4, 4}, {8, 4}}, "ABC", {"A", "AB", "ABC"}},
    {"disjoint, created downwards", {{8, 4}, {4, 4}, {0, 4}}, "BAC", {"B", "BA", "BAC"}},
    {"inside", {{0, 8}, {4, 2}}, "AB", {"", "BA"}},
    {"inside, the younger one first", {{0, 8}, {4, 2}}, "BA", {"B", "BA"}},
    {"they share bytes", {{0, 8}, {4, 8}}, "AB", {"", "BA"}},
    {"they share bytes, the younger one below", {{4, 8}, {0, 8}}, "AB", {"", "BA"}},
    {"the same start", {{0, 8}, {0, 2}}, "AB", {"", "BA"}},
    {"the same end", {{0, 8}, {6, 2}}, "AB", {"", "BA"}},
    {"the same range", {{0, 8}, {0, 8}}, "AB", {"", "BA"}},
    {"around", {{4, 2}, {0, 8}}, "AB", {"", "BA"}},
    {"nested, from the oldest", {{0, 8}, {2, 4}, {3, 1}}, "ABC", {"", "", "CBA"}},
    {"nested, the middle one first", {{0, 8}, {2, 4}, {3, 1}}, "BAC", {"", "", "CBA"}},
    {"nested, the middle one last", {{0, 8}, {2, 4}, {3, 1}}, "ACB", {"", "C", "CBA"}},
    {"a chain", {{0, 4}, {2, 4}, {4, 4}}, "ABC", {"", "", "CBA"}},
    {"a chain, its ends first", {{0, 4}, {2, 4}, {4, 4}}, "CAB", {"C", "C", "CBA"}},
    {"two in one", {{0, 8}, {0, 2}, {4, 2}}, "ABC", {"", "B", "BCA"}},
    {"two in one, the younger one first", {{0, 8}, {0, 2}, {4, 2}}, "ACB", {"", "C", "CBA"}},
    {"one over two", {{0, 2}, {4, 2}, {0, 8}}, "ABC", {"", "", "CBA"}},
    {"one waits, one does not", {{0, 4}, {8, 4}, {2, 2}}, "BAC", {"B", "B", "BCA"}},
};

static void overlapping_parts_are_released_youngest_first(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        const struct order *o = &orders[i];
        const size_t n = strlen(o->order);
        cl_mem parts[3];
        begin(NULL);
        for (size_t p = 0; p < n; p++)
            parts[p] = part_of(0, o->regions[p][0], o->regions[p][1]);
        for (size_t r = 0; r < n; r++) {
            release(parts[o->order[r] - 'A']);
            if (strcmp(driver.log, o->logs[r]) != 0)
                fail_msg("%s: '%s' after release %zu", o->name, driver.log, r);
        }
        end(NULL);
    }
}

static void parts_of_other_roots_do_not_count(void **state) {
    (void)state;
    cl_mem a = part_of(0, 0, 8), b = part_of(1, 0, 8);
    release(a);
    expect_log("A");
    release(b);
}

static void the_last_holder_counts(void **state) {
    (void)state;
    cl_mem a = part_of(0, 0, 8), b = part_of(0, 4, 4);
    OK(memory_retain(&device, a));
    OK(memory_retain(&device, b));
    release(a);
    release(b);
    expect_log("");
    release(a);
    expect_log("");
    release(b);
    expect_log("BA");
}

static void a_younger_part_may_come_while_one_waits(void **state) {
    (void)state;
    cl_mem a = part_of(0, 0, 8), b = part_of(0, 0, 4);
    release(a);
    cl_mem c = part_of(0, 4, 4);
    release(b);
    expect_log("B");
    release(c);
    expect_log("BCA");
}

static void other_memory_goes_straight_to_the_driver(void **state) {
    (void)state;
    struct made root = {.references = 1, .born = 26};
    cl_mem memory = (cl_mem)(void *)&root;
    OK(memory_retain(&device, memory));
    assert_int_equal(root.references, 2);
    release(memory);
    release(memory);
    expect_log("Z");
}

static void without_the_quirk_nothing_waits(void **state) {
    const struct device other = {.quirks = 0};
    cl_mem a, b;
    (void)state;
    OK(memory_create_part(&other, root_at(0), 0, 8, &a));
    OK(memory_create_part(&other, root_at(0), 4, 4, &b));
    OK(memory_retain(&other, a));
    assert_int_equal(made_of(a)->references, 2);
    memory_release(&other, a);
    memory_release(&other, a);
    expect_log("A");
    memory_release(&other, b);
    assert_int_equal(driver.crashes, 1); /* the made-up driver sees it */
    driver.crashes = 0;
}

static void a_destructor_callback_may_release(void **state) {
    (void)state;
    cl_mem a = part_of(0, 0, 8), b = part_of(0, 4, 4), c = part_of(0, 0, 2), d = part_of(0, 8, 4);
    driver.drops = c;
    release(a);
    release(d);
    expect_log("DC");
    release(b);
    expect_log("DCBA");
}

static void many_disjoint_parts_go_at_once(void **state) {
    cl_mem parts[MOST / 4];
    const size_t n = sizeof parts / sizeof *parts;
    (void)state;
    for (size_t i = 0; i < n; i++)
        parts[i] = part_of(0, 4 * i, 4);
    for (size_t i = 0; i < n; i++) {
        cl_mem part = parts[i % 2 ? n - i : i];
        release(part);
        assert_int_equal(made_of(part)->references, 0);
    }
}

/* --- failures --- */

static void a_part_that_the_driver_refuses_leaves_nothing(void **state) {
    cl_mem memory = NULL;
    (void)state;
    cl_mem a = part_of(0, 0, 8);
    driver.refuses = CL_MISALIGNED_SUB_BUFFER_OFFSET;
    assert_int_not_equal(memory_create_part(&device, root_at(0), 1, 4, &memory), CLS_SUCCESS);
    assert_int_not_equal(memory_create_part(&device, root_at(1), 1, 4, &memory), CLS_SUCCESS);
    driver.refuses = CL_SUCCESS;
    assert_null(memory);
    release(a);
    expect_log("A");
}

static void without_memory_for_the_note_there_is_no_part(void **state) {
    cl_mem memory = NULL;
    long failures = 0;
    (void)state;
    for (cls_status status = CLS_ERROR_OUT_OF_MEMORY; status; failures++) {
        allocations_left = failures;
        status = memory_create_part(&device, root_at(0), 0, 8, &memory);
        allocations_left = -1;
        if (!status)
            break;
        assert_int_equal(status, CLS_ERROR_OUT_OF_MEMORY);
        assert_null(memory);
        for (unsigned i = 0; i < driver.most; i++)
            assert_int_equal(driver.made[i].references, 0);
    }
    assert_true(failures >=
                5); /* the part, its root, two tables and an array: none is left of earlier parts */
    release(memory);
}

/* --- any order --- */

static unsigned next_random(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Creates, retains and releases parts of both roots at random, then releases all. */
static void *do_anything(void *seed_of) {
    enum { KEPT = 24, STEPS = 3000, BYTES = 64 };
    unsigned seed = *(unsigned *)seed_of;
    cl_mem kept[KEPT] = {0};
    for (int step = 0; step < STEPS; step++) {
        cl_mem *slot = &kept[next_random(&seed) % KEPT];
        const size_t start = next_random(&seed) % BYTES, bytes = 1 + next_random(&seed) % 16;
        if (!*slot)
            *slot = part_of(next_random(&seed) % 2, start, bytes);
        else if (next_random(&seed) % 4) {
            release(*slot);
            *slot = NULL;
        } else if (memory_retain(&device, *slot) == CLS_SUCCESS)
            release(*slot);
    }
    for (int i = 0; i < KEPT; i++)
        if (kept[i])
            release(kept[i]);
    return NULL;
}

static void nothing_crashes_in_any_order(void **state) {
    unsigned seed = 1;
    (void)state;
    do_anything(&seed);
    end(NULL);
}

static void nothing_crashes_with_threads(void **state) {
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];
    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = 100 + i;
        assert_int_equal(pthread_create(&threads[i], NULL, do_anything, &seeds[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    end(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(overlapping_parts_are_released_youngest_first),
        TEST(parts_of_other_roots_do_not_count),
        TEST(the_last_holder_counts),
        TEST(a_younger_part_may_come_while_one_waits),
        TEST(other_memory_goes_straight_to_the_driver),
        TEST(without_the_quirk_nothing_waits),
        TEST(a_destructor_callback_may_release),
        TEST(many_disjoint_parts_go_at_once),
        TEST(a_part_that_the_driver_refuses_leaves_nothing),
        TEST(without_memory_for_the_note_there_is_no_part),
        TEST(nothing_crashes_in_any_order),
        TEST(nothing_crashes_with_threads),
    };
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
