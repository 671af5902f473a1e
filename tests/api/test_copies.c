/* SPDX-License-Identifier: MIT */
/* Copies, rectangles and fills against the same done on the host, byte by byte, on odd ranges. */
#include "../support/rig.h"

#include <clstream/image.h>

#include <clstream/mempool.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 3000, BIG = (5 << 20) + 13 };

/* The device's buffer, what it should hold, and host memory of either kind. */
struct scene {
    cls_stream stream;
    cls_buffer device, second;
    unsigned char model[BYTES], other[BYTES], seen[BYTES];
    unsigned char *pinned;
};

static struct scene scene;

static void randomize(unsigned char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(rand() >> 4);
}

static int scene_setup(void **state) {
    void *pinned;
    if (rig_setup(state))
        return -1;
    srand(11);
    randomize(scene.model, BYTES);
    randomize(scene.other, BYTES);
    if (cls_stream_create(rig.context, NULL, &scene.stream) ||
        cls_buffer_from_host(rig.context, scene.model, BYTES, &scene.device) ||
        cls_buffer_from_host(rig.context, scene.other, BYTES, &scene.second) ||
        cls_host_alloc(rig.context, BYTES, &pinned))
        return -1;
    scene.pinned = pinned;
    return 0;
}

static int scene_teardown(void **state) {
    return cls_host_free(scene.pinned) || cls_buffer_destroy(scene.device) ||
           cls_buffer_destroy(scene.second) || cls_stream_destroy(scene.stream) ||
           rig_teardown(state);
}

static void expect_model(void) {
    OK(cls_copy_d2h(scene.seen, scene.device, 0, BYTES, scene.stream));
    assert_memory_equal(scene.seen, scene.model, BYTES);
    OK(cls_copy_d2h(scene.seen, scene.second, 0, BYTES, scene.stream));
    assert_memory_equal(scene.seen, scene.other, BYTES);
}

/* A random range within `room` bytes, often odd, sometimes empty or everything. */
static void range(size_t room, size_t *offset, size_t *bytes) {
    *offset = (size_t)rand() % room;
    *bytes = (size_t)rand() % (room - *offset + 1);
    if (rand() % 10 == 0)
        *bytes = *bytes > 3 ? 3 : *bytes;
}

static void test_uploads(void **state) {
    (void)state;
    unsigned count = rig_scale(300, 40);
    for (unsigned i = 0; i < count; i++) {
        size_t offset, bytes, from;
        range(BYTES, &offset, &bytes);
        from = (size_t)rand() % (BYTES - bytes + 1);
        unsigned char *host = i % 2 ? scene.pinned : malloc(BYTES);
        assert_non_null(host);
        randomize(host, BYTES);
        memcpy(scene.model + offset, host + from, bytes);
        if (i % 3)
            OK(cls_copy_h2d(scene.device, offset, host + from, bytes, scene.stream));
        else
            OK(cls_copy_h2d_async(scene.device, offset, host + from, bytes, scene.stream));
        OK(cls_stream_synchronize(scene.stream));
        if (host != scene.pinned)
            free(host);
        if (i % 8 == 7)
            expect_model();
    }
    expect_model();
}

static void test_downloads(void **state) {
    (void)state;
    unsigned count = rig_scale(300, 40);
    for (unsigned i = 0; i < count; i++) {
        size_t offset, bytes, to;
        range(BYTES, &offset, &bytes);
        to = (size_t)rand() % (BYTES - bytes + 1);
        unsigned char *host = i % 2 ? scene.pinned : scene.seen, expected[BYTES];
        memset(host, 0xee, BYTES);
        memset(expected, 0xee, BYTES);
        memcpy(expected + to, scene.model + offset, bytes);
        if (i % 3)
            OK(cls_copy_d2h(host + to, scene.device, offset, bytes, scene.stream));
        else
            OK(cls_copy_d2h_async(host + to, scene.device, offset, bytes, scene.stream));
        OK(cls_stream_synchronize(scene.stream));
        assert_memory_equal(host, expected, BYTES); /* and nothing beside it */
    }
}

static void test_copies_on_the_device(void **state) {
    (void)state;
    unsigned count = rig_scale(200, 40);
    for (unsigned i = 0; i < count; i++) {
        size_t offset, bytes, from;
        range(BYTES, &offset, &bytes);
        from = (size_t)rand() % (BYTES - bytes + 1);
        memcpy(scene.other + offset, scene.model + from, bytes);
        OK(cls_copy_d2d_async(scene.second, offset, scene.device, from, bytes, scene.stream));
        if (bytes > 1) {
            size_t half = bytes / 2; /* within one buffer */
            memcpy(scene.other + offset, scene.other + offset + half, half);
            OK(cls_copy_d2d(scene.second, offset, scene.second, offset + half, half, scene.stream));
        }
    }
    expect_model();
}

/* A random rectangle that fits both sides. */
static cls_rect rectangle(void) {
    cls_rect r = {0};
    r.width = 1 + (size_t)rand() % 40;
    r.height = (size_t)rand() % 12;
    r.dst_pitch = r.width + (size_t)rand() % 30;
    r.src_pitch = r.width + (size_t)rand() % 30;
    r.dst_offset = (size_t)rand() % 1000;
    r.src_offset = (size_t)rand() % 1000;
    return r;
}

static void rect_on_host(unsigned char *dst, const unsigned char *src, const cls_rect *r) {
    for (size_t y = 0; y < r->height; y++)
        memcpy(dst + r->dst_offset + y * r->dst_pitch, src + r->src_offset + y * r->src_pitch,
               r->width);
}

static void test_rectangles(void **state) {
    (void)state;
    unsigned count = rig_scale(300, 60);
    unsigned char expected[BYTES];
    for (unsigned i = 0; i < count; i++) {
        cls_rect r = rectangle();
        unsigned char *host = i % 2 ? scene.pinned : scene.seen;
        switch (i % 6) {
        case 0:
            randomize(host, BYTES);
            rect_on_host(scene.model, host, &r);
            OK(cls_copy_rect_h2d(scene.device, host, &r, scene.stream));
            break;
        case 1:
            randomize(host, BYTES);
            rect_on_host(scene.model, host, &r);
            OK(cls_copy_rect_h2d_async(scene.device, host, &r, scene.stream));
            OK(cls_stream_synchronize(scene.stream));
            break;
        case 2:
        case 3:
            memset(host, 0xdd, BYTES);
            memset(expected, 0xdd, BYTES);
            rect_on_host(expected, scene.model, &r);
            if (i % 2)
                OK(cls_copy_rect_d2h(host, scene.device, &r, scene.stream));
            else
                OK(cls_copy_rect_d2h_async(host, scene.device, &r, scene.stream));
            OK(cls_stream_synchronize(scene.stream));
            assert_memory_equal(host, expected, BYTES);
            break;
        default:
            rect_on_host(scene.other, scene.model, &r);
            if (i % 2)
                OK(cls_copy_rect_d2d(scene.second, scene.device, &r, scene.stream));
            else
                OK(cls_copy_rect_d2d_async(scene.second, scene.device, &r, scene.stream));
        }
    }
    expect_model();
}

/* Memory of the stream's order is sub-buffers to the driver. */
static void test_rectangles_of_stream_ordered_memory(void **state) {
    (void)state;
    unsigned count = rig_scale(60, 12);
    cls_buffer parts[2];
    for (unsigned i = 0; i < 2; i++) {
        OK(cls_malloc_async(scene.stream, BYTES, &parts[i]));
        OK(cls_copy_h2d(parts[i], 0, i ? scene.other : scene.model, BYTES, scene.stream));
    }
    for (unsigned i = 0; i < count; i++) {
        cls_rect r = rectangle();
        if (i % 4 == 3)
            r.src_pitch = r.dst_pitch;
        rect_on_host(scene.other, scene.model, &r);
        if (i % 2)
            OK(cls_copy_rect_d2d(parts[1], parts[0], &r, scene.stream));
        else
            OK(cls_copy_rect_d2d_async(parts[1], parts[0], &r, scene.stream));
        OK(cls_copy_rect_d2d_async(scene.second, parts[0], &r, scene.stream));
    }
    OK(cls_copy_d2h(scene.seen, parts[1], 0, BYTES, scene.stream));
    assert_memory_equal(scene.seen, scene.other, BYTES);
    expect_model();
    for (unsigned i = 0; i < 2; i++)
        OK(cls_free_async(parts[i], scene.stream));
}

/* OpenCL itself refuses unequal pitches there. */
static void test_rectangles_within_one_buffer(void **state) {
    (void)state;
    unsigned count = rig_scale(60, 12);
    for (unsigned i = 0; i < count; i++) {
        cls_rect r = rectangle();
        r.height %= 6;
        r.dst_offset += BYTES / 2;
        unsigned char before[BYTES];
        memcpy(before, scene.model, BYTES);
        rect_on_host(scene.model, before, &r);
        if (i % 2)
            OK(cls_copy_rect_d2d(scene.device, scene.device, &r, scene.stream));
        else
            OK(cls_copy_rect_d2d_async(scene.device, scene.device, &r, scene.stream));
    }
    expect_model();
}

static bool bytes_meet(const cls_rect *r) {
    for (size_t y = 0; y < r->height; y++)
        for (size_t z = 0; z < r->height; z++) {
            size_t to = r->dst_offset + y * r->dst_pitch, from = r->src_offset + z * r->src_pitch;
            if (to < from + r->width && from < to + r->width)
                return true;
        }
    return false;
}

/* Of one pitch, close together: PoCL 3.1 takes many of them for ones that overlap. */
static void test_rectangles_beside_each_other(void **state) {
    (void)state;
    unsigned count = rig_scale(200, 60);
    for (unsigned i = 0; i < count; i++) {
        const size_t pitch = 8;
        cls_rect r = {1 + (size_t)rand() % pitch,
                      1 + (size_t)rand() % 3,
                      (size_t)rand() % 64,
                      pitch,
                      (size_t)rand() % 64,
                      pitch,
                      0,
                      0,
                      0};
        if (bytes_meet(&r))
            continue;
        rect_on_host(scene.model, scene.model, &r);
        OK(cls_copy_rect_d2d(scene.device, scene.device, &r, scene.stream));
    }
    expect_model();
}

/* Of unequal pitches, also with rows that pass each other; those that overlap are refused, and no others. */
static void test_rectangles_that_alternate(void **state) {
    (void)state;
    const unsigned count = rig_scale(300, 80);
    unsigned refused = 0;
    for (unsigned i = 0; i < count; i++) {
        cls_rect r = {.width = 1 + (size_t)rand() % 6, .height = 2 + (size_t)rand() % 6};
        r.dst_pitch = r.width + (size_t)rand() % 24;
        r.src_pitch = i % 3 ? r.width + (size_t)rand() % 24 : 2 * r.dst_pitch;
        r.dst_offset = (size_t)rand() % 64;
        r.src_offset = (size_t)rand() % 64;
        const bool meets = bytes_meet(&r);
        if (!meets)
            rect_on_host(scene.model, scene.model, &r);
        else if (r.dst_offset == r.src_offset && r.dst_pitch == r.src_pitch)
            continue;
        EXPECT(meets ? CLS_ERROR_OVERLAP : CLS_SUCCESS,
               cls_copy_rect_d2d(scene.device, scene.device, &r, scene.stream));
        refused += meets;
    }
    assert_true(refused >= count / 10 && refused <= count - count / 20);
    expect_model();
}

static void test_fills(void **state) {
    (void)state;
    unsigned count = rig_scale(200, 50);
    for (unsigned i = 0; i < count; i++) {
        size_t size = (size_t)1 << i % 5, items = BYTES / size;
        size_t first = (size_t)rand() % items, n = (size_t)rand() % (items - first + 1);
        unsigned char pattern[16];
        randomize(pattern, size);
        for (size_t k = 0; k < n; k++)
            memcpy(scene.model + (first + k) * size, pattern, size);
        if (i % 2)
            OK(cls_fill(scene.device, first * size, n * size, pattern, size, scene.stream));
        else
            OK(cls_fill_async(scene.device, first * size, n * size, pattern, size, scene.stream));
        memset(pattern, 0, sizeof pattern); /* the call has copied it */
    }
    expect_model();
}

static void test_nothing_is_nothing(void **state) {
    (void)state;
    cls_rect flat = {0, 4, 0, 4, 0, 4, 0, 0, 0}, empty = {4, 0, 0, 4, 0, 4, 0, 0, 0};
    OK(cls_copy_h2d(scene.device, BYTES, NULL, 0, scene.stream));
    OK(cls_copy_d2h(NULL, scene.device, BYTES, 0, scene.stream));
    OK(cls_copy_d2d(scene.device, 0, scene.second, 0, 0, scene.stream));
    OK(cls_fill(scene.device, BYTES, 0, "x", 1, scene.stream));
    OK(cls_copy_rect_d2d(scene.device, scene.second, &flat, scene.stream));
    OK(cls_copy_rect_d2d(scene.device, scene.second, &empty, scene.stream));
    OK(cls_copy_rect_h2d(scene.device, scene.seen, &empty, scene.stream));
    expect_model();
}

static void test_prefetch_changes_nothing(void **state) {
    (void)state;
    OK(cls_prefetch_async(scene.device, CLS_TO_HOST, scene.stream));
    OK(cls_prefetch_async(scene.device, CLS_TO_DEVICE, scene.stream));
    OK(cls_prefetch(scene.device, CLS_TO_HOST, scene.stream));
    OK(cls_prefetch(scene.device, CLS_TO_DEVICE, scene.stream));
    expect_model();
}

/* Prefetches between commands of every other kind, with nothing waited for: NVIDIA's own migration to the
 * host ends the process here. */
static void test_prefetches_among_others(void **state) {
    const unsigned char pattern = 7;
    (void)state;
    for (int round = 0; round < 300; round++) {
        OK(cls_copy_h2d_async(scene.device, 0, scene.model, BYTES, scene.stream));
        OK(cls_prefetch_async(scene.device, CLS_TO_HOST, scene.stream));
        OK(cls_fill_async(scene.device, 0, BYTES / 2, &pattern, 1, scene.stream));
        OK(cls_prefetch_async(scene.device, CLS_TO_DEVICE, scene.stream));
        OK(cls_copy_d2d_async(scene.second, 0, scene.device, 0, BYTES, scene.stream));
        OK(cls_prefetch_async(scene.second, CLS_TO_HOST, scene.stream));
        OK(cls_copy_d2h_async(scene.seen, scene.second, 0, BYTES, scene.stream));
    }
    OK(cls_stream_synchronize(scene.stream));
    memset(scene.other, pattern, BYTES / 2);
    memcpy(scene.other + BYTES / 2, scene.model + BYTES / 2, BYTES - BYTES / 2);
    assert_memory_equal(scene.seen, scene.other, BYTES);
    memcpy(scene.model, scene.other, BYTES);
    expect_model();
}

/* More than one chunk of any staging ring, at odd addresses, both ways at once. */
static void test_big_copies(void **state) {
    (void)state;
    unsigned char *up = malloc(BIG + 1), *down = malloc(BIG + 1);
    cls_buffer big;
    cls_stream other = rig_stream();
    void *pinned;
    assert_true(up && down);
    randomize(up, BIG + 1);
    OK(cls_buffer_create(rig.context, BIG, &big));
    for (int round = 0; round < 3; round++) {
        up[5] = (unsigned char)round;
        memset(down, 0, BIG + 1);
        OK(cls_copy_h2d_async(big, 0, up + 1, BIG, scene.stream));
        OK(cls_copy_d2h_async(scene.seen, scene.second, 0, BYTES, other));
        OK(cls_copy_d2h_async(down + 1, big, 0, BIG, scene.stream));
        OK(cls_stream_synchronize(scene.stream));
        assert_memory_equal(down + 1, up + 1, BIG);
        OK(cls_stream_synchronize(other));
        assert_memory_equal(scene.seen, scene.other, BYTES);
    }
    OK(cls_host_alloc(rig.context, BIG, &pinned));
    memcpy(pinned, up + 1, BIG);
    memset(down, 0, BIG + 1);
    OK(cls_copy_h2d_async(big, 0, pinned, BIG, scene.stream));
    OK(cls_copy_d2h_async(down, big, 1, BIG - 1, scene.stream));
    OK(cls_stream_synchronize(scene.stream));
    assert_memory_equal(down, up + 2, BIG - 1);
    OK(cls_host_free(pinned));
    OK(cls_buffer_to_host(big, down, BIG));
    assert_memory_equal(down, up + 1, BIG);
    OK(cls_buffer_destroy(big));
    OK(cls_stream_destroy(other));
    free(up);
    free(down);
}

static void test_pinned_memory_starts_at_a_page(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 100, 4095, 4096, 4097, (1 << 20) + 1};
    const size_t n = sizeof sizes / sizeof *sizes;
    void *memory[sizeof sizes / sizeof *sizes];
    for (size_t i = 0; i < n; i++) {
        OK(cls_host_alloc(rig.context, sizes[i], &memory[i]));
        assert_int_equal((uintptr_t)memory[i] % (size_t)sysconf(_SC_PAGESIZE), 0);
        memset(memory[i], (int)i + 1, sizes[i]);
        OK(cls_copy_h2d_async(scene.device, 0, memory[i], sizes[i] < BYTES ? sizes[i] : BYTES,
                              scene.stream));
    }
    for (size_t i = 0; i < n; i++) {
        const unsigned char *bytes = memory[i];
        assert_int_equal(bytes[0], i + 1);
        assert_int_equal(bytes[sizes[i] - 1], i + 1);
        OK(cls_host_free(memory[i]));
    }
    OK(cls_copy_h2d(scene.device, 0, scene.model, BYTES, scene.stream));
}

static void test_sizes_are_kept(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 4095, 4096, 4097, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cls_buffer buffer;
        size_t bytes = 0;
        OK(cls_buffer_create(rig.context, sizes[i], &buffer));
        OK(cls_buffer_get_size(buffer, &bytes));
        assert_int_equal(bytes, sizes[i]);
        OK(cls_buffer_destroy(buffer));
    }
}

/* By the driver's own copy, and by a kernel of the library's. */
static void test_counters_tell_the_bytes_of_rectangles(void **state) {
    (void)state;
    const cls_rect equal = {10, 4, 0, 30, 0, 30, 0, 0, 0},
                   unequal = {10, 5, 1000, 40, 0, 30, 0, 0, 0};
    cls_stream stream = rig_stream();
    cls_buffer from = rig_cells(400), to = rig_cells(400);
    cls_stream_counters counters = {.size = sizeof counters};
    OK(cls_copy_rect_d2d(to, from, &equal, stream));
    OK(cls_stream_get_counters(stream, &counters));
    assert_int_equal(counters.bytes_on_device, 40);
    const uint64_t kernels = counters.commands[CLS_COMMAND_KERNEL];
    OK(cls_copy_rect_d2d(to, to, &unequal, stream));
    OK(cls_stream_get_counters(stream, &counters));
    assert_int_equal(counters.commands[CLS_COMMAND_KERNEL], kernels + 1);
    assert_int_equal(counters.bytes_on_device, 40 + 50);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(from));
    OK(cls_buffer_destroy(to));
}

static void test_counters_tell_the_bytes(void **state) {
    (void)state;
    cls_stream stream = rig_stream();
    cls_stream_counters counters = {.size = sizeof counters};
    cls_rect r = {10, 5, 0, 20, 0, 30, 0, 0, 0};
    OK(cls_copy_h2d(scene.device, 0, scene.model, 100, stream));
    OK(cls_copy_d2h(scene.seen, scene.device, 0, 70, stream));
    OK(cls_copy_d2d(scene.device, 0, scene.device, 50, 30, stream));
    memcpy(scene.model, scene.model + 50, 30);
    OK(cls_copy_rect_d2h(scene.seen, scene.device, &r, stream));
    OK(cls_stream_get_counters(stream, &counters));
    assert_int_equal(counters.bytes_to_device, 100);
    assert_int_equal(counters.bytes_to_host, 70 + 50);
    assert_int_equal(counters.bytes_on_device, 30);
    assert_int_equal(counters.commands[CLS_COMMAND_COPY_H2D], 1);
    assert_int_equal(counters.commands[CLS_COMMAND_COPY_D2H], 2);
    assert_int_equal(counters.commands[rig_has_capability("odd_copies") ? CLS_COMMAND_COPY_D2D
                                                                        : CLS_COMMAND_KERNEL],
                     1);
    assert_int_equal(counters.submitted, 4);
    assert_int_equal(counters.completed, 4);
    assert_int_equal(counters.failed, 0);
    OK(cls_stream_destroy(stream));
}

/* Above what goes to the driver at once on every device; behind a gate, so that it is not done when the call returns. */
static void test_large_copies_of_images(void **state) {
    (void)state;
    enum { LARGE = 256, PITCH = LARGE + 3 };
    const cls_image_shape shape = {
        CLS_IMAGE_2D, {CLS_CHANNELS_RGBA, CLS_CHANNEL_U8}, CLS_ACCESS_UNKNOWN, LARGE, LARGE, 1};
    static uint32_t in[LARGE * PITCH], out[LARGE * PITCH];
    const cls_image_box box = {.size = {LARGE, LARGE, 1}, .offset = 4, .pitch = PITCH * sizeof *in};
    struct gate gate;
    cls_image image;
    const cls_status status = cls_image_create(rig.context, &shape, &image);
    if (status == CLS_ERROR_UNSUPPORTED)
        SKIP_BECAUSE("%s", cls_last_error_detail());
    OK(status);
    cls_stream stream = rig_stream();
    gate_init(&gate);
    for (uint32_t i = 0; i < LARGE * PITCH; i++)
        in[i] = i * 2654435761u;
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(cls_image_from_host_async(image, in, &box, stream));
    OK(cls_image_to_host_async(out, image, &box, stream));
    EXPECT(CLS_NOT_READY, cls_stream_query(stream));
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    for (uint32_t i = 0; i < LARGE * PITCH; i++)
        assert_int_equal(out[i], i && (i - 1) % PITCH < LARGE ? in[i] : 0);
    gate_destroy(&gate);
    OK(cls_image_destroy(image));
    OK(cls_stream_destroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uploads),
        cmocka_unit_test(test_downloads),
        cmocka_unit_test(test_copies_on_the_device),
        cmocka_unit_test(test_rectangles),
        cmocka_unit_test(test_rectangles_of_stream_ordered_memory),
        cmocka_unit_test(test_rectangles_within_one_buffer),
        cmocka_unit_test(test_rectangles_beside_each_other),
        cmocka_unit_test(test_rectangles_that_alternate),
        cmocka_unit_test(test_fills),
        cmocka_unit_test(test_nothing_is_nothing),
        cmocka_unit_test(test_prefetch_changes_nothing),
        cmocka_unit_test(test_prefetches_among_others),
        cmocka_unit_test(test_big_copies),
        cmocka_unit_test(test_pinned_memory_starts_at_a_page),
        cmocka_unit_test(test_sizes_are_kept),
        cmocka_unit_test(test_counters_tell_the_bytes),
        cmocka_unit_test(test_counters_tell_the_bytes_of_rectangles),
        cmocka_unit_test(test_large_copies_of_images),
    };
    return cmocka_run_group_tests(tests, scene_setup, scene_teardown);
}
