/* SPDX-License-Identifier: MIT */
/*
 * Device memory by pointers: random copies and fills against the same on the host, arguments at random offsets, memory that
 * the host and the device share, stream-ordered memory, captures, two contexts, threads, and pointers to nothing.
 */
#include "arrays.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/opencl.h>

#include "../support/effort.h"

enum { BYTES = 5000, PARTS = 4 };

static unsigned draw(unsigned n) {
    static unsigned state = 4711;
    state = state * 1664525u + 1013904223u;
    return n ? (state >> 8) % n : 0;
}

static void draw_bytes(unsigned char *to, size_t n) {
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)draw(256);
}

static char *allocate(size_t bytes) {
    void *made;
    OK(cls_device_malloc(NULL, bytes, &made));
    return made;
}

static void expect_bytes(const char *device, const unsigned char *wanted, size_t n) {
    unsigned char *got = malloc(n);
    assert_non_null(got);
    OK(cls_memcpy(got, device, n, NULL));
    assert_memory_equal(got, wanted, n);
    free(got);
}

static void must_be_unknown(const void *pointer) {
    cls_buffer buffer;
    size_t offset;
    EXPECT(CLS_ERROR_NOT_FOUND, cls_pointer_get_buffer(pointer, &buffer, &offset));
}

/* --- copies and fills, beside arrays on the host --- */

/* Device memory, and what it must hold. */
struct twin {
    char *device;
    unsigned char host[BYTES];
};

static void twins_make(struct twin *twins) {
    for (int i = 0; i < PARTS; i++) {
        twins[i].device = allocate(BYTES);
        draw_bytes(twins[i].host, BYTES);
        OK(cls_memcpy(twins[i].device, twins[i].host, BYTES, NULL));
    }
}

static void twins_check(struct twin *twins) {
    for (int i = 0; i < PARTS; i++) {
        expect_bytes(twins[i].device, twins[i].host, BYTES);
        OK(cls_device_free(twins[i].device));
    }
}

static void random_copies(void **state) {
    const int times = effort_is_long() ? 20000 : 600;
    static struct twin twins[PARTS];
    static unsigned char way[BYTES];
    (void)state;
    twins_make(twins);
    for (int k = 0; k < times; k++) {
        struct twin *to = &twins[draw(PARTS)], *from = &twins[draw(PARTS)];
        const size_t bytes = draw(BYTES / 2), to_at = draw(BYTES - (unsigned)bytes),
                     from_at = draw(BYTES - (unsigned)bytes);
        const bool overlaps = to == from && bytes && to_at != from_at && to_at < from_at + bytes &&
                              from_at < to_at + bytes;
        const cls_status status =
            cls_memcpy_async(to->device + to_at, from->device + from_at, bytes, NULL);
        assert_int_equal(status, overlaps ? CLS_ERROR_OVERLAP : CLS_SUCCESS);
        if (!overlaps)
            memcpy(way, from->host + from_at, bytes), memcpy(to->host + to_at, way, bytes);
        if (draw(3) == 0) {
            const int value = (int)draw(1000) - 300;
            OK(cls_memset_async(from->device + from_at, value, bytes, NULL));
            memset(from->host + from_at, value, bytes);
        }
        if (draw(20) == 0) {
            draw_bytes(way, bytes);
            OK(cls_memcpy(to->device + to_at, way, bytes, NULL));
            memcpy(to->host + to_at, way, bytes);
        }
    }
    twins_check(twins);
}

static void rows_on_host(unsigned char *to, size_t to_pitch, const unsigned char *from,
                         size_t from_pitch, size_t width, size_t height) {
    for (size_t i = 0; i < height; i++)
        if (from)
            memcpy(to + i * to_pitch, from + i * from_pitch, width);
        else
            memset(to + i * to_pitch, 0x5c, width);
}

static void random_rows(void **state) {
    static struct twin twins[PARTS];
    (void)state;
    twins_make(twins);
    for (int k = 0; k < 200; k++) {
        const unsigned a = draw(PARTS), b = (a + 1 + draw(PARTS - 1)) % PARTS;
        struct twin *to = &twins[a], *from = &twins[b];
        const size_t width = 1 + draw(40), height = draw(20), to_pitch = width + draw(60),
                     from_pitch = width + draw(60), to_at = draw(BYTES / 2),
                     from_at = draw(BYTES / 2);
        unsigned char *rows = calloc(height + 1, from_pitch);
        assert_non_null(rows);
        OK(cls_memcpy_2d_async(to->device + to_at, to_pitch, from->device + from_at, from_pitch,
                               width, height, NULL));
        rows_on_host(to->host + to_at, to_pitch, from->host + from_at, from_pitch, width, height);
        OK(cls_memcpy_2d(rows, from_pitch, to->device + to_at, to_pitch, width, height, NULL));
        for (size_t i = 0; i < height; i++)
            assert_memory_equal(rows + i * from_pitch, to->host + to_at + i * to_pitch, width);
        OK(cls_memset_2d_async(to->device + to_at, to_pitch, 0x5c, width, height, NULL));
        rows_on_host(to->host + to_at, to_pitch, NULL, 0, width, height);
        OK(cls_memcpy_2d(from->device + from_at, from_pitch, rows, from_pitch, width, height,
                         NULL));
        rows_on_host(from->host + from_at, from_pitch, rows, from_pitch, width, height);
        free(rows);
    }
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_memcpy_2d(twins[0].device, 3, twins[1].device, 8, 4, 2, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE,
           cls_memcpy_2d(twins[0].device, 8, twins[1].device + 1, BYTES - 4, 4, 2, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_memset_2d(twins[0].device, BYTES - 3, 0, 4, 2, NULL));
    twins_check(twins);
}

/* --- memory of the host's --- */

static void host_to_host(void **state) {
    unsigned char from[100], to[100] = {0};
    (void)state;
    draw_bytes(from, sizeof from);
    OK(cls_memcpy_async(to, from, sizeof to, NULL));
    OK(cls_context_synchronize(NULL));
    assert_memory_equal(to, from, sizeof to);
    EXPECT(CLS_ERROR_OVERLAP, cls_memcpy(to, to + 1, 50, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_memcpy(to, NULL, 1, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_memcpy(NULL, to, 1, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_memset(NULL, 0, 1, NULL));
    OK(cls_memcpy(NULL, to, 0, NULL));
    OK(cls_memset(NULL, 0, 0, NULL));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_memset(to, 0, sizeof to, NULL));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_memcpy(NULL, to, 0, (cls_stream)(void *)to));
}

static void pinned_memory(void **state) {
    enum { PINNED = 3000 };
    cls_pointer_info info = CLS_POINTER_INFO_INIT;
    void *memory;
    (void)state;
    OK(cls_host_alloc(NULL, PINNED, &memory));
    unsigned char *pinned = memory;
    char *device = allocate(PINNED);
    OK(cls_memset_async(pinned, 0x31, PINNED, NULL));
    OK(cls_memset_2d_async(pinned + 10, 100, 0x32, 7, 20, NULL));
    OK(cls_memcpy_async(device, pinned, PINNED, NULL));
    OK(cls_memset_async(pinned, 0, PINNED, NULL));
    OK(cls_memcpy_async(pinned, device, PINNED, NULL));
    OK(cls_context_synchronize(NULL));
    for (size_t i = 0; i < PINNED; i++)
        assert_int_equal(pinned[i], i >= 10 && i < 2010 && (i - 10) % 100 < 7 ? 0x32 : 0x31);
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_memset(pinned + 1, 0, PINNED + (1 << 20), NULL));
    OK(cls_pointer_get_info(pinned + 17, &info));
    assert_int_equal(info.kind, CLS_POINTER_PINNED);
    assert_ptr_equal(info.base, pinned);
    assert_int_equal(info.offset, 17);
    OK(cls_device_free(device));
    OK(cls_host_free(memory));
}

static void pinned_memory_as_a_buffer(void **state) {
    cls_buffer buffer;
    void *memory, *pointer;
    (void)state;
    OK(cls_host_alloc(NULL, BYTES, &memory));
    if (cls_host_buffer(memory, &buffer)) {
        OK(cls_host_free(memory));
        SKIP_BECAUSE("pinned memory is no buffer here: %s", cls_last_error_detail());
    }
    OK(cls_buffer_get_pointer(buffer, &pointer));
    assert_ptr_equal(pointer, memory);
    OK(cls_memset((char *)memory + 5, 7, 10, NULL));
    assert_int_equal(((char *)memory)[14], 7);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_device_free(memory));
    expect_detail("cls_host_free");
    OK(cls_host_free(memory));
    must_be_unknown(memory);
}

static void unified_memory(void **state) {
    cls_managed_kind kind;
    cls_pointer_info info = CLS_POINTER_INFO_INIT;
    cls_buffer buffer;
    void *host, *pointer;
    (void)state;
    OK(cls_managed_get_kind(NULL, &kind));
    if (kind == CLS_MANAGED_NONE)
        SKIP_BECAUSE("the device shares no memory with the host");
    OK(cls_managed_alloc(NULL, BYTES, &buffer, &host));
    OK(cls_buffer_get_pointer(buffer, &pointer));
    assert_ptr_equal(pointer, host);
    OK(cls_memset((char *)host + 1, 0x41, 100, NULL));
    char *device = allocate(BYTES);
    OK(cls_memcpy(device + 3, (char *)host + 1, 100, NULL));
    if (kind == CLS_MANAGED_COARSE)
        OK(cls_prefetch_async(buffer, CLS_TO_DEVICE, NULL));
    OK(cls_memset((char *)host + 200, 0x42, 100, NULL));
    OK(cls_memcpy(device + 200, (char *)host + 200, 100, NULL));
    unsigned char wanted[100];
    memset(wanted, 0x41, sizeof wanted);
    expect_bytes(device + 3, wanted, sizeof wanted);
    memset(wanted, 0x42, sizeof wanted);
    expect_bytes(device + 200, wanted, sizeof wanted);
    OK(cls_pointer_get_info((char *)host + 9, &info));
    assert_int_equal(info.kind, CLS_POINTER_UNIFIED);
    assert_ptr_equal(info.buffer, buffer);
    OK(cls_device_free(host));
    OK(cls_device_free(device));
}

/* --- arguments --- */

static const char source[] = "kernel void copy(global const int *from, global int *to) {\n"
                             "    size_t i = get_global_id(0);\n"
                             "    to[i] = from ? from[i] + 1 : -1;\n"
                             "}\n";

static cls_kernel kernel_make(cls_context context) {
    cls_program program;
    cls_kernel kernel;
    OK(cls_program_from_source(context, source, "pointers.cl", NULL, &program));
    OK(cls_kernel_create(program, "copy", &kernel));
    OK(cls_program_destroy(program));
    return kernel;
}

static cls_status launch(cls_kernel kernel, const void *from, const void *to, size_t n,
                         cls_stream stream) {
    const cls_launch how = cls_launch_1d(n);
    const cls_arg args[] = {cls_arg_pointer(from), cls_arg_pointer(to)};
    return cls_kernel_launch_async(kernel, &how, args, 2, stream);
}

static size_t base_align(void) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t device;
    OK(cls_context_get_device(NULL, &device));
    OK(cls_device_get_info(device, &info));
    return info.base_align;
}

/* Whether an argument may be at any element; what the device says of a part at such an offset says it of a pointer. */
static bool takes_odd_offsets(cls_kernel kernel, int *a, int *b) {
    cls_buffer buffer;
    size_t offset;
    OK(cls_pointer_get_buffer(a + 1, &buffer, &offset));
    const cls_launch how = cls_launch_1d(1);
    const cls_arg args[] = {cls_arg_buffer_at(buffer, offset, 4), cls_arg_pointer(b)};
    const cls_status part = cls_kernel_launch_async(kernel, &how, args, 2, NULL);
    assert_int_equal(launch(kernel, a + 1, b, 1, NULL), part);
    return !part;
}

/* Drivers compile a kernel for each size of a group. */
static void arguments(void **state) {
    enum { N = 4000, TIMES = 300 };
    static const unsigned sizes[] = {1, 64, 512};
    static int wanted[N], from[N];
    (void)state;
    cls_kernel kernel = kernel_make(NULL);
    int *a = (int *)(void *)allocate(sizeof from), *b = (int *)(void *)allocate(sizeof wanted);
    draw_bytes((unsigned char *)from, sizeof from);
    for (int i = 0; i < N; i++)
        from[i] >>= 2;
    OK(cls_memcpy(a, from, sizeof from, NULL));
    OK(cls_memset(b, 0, sizeof wanted, NULL));
    const bool odd = takes_odd_offsets(kernel, a, b);
    const unsigned step = odd ? 1 : (unsigned)base_align() / 4;
    print_message("# arguments at multiples of %u bytes\n", step * 4);
    OK(cls_memset(b, 0, sizeof wanted, NULL));
    for (int k = 0; k < TIMES; k++) {
        const unsigned n = sizes[draw(3)], from_at = draw((N - n) / step + 1) * step,
                       to_at = draw(3) ? draw((N - n) / step + 1) * step : 0;
        OK(launch(kernel, a + from_at, b + to_at, n, NULL));
        for (unsigned i = 0; i < n; i++)
            wanted[to_at + i] = from[from_at + i] + 1;
    }
    expect_bytes((char *)b, (unsigned char *)wanted, sizeof wanted);
    if (launch(kernel, NULL, b, 10, NULL) == CLS_SUCCESS) {
        memset(wanted, 0xff, 40);
        expect_bytes((char *)b, (unsigned char *)wanted, sizeof wanted);
    }
    EXPECT(CLS_ERROR_NOT_FOUND, launch(kernel, from, b, 1, NULL));
    OK(cls_device_free(a));
    EXPECT(CLS_ERROR_NOT_FOUND, launch(kernel, a, b, 1, NULL));
    OK(cls_device_free(b));
    OK(cls_kernel_destroy(kernel));
}

/* More arguments than a launch looks up without memory, values among them. */
static void many_arguments(void **state) {
    static const char many[] =
        "kernel void sum(global int *o, int a, int b, int c, int d, int e, int f, int g, int h,\n"
        "                global int *p, double2 v, int i, int j, int k, int l, int m, global int *q,\n"
        "                int n) {\n"
        "    *o = a + b + c + d + e + f + g + h + *p + (int)v.y + i + j + k + l + m + *q + n;\n"
        "}\n";
    (void)state;
    if (!device_has_f64())
        SKIP_BECAUSE("the device has no f64");
    enum { ARGS = 18 };
    cls_program program;
    cls_kernel kernel;
    OK(cls_program_from_source(NULL, many, "many.cl", NULL, &program));
    OK(cls_kernel_create(program, "sum", &kernel));
    int *memory = (int *)(void *)allocate(2 * base_align()), numbers[2] = {100, 200};
    const double pair[2] = {3, 1000};
    OK(cls_memcpy(memory + 0, &numbers[0], 4, NULL));
    int *other = memory + base_align() / sizeof *memory;
    OK(cls_memcpy(other, &numbers[1], 4, NULL));
    cls_arg args[ARGS];
    for (int i = 0; i < ARGS; i++)
        args[i] = cls_arg_i32(i);
    args[0] = args[9] = cls_arg_pointer(memory);
    args[10] = cls_arg_value(pair, sizeof pair);
    args[16] = cls_arg_pointer(other);
    const cls_launch how = cls_launch_1d(1);
    int got, sum = 100 + 1000 + 200;
    for (int i = 1; i < ARGS; i++)
        sum += i == 9 || i == 10 || i == 16 ? 0 : i;
    OK(cls_kernel_launch(kernel, &how, args, ARGS, NULL));
    OK(cls_memcpy(&got, memory, 4, NULL));
    assert_int_equal(got, sum);
    OK(cls_device_free(memory));
    OK(cls_kernel_destroy(kernel));
    OK(cls_program_destroy(program));
}

/* A computation of a coordinator comes behind the upload to the buffer of its pointer, and before the download. */
static void coordinated(void **state) {
    enum { N = 1 << 18, STEPS = 6 };
    static int from[STEPS][N], to[STEPS][N];
    const cls_launch how = cls_launch_1d(N);
    cls_async_coordinator coordinator;
    cls_buffer in, out;
    int wrong = 0;
    (void)state;
    cls_kernel kernel = kernel_make(NULL);
    char *a = allocate(sizeof from[0]), *b = allocate(sizeof to[0]);
    const cls_arg args[] = {cls_arg_pointer(a), cls_arg_pointer(b)};
    cls_compute compute = CLS_COMPUTE_INIT;
    compute.kernel = kernel;
    compute.launch = &how;
    compute.args = args;
    compute.n_args = 2;
    OK(cls_pointer_get_buffer(a, &in, NULL));
    OK(cls_pointer_get_buffer(b, &out, NULL));
    OK(cls_async_coordinator_create(NULL, NULL, &coordinator));
    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < N; i++)
            from[k][i] = k + i;
        OK(cls_async_coordinator_queue_upload(coordinator, from[k], sizeof from[k],
                                              cls_place_buffer(in), NULL, 0, NULL));
        OK(cls_async_coordinator_queue_compute(coordinator, &compute, NULL, 0, NULL));
        OK(cls_async_coordinator_queue_download(coordinator, cls_place_buffer(out), to[k],
                                                sizeof to[k], NULL, 0, NULL));
    }
    OK(cls_async_coordinator_synchronize_all(coordinator));
    for (int k = 0; k < STEPS; k++)
        for (int i = 0; i < N; i++)
            wrong += to[k][i] != k + i + 1;
    assert_int_equal(wrong, 0);
    OK(cls_async_coordinator_destroy(coordinator));
    OK(cls_device_free(a));
    OK(cls_device_free(b));
    OK(cls_kernel_destroy(kernel));
}

/* --- what a pointer names --- */

static void names(void **state) {
    cls_pointer_info info = CLS_POINTER_INFO_INIT;
    cls_buffer buffer, other;
    size_t offset;
    void *again;
    (void)state;
    char *p = allocate(BYTES);
    OK(cls_pointer_get_buffer(p + 77, &buffer, &offset));
    assert_int_equal(offset, 77);
    OK(cls_pointer_get_buffer(p, &other, NULL));
    assert_ptr_equal(other, buffer);
    OK(cls_buffer_get_pointer(buffer, &again));
    assert_ptr_equal(again, p);
    OK(cls_pointer_get_info(p + BYTES - 1, &info));
    assert_int_equal(info.kind, CLS_POINTER_DEVICE);
    assert_ptr_equal(info.base, p);
    assert_int_equal(info.bytes, BYTES);
    assert_int_equal(info.offset, BYTES - 1);
    assert_ptr_equal(info.buffer, buffer);
    print_message("# pointers are %s\n", info.is_address ? "addresses" : "reserved");
    OK(cls_pointer_get_info(&info, &info));
    assert_int_equal(info.kind, CLS_POINTER_HOST);
    OK(cls_memset(p, 0, BYTES, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_memset(p + 1, 0, BYTES, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_memcpy(&info, p + BYTES - 3, 4, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_device_free(p + 1));
    expect_detail("free it by its start");
    OK(cls_device_free(p));
    OK(cls_device_free(NULL));
}

/* Pointers that are addresses lie in memory that a kernel reads, which follows them. */
static void followed_by_kernels(void **state) {
    static const char follow[] =
        "kernel void follow(global const ulong *rows, global int *sums) {\n"
        "    size_t i = get_global_id(0);\n"
        "    global const int *row = (global const int *)rows[i];\n"
        "    sums[i] = row[0] + row[1];\n"
        "}\n";
    enum { N = 16 };
    cls_pointer_info info = CLS_POINTER_INFO_INIT;
    cls_program program;
    cls_kernel kernel;
    uint64_t rows[N];
    int numbers[N + 1], sums[N];
    (void)state;
    int *row = (int *)(void *)allocate(sizeof numbers);
    OK(cls_pointer_get_info(row, &info));
    if (!info.is_address) {
        OK(cls_device_free(row));
        SKIP_BECAUSE("pointers are no addresses of this device's");
    }
    for (int i = 0; i <= N; i++)
        numbers[i] = i * i;
    for (int i = 0; i < N; i++)
        rows[i] = (uint64_t)(uintptr_t)(row + i);
    OK(cls_program_from_source(NULL, follow, "follow.cl", NULL, &program));
    OK(cls_kernel_create(program, "follow", &kernel));
    char *table = allocate(sizeof rows), *out = allocate(sizeof sums);
    OK(cls_memcpy(row, numbers, sizeof numbers, NULL));
    OK(cls_memcpy(table, rows, sizeof rows, NULL));
    const cls_arg args[] = {cls_arg_pointer(table), cls_arg_pointer(out)},
                  reaches[] = {cls_arg_pointer(row + 1)}, wrong[] = {cls_arg_pointer(rows)};
    cls_launch how = cls_launch_1d(N);
    how.reaches = reaches;
    how.n_reaches = 1;
    OK(cls_kernel_launch_async(kernel, &how, args, 2, NULL));
    how.reaches = wrong;
    EXPECT(CLS_ERROR_NOT_FOUND, cls_kernel_launch_async(kernel, &how, args, 2, NULL));
    OK(cls_memcpy(sums, out, sizeof sums, NULL));
    for (int i = 0; i < N; i++)
        assert_int_equal(sums[i], i * i + (i + 1) * (i + 1));
    OK(cls_device_free(row));
    OK(cls_device_free(table));
    OK(cls_device_free(out));
    OK(cls_kernel_destroy(kernel));
    OK(cls_program_destroy(program));
}

static void unknown_pointers(void **state) {
    cls_pointer_info info = CLS_POINTER_INFO_INIT;
    cls_buffer buffer;
    (void)state;
    char *first = allocate(BYTES), *p = allocate(BYTES);
    OK(cls_pointer_get_info(p, &info));
    must_be_unknown(&info);
    expect_detail("nearest");
    if (!info.is_address) {
        must_be_unknown(p + BYTES);
        expect_detail("0 bytes before");
        EXPECT(CLS_ERROR_NOT_FOUND, cls_memset(p + BYTES, 0, 1, NULL));
        EXPECT(CLS_ERROR_NOT_FOUND, cls_memcpy(p, p + BYTES, 1, NULL));
    }
    OK(cls_pointer_get_buffer(p, &buffer, NULL));
    OK(cls_buffer_destroy(buffer));
    must_be_unknown(p);
    EXPECT(CLS_ERROR_NOT_FOUND, cls_device_free(p));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_device_free_async(p, NULL));
    if (!info.is_address) {
        EXPECT(CLS_ERROR_NOT_FOUND, cls_memcpy(first, p, 1, NULL));
        EXPECT(CLS_ERROR_NOT_FOUND, cls_pointer_get_info(p, &info));
    }
    OK(cls_device_free(first));
    must_be_unknown(NULL);
}

/* Memory that is freed leaves no name behind: the next has its addresses, or its range. */
static void again_and_again(void **state) {
    enum { TIMES = 1000 };
    cls_pointer_info first = CLS_POINTER_INFO_INIT, info = CLS_POINTER_INFO_INIT;
    char *p = allocate(BYTES);
    bool again = false;
    (void)state;
    OK(cls_pointer_get_info(p, &first));
    OK(cls_device_free(p));
    for (int i = 0; i < TIMES && !again; i++) {
        char *next = allocate(BYTES);
        OK(cls_pointer_get_info(next, &info));
        assert_int_equal(info.is_address, first.is_address);
        again = !info.is_address && next == p;
        OK(cls_device_free(next));
    }
    assert_true(again || info.is_address);
}

/* Two handles of one memory are two pointers. */
static void wrapped_twice(void **state) {
    (void)state;
    void *a, *b;
    cls_buffer buffer, same;
    cl_mem memory;
    OK(cls_buffer_create(NULL, BYTES, &buffer));
    OK(cls_buffer_get_cl(buffer, &memory));
    OK(cls_buffer_wrap(NULL, memory, &same));
    OK(cls_buffer_get_pointer(buffer, &a));
    OK(cls_buffer_get_pointer(same, &b));
    assert_ptr_not_equal(a, b);
    OK(cls_memset_async(a, 3, BYTES, NULL));
    unsigned char wanted[10];
    memset(wanted, 3, sizeof wanted);
    expect_bytes((char *)b + 100, wanted, sizeof wanted);
    OK(cls_device_free(a));
    expect_bytes((char *)b + 100, wanted, sizeof wanted);
    OK(cls_device_free(b));
}

/* --- stream-ordered memory --- */

static void stream_ordered(void **state) {
    enum { LIVE = 20, TIMES = 2000 };
    char *live[LIVE] = {NULL};
    size_t sizes[LIVE] = {0};
    unsigned char tags[LIVE] = {0};
    cls_stream stream;
    (void)state;
    OK(cls_stream_create(NULL, NULL, &stream));
    for (int k = 0; k < TIMES; k++) {
        const unsigned i = draw(LIVE);
        if (live[i]) {
            unsigned char first, last;
            OK(cls_memcpy_async(&first, live[i], 1, stream));
            OK(cls_memcpy(&last, live[i] + sizes[i] - 1, 1, stream));
            assert_true(first == tags[i] && last == tags[i]);
            OK(cls_device_free_async(live[i], stream));
            must_be_unknown(live[i]);
            live[i] = NULL;
        } else {
            void *made;
            sizes[i] = 1 + draw(draw(4) ? 3000 : 300000);
            tags[i] = (unsigned char)draw(256);
            OK(cls_device_malloc_async(stream, sizes[i], &made));
            live[i] = made;
            OK(cls_memset_async(live[i], tags[i], sizes[i], stream));
        }
    }
    for (int i = 0; i < LIVE; i++)
        if (live[i])
            EXPECT(CLS_ERROR_INVALID_VALUE, sizes[i] > 1
                                                ? cls_device_free_async(live[i] + 1, stream)
                                                : CLS_ERROR_INVALID_VALUE);
    for (int i = 0; i < LIVE; i++)
        OK(i % 2 ? cls_device_free(live[i]) : cls_device_free_async(live[i], stream));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_device_malloc_async(stream, 0, (void **)&live[0]));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_device_malloc_async(stream, 1, NULL));
    OK(cls_stream_destroy(stream));
}

/* --- captures --- */

static void captured(void **state) {
    enum { N = 512 };
    int from[N], to[N];
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    void *temporary;
    (void)state;
    cls_kernel kernel = kernel_make(NULL);
    int *a = (int *)(void *)allocate(sizeof from), *b = (int *)(void *)allocate(sizeof to);
    OK(cls_memset(a, 0, sizeof from, NULL));
    const size_t half = takes_odd_offsets(kernel, a, b) ? N / 2 + 1 : 0;
    OK(cls_context_synchronize(NULL));
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "pointers"));
    OK(cls_memcpy_async(a, from, sizeof from, stream));
    OK(cls_device_malloc_async(stream, sizeof from, &temporary));
    OK(cls_memset_async(temporary, 0, sizeof from, stream));
    OK(launch(kernel, a, temporary, N, stream));
    OK(cls_memset_async(b, 0, sizeof to, stream));
    OK(launch(kernel, (int *)temporary + half, b + half, N - half, stream));
    OK(cls_device_free_async(temporary, stream));
    OK(cls_memcpy_async(to, b, sizeof to, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    must_be_unknown(temporary);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < N; i++)
            from[i] = (k + 2) * i;
        memset(to, 0xee, sizeof to);
        OK(cls_graph_launch_async(exec, stream));
        OK(cls_stream_synchronize(stream));
        for (int i = 0; i < N; i++)
            assert_int_equal(to[i], (size_t)i < half ? 0 : from[i] + 2);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_device_free(a));
    OK(cls_device_free(b));
    OK(cls_stream_destroy(stream));
    OK(cls_kernel_destroy(kernel));
}

/* Pinned memory is set by a node too. */
static void captured_on_host(void **state) {
    void *memory;
    cls_stream stream;
    cls_graph graph;
    cls_graph_exec exec;
    (void)state;
    OK(cls_host_alloc(NULL, 100, &memory));
    OK(cls_stream_create(NULL, NULL, &stream));
    OK(cls_stream_begin_capture(stream, "on the host"));
    OK(cls_memset_async((char *)memory + 1, 9, 98, stream));
    OK(cls_stream_end_capture(stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (int k = 0; k < 2; k++) {
        memset(memory, 0, 100);
        OK(cls_graph_launch_async(exec, stream));
        OK(cls_stream_synchronize(stream));
        assert_int_equal(((char *)memory)[0] + ((char *)memory)[99], 0);
        assert_int_equal(((char *)memory)[1] + ((char *)memory)[98], 18);
    }
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_stream_destroy(stream));
    OK(cls_host_free(memory));
}

/* --- two contexts, and threads --- */

static void two_contexts(void **state) {
    enum { TIMES = 40 };
    unsigned char bytes[BYTES];
    cls_context other;
    cls_stream there;
    void *far[TIMES];
    char *near[TIMES];
    (void)state;
    OK(cls_context_create(NULL, &other));
    OK(cls_stream_create(other, NULL, &there));
    draw_bytes(bytes, sizeof bytes);
    for (int i = 0; i < TIMES; i++) {
        OK(cls_device_malloc(other, BYTES, &far[i]));
        near[i] = allocate(BYTES);
        assert_ptr_not_equal(near[i], far[i]);
    }
    OK(cls_memcpy(near[3], bytes, BYTES, NULL));
    OK(cls_memcpy((char *)far[7] + 8, near[3] + 8, BYTES - 8, NULL));
    OK(cls_memcpy_2d(far[7], 8, near[3], 8, 8, 1, there));
    expect_bytes(far[7], bytes, BYTES);
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_memset(near[0], 0, 1, there));
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_memcpy(near[0], near[1], 1, there));
    for (int i = 0; i < TIMES; i++)
        OK(cls_device_free(near[i]));
    for (int i = 0; i < TIMES / 2; i++)
        OK(cls_device_free(far[i]));
    OK(cls_stream_destroy(there));
    OK(cls_context_destroy(other));
    EXPECT(CLS_ERROR_CONTEXT_DESTROYED, cls_memset(far[TIMES - 1], 0, 1, NULL));
    for (int i = TIMES / 2; i < TIMES; i++)
        OK(cls_device_free(far[i]));
    must_be_unknown(far[TIMES - 1]);
}

enum { THREADS = 4 };

static void *allocate_and_find(void *arg) {
    unsigned state = *(const unsigned *)arg;
    char *live[16] = {NULL};
    bool good = true;
    for (int k = 0; k < 3000 && good; k++) {
        state = state * 1664525u + 1013904223u;
        const unsigned i = state >> 28;
        void *made = NULL;
        cls_buffer buffer;
        size_t offset;
        if (!live[i]) {
            good = !cls_device_malloc_async(NULL, 64 + i * 700, &made);
            live[i] = made;
        } else if (state >> 20 & 1) {
            good = !cls_device_free_async(live[i], NULL);
            live[i] = NULL;
        } else {
            good = !cls_pointer_get_buffer(live[i] + 63, &buffer, &offset) && offset == 63;
        }
    }
    for (int i = 0; i < 16; i++)
        good = !cls_device_free(live[i]) && good;
    return good ? arg : NULL;
}

static void threads(void **state) {
    pthread_t ids[THREADS];
    unsigned seeds[THREADS];
    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = i + 1;
        assert_int_equal(pthread_create(&ids[i], NULL, allocate_and_find, &seeds[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *result;
        assert_int_equal(pthread_join(ids[i], &result), 0);
        assert_non_null(result);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_copies),
        cmocka_unit_test(random_rows),
        cmocka_unit_test(host_to_host),
        cmocka_unit_test(pinned_memory),
        cmocka_unit_test(pinned_memory_as_a_buffer),
        cmocka_unit_test(unified_memory),
        cmocka_unit_test(arguments),
        cmocka_unit_test(many_arguments),
        cmocka_unit_test(coordinated),
        cmocka_unit_test(names),
        cmocka_unit_test(followed_by_kernels),
        cmocka_unit_test(unknown_pointers),
        cmocka_unit_test(again_and_again),
        cmocka_unit_test(wrapped_twice),
        cmocka_unit_test(stream_ordered),
        cmocka_unit_test(captured),
        cmocka_unit_test(captured_on_host),
        cmocka_unit_test(two_contexts),
        cmocka_unit_test(threads),
    };
    prepare_tests();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
