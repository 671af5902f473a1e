/* SPDX-License-Identifier: MIT */
/*
 * Addresses of buffers of every kind: a kernel reads and writes through them what calls by handle read and write; they stay
 * the same.
 */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

#include <clstream.h>
#include <clstream/opencl.h>

enum { WIDTHS = 5, CELLS = 1000, BYTES = CELLS * 4 };

static const char source[] =
    "kernel void add_at(ulong at, uint n, uint what) {\n"
    "    global uint *cells = (global uint *)at;\n"
    "    if (get_global_id(0) < n)\n"
    "        cells[get_global_id(0)] += what;\n"
    "}\n"
    "#define MOVE(name, type) kernel void name(global type *to, global const type *from) { \\\n"
    "    to[get_global_id(0)] = from[get_global_id(0)]; }\n"
    "MOVE(move1, uchar) MOVE(move2, ushort) MOVE(move4, uint) MOVE(move8, ulong) MOVE(move16, uint4)\n"
    "typedef struct { ulong from[3], to; } rows;\n"
    "kernel void sum_rows(global const rows *table, uint n, uint times) {\n"
    "    const uint i = (uint)get_global_id(0);\n"
    "    for (uint t = 0; t < times && i < n; t++) {\n"
    "        uint sum = 0;\n"
    "        for (uint row = 0; row < 3; row++)\n"
    "            sum += ((global const uint *)table->from[row])[i];\n"
    "        ((global uint *)table->to)[i] = sum;\n"
    "    }\n"
    "}\n";

static const char *const moves[] = {"move1", "move2", "move4", "move8", "move16"};

static struct world {
    cls_program program;
    cls_kernel add_at, sum_rows, move[WIDTHS];
} w;

static int setup(void **state) {
    if (rig_setup(state))
        return -1;
    OK(cls_program_from_source(rig.context, source, "addresses.cl", NULL, &w.program));
    OK(cls_kernel_create(w.program, "add_at", &w.add_at));
    OK(cls_kernel_create(w.program, "sum_rows", &w.sum_rows));
    for (int i = 0; i < WIDTHS; i++)
        OK(cls_kernel_create(w.program, moves[i], &w.move[i]));
    return 0;
}

static int teardown(void **state) {
    OK(cls_kernel_destroy(w.add_at));
    OK(cls_kernel_destroy(w.sum_rows));
    for (int i = 0; i < WIDTHS; i++)
        OK(cls_kernel_destroy(w.move[i]));
    OK(cls_program_destroy(w.program));
    return rig_teardown(state);
}

static uint64_t address_of(cls_buffer buffer) {
    uint64_t address = 0, again = 0;
    OK(cls_buffer_get_address(buffer, &address));
    assert_true(address != 0);
    OK(cls_buffer_get_address(buffer, &again));
    assert_true(again == address);
    return address;
}

/* --- buffers of every kind --- */

static void expect_added(cls_buffer buffer, const char *kind) {
    const cls_stream stream = rig_stream();
    uint32_t cells[CELLS];
    const uint32_t seven = 7;
    OK(cls_fill_async(buffer, 0, BYTES, &seven, sizeof seven, stream));
    OK(cls_stream_synchronize(stream));
    const cls_launch launch = cls_launch_1d(CELLS);
    const cls_arg args[] = {cls_arg_u64(address_of(buffer)), cls_arg_u32(CELLS), cls_arg_u32(100)};
    OK(cls_kernel_launch(w.add_at, &launch, args, 3, stream));
    OK(cls_copy_d2h(cells, buffer, 0, BYTES, stream));
    for (uint32_t i = 0; i < CELLS; i++)
        if (cells[i] != 107)
            fail_msg("%s: cell %u is %u", kind, i, cells[i]);
    OK(cls_stream_destroy(stream));
}

static void test_own(void **state) {
    (void)state;
    rig_need("addresses");
    cls_buffer buffer;
    OK(cls_buffer_create(rig.context, BYTES, &buffer));
    expect_added(buffer, "own");
    OK(cls_buffer_destroy(buffer));
}

/* Slots of a pool are parts of one buffer, and are given again with their addresses. */
static void test_of_a_pool(void **state) {
    (void)state;
    rig_need("addresses");
    enum { SLOTS = 5 };
    const cls_stream stream = rig_stream();
    cls_buffer slots[SLOTS];
    uint64_t at[SLOTS];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SLOTS; i++) {
            OK(cls_malloc_async(stream, BYTES, &slots[i]));
            expect_added(slots[i], "of a pool");
            at[i] = address_of(slots[i]);
            for (int j = 0; j < i; j++)
                assert_true(at[j] + BYTES <= at[i] || at[i] + BYTES <= at[j]);
        }
        for (int i = 0; i < SLOTS; i++)
            OK(cls_free_async(slots[i], stream));
    }
    OK(cls_stream_destroy(stream));
}

static void test_wrapped(void **state) {
    (void)state;
    rig_need("addresses");
    cl_context cl;
    cl_device_id device;
    cl_int code;
    cls_buffer buffer;
    OK(cls_context_get_cl(rig.context, &cl, &device));
    cl_mem memory = clCreateBuffer(cl, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    OK(cls_buffer_wrap(rig.context, memory, &buffer));
    expect_added(buffer, "wrapped");
    OK(cls_buffer_destroy(buffer));
    clReleaseMemObject(memory);
}

static void test_shareable_and_opened(void **state) {
    (void)state;
    rig_need("addresses");
    cls_context other;
    cls_buffer buffer, opened;
    const cls_status status = cls_buffer_create_shareable(rig.context, BYTES, &buffer);
    if (status == CLS_ERROR_UNSUPPORTED)
        SKIP_BECAUSE("the device has no shareable memory");
    OK(status);
    expect_added(buffer, "shareable");
    OK(cls_context_create(NULL, &other));
    OK(cls_buffer_open(other, buffer, &opened));
    assert_true(address_of(opened) != 0);
    OK(cls_buffer_destroy(opened));
    OK(cls_context_destroy(other));
    OK(cls_buffer_destroy(buffer));
}

static void test_unified(void **state) {
    (void)state;
    rig_need("addresses");
    cls_buffer buffer;
    uint64_t address;
    const cls_status status = cls_managed_alloc(rig.context, BYTES, &buffer, NULL);
    if (status == CLS_ERROR_UNSUPPORTED)
        SKIP_BECAUSE("the device has no unified memory");
    OK(status);
    const cls_status asked = cls_buffer_get_address(buffer, &address);
    assert_true(asked == CLS_SUCCESS || asked == CLS_ERROR_INVALID_STATE);
    OK(cls_prefetch(buffer, CLS_TO_DEVICE, NULL));
    expect_added(buffer, "unified");
    OK(cls_buffer_destroy(buffer));
}

static void test_pinned(void **state) {
    (void)state;
    rig_need("addresses");
    void *host;
    cls_buffer buffer;
    OK(cls_host_alloc(rig.context, BYTES, &host));
    const cls_status status = cls_host_buffer(host, &buffer);
    if (status == CLS_SUCCESS) {
        OK(cls_prefetch(buffer, CLS_TO_DEVICE, NULL));
        expect_added(buffer, "pinned");
    }
    OK(cls_host_free(host));
    if (status)
        SKIP_BECAUSE("pinned memory is no buffer on this device");
}

/* --- what a launch reaches --- */

enum { ROWS = 3 };

/* Three rows and their sum, which a kernel finds by a table. */
struct table {
    cls_buffer table, from[ROWS], to;
};

static void table_make(struct table *t, uint32_t salt) {
    uint32_t cells[CELLS];
    uint64_t at[ROWS + 1];
    for (uint32_t row = 0; row < ROWS; row++) {
        t->from[row] = rig_cells(CELLS);
        for (uint32_t i = 0; i < CELLS; i++)
            cells[i] = (i + 1) * (row + 1) + salt;
        OK(cls_copy_h2d(t->from[row], 0, cells, BYTES, NULL));
        at[row] = address_of(t->from[row]);
    }
    t->to = rig_cells(CELLS);
    at[ROWS] = address_of(t->to);
    OK(cls_buffer_create(rig.context, sizeof at, &t->table));
    OK(cls_copy_h2d(t->table, 0, at, sizeof at, NULL));
}

static void table_end(const struct table *t) {
    for (int row = 0; row < ROWS; row++)
        OK(cls_buffer_destroy(t->from[row]));
    OK(cls_buffer_destroy(t->to));
    OK(cls_buffer_destroy(t->table));
}

static cls_status sum_rows(const struct table *t, cls_stream stream, uint32_t times) {
    const cls_arg reaches[] = {cls_arg_reads(t->from[0], 0, BYTES), cls_arg_buffer(t->from[1]),
                               cls_arg_reads(t->from[2], 0, BYTES),
                               cls_arg_writes(t->to, 0, BYTES)};
    cls_launch launch = cls_launch_1d(CELLS);
    launch.reaches = reaches;
    launch.n_reaches = ROWS + 1;
    const cls_arg args[] = {cls_arg_reads(t->table, 0, 8 * (ROWS + 1)), cls_arg_u32(CELLS),
                            cls_arg_u32(times)};
    return cls_kernel_launch_async(w.sum_rows, &launch, args, 3, stream);
}

static void expect_sums(cls_buffer to, uint32_t salt) {
    uint32_t cells[CELLS];
    OK(cls_buffer_to_host(to, cells, BYTES));
    for (uint32_t i = 0; i < CELLS; i++)
        assert_int_equal(cells[i], 6 * (i + 1) + ROWS * salt);
}

static void test_kernels_follow_a_table(void **state) {
    (void)state;
    rig_need("addresses");
    const cls_stream stream = rig_stream();
    struct table t;
    table_make(&t, 5);
    for (int round = 0; round < 20; round++)
        OK(sum_rows(&t, stream, 1));
    OK(cls_stream_synchronize(stream));
    expect_sums(t.to, 5);
    table_end(&t);
    OK(cls_stream_destroy(stream));
}

/* New memory of the same sizes comes while the launch runs: it must not be given what the launch reaches. */
static void test_what_is_reached_is_kept(void **state) {
    (void)state;
    rig_need("addresses");
    enum { OTHERS = 8 };
    const cls_stream stream = rig_stream();
    const uint32_t nonsense = 0xdeadbeef;
    cls_buffer others[OTHERS];
    struct gate gate;
    struct table t;
    uint32_t cells[CELLS];
    gate_init(&gate);
    table_make(&t, 9);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    OK(sum_rows(&t, stream, 1));
    OK(cls_copy_d2h_async(cells, t.to, 0, BYTES, stream));
    gate_await(&gate);
    table_end(&t);
    for (int i = 0; i < OTHERS; i++) {
        others[i] = rig_cells(CELLS);
        OK(cls_fill(others[i], 0, BYTES, &nonsense, sizeof nonsense, NULL));
    }
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    for (uint32_t i = 0; i < CELLS; i++)
        assert_int_equal(cells[i], 6 * (i + 1) + ROWS * 9);
    for (int i = 0; i < OTHERS; i++) {
        assert_int_equal(rig_cell(others[i], 7), nonsense);
        OK(cls_buffer_destroy(others[i]));
    }
    gate_destroy(&gate);
    OK(cls_stream_destroy(stream));
}

/* A captured launch keeps them as long as the graph. */
static void test_graphs_keep_what_is_reached(void **state) {
    (void)state;
    rig_need("addresses");
    const cls_stream stream = rig_stream();
    struct table t;
    cls_buffer other = rig_cells(CELLS), copy = rig_cells(CELLS);
    table_make(&t, 3);
    OK(cls_stream_begin_capture(stream, "rows"));
    OK(sum_rows(&t, stream, 1));
    OK(cls_copy_d2d_async(copy, 0, t.to, 0, BYTES, stream));
    const cls_graph_exec exec = rig_end_capture(stream);
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_graph_bind(exec, t.from[1], other));
    expect_detail("reaches");
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_graph_bind(exec, t.to, other));
    table_end(&t);
    for (int round = 0; round < 3; round++)
        OK(cls_graph_launch_async(exec, stream));
    OK(cls_stream_synchronize(stream));
    expect_sums(copy, 3);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(other));
    OK(cls_buffer_destroy(copy));
    OK(cls_stream_destroy(stream));
}

/* --- addresses as arguments --- */

static cls_status add_at(cls_arg at, uint32_t n, uint32_t what, cls_stream stream) {
    const cls_launch launch = cls_launch_1d(CELLS);
    const cls_arg args[] = {at, cls_arg_u32(n), cls_arg_u32(what)};
    return cls_kernel_launch_async(w.add_at, &launch, args, 3, stream);
}

static void test_an_argument_may_be_an_address(void **state) {
    (void)state;
    rig_need("addresses");
    const cls_stream stream = rig_stream();
    const cls_buffer cells = rig_cells(CELLS);
    uint32_t wanted[CELLS] = {0}, seen[CELLS];
    for (uint32_t round = 0; round < 30; round++) {
        const uint32_t first = round * 29 % CELLS, n = (CELLS - first) / (round % 3 + 1);
        OK(add_at(cls_arg_address(cells, first * 4), n, round, stream));
        for (uint32_t i = 0; i < n; i++)
            wanted[first + i] += round;
    }
    OK(add_at(cls_arg_address(cells, BYTES), 0, 1, stream)); /* its end is no byte of it */
    OK(cls_copy_d2h(seen, cells, 0, BYTES, stream));
    assert_memory_equal(seen, wanted, BYTES);
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

static void test_graphs_change_addresses(void **state) {
    (void)state;
    rig_need("addresses");
    const cls_stream stream = rig_stream();
    const cls_buffer first = rig_cells(CELLS), second = rig_cells(CELLS);
    OK(cls_stream_begin_capture(stream, "addresses"));
    OK(add_at(cls_arg_address(first, 40), 100, 1, stream));
    const cls_graph_exec exec = rig_end_capture(stream);
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_graph_bind(exec, first, second));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_graph_bind(exec, first, first));
    OK(cls_graph_launch_async(exec, stream));
    OK(cls_stream_synchronize(stream));
    for (size_t i = 0; i < CELLS; i += 3) {
        const bool is_there = i >= 10 && i < 110;
        assert_int_equal(rig_cell(first, i), is_there ? 2 : 0);
        assert_int_equal(rig_cell(second, i), is_there ? 2 : 0);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_buffer_destroy(first));
    OK(cls_buffer_destroy(second));
    OK(cls_stream_destroy(stream));
}

/* --- arguments at any offset --- */

enum { MOVED = 64 * 16, MOST_OFFSET = 200 * 16 };

/* Of elements of 1 << width bytes. */
static cls_status move(unsigned width, cls_arg to, cls_arg from, size_t bytes, cls_stream stream) {
    const cls_launch launch = cls_launch_1d(bytes >> width);
    const cls_arg args[] = {to, from};
    return cls_kernel_launch_async(w.move[width], &launch, args, 2, stream);
}

static unsigned draw(unsigned n) {
    static unsigned state = 99;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

static cls_buffer random_buffer(unsigned char *bytes, size_t n) {
    cls_buffer buffer;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)draw(256);
    OK(cls_buffer_create(rig.context, n, &buffer));
    OK(cls_copy_h2d(buffer, 0, bytes, n, NULL));
    return buffer;
}

static void need_any_offset(void) {
    const cls_buffer cells = rig_cells(CELLS);
    const cls_status status =
        move(0, cls_arg_buffer_at(cells, 1, 4), cls_arg_buffer(cells), 1, NULL);
    OK(cls_stream_synchronize(NULL));
    OK(cls_buffer_destroy(cells));
    if (status == CLS_ERROR_INVALID_VALUE || status == CLS_ERROR_UNSUPPORTED)
        SKIP_BECAUSE("%s", cls_last_error_detail());
    OK(status);
}

static cls_arg draw_place(cls_buffer buffer, unsigned width, size_t size, size_t bytes,
                          size_t *offset) {
    const unsigned way = draw(4);
    *offset = way ? (size_t)draw(MOST_OFFSET >> width) << width : 0;
    if (way == 1)
        *offset = *offset / 1024 * 1024; /* where a sub-buffer may begin, too */
    return way ? cls_arg_buffer_at(buffer, *offset, draw(2) ? bytes : size - *offset)
               : cls_arg_buffer(buffer);
}

/* Parts and whole buffers take turns, on instances of two streams. */
static void test_parts_begin_anywhere(void **state) {
    (void)state;
    need_any_offset();
    enum { SIZE = MOST_OFFSET + MOVED, LAUNCHES = 400 };
    static unsigned char to_bytes[SIZE], from_bytes[SIZE], seen[SIZE];
    const cls_buffer to = random_buffer(to_bytes, SIZE), from = random_buffer(from_bytes, SIZE);
    const cls_stream streams[] = {rig_stream(), rig_stream()};
    for (unsigned i = 0; i < LAUNCHES; i++) {
        const unsigned width = draw(WIDTHS);
        const size_t bytes = (size_t)(1 + draw(MOVED >> width)) << width;
        size_t to_at, from_at;
        const cls_arg to_arg = draw_place(to, width, SIZE, bytes, &to_at);
        const cls_arg from_arg = draw_place(from, width, SIZE, bytes, &from_at);
        OK(move(width, to_arg, from_arg, bytes, streams[i % 2]));
        OK(cls_stream_synchronize(streams[i % 2]));
        memcpy(to_bytes + to_at, from_bytes + from_at, bytes);
        if (i % 10)
            continue;
        OK(cls_copy_d2h(seen, to, 0, SIZE, NULL));
        assert_memory_equal(seen, to_bytes, SIZE);
    }
    OK(cls_buffer_to_host(to, seen, SIZE));
    assert_memory_equal(seen, to_bytes, SIZE);
    for (int i = 0; i < 2; i++)
        OK(cls_stream_destroy(streams[i]));
    OK(cls_buffer_destroy(to));
    OK(cls_buffer_destroy(from));
}

/* NVIDIA's driver would keep the last address. */
static void test_no_null_behind_an_offset(void **state) {
    (void)state;
    need_any_offset();
    static unsigned char bytes[MOVED];
    const cls_buffer to = random_buffer(bytes, MOVED), from = random_buffer(bytes, MOVED);
    OK(move(0, cls_arg_buffer(to), cls_arg_buffer_at(from, 3, 9), 9, NULL));
    EXPECT(CLS_ERROR_UNSUPPORTED, move(0, cls_arg_buffer(to), cls_arg_buffer(NULL), 9, NULL));
    expect_detail("null pointer");
    OK(cls_buffer_destroy(to));
    OK(cls_buffer_destroy(from));
}

static void test_graphs_take_parts_anywhere(void **state) {
    (void)state;
    need_any_offset();
    enum { SIZE = 5000, AT = 12, FROM = 36, BYTES_MOVED = 400 };
    static unsigned char bytes[3][SIZE], seen[SIZE];
    const cls_stream stream = rig_stream();
    cls_buffer buffers[3];
    for (int i = 0; i < 3; i++)
        buffers[i] = random_buffer(bytes[i], SIZE);
    OK(cls_stream_begin_capture(stream, "parts"));
    OK(move(2, cls_arg_buffer_at(buffers[0], AT, BYTES_MOVED),
            cls_arg_buffer_at(buffers[1], FROM, BYTES_MOVED), BYTES_MOVED, stream));
    const cls_graph_exec exec = rig_end_capture(stream);
    for (int round = 1; round < 3; round++) {
        OK(cls_graph_bind(exec, buffers[1], buffers[round]));
        OK(cls_graph_launch_async(exec, stream));
        OK(cls_stream_synchronize(stream));
        memcpy(bytes[0] + AT, bytes[round] + FROM, BYTES_MOVED);
        OK(cls_buffer_to_host(buffers[0], seen, SIZE));
        assert_memory_equal(seen, bytes[0], SIZE);
    }
    OK(cls_graph_exec_destroy(exec));
    for (int i = 0; i < 3; i++)
        OK(cls_buffer_destroy(buffers[i]));
    OK(cls_stream_destroy(stream));
}

/* --- what is refused --- */

static void test_without_the_trust_there_are_none(void **state) {
    (void)state;
    uint64_t address = 5;
    if (rig_has_capability("addresses"))
        SKIP_BECAUSE("the device has addresses");
    const cls_buffer cells = rig_cells(1);
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_buffer_get_address(cells, &address));
    expect_detail("addresses: ");
    assert_true(address == 5);
    OK(cls_buffer_destroy(cells));
}

static cls_status launch_reaching(const cls_arg *reaches, unsigned n) {
    cls_launch launch = cls_launch_1d(1);
    launch.reaches = reaches;
    launch.n_reaches = n;
    const cls_arg args[] = {cls_arg_u64(0), cls_arg_u32(0), cls_arg_u32(0)};
    return cls_kernel_launch_async(w.add_at, &launch, args, 3, NULL);
}

static void test_bad_lists_are_refused(void **state) {
    (void)state;
    rig_need("addresses");
    const cls_buffer cells = rig_cells(CELLS);
    const cls_arg values[] = {cls_arg_buffer(cells), cls_arg_u32(1)};
    const cls_arg part = cls_arg_buffer_at(cells, 0, 4), at = cls_arg_address(cells, 0);
    const cls_arg none = cls_arg_buffer(NULL), far = cls_arg_reads(cells, 4, BYTES);
    const cls_arg good = cls_arg_reads(cells, 4, 4);
    cls_context other;
    cls_buffer foreign;
    OK(cls_context_create(NULL, &other));
    OK(cls_buffer_create(other, BYTES, &foreign));
    const cls_arg of_other = cls_arg_buffer(foreign);
    EXPECT(CLS_ERROR_INVALID_VALUE, launch_reaching(NULL, 1));
    EXPECT(CLS_ERROR_INVALID_VALUE, launch_reaching(values, 2));
    EXPECT(CLS_ERROR_INVALID_VALUE, launch_reaching(&part, 1));
    EXPECT(CLS_ERROR_INVALID_VALUE, launch_reaching(&at, 1));
    EXPECT(CLS_ERROR_INVALID_HANDLE, launch_reaching(&none, 1));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, launch_reaching(&far, 1));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, launch_reaching(&of_other, 1));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, add_at(cls_arg_address(cells, BYTES + 1), 0, 1, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, add_at(cls_arg_address(NULL, 0), 0, 1, NULL));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, add_at(cls_arg_address(foreign, 0), 0, 1, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, add_at(cls_arg_buffer(cells), 0, 1, NULL));
    OK(launch_reaching(&good, 1));
    OK(launch_reaching(NULL, 0));
    OK(cls_context_destroy(other));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, launch_reaching(&of_other, 1));
    OK(cls_buffer_destroy(foreign));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_synchronize(NULL));
}

static void test_memory_of_captures_has_none(void **state) {
    (void)state;
    rig_need("addresses");
    const cls_stream stream = rig_stream();
    cls_buffer buffer;
    cls_graph graph;
    uint64_t address = 5;
    OK(cls_stream_begin_capture(stream, "memory"));
    OK(cls_malloc_async(stream, BYTES, &buffer));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_buffer_get_address(buffer, &address));
    assert_true(address == 5);
    OK(cls_free_async(buffer, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
}

static void ask(void *buffer) { address_of(buffer); }

static void test_host_functions_may_ask(void **state) {
    (void)state;
    rig_need("addresses");
    const cls_stream stream = rig_stream();
    const cls_buffer cells = rig_cells(CELLS);
    OK(cls_stream_launch_host_async(stream, ask, cells));
    OK(cls_stream_synchronize(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_stream_destroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_of_a_pool),
        cmocka_unit_test(test_wrapped),
        cmocka_unit_test(test_shareable_and_opened),
        cmocka_unit_test(test_unified),
        cmocka_unit_test(test_pinned),
        cmocka_unit_test(test_kernels_follow_a_table),
        cmocka_unit_test(test_what_is_reached_is_kept),
        cmocka_unit_test(test_graphs_keep_what_is_reached),
        cmocka_unit_test(test_an_argument_may_be_an_address),
        cmocka_unit_test(test_graphs_change_addresses),
        cmocka_unit_test(test_parts_begin_anywhere),
        cmocka_unit_test(test_no_null_behind_an_offset),
        cmocka_unit_test(test_graphs_take_parts_anywhere),
        cmocka_unit_test(test_bad_lists_are_refused),
        cmocka_unit_test(test_without_the_trust_there_are_none),
        cmocka_unit_test(test_memory_of_captures_has_none),
        cmocka_unit_test(test_host_functions_may_ask),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
