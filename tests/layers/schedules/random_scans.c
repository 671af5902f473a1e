/* SPDX-License-Identifier: MIT */
/*
 * Random scans, compactions and sums by key on several streams at a time, against loops on the host; scans.sh runs them
 * under adverse orders of commands, with tiles in both orders. A call that does not end in a minute fails.
 * TEST_EFFORT=long makes more calls, RANDOM_SCANS as many as it says; CLS_SEED starts from another seed.
 */
#include "../../support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <clstream.h>

#include "../../support/effort.h"

enum { STREAMS = 4, MOST = 300000, SHORT_CALLS = 240, LONG_CALLS = 1250, END_S = 60 };

/* A stream with its arrays in memory of the device and of the host. */
struct lane {
    cls_stream stream;
    cls_buffer in, marks, out, beside, count;
    uint32_t *elements, *got, *got_beside;
    uint8_t *flags;
    int64_t counted;
    size_t n, offset;
    bool exclusive, in_place;
};

static cls_context context;
static struct lane lanes[STREAMS];
static uint64_t seed;

/* --- numbers --- */

static uint32_t any(uint32_t below) {
    static uint64_t state;
    if (!state)
        state = seed;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

/* Mostly small, and often around the sizes of tiles. */
static size_t any_size(void) {
    const uint32_t most = MOST >> any(12);
    return any(4) ? 1 + any(most) : (size_t)1024 * (1 + any(64)) + any(3) - 1;
}

/* Runs of equal elements, and flags that are few or many. */
static void draw_elements(struct lane *lane) {
    const uint32_t change = 1 + any(any(2) ? 8 : 20000), few = 1 + any(any(2) ? 8 : 20000);
    lane->n = any_size();
    lane->offset = any(4);
    lane->exclusive = any(2);
    lane->in_place = any(2);
    for (size_t i = 0; i < lane->n; i++) {
        lane->elements[i] = i && any(change) ? lane->elements[i - 1] : any(1000);
        lane->flags[i] = any(few) == 0;
    }
}

/* --- views --- */

static cls_array view(const struct lane *lane, cls_buffer buffer, cls_dtype dtype) {
    return cls_array_at(buffer, dtype, lane->offset, lane->n);
}

static cls_array in_of(const struct lane *lane) { return view(lane, lane->in, CLS_U32); }
static cls_array marks_of(const struct lane *lane) { return view(lane, lane->marks, CLS_U8); }
static cls_array out_of(const struct lane *lane) { return view(lane, lane->out, CLS_U32); }
static cls_array beside_of(const struct lane *lane) { return view(lane, lane->beside, CLS_U32); }
static cls_array count_of(const struct lane *lane) { return cls_array_of(lane->count, CLS_I64, 1); }

static void download(struct lane *lane, cls_array from, uint32_t *to) {
    OK(cls_copy_d2h_async(to, from.buffer, from.offset * sizeof *to, from.count * sizeof *to,
                          lane->stream));
}

static void download_count(struct lane *lane) {
    OK(cls_copy_d2h_async(&lane->counted, lane->count, 0, sizeof lane->counted, lane->stream));
}

/* --- calls, and what is wrong with their results --- */

static void scan(struct lane *lane, cls_scan_segments segments, cls_array heads) {
    cls_scan_config config = CLS_SCAN_CONFIG_INIT;
    config.exclusive = lane->exclusive;
    config.segments = segments;
    config.heads = heads;
    config.segment = 1 + lane->n / 3;
    const cls_array out = lane->in_place && segments != CLS_SCAN_KEYS ? in_of(lane) : out_of(lane);
    OK(cls_scan_async(CLS_SCAN_SUM, in_of(lane), out, &config, lane->stream));
    download(lane, out, lane->got);
}

static void scan_whole(struct lane *lane) { scan(lane, CLS_SCAN_WHOLE, (cls_array){0}); }
static void scan_flags(struct lane *lane) { scan(lane, CLS_SCAN_FLAGS, marks_of(lane)); }
static void scan_keys(struct lane *lane) { scan(lane, CLS_SCAN_KEYS, in_of(lane)); }
static void scan_lengths(struct lane *lane) { scan(lane, CLS_SCAN_LENGTH, (cls_array){0}); }

static bool no_head(const struct lane *lane, size_t i) {
    (void)lane;
    (void)i;
    return false;
}

static bool flag_head(const struct lane *lane, size_t i) { return lane->flags[i]; }

static bool key_head(const struct lane *lane, size_t i) {
    return i && lane->elements[i] != lane->elements[i - 1];
}

static bool length_head(const struct lane *lane, size_t i) { return i % (1 + lane->n / 3) == 0; }

static size_t wrong_scan(const struct lane *lane, bool (*is_head)(const struct lane *, size_t)) {
    uint32_t sum = 0;
    for (size_t i = 0; i < lane->n; i++) {
        sum = is_head(lane, i) ? 0 : sum;
        if (lane->exclusive && lane->got[i] != sum)
            return i;
        sum += lane->elements[i];
        if (!lane->exclusive && lane->got[i] != sum)
            return i;
    }
    return lane->n;
}

static size_t wrong_whole(const struct lane *lane) { return wrong_scan(lane, no_head); }
static size_t wrong_flags(const struct lane *lane) { return wrong_scan(lane, flag_head); }
static size_t wrong_keys(const struct lane *lane) { return wrong_scan(lane, key_head); }
static size_t wrong_lengths(const struct lane *lane) { return wrong_scan(lane, length_head); }

/* The sums of the elements that have been selected: their number stays on the device. */
static void compact(struct lane *lane) {
    cls_scan_config config = CLS_SCAN_CONFIG_INIT;
    config.length = count_of(lane);
    OK(cls_compact_async(in_of(lane), marks_of(lane), out_of(lane), count_of(lane), (cls_array){0},
                         lane->stream));
    OK(cls_scan_async(CLS_SCAN_SUM, out_of(lane), beside_of(lane), &config, lane->stream));
    download(lane, out_of(lane), lane->got);
    download(lane, beside_of(lane), lane->got_beside);
    download_count(lane);
}

static size_t wrong_compact(const struct lane *lane) {
    uint32_t sum = 0;
    size_t to = 0;
    for (size_t i = 0; i < lane->n; i++) {
        if (!lane->flags[i])
            continue;
        sum += lane->elements[i];
        if (lane->got[to] != lane->elements[i] || lane->got_beside[to] != sum)
            return i;
        to++;
    }
    return lane->counted == (int64_t)to ? lane->n : to;
}

static void by_key(struct lane *lane) {
    OK(cls_reduce_by_key_async(CLS_SCAN_SUM, in_of(lane), in_of(lane), out_of(lane),
                               beside_of(lane), count_of(lane), (cls_array){0}, lane->stream));
    download(lane, out_of(lane), lane->got);
    download(lane, beside_of(lane), lane->got_beside);
    download_count(lane);
}

static size_t wrong_by_key(const struct lane *lane) {
    uint32_t sum = 0;
    size_t to = 0;
    for (size_t i = 0; i < lane->n; i++) {
        sum += lane->elements[i];
        if (i + 1 < lane->n && !key_head(lane, i + 1))
            continue;
        if (lane->got[to] != lane->elements[i] || lane->got_beside[to] != sum)
            return i;
        to++;
        sum = 0;
    }
    return lane->counted == (int64_t)to ? lane->n : to;
}

static const struct {
    const char *name;
    void (*submit)(struct lane *lane);
    size_t (*wrong)(
        const struct lane *lane); /* the element from which a result is wrong; n: none */
} calls[] = {
    {"scan", scan_whole, wrong_whole},       {"scan by flags", scan_flags, wrong_flags},
    {"scan by keys", scan_keys, wrong_keys}, {"scan of rows", scan_lengths, wrong_lengths},
    {"compact", compact, wrong_compact},     {"reduce_by_key", by_key, wrong_by_key},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* --- turns --- */

static void submit(struct lane *lane, unsigned call) {
    const cls_array in = in_of(lane), marks = marks_of(lane);
    OK(cls_copy_h2d_async(in.buffer, in.offset * sizeof *lane->elements, lane->elements,
                          in.count * sizeof *lane->elements, lane->stream));
    OK(cls_copy_h2d_async(marks.buffer, marks.offset, lane->flags, marks.count, lane->stream));
    calls[call].submit(lane);
}

static void finish(const struct lane *lane, unsigned call, unsigned turn) {
    const cls_status status = cls_stream_wait(lane->stream, END_S * 1000000000ull);
    if (status)
        fail_msg("CLS_SEED=%llu, turn %u: %s of %zu elements has %s after %d s",
                 (unsigned long long)seed, turn, calls[call].name, lane->n,
                 cls_status_string(status), END_S);
    const size_t at = calls[call].wrong(lane);
    if (at < lane->n)
        fail_msg("CLS_SEED=%llu, turn %u: %s of %zu elements from %zu on is wrong at %zu",
                 (unsigned long long)seed, turn, calls[call].name, lane->n, lane->offset, at);
}

static void test_random_calls_end_and_are_right(void **state) {
    const char *given = getenv("RANDOM_SCANS");
    const unsigned usual = effort_is_long() ? LONG_CALLS : SHORT_CALLS;
    const unsigned turns = (given ? (unsigned)strtoul(given, NULL, 10) : usual) / STREAMS;
    (void)state;
    for (unsigned turn = 0; turn < turns; turn++) {
        unsigned chosen[STREAMS];
        alarm(STREAMS * END_S + END_S);
        for (unsigned s = 0; s < STREAMS; s++) {
            draw_elements(&lanes[s]);
            chosen[s] = any(CALLS);
            submit(&lanes[s], chosen[s]);
        }
        for (unsigned s = 0; s < STREAMS; s++)
            finish(&lanes[s], chosen[s], turn);
    }
    alarm(0);
}

static int setup(void **state) {
    enum { ROOM = MOST + 4 };
    (void)state;
    const char *given = getenv("CLS_SEED");
    seed = given ? strtoull(given, NULL, 0) : (uint64_t)getpid();
    print_message("# CLS_SEED=%llu\n", (unsigned long long)seed);
    OK(cls_context_create(NULL, &context));
    for (unsigned s = 0; s < STREAMS; s++) {
        struct lane *lane = &lanes[s];
        OK(cls_stream_create(context, NULL, &lane->stream));
        OK(cls_buffer_create(context, ROOM * sizeof(uint32_t), &lane->in));
        OK(cls_buffer_create(context, ROOM * sizeof(uint32_t), &lane->out));
        OK(cls_buffer_create(context, ROOM * sizeof(uint32_t), &lane->beside));
        OK(cls_buffer_create(context, ROOM, &lane->marks));
        OK(cls_buffer_create(context, sizeof lane->counted, &lane->count));
        lane->elements = calloc(MOST, sizeof(uint32_t));
        lane->got = calloc(MOST, sizeof(uint32_t));
        lane->got_beside = calloc(MOST, sizeof(uint32_t));
        lane->flags = calloc(MOST, 1);
        if (!lane->elements || !lane->got || !lane->got_beside || !lane->flags)
            return -1;
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (unsigned s = 0; s < STREAMS; s++) {
        struct lane *lane = &lanes[s];
        const cls_buffer buffers[] = {lane->in, lane->out, lane->beside, lane->marks, lane->count};
        OK(cls_stream_destroy(lane->stream));
        for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
            OK(cls_buffer_destroy(buffers[i]));
        free(lane->elements);
        free(lane->got);
        free(lane->got_beside);
        free(lane->flags);
    }
    return cls_context_destroy(context) ? -1 : 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_calls_end_and_are_right)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
