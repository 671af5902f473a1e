/* SPDX-License-Identifier: MIT */
/* CLSTREAM_CHECK=race: memory that several buffers share, and what is freed and destroyed. */
#include "race_pairs.h"

#include <stdlib.h>

#include <clstream/image.h>
#include <clstream/managed.h>
#include <clstream/mempool.h>
#include <clstream/pointer.h>
#include <clstream/share.h>

static cls_buffer wrap(cl_mem memory) {
    cls_buffer buffer = NULL;
    OK(cls_buffer_wrap(rig.context, memory, &buffer));
    return buffer;
}

static void one_memory_two_buffers(bool clean) {
    cl_mem memory;
    OK(cls_buffer_get_cl(w.x, &memory));
    cls_buffer same = wrap(memory);
    write_x(w.a);
    if (clean)
        edge(w.a, w.b);
    fill(same, 0, 4, w.b);
    OK(cls_context_synchronize(rig.context));
    OK(cls_buffer_destroy(same));
}

static void need_sharing(void) {
    cls_share_info info = CLS_SHARE_INFO_INIT;
    OK(cls_context_can_share(rig.context, rig.context, &info));
    if (*info.reason)
        SKIP_BECAUSE("this device's memory cannot be shared: %s", info.reason);
}

/* Handles of two contexts, and streams of these. */
static void one_memory_two_contexts(bool clean) {
    cls_context other;
    cls_stream there;
    cls_buffer near, far;
    const cls_stream_config named = {.size = sizeof named, .name = "there"};
    need_sharing();
    OK(cls_context_create(NULL, &other));
    OK(cls_stream_create(other, &named, &there));
    OK(cls_buffer_create_shareable(rig.context, BYTES, &near));
    OK(cls_buffer_open(other, near, &far));
    fill(near, 4, 4, w.a);
    if (clean)
        edge(w.a, there);
    fill(far, 0, 8, there);
    OK(cls_context_synchronize(rig.context));
    OK(cls_context_synchronize(other));
    OK(cls_buffer_destroy(near));
    OK(cls_buffer_destroy(far));
    OK(cls_stream_destroy(there));
    OK(cls_context_destroy(other));
}

/* The same, of memory of a pool: freed while it is open elsewhere, it does not end there. */
static void one_memory_of_a_pool(bool clean) {
    const cls_mempool_config config = {.size = sizeof config, .shareable = 1};
    const cls_stream_config named = {.size = sizeof named, .name = "there"};
    cls_context other;
    cls_stream there;
    cls_mempool pool;
    cls_buffer near, far;
    need_sharing();
    OK(cls_context_create(NULL, &other));
    OK(cls_stream_create(other, &named, &there));
    OK(cls_mempool_create(rig.context, &config, &pool));
    OK(cls_mempool_malloc_async(pool, w.a, BYTES, &near));
    OK(cls_buffer_open(other, near, &far));
    fill(near, 4, 4, w.a);
    if (clean)
        edge(w.a, there);
    fill(w.x, 0, 4, w.a); /* so that the free comes later than the edge */
    OK(cls_free_async(near, w.a));
    fill(far, 0, 8, there);
    OK(cls_context_synchronize(rig.context));
    OK(cls_context_synchronize(other));
    OK(cls_buffer_destroy(far));
    OK(cls_mempool_destroy(pool));
    OK(cls_stream_destroy(there));
    OK(cls_context_destroy(other));
}

/* A destroyed handle takes none of the other's accesses with it, also once the engine has retired its work; new memory
 * begins without any. */
static void one_memory_a_handle_destroyed(bool clean) {
    cls_buffer near, again;
    need_sharing();
    for (int i = 0; i < 3; i++) {
        OK(cls_buffer_create_shareable(rig.context, BYTES, &near));
        OK(cls_buffer_open(rig.context, near, &again));
        fill(near, 0, 4, w.a);
        OK(cls_buffer_destroy(near));
        nap_ms(30);
        fill(again, clean ? 4 : 3, 4, w.b);
        OK(cls_buffer_destroy(again));
    }
}

static void parts_of_one_buffer(bool clean) {
    enum { APART = 1024 };
    cls_buffer whole = rig_cells(APART), part;
    cl_mem memory, below;
    cl_buffer_region region = {0, APART};
    rig_need("sub_buffer_arguments");
    OK(cls_check_clear());
    OK(cls_buffer_get_cl(whole, &memory));
    below = clCreateSubBuffer(memory, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    assert_non_null(below);
    part = wrap(below);
    fill(part, APART - 4, 4, w.a);
    fill(whole, clean ? APART : APART - 1, 4, w.b);
    OK(cls_context_synchronize(rig.context));
    OK(cls_buffer_destroy(part));
    OK(cls_buffer_destroy(whole));
    clReleaseMemObject(below);
}

static void by_pointers(bool clean) {
    void *x;
    OK(cls_buffer_get_pointer(w.x, &x));
    OK(cls_memset_async(x, 7, 4, w.a));
    OK(cls_memcpy_async((char *)x + (clean ? 4 : 3), w.words, 4, w.b));
    OK(cls_context_synchronize(rig.context));
}

/* A kernel may use what is before its pointer. */
static void before_a_pointer(bool clean) {
    enum { APART = 4096 };
    cls_buffer buffer = rig_cells(2 * APART / 4);
    void *start;
    rig_need("sub_buffer_arguments");
    OK(cls_check_clear());
    OK(cls_buffer_get_pointer(buffer, &start));
    fill(buffer, 0, 4, w.a);
    if (clean)
        edge(w.a, w.b);
    blur(cls_arg_pointer((char *)start + APART), cls_arg_buffer(w.y), w.b);
    OK(cls_context_synchronize(rig.context));
    OK(cls_buffer_destroy(buffer));
}

static void destroyed_stream(bool clean) {
    cls_stream gone = rig_named("gone");
    write_x(gone);
    OK(cls_event_record(w.event, gone));
    OK(cls_stream_destroy(gone));
    if (clean)
        OK(cls_stream_wait_event(w.b, w.event));
    read_x(w.b);
}

/* A new buffer may get the memory of one that is destroyed with work pending. */
static void destroyed_buffer(bool clean) {
    cls_buffer more[4];
    for (int i = 0; i < 4; i++) {
        OK(cls_buffer_create(rig.context, BYTES, &more[i]));
        fill(more[i], 0, BYTES, i % 2 ? w.a : w.b);
        if (!clean)
            fill(more[i], 0, BYTES, i % 2 ? w.b : w.a);
        OK(cls_buffer_destroy(more[i]));
    }
}

/* cls_host_free completes what is pending, and the next block may be where that one was. */
static void freed_host_memory(bool clean) {
    void *blocks[2];
    for (int i = 0; i < 64; i++) {
        for (int k = 0; k < 2; k++)
            OK(cls_host_alloc(rig.context, BYTES, &blocks[k]));
        for (int k = 0; k < 2; k++) {
            OK(cls_copy_d2h_async(blocks[k], w.x, 0, BYTES, i % 2 ? w.a : w.b));
            if (!clean)
                OK(cls_copy_d2h_async(blocks[k], w.x, 0, BYTES, i % 2 ? w.b : w.a));
            OK(cls_host_free(blocks[k]));
        }
    }
}

static void free_and_use(bool clean) {
    cls_buffer memory = NULL;
    fill(w.y, 0, 4, w.a);
    OK(cls_malloc_async(w.a, BYTES, &memory));
    edge(w.a, w.b);
    fill(memory, 0, BYTES, w.b);
    if (clean)
        edge(w.b, w.a);
    OK(cls_free_async(memory, w.a));
}

static void use_before_the_malloc(bool clean) {
    cls_buffer memory = NULL;
    fill(w.y, 0, 4, w.a);
    OK(cls_event_record(w.event, w.a));
    fill(w.y, 0, 4, w.a);
    OK(cls_malloc_async(w.a, BYTES, &memory));
    if (clean)
        OK(cls_event_record(w.event, w.a));
    OK(cls_stream_wait_event(w.b, w.event));
    fill(memory, 0, BYTES, w.b);
    OK(cls_free_async(memory, w.b));
}

static void reused_memory(bool clean) {
    cls_buffer memory = NULL, again = NULL;
    OK(cls_malloc_async(w.a, BYTES, &memory));
    fill(memory, 0, BYTES, w.a);
    OK(cls_free_async(memory, w.a));
    OK(cls_malloc_async(w.a, BYTES, &again));
    fill(again, 0, BYTES, w.a);
    if (clean)
        edge(w.a, w.b);
    fill(again, 0, BYTES, w.b);
    OK(cls_free_async(again, w.b));
}

/* Each comes behind the one before it, whatever their streams, and whether that happens to be over or not. */
static void test_prefetches_order_each_other(void **state) {
    (void)state;
    cls_managed_kind kind;
    cls_buffer cells;
    void *host;
    OK(cls_managed_get_kind(rig.context, &kind));
    if (kind == CLS_MANAGED_NONE)
        SKIP_BECAUSE("the device shares no memory with the host");
    world_begin();
    OK(cls_managed_alloc(rig.context, BYTES, &cells, &host));
    for (int i = 0; i < 4; i++) {
        cls_stream stream = i % 2 ? w.b : w.a;
        OK(cls_prefetch_async(cells, CLS_TO_DEVICE, stream));
        fill(cells, 0, BYTES, stream);
        OK(cls_prefetch_async(cells, CLS_TO_HOST, stream));
        nap_ms(i < 2 ? 0 : 30);
    }
    OK(cls_context_synchronize(rig.context));
    assert_int_equal(found().races, 0);
    OK(cls_buffer_destroy(cells));
    world_end();
}

/* An image is one whole: a copy of a part races with one of another part, unless a wait orders them. */
static void test_images(void **state) {
    (void)state;
    const cls_image_shape shape = {
        CLS_IMAGE_2D, {CLS_CHANNELS_R, CLS_CHANNEL_U32}, CLS_ACCESS_UNKNOWN, 4, 4, 1};
    const cls_image_box left = {.size = {2, 4, 1}}, right = {.size = {2, 4, 1}, .src = {2, 0, 0}};
    static uint32_t in[16], out[16];
    cls_image image;
    int has = 0;
    OK(cls_image_format_supported(rig.context, shape.kind, shape.access, shape.format, &has));
    if (!has)
        SKIP_BECAUSE("the device has no images of this format");
    for (unsigned ordered = 0; ordered < 2; ordered++) {
        world_begin();
        cls_event event = rig_event();
        OK(cls_image_create(rig.context, &shape, &image));
        OK(cls_image_from_host_async(image, in, &left, w.a));
        OK(cls_event_record(event, w.a));
        if (ordered)
            OK(cls_stream_wait_event(w.b, event));
        OK(cls_image_to_host_async(out, image, &right, w.b));
        OK(cls_context_synchronize(rig.context));
        assert_int_equal(found().races, !ordered);
        OK(cls_event_destroy(event));
        OK(cls_image_destroy(image));
        world_end();
    }
}

/* A 2D image over a buffer is that buffer. */
static void test_images_over_buffers(void **state) {
    (void)state;
    enum { PITCH = 1024 };
    const cls_image_shape shape = {
        CLS_IMAGE_2D, {CLS_CHANNELS_R, CLS_CHANNEL_U32}, CLS_ACCESS_UNKNOWN, 4, 2, 1};
    static uint32_t out[8];
    for (unsigned ordered = 0; ordered < 2; ordered++) {
        world_begin();
        cls_event event = rig_event();
        cls_buffer buffer = rig_cells(2 * PITCH / sizeof *out);
        cls_image image;
        const cls_status status = cls_image_over_pitched(buffer, &shape, PITCH, &image);
        if (status == CLS_ERROR_UNSUPPORTED) {
            print_message("%s\n", cls_last_error_detail());
            OK(cls_buffer_destroy(buffer));
            OK(cls_event_destroy(event));
            world_end();
            SKIP_BECAUSE("the device has no 2D images over buffers");
        }
        OK(status);
        fill(buffer, PITCH, 16, w.a);
        OK(cls_event_record(event, w.a));
        if (ordered)
            OK(cls_stream_wait_event(w.b, event));
        OK(cls_image_to_host_async(out, image, NULL, w.b));
        OK(cls_context_synchronize(rig.context));
        assert_int_equal(found().races, !ordered);
        OK(cls_image_destroy(image));
        OK(cls_buffer_destroy(buffer));
        OK(cls_event_destroy(event));
        world_end();
    }
}

/* Order does not help: the fill comes after the map, and the unmap after the fill. */
static void mapped_for_writing(bool clean) {
    void *at;
    OK(cls_buffer_map(w.x, CLS_MAP_WRITE, 16, 16, w.a, &at));
    fill(w.x, clean ? 32 : 31, 8, w.b);
    OK(cls_stream_synchronize(w.b));
    OK(cls_buffer_unmap_async(w.x, at, w.a));
    edge(w.a, w.b);
    fill(w.x, 16, 16, w.b);
    OK(cls_context_synchronize(rig.context));
}

static void mapped_for_reading(bool clean) {
    void *at;
    OK(cls_buffer_map(w.x, CLS_MAP_READ, 16, 16, w.a, &at));
    if (clean)
        read_x(w.a);
    else
        write_x(w.a);
    OK(cls_buffer_unmap_async(w.x, at, w.a));
    OK(cls_context_synchronize(rig.context));
}

/* Commands ahead of the map and behind the unmap on another stream need an order, as those of any two streams. */
static void map_without_an_edge(bool clean) {
    void *at;
    write_x(w.b);
    if (clean)
        edge(w.b, w.a);
    OK(cls_buffer_map_async(w.x, CLS_MAP_READ, 0, 4, w.a, &at));
    OK(cls_stream_synchronize(w.a));
    OK(cls_buffer_unmap_async(w.x, at, w.a));
    OK(cls_context_synchronize(rig.context));
}

static void unmap_without_an_edge(bool clean) {
    void *at;
    OK(cls_buffer_map(w.x, CLS_MAP_WRITE_INVALIDATE, 0, 8, w.a, &at));
    OK(cls_buffer_unmap_async(w.x, at, w.a));
    if (clean)
        edge(w.a, w.b);
    read_x(w.b);
    OK(cls_context_synchronize(rig.context));
}

static const struct CMUnitTest tests[] = {
    PAIR("one memory, two buffers", one_memory_two_buffers, false,
         {"bytes 0 to 3 of a buffer of 256"}),
    PAIR("one memory, two contexts", one_memory_two_contexts, false,
         {"bytes 4 to 7 of a buffer of 256", "stream 'there'"}),
    PAIR("one memory, of a pool", one_memory_of_a_pool, false, {"stream 'there'", "('fill')"}),
    PAIR("one memory, a handle destroyed", one_memory_a_handle_destroyed, false,
         {"byte 3 of a buffer of 256"}),
    PAIR("parts of one buffer", parts_of_one_buffer, false, {"byte 1023 of a buffer of"}),
    PAIR("by pointers", by_pointers, false, {"byte 3 of a buffer of 256"}),
    PAIR("before a pointer", before_a_pointer, true, {"bytes 0 to 3 of a buffer of 8192"}),
    PAIR("destroyed stream", destroyed_stream, false, {"stream 'gone'"}),
    PAIR("mapped for writing", mapped_for_writing, false,
         {"('map') writes and command", "byte 31 of a buffer", "unmap them before"}),
    PAIR("mapped for reading", mapped_for_reading, false, {"('map') reads", "bytes 16 to 31"}),
    PAIR("map without an edge", map_without_an_edge, false, {"('map') reads"}),
    PAIR("unmap without an edge", unmap_without_an_edge, false, {"('unmap') writes"}),
    PAIR("destroyed buffer", destroyed_buffer, false, {NULL}),
    PAIR("freed host memory", freed_host_memory, false, {"bytes of host memory"}),
    PAIR("free and use", free_and_use, false,
         {"of stream 'second' ('fill')", "command 1 of stream 'first' ('free') writes"}),
    PAIR("use before the malloc", use_before_the_malloc, false,
         {"command 2 of stream 'first' ('malloc') writes"}),
    PAIR("reused memory", reused_memory, false, {"fill"}),
    cmocka_unit_test(test_prefetches_order_each_other),
    cmocka_unit_test(test_images),
    cmocka_unit_test(test_images_over_buffers),
};

int main(void) {
    setenv("CLSTREAM_MANAGED", "coarse", 1);
    return cmocka_run_group_tests(tests, race_setup, race_teardown);
}
