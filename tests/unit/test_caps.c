/* SPDX-License-Identifier: MIT */
/* The capability record: what is chosen from it, its form on disk, and the probes themselves. */
#include "../support/test.h"

#include <fcntl.h>
#include <time.h>

#include "base/text.h"
#include "driver/cache_file.h"
#include "driver/caps.h"
#include "driver/caps_table.h"
#include "driver/paired.h"
#include "driver/probe.h"
#include "driver/quirk.h"
#include "driver/units.h"
#include "system/clocks.h"

#include "../support/patience.h"
#include "child.h"
#include "scratch.h"

static struct device made_up(cls_device_type type, int unified) {
    struct device device = {0};
    device.info.type = type;
    device.info.unified_memory = unified;
    return device;
}

/* Figures as they were measured on an H200. */
static struct caps of_discrete_gpu(void) {
    struct caps caps = {0};
    caps.out_of_order = caps.out_of_order_serial = caps.queues_concurrent = true;
    caps.pageable_write_blocks = 0.97;
    caps.pageable_read_blocks = 0.97;
    caps.launch_in_order_ns = 3600;
    caps.launch_in_order_event_ns = 4500;
    caps.launch_out_of_order_ns = 5200;
    caps.event_cost_ratio = 1.25;
    return caps;
}

static void serial_out_of_order_gives_in_order_without_events(void **state) {
    struct device gpu = made_up(CLS_DEVICE_GPU, 0);
    struct caps caps = of_discrete_gpu();
    (void)state;
    caps_choose(&gpu, &caps);
    assert_true(caps.prefer_in_order && caps.event_less);
    assert_true(caps.stage_writes && caps.stage_reads);
}

static void cheap_events_stay(void **state) {
    struct device gpu = made_up(CLS_DEVICE_GPU, 0);
    struct caps cheap = of_discrete_gpu();
    (void)state;
    cheap.event_cost_ratio = 1.08;
    caps_choose(&gpu, &cheap);
    assert_true(cheap.prefer_in_order && !cheap.event_less);
}

static void an_event_each_where_failures_need_them(void **state) {
    static const unsigned quirks[] = {QUIRK_STATUS_LIES, QUIRK_FAILED_RELEASE_ABORTS};
    (void)state;
    for (size_t i = 0; i < sizeof quirks / sizeof *quirks; i++) {
        struct device gpu = made_up(CLS_DEVICE_GPU, 0);
        struct caps caps = of_discrete_gpu();
        gpu.quirks = quirks[i];
        caps_choose(&gpu, &caps);
        assert_true(caps.prefer_in_order && !caps.event_less);
    }
}

/* Where a status lies, failures travel along wait lists; the early release is for who survives it. */
static void chains_share_events_where_only_waits_tell(void **state) {
    static const struct {
        unsigned quirks;
        bool share;
    } rows[] = {{0, false},
                {QUIRK_STATUS_LIES, true},
                {QUIRK_STATUS_LIES | QUIRK_FAILED_RELEASE_ABORTS, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct device cpu = made_up(CLS_DEVICE_CPU, 1);
        struct caps caps = of_discrete_gpu();
        cpu.quirks = rows[i].quirks;
        caps_choose(&cpu, &caps);
        assert_int_equal(caps.chain_shares, rows[i].share);
    }
}

static void slow_chains_give_in_order(void **state) {
    struct device cpu = made_up(CLS_DEVICE_CPU, 1);
    struct caps caps = of_discrete_gpu();
    (void)state;
    caps.out_of_order_serial = false;
    caps.out_of_order_concurrent = true;
    caps.chain_cost_ratio = 1.4;
    caps_choose(&cpu, &caps);
    assert_true(caps.prefer_in_order);
    caps.chain_cost_ratio = 1.05;
    caps_choose(&cpu, &caps);
    assert_false(caps.prefer_in_order);
}

static void concurrent_out_of_order_is_preferred(void **state) {
    struct device cpu = made_up(CLS_DEVICE_CPU, 1);
    struct caps caps = of_discrete_gpu();
    (void)state;
    caps.out_of_order_serial = false;
    caps.out_of_order_concurrent = true;
    caps_choose(&cpu, &caps);
    assert_false(caps.prefer_in_order || caps.event_less);
    caps.out_of_order_concurrent = false; /* nothing overlapped: nothing is known against it */
    caps.queues_concurrent = false;
    caps_choose(&cpu, &caps);
    assert_false(caps.prefer_in_order);
}

/* How likely so many tries of all are, where each overlaps with the same chance. */
static double likelihood(unsigned overlapping, double chance) {
    double p = 1;
    for (unsigned i = 0; i < overlapping; i++)
        p *= chance * (PROBE_TRIES - i) / (i + 1);
    for (unsigned i = overlapping; i < PROBE_TRIES; i++)
        p *= 1 - chance;
    return p;
}

/* A scheduler may put two kernels on one core every other time, on either kind of queue. */
static void chance_alone_makes_no_queue_serial(void **state) {
    (void)state;
    for (int percent = 1; percent < 100; percent++) {
        double wrong = 0;
        for (unsigned two = 0; two <= PROBE_TRIES; two++)
            for (unsigned one = 0; one <= PROBE_TRIES; one++)
                if (probe_is_serial(two, one, PROBE_TRIES))
                    wrong += likelihood(two, percent / 100.0) * likelihood(one, percent / 100.0);
        assert_true(wrong < 1e-5);
    }
    assert_true(probe_is_serial(PROBE_TRIES, 0, PROBE_TRIES));
    assert_true(probe_is_serial(PROBE_TRIES - 1, 0, PROBE_TRIES));
    assert_false(probe_is_serial(PROBE_TRIES - 1, 0, PROBE_TRIES - 1)); /* given up on the way */
}

static void missing_out_of_order_gives_in_order(void **state) {
    struct device cpu = made_up(CLS_DEVICE_CPU, 1);
    struct caps caps = {0};
    (void)state;
    caps_choose(&cpu, &caps);
    assert_true(caps.prefer_in_order);
    assert_false(caps.event_less);
}

static void shared_memory_is_never_staged(void **state) {
    struct device cpu = made_up(CLS_DEVICE_CPU, 0), unified = made_up(CLS_DEVICE_GPU, 1);
    struct device gpu = made_up(CLS_DEVICE_GPU, 0);
    struct caps caps = of_discrete_gpu();
    (void)state;
    caps_choose(&cpu, &caps);
    assert_false(caps.stage_writes || caps.stage_reads);
    caps_choose(&unified, &caps);
    assert_false(caps.stage_writes || caps.stage_reads);
    caps.pageable_read_blocks = 0.1;
    caps_choose(&gpu, &caps);
    assert_true(caps.stage_writes);
    assert_false(caps.stage_reads);
}

/* A driver whose fills of 2 bytes are slow, and one whose fills of 16 are. */
static void fills_take_the_fastest_width(void **state) {
    static const unsigned char plain[16] = {0}, pair[2] = {1, 2},
                               quads[16] = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4};
    static const unsigned char all[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    const struct caps two = {.fill_gbs = {10, 1, 10, 11, 12}}, wide = {.fill_gbs = {9, 9, 9, 9, 3}};
    const struct caps none = {.fill_gbs = {0}};
    enum { MANY = 1 << 20 };
    (void)state;
    assert_int_equal(caps_fill_width(&two, pair, 2, 0, MANY), 16);
    assert_int_equal(caps_fill_width(&two, pair, 2, 8, MANY), 8); /* by the offset */
    assert_int_equal(caps_fill_width(&two, pair, 2, 16, MANY + 4), 4);
    assert_int_equal(caps_fill_width(&two, pair, 2, 2, MANY), 2);
    assert_int_equal(caps_fill_width(&two, plain, 2, 2, MANY + 2), 1);
    assert_int_equal(caps_fill_width(&two, plain, 4, 0, MANY), 4); /* 16 gains too little */
    assert_int_equal(caps_fill_width(&two, pair, 2, 0, 64), 2);
    assert_int_equal(caps_fill_width(&wide, quads, 16, 0, MANY), 4);
    assert_int_equal(caps_fill_width(&wide, all, 16, 0, MANY), 16);
    assert_int_equal(caps_fill_width(&none, pair, 2, 0, MANY), 2);
}

static void table_names_every_figure_once(void **state) {
    double numbers[CAPS_FIGURES], again[CAPS_FIGURES];
    struct caps caps = {0};
    (void)state;
    for (size_t i = CAPS_FIGURES; i < caps_figures; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(caps_figure(&caps, i).name, caps_figure(&caps, j).name);
    for (size_t i = 0; i < CAPS_FIGURES; i++) {
        cls_capability figure = caps_figure(&caps, i);
        numbers[i] = strcmp(figure.unit, "bool") ? 1.5 + (double)i : (double)(i % 2);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(figure.name, caps_figure(&caps, j).name);
    }
    caps_from_numbers(numbers, &caps);
    caps_to_numbers(&caps, again);
    assert_memory_equal(numbers, again, sizeof numbers);
    for (size_t i = 0; i < CAPS_FIGURES; i++)
        assert_true(caps_figure(&caps, i).value == numbers[i]);
    assert_int_equal(caps_figures, CAPS_FIGURES + TRUSTS);
}

/* With a driver, in processes of their own. */

/* The record of the default device, as numbers, to where the parent reads it. */
static int probe_body(void *arg) {
    double numbers[CAPS_FIGURES];
    struct device *device;
    const struct caps *caps, *again;
    int file = *(int *)arg;
    if (device_find(NULL, &device) != CLS_SUCCESS)
        return NO_DEVICES;
    uint64_t start = clock_now_ns();
    CHECK(device_caps(device, &caps) == CLS_SUCCESS);
    CHECK(clock_now_ns() - start < patience(20) * CLOCK_SECOND);
    CHECK(device_caps(device, &again) == CLS_SUCCESS && again == caps);
    caps_to_numbers(caps, numbers);
    CHECK(pwrite(file, numbers, sizeof numbers, 0) == (ssize_t)sizeof numbers);
    return 0;
}

static void probe_in_child(double numbers[CAPS_FIGURES]) {
    FILE *file = tmpfile();
    assert_non_null(file);
    int descriptor = fileno(file);
    int line = child_run(probe_body, &descriptor);
    if (line == NO_DEVICES) {
        fclose(file);
        print_message("no OpenCL device here\n");
        skip();
    }
    assert_int_equal(line, 0);
    size_t bytes = CAPS_FIGURES * sizeof *numbers;
    assert_int_equal(pread(descriptor, numbers, bytes, 0), (ssize_t)bytes);
    fclose(file);
}

static void probed_figures_are_plausible(void **state) {
    double numbers[CAPS_FIGURES];
    struct caps caps = {0};
    (void)state;
    probe_in_child(numbers);
    caps_from_numbers(numbers, &caps);
    assert_true(caps.launch_in_order_ns > 10 && caps.launch_in_order_ns < 1e8);
    assert_true(caps.launch_in_order_event_ns > 10 && caps.launch_in_order_event_ns < 1e8);
    assert_true(caps.event_query_ns > 0 && caps.event_query_ns < 1e6);
    assert_true(caps.flush_ns > 0 && caps.flush_ns < 1e7);
    assert_true(caps.pageable_write_blocks > 0 && caps.pageable_write_blocks <= 1);
    assert_true(caps.pageable_read_blocks > 0 && caps.pageable_read_blocks <= 1);
    assert_true(caps.pinned_speedup > 0.01 && caps.pinned_speedup < 100);
    assert_true(caps.out_of_order || (!caps.out_of_order_concurrent && !caps.out_of_order_serial));
    assert_false(caps.out_of_order_concurrent && caps.out_of_order_serial);
    assert_int_equal(caps.out_of_order, caps.launch_out_of_order_ns > 0);
    assert_true(caps.out_of_order || caps.prefer_in_order);
}

/* Measured times never come out the same twice, so an equal record is one that was read. */
static void record_is_read_back_by_the_next_process(void **state) {
    double first[CAPS_FIGURES], second[CAPS_FIGURES];
    (void)state;
    probe_in_child(first);
    assert_int_equal(scratch_count("", NULL, 0), scratch_count(".clsb", NULL, 0));
    assert_true(scratch_count(".clsb", NULL, 0) >= 1);
    probe_in_child(second);
    assert_memory_equal(first, second, sizeof first);
}

static void record_is_made_anew_when_asked_for(void **state) {
    double first[CAPS_FIGURES], second[CAPS_FIGURES], third[CAPS_FIGURES];
    (void)state;
    probe_in_child(first);
    setenv("CLSTREAM_PROBE", "again", 1);
    probe_in_child(second);
    unsetenv("CLSTREAM_PROBE");
    assert_memory_not_equal(first, second, sizeof first);
    probe_in_child(third);
    assert_memory_equal(second, third, sizeof second);
}

/* A device whose compiler has no such instructions says no, once, and the record says it again; one that says yes is
 * believed, and one of another length is not. */
static int units_body(void *arg) {
    const size_t *const yes = arg; /* bytes of a record, each of them yes; 0: there is none */
    unsigned char record[8];
    struct device *device;
    struct text text = {0};
    if (device_find(NULL, &device) != CLS_SUCCESS)
        return NO_DEVICES;
    CHECK(device_units(device)->mma == (device->compute_capability >= 80));
    if (device->compute_capability)
        return 0;
    device->compute_capability = 90;
    CHECK(caps_key(device, "matrix units", 1, &text));
    const struct cache_bytes key = {text.bytes, text.length};
    memset(record, 1, sizeof record);
    if (*yes)
        cache_store(CACHE_CAPS, key, (struct cache_bytes){record, *yes});
    const struct units *units = device_units(device);
    const bool believed = *yes == UNITS_FIGURES;
    CHECK(units->mma == believed && units->wgmma == believed && units->split_f32 == believed);
    struct cache_bytes payload;
    void *owned;
    CHECK(cache_load(CACHE_CAPS, key, &payload, &owned));
    CHECK(payload.size == UNITS_FIGURES);
    for (size_t i = 0; i < UNITS_FIGURES; i++)
        CHECK(((const unsigned char *)payload.bytes)[i] == believed);
    free(owned);
    free(text.bytes);
    return 0;
}

static void units_are_tried_and_kept(void **state) {
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        size_t yes = i == 0 ? 0 : i == 1 ? UNITS_FIGURES : UNITS_FIGURES + 1;
        const int line = child_run(units_body, &yes);
        if (line == NO_DEVICES)
            skip();
        assert_int_equal(line, 0);
    }
}

/* Rounds that disagree and a time that passes, as the tests say (--wrap at the link). */

static bool rounds_disagree;
static size_t judged; /* rounds, of one way at the most */
static time_t passed;

struct paired __real_paired_judge(double *ratios, size_t rounds, double margin);
struct paired __wrap_paired_judge(double *ratios, size_t rounds, double margin);
time_t __real_time(time_t *to);
time_t __wrap_time(time_t *to);

struct paired __wrap_paired_judge(double *ratios, size_t rounds, double margin) {
    struct paired found = __real_paired_judge(ratios, rounds, margin);
    found.agreed = !rounds_disagree;
    judged = rounds > judged ? rounds : judged;
    return found;
}

time_t __wrap_time(time_t *to) {
    time_t now = __real_time(NULL) + passed;
    if (to)
        *to = now;
    return now;
}

static void probe_as(bool disagree, time_t later, double numbers[CAPS_FIGURES]) {
    rounds_disagree = disagree;
    passed = later;
    probe_in_child(numbers);
    rounds_disagree = false;
    passed = 0;
}

static void record_of_a_busy_machine_serves_for_ten_minutes(void **state) {
    double first[CAPS_FIGURES], soon[CAPS_FIGURES], later[CAPS_FIGURES], last[CAPS_FIGURES];
    (void)state;
    probe_as(true, 0, first);
    probe_as(false, 300, soon);
    assert_memory_equal(first, soon, sizeof first);
    probe_as(false, 700, later);
    assert_memory_not_equal(first, later, sizeof first);
    probe_as(true, 90000, last); /* one whose rounds agreed stays */
    assert_memory_equal(later, last, sizeof later);
}

static void record_of_an_unknown_age_is_made_anew(void **state) {
    double first[CAPS_FIGURES], second[CAPS_FIGURES];
    (void)state;
    probe_as(true, 300, first);
    probe_as(true, 0, second);
    assert_memory_not_equal(first, second, sizeof first);
}

static void truncate_all(off_t to) {
    DIR *dir = opendir(scratch);
    const struct dirent *item;
    assert_non_null(dir);
    while ((item = readdir(dir)) != NULL) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", scratch, item->d_name);
        if (item->d_name[0] != '.')
            assert_int_equal(truncate(path, to), 0);
    }
    closedir(dir);
}

static void corrupt_record_is_probed_again_and_rewritten(void **state) {
    double first[CAPS_FIGURES], second[CAPS_FIGURES], third[CAPS_FIGURES];
    (void)state;
    probe_in_child(first);
    truncate_all(200);
    probe_in_child(second);
    assert_memory_not_equal(first, second, sizeof first);
    probe_in_child(third);
    assert_memory_equal(second, third, sizeof second);
}

static void cache_switched_off_leaves_no_file(void **state) {
    double first[CAPS_FIGURES], second[CAPS_FIGURES];
    (void)state;
    setenv("CLSTREAM_CACHE", "off", 1);
    probe_in_child(first);
    probe_in_child(second);
    assert_memory_not_equal(first, second, sizeof first);
    assert_int_equal(scratch_count("", NULL, 0), 0);
}

/* A device that hangs: once some were seen to complete, no event of it does any more (--wrap at the link). */

enum { NEVER = -1 };

static int completions_left = NEVER;

/* Once, amid many questions about one event that is over, behind as many flushes, the caller is off its core for so
 * long; 0: never. */
enum { HELD_UP_MS = 64, QUESTIONS = 20 };

static long hold_up_ms;
static unsigned flushes; /* since the last question */

cl_int __real_clFlush(cl_command_queue queue);
cl_int __wrap_clFlush(cl_command_queue queue);

cl_int __wrap_clFlush(cl_command_queue queue) {
    flushes++;
    return __real_clFlush(queue);
}

static void maybe_hold_up(void) {
    static unsigned times; /* questions since the last row of flushes */
    times = flushes > QUESTIONS ? 1 : times ? times + 1 : 0;
    flushes = 0;
    if (times != QUESTIONS || !hold_up_ms)
        return;
    const struct timespec time = {0, hold_up_ms * 1000000};
    hold_up_ms = 0;
    nanosleep(&time, NULL);
}

cl_int __real_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *to,
                             size_t *used);
cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *to,
                             size_t *used);

cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *to,
                             size_t *used) {
    cl_int code = __real_clGetEventInfo(event, what, size, to, used);
    if (code != CL_SUCCESS || what != CL_EVENT_COMMAND_EXECUTION_STATUS ||
        *(cl_int *)to != CL_COMPLETE)
        return code;
    maybe_hold_up();
    if (completions_left == NEVER)
        return code;
    if (completions_left == 0)
        *(cl_int *)to = CL_RUNNING;
    else
        completions_left--;
    return code;
}

static int hanging_body(void *arg) {
    struct device *device;
    const struct caps *caps;
    if (device_find(NULL, &device) != CLS_SUCCESS)
        return NO_DEVICES;
    completions_left = *(int *)arg;
    uint64_t start = clock_now_ns();
    CHECK(device_caps(device, &caps) == CLS_SUCCESS);
    CHECK(completions_left == 0 && judged == 0);
    CHECK(clock_now_ns() - start < patience(20) * CLOCK_SECOND);
    CHECK(!caps->event_less && !caps->out_of_order_serial && !caps->copy_compute_overlap);
    return 0;
}

static void hanging_device_is_given_up_and_not_remembered(void **state) {
    int completions = 100; /* amid the rounds that compare launches */
    (void)state;
    child_expect_well(hanging_body, &completions);
    assert_true(scratch_count(".clsb", NULL, 0) <= 1); /* the probe's program, but no record */
}

static int held_up_body(void *arg) {
    struct device *device;
    struct caps caps = {0};
    (void)arg;
    if (device_find(NULL, &device) != CLS_SUCCESS)
        return NO_DEVICES;
    hold_up_ms = HELD_UP_MS;
    CHECK(probe_device(device, &caps));
    CHECK(hold_up_ms == 0);
    CHECK(caps.event_query_ns > 0 && caps.event_query_ns < HELD_UP_MS * 1e6 / 100);
    return 0;
}

static void a_call_that_is_held_up_is_not_taken_for_a_dear_one(void **state) {
    (void)state;
    child_expect_well(held_up_body, NULL);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial_out_of_order_gives_in_order_without_events),
        cmocka_unit_test(cheap_events_stay),
        cmocka_unit_test(an_event_each_where_failures_need_them),
        cmocka_unit_test(chains_share_events_where_only_waits_tell),
        cmocka_unit_test(slow_chains_give_in_order),
        cmocka_unit_test(concurrent_out_of_order_is_preferred),
        cmocka_unit_test(chance_alone_makes_no_queue_serial),
        cmocka_unit_test(missing_out_of_order_gives_in_order),
        cmocka_unit_test(shared_memory_is_never_staged),
        cmocka_unit_test(fills_take_the_fastest_width),
        cmocka_unit_test(table_names_every_figure_once),
        ON_DISK(units_are_tried_and_kept),
        ON_DISK(probed_figures_are_plausible),
        ON_DISK(record_is_read_back_by_the_next_process),
        ON_DISK(corrupt_record_is_probed_again_and_rewritten),
        ON_DISK(record_is_made_anew_when_asked_for),
        ON_DISK(record_of_a_busy_machine_serves_for_ten_minutes),
        ON_DISK(record_of_an_unknown_age_is_made_anew),
        ON_DISK(cache_switched_off_leaves_no_file),
        ON_DISK(hanging_device_is_given_up_and_not_remembered),
        ON_DISK(a_call_that_is_held_up_is_not_taken_for_a_dear_one),
    };
    return cmocka_run_group_tests_name("caps", tests, NULL, NULL);
}
