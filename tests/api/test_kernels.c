/* SPDX-License-Identifier: MIT */
/* The user's own kernels: shapes, arguments, refusals. */
#include "../support/rig.h"

#include <stdio.h>
#include <string.h>

#include <clstream/mempool.h>

static const char source[] =
    "typedef struct { uint a[6]; float b; ulong c; } wide;\n"
    "kernel void place(global uint *out, uint width, uint height) {\n"
    "    size_t i = (get_global_id(2) * height + get_global_id(1)) * width + get_global_id(0);\n"
    "    out[i] += 1000000 * get_global_id(2) + 1000 * get_global_id(1) + get_global_id(0);\n"
    "}\n"
    "kernel void groups(global uint *out) {\n"
    "    out[get_global_id(0)] = (uint)(get_group_id(0) * 1000 + get_local_id(0));\n"
    "}\n"
    "kernel void reverse(global uint *data, local uint *scratch) {\n"
    "    size_t l = get_local_id(0), n = get_local_size(0);\n"
    "    scratch[l] = data[get_global_id(0)];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    data[get_global_id(0)] = scratch[n - 1 - l];\n"
    "}\n"
    "kernel void by_value(global ulong *out, wide w, uchar u, long l) {\n"
    "    ulong sum = 0;\n"
    "    for (int i = 0; i < 6; i++) sum = sum * 31 + w.a[i];\n"
    "    out[0] = sum; out[1] = (ulong)w.b; out[2] = w.c; out[3] = u; out[4] = (ulong)l;\n"
    "}\n"
    "typedef struct { uint word[34]; } words;\n"
    "kernel void last(global uint *out, words v) { out[0] = v.word[33] + v.word[0]; }\n"
    "kernel void maybe(global uint *out, global const uint *in) { out[0] = in ? in[0] : 77; }\n"
    "kernel void looked_up(constant uint *table, global uint *out) { out[0] = table[2]; }\n"
    "kernel __attribute__((reqd_work_group_size(4, 2, 1))) void by_eights(global uint *out) {\n"
    "    out[get_global_id(1) * get_global_size(0) + get_global_id(0)] =\n"
    "        (uint)(get_local_size(0) * 100 + get_local_size(1) * 10 + get_local_size(2));\n"
    "}\n"
    "kernel void nothing(void) {}\n";

static cls_program program;

static int setup(void **state) {
    if (rig_setup(state))
        return -1;
    cls_status status =
        cls_program_from_source(rig.context, source, "kernels.cl", "-DUNUSED=1", &program);
    if (status)
        print_error("%s\n", cls_last_error_detail());
    return status;
}

static int teardown(void **state) { return cls_program_destroy(program) || rig_teardown(state); }

static cls_kernel kernel_of(const char *name) {
    cls_kernel kernel = NULL;
    OK(cls_kernel_create(program, name, &kernel));
    return kernel;
}

static void test_one_to_three_dimensions(void **state) {
    (void)state;
    const cls_launch shapes[] = {cls_launch_1d(60), cls_launch_2d(12, 5), cls_launch_3d(4, 5, 3)};
    cls_kernel place = kernel_of("place");
    for (unsigned dims = 1; dims <= 3; dims++)
        for (int with_local = 0; with_local < 2; with_local++) {
            cls_launch shape = shapes[dims - 1];
            const size_t *n = shape.global;
            cls_buffer cells = rig_cells(60);
            uint32_t seen[60];
            assert_int_equal(shape.dims, dims);
            for (unsigned d = 0; d < dims && with_local; d++)
                shape.local[d] = d ? 1 : 4;
            cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32((uint32_t)n[0]),
                              cls_arg_u32((uint32_t)n[1])};
            OK(cls_kernel_launch(place, &shape, args, 3, NULL));
            OK(cls_buffer_to_host(cells, seen, sizeof seen));
            for (uint32_t i = 0; i < 60; i++) {
                uint32_t x = i % (uint32_t)n[0], y = i / (uint32_t)n[0] % (uint32_t)n[1];
                uint32_t z = i / (uint32_t)(n[0] * n[1]);
                assert_int_equal(seen[i], 1000000 * z + 1000 * y + x);
            }
            OK(cls_buffer_destroy(cells));
        }
    OK(cls_kernel_destroy(place));
}

static void test_the_local_size_is_the_callers(void **state) {
    (void)state;
    cls_kernel groups = kernel_of("groups");
    cls_buffer cells = rig_cells(32);
    uint32_t seen[32];
    cls_launch shape = {1, {32, 0, 0}, {8, 0, 0}, {0, 0, 0}, NULL, 0};
    cls_arg args[] = {cls_arg_buffer(cells)};
    OK(cls_kernel_launch(groups, &shape, args, 1, NULL));
    OK(cls_buffer_to_host(cells, seen, sizeof seen));
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(seen[i], i / 8 * 1000 + i % 8);
    OK(cls_buffer_destroy(cells));
    OK(cls_kernel_destroy(groups));
}

static void test_a_group_that_the_source_fixes_need_not_be_told(void **state) {
    (void)state;
    cls_kernel by_eights = kernel_of("by_eights");
    cls_buffer cells = rig_cells(32);
    cls_arg args[] = {cls_arg_buffer(cells)};
    for (int with_local = 0; with_local < 2; with_local++) {
        uint32_t seen[32];
        cls_launch shape = {2,         {8, 4, 0}, {with_local ? 4 : 0, with_local ? 2 : 0, 0},
                            {0, 0, 0}, NULL,      0};
        OK(cls_fill(cells, 0, sizeof seen, "", 1, NULL));
        OK(cls_kernel_launch(by_eights, &shape, args, 1, NULL));
        OK(cls_buffer_to_host(cells, seen, sizeof seen));
        for (uint32_t i = 0; i < 32; i++)
            assert_int_equal(seen[i], 421);
    }
    const cls_launch bad[] = {
        {1, {32, 0, 0}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
        {2, {8, 4, 0}, {8, 1, 0}, {0, 0, 0}, NULL, 0},
        {2, {6, 4, 0}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
        {3, {4, 2, 2}, {4, 2, 2}, {0, 0, 0}, NULL, 0},
        {2, {8, 4, 0}, {4, 0, 0}, {0, 0, 0}, NULL, 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch_async(by_eights, &bad[i], args, 1, NULL));
        if (i != 2)
            assert_non_null(
                strstr(cls_last_error_detail(), "'by_eights' is for groups of 4 x 2 x 1"));
    }
    OK(cls_stream_synchronize(NULL));
    OK(cls_buffer_destroy(cells));
    OK(cls_kernel_destroy(by_eights));
}

static void test_local_memory(void **state) {
    (void)state;
    rig_need("local_arguments");
    cls_kernel reverse = kernel_of("reverse");
    uint32_t data[64], seen[64];
    cls_buffer cells;
    for (uint32_t i = 0; i < 64; i++)
        data[i] = i;
    for (size_t group = 1; group <= 16; group *= 4) {
        OK(cls_buffer_from_host(rig.context, data, sizeof data, &cells));
        cls_launch shape = {1, {64, 0, 0}, {group, 0, 0}, {0, 0, 0}, NULL, 0};
        cls_arg args[] = {cls_arg_buffer(cells), cls_arg_local(group * 4)};
        OK(cls_kernel_launch(reverse, &shape, args, 2, NULL));
        OK(cls_buffer_to_host(cells, seen, sizeof seen));
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(seen[i], i / group * group + group - 1 - i % group);
        OK(cls_buffer_destroy(cells));
    }
    OK(cls_kernel_destroy(reverse));
}

/* The bytes of __local memory that the driver says the kernel of a source has. PoCL 6 leaves out its own. */
static cl_ulong told_local_memory(const char *text, const char *options, const char *name) {
    cl_context context;
    cl_device_id device;
    cl_ulong bytes = 0;
    OK(cls_context_get_cl(rig.context, &context, &device));
    cl_program built = clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    assert_int_equal(clBuildProgram(built, 1, &device, options, NULL, NULL), CL_SUCCESS);
    cl_kernel kernel = clCreateKernel(built, name, NULL);
    assert_int_equal(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE,
                                              sizeof bytes, &bytes, NULL),
                     CL_SUCCESS);
    assert_int_equal(clReleaseKernel(kernel), CL_SUCCESS);
    assert_int_equal(clReleaseProgram(built), CL_SUCCESS);
    return bytes;
}

/* Drivers differ: one runs it, one refuses, one aborts the process. */
static void test_more_local_memory_than_there_is(void **state) {
    (void)state;
    rig_need("local_arguments");
    static const char greedy[] =
        "kernel void greedy(global uint *data, local uint *scratch) {\n"
        "    local uint own[CELLS];\n"
        "    own[get_local_id(0)] = scratch[get_local_id(0)] = data[get_global_id(0)];\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    data[get_global_id(0)] = own[0] + scratch[0];\n"
        "}\n";
    cls_kernel reverse = kernel_of("reverse"), kernel;
    cls_buffer cells = rig_cells(64);
    cls_launch shape = {1, {64, 0, 0}, {16, 0, 0}, {0, 0, 0}, NULL, 0};
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    size_t device;
    OK(cls_context_get_device(rig.context, &device));
    OK(cls_device_get_info(device, &info));
    const size_t too_much[] = {info.local_memory + 1, SIZE_MAX / 2, SIZE_MAX};
    for (size_t i = 0; i < 3; i++) {
        cls_arg args[] = {cls_arg_buffer(cells), cls_arg_local(too_much[i])};
        EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch(reverse, &shape, args, 2, NULL));
    }
    const bool is_told = told_local_memory(greedy, "-DCELLS=256", "greedy") >= 1024;
    if (!is_told)
        print_message("this driver does not tell the __local memory that a kernel has itself\n");
    /* With the argument's, and its own alone. */
    for (unsigned over = 0; over < 2 && is_told; over++) {
        const size_t asked = over ? 64 : info.local_memory - 512;
        cls_arg args[] = {cls_arg_buffer(cells), cls_arg_local(asked)};
        cls_program built;
        char options[64];
        snprintf(options, sizeof options, "-DCELLS=%llu",
                 (unsigned long long)(over ? info.local_memory + (1 << 20) : 1024) / 4);
        cls_status status =
            cls_program_from_source(rig.context, greedy, "greedy.cl", options, &built);
        if (over && status == CLS_ERROR_BUILD_FAILED)
            continue;
        OK(status);
        OK(cls_kernel_create(built, "greedy", &kernel));
        if (rig_has_quirk("local_memory_aborts")) {
            EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch(kernel, &shape, args, 2, NULL));
        } else {
            cls_stream stream = rig_stream();
            cls_kernel_launch(kernel, &shape, args, 2, stream); /* as the driver likes */
            OK(cls_stream_reset(stream));
            OK(cls_stream_destroy(stream));
        }
        OK(cls_kernel_destroy(kernel));
        OK(cls_program_destroy(built));
    }
    cls_arg args[] = {cls_arg_buffer(cells), cls_arg_local(64)};
    OK(cls_kernel_launch(reverse, &shape, args, 2, NULL));
    OK(cls_buffer_destroy(cells));
    OK(cls_kernel_destroy(reverse));
}

/* Values of 1, 8 and 40 bytes, copied by the call, also when the launch is held back. */
static void test_values_of_any_size_are_copied_by_the_call(void **state) {
    (void)state;
    struct wide {
        uint32_t a[6];
        float b;
        _Alignas(8) uint64_t c; /* as a ulong is in OpenCL, and not in all of C */
    } wide = {{1, 2, 3, 4, 5, 6}, 12.75f, 1ull << 40};
    rig_need("structure_arguments");
    cls_kernel by_value = kernel_of("by_value");
    cls_stream stream = rig_stream();
    cls_buffer out;
    struct gate gate;
    uint64_t seen[5], expected = 0;
    gate_init(&gate);
    OK(cls_buffer_create(rig.context, sizeof seen, &out));
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    cls_arg args[] = {cls_arg_buffer(out), cls_arg_value(&wide, sizeof wide), cls_arg_u8(200),
                      cls_arg_i64(-3)};
    cls_launch shape = cls_launch_1d(1);
    for (int i = 0; i < 6; i++)
        expected = expected * 31 + wide.a[i];
    memset(&wide, 0xff, sizeof wide); /* the argument holds it */
    OK(cls_kernel_launch_async(by_value, &shape, args, 4, stream));
    memset(args, 0xff, sizeof args);
    gate_open(&gate);
    OK(cls_copy_d2h(seen, out, 0, sizeof seen, stream));
    assert_true(seen[0] == expected && seen[1] == 12 && seen[2] == 1ull << 40);
    assert_true(seen[3] == 200 && (int64_t)seen[4] == -3);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(out));
    OK(cls_kernel_destroy(by_value));
    gate_destroy(&gate);
}

/* More than an argument holds: the launch copies it. */
static void test_long_values_are_copied_by_the_launch(void **state) {
    (void)state;
    struct {
        uint32_t word[CLS_ARG_VALUE_BYTES / 4 + 2];
    } value = {{3, 5}};
    rig_need("structure_arguments");
    cls_kernel last = kernel_of("last");
    cls_stream stream = rig_stream();
    cls_buffer out = rig_cells(1);
    struct gate gate;
    gate_init(&gate);
    OK(cls_stream_launch_host_async(stream, gate_hold, &gate));
    const cls_arg args[] = {cls_arg_buffer(out), cls_arg_value(&value, sizeof value)};
    const cls_launch shape = cls_launch_1d(1);
    value.word[33] = 40;
    OK(cls_kernel_launch_async(last, &shape, args, 2, stream));
    memset(&value, 0xff, sizeof value);
    gate_open(&gate);
    OK(cls_stream_synchronize(stream));
    assert_int_equal(rig_cell(out, 0), 43);
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(out));
    OK(cls_kernel_destroy(last));
    gate_destroy(&gate);
}

/* What a kernel is told again it may have been told already: each launch has its own arguments all the same,
 * also after one that was refused, and where a buffer's memory comes back under another handle. */
static void test_each_launch_has_its_own_arguments(void **state) {
    (void)state;
    cls_kernel maybe = kernel_of("maybe"), place = kernel_of("place");
    cls_launch shape = cls_launch_1d(1), two = cls_launch_1d(2);
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(2), dead = rig_cells(1);
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t number = 100 + i;
        cls_buffer from;
        OK(cls_malloc_async(stream, sizeof number, &from));
        OK(cls_copy_h2d_async(from, 0, &number, sizeof number, stream));
        cls_arg args[] = {cls_arg_buffer(cells), cls_arg_buffer(from)};
        OK(cls_kernel_launch_async(maybe, &shape, args, 2, stream));
        if (i % 4 == 3) {
            args[1] = cls_arg_buffer(NULL);
            OK(cls_kernel_launch_async(maybe, &shape, args, 2, stream));
        }
        OK(cls_free_async(from, stream));
        OK(cls_stream_synchronize(stream));
        assert_int_equal(rig_cell(cells, 0), i % 4 == 3 ? 77 : number);
    }
    OK(cls_buffer_destroy(dead));
    for (uint32_t width = 1; width <= 3; width++) {
        uint32_t zero[2] = {0, 0};
        OK(cls_copy_h2d(cells, 0, zero, sizeof zero, NULL));
        cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(2), cls_arg_u32(width)};
        cls_arg refused[] = {cls_arg_buffer(dead), cls_arg_u32(7), cls_arg_u32(7)};
        OK(cls_kernel_launch(place, &two, args, 3, stream));
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_kernel_launch(place, &two, refused, 3, stream));
        OK(cls_kernel_launch(place, &two, args, 3, stream));
        assert_int_equal(rig_cell(cells, 1), 2);
    }
    OK(cls_stream_destroy(stream));
    OK(cls_buffer_destroy(cells));
    OK(cls_kernel_destroy(maybe));
    OK(cls_kernel_destroy(place));
}

/* The argument that a kernel was told last is told again, though the handle is the same. */
static void test_a_handle_that_comes_back_means_its_new_memory(void **state) {
    (void)state;
    cls_kernel place = kernel_of("place");
    cls_launch two = cls_launch_1d(2);
    cls_stream stream = rig_stream();
    cls_buffer cells = rig_cells(2), again = NULL;
    const cls_buffer first = cells;
    const uint32_t zero[2] = {0, 0};
    if (sizeof first > 4)
        SKIP_BECAUSE("a handle of 64 bits comes back after 4 billion others");
    cls_arg args[] = {cls_arg_buffer(first), cls_arg_u32(2), cls_arg_u32(1)};
    OK(cls_kernel_launch(place, &two, args, 3, stream));
    for (unsigned i = 0; i < 100000 && again != first; i++) {
        OK(cls_buffer_destroy(cells));
        OK(cls_buffer_create(rig.context, 1000 + i % 7 * 1000, &again));
        cells = again;
    }
    assert_ptr_equal(again, first);
    OK(cls_copy_h2d(again, 0, zero, sizeof zero, stream));
    OK(cls_kernel_launch(place, &two, args, 3, stream));
    assert_int_equal(rig_cell(again, 1), 1);
    OK(cls_buffer_destroy(again));
    OK(cls_stream_destroy(stream));
    OK(cls_kernel_destroy(place));
}

static void test_null_and_constant_buffers(void **state) {
    (void)state;
    cls_kernel maybe = kernel_of("maybe"), looked_up = kernel_of("looked_up");
    cls_kernel nothing = kernel_of("nothing");
    cls_buffer cells = rig_cells(4), table;
    uint32_t numbers[] = {5, 6, 7};
    cls_launch shape = cls_launch_1d(1);
    OK(cls_buffer_from_host(rig.context, numbers, sizeof numbers, &table));
    cls_arg with[] = {cls_arg_buffer(cells), cls_arg_buffer(table)};
    OK(cls_kernel_launch(maybe, &shape, with, 2, NULL));
    assert_int_equal(rig_cell(cells, 0), 5);
    cls_arg without[] = {cls_arg_buffer(cells), cls_arg_buffer(NULL)};
    if (rig_has_quirk("null_buffer_hangs")) {
        EXPECT(CLS_ERROR_UNSUPPORTED, cls_kernel_launch(maybe, &shape, without, 2, NULL));
    } else {
        OK(cls_kernel_launch(maybe, &shape, without, 2, NULL));
        assert_int_equal(rig_cell(cells, 0), 77);
    }
    cls_arg lookup[] = {cls_arg_buffer(table), cls_arg_buffer(cells)};
    OK(cls_kernel_launch(looked_up, &shape, lookup, 2, NULL));
    assert_int_equal(rig_cell(cells, 0), 7);
    OK(cls_kernel_launch(nothing, &shape, NULL, 0, NULL));
    OK(cls_buffer_destroy(cells));
    OK(cls_buffer_destroy(table));
    OK(cls_kernel_destroy(maybe));
    OK(cls_kernel_destroy(looked_up));
    OK(cls_kernel_destroy(nothing));
}

static void test_wrong_arguments_are_refused(void **state) {
    (void)state;
    rig_need("structure_arguments");
    cls_kernel by_value = kernel_of("by_value"), reverse = kernel_of("reverse");
    cls_buffer cells = rig_cells(64);
    cls_launch one = cls_launch_1d(1), eight = {1, {8, 0, 0}, {8, 0, 0}, {0, 0, 0}, NULL, 0};
    unsigned char wide[40] = {0};
    unsigned accepted = 0;
    const cls_arg good[] = {cls_arg_buffer(cells), cls_arg_value(wide, 40), cls_arg_u8(1),
                            cls_arg_i64(1)};
    const struct {
        unsigned at;
        cls_arg arg;
    } bad[] = {
        {0, cls_arg_u64(1)},         {0, cls_arg_local(8)}, {1, cls_arg_buffer(cells)},
        {1, cls_arg_value(wide, 0)}, {2, cls_arg_u32(1)},   {1, cls_arg_value(NULL, 40)},
        {2, cls_arg_local(1)},       {3, cls_arg_i32(1)},
    };
    const size_t n = sizeof bad / sizeof *bad;
    for (size_t i = 0; i < 2 * n; i++) {
        cls_arg args[4];
        memcpy(args, good, sizeof args);
        args[bad[i % n].at] = bad[i % n].arg;
        if (i >= n) /* after a good one, of whose bytes it may have the first */
            OK(cls_kernel_launch(by_value, &one, good, 4, NULL));
        cls_status status = cls_kernel_launch(by_value, &one, args, 4, NULL);
        if (status != CLS_ERROR_INVALID_VALUE)
            print_error("bad argument %zu is %s\n", i, cls_status_string(status));
        accepted += status != CLS_ERROR_INVALID_VALUE;
    }
    assert_int_equal(accepted, 0);
    OK(cls_kernel_launch(by_value, &one, good, 4, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch(by_value, &one, good, 3, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch(by_value, &one, good, 5, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch(by_value, &one, NULL, 4, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch(by_value, &one, good, 0, NULL));
    cls_arg no_local[] = {cls_arg_buffer(cells), cls_arg_local(0)};
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch(reverse, &eight, no_local, 2, NULL));
    cls_arg value_for_local[] = {cls_arg_buffer(cells), cls_arg_u32(64)};
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch(reverse, &eight, value_for_local, 2, NULL));
    OK(cls_buffer_destroy(cells));
    OK(cls_kernel_destroy(by_value));
    OK(cls_kernel_destroy(reverse));
}

/* It is __global to the driver as a buffer is, and PoCL crashes on a buffer in its place. */
static void test_an_image_cannot_be_passed(void **state) {
    (void)state;
    static const char images[] = "kernel void pictured(global int *out, read_only image2d_t in) {"
                                 "    out[get_global_id(0)] = get_image_width(in);"
                                 "}";
    cls_program of_images;
    cls_kernel pictured;
    if (cls_program_from_source(rig.context, images, "images", NULL, &of_images))
        SKIP_BECAUSE("this driver compiles no images");
    OK(cls_kernel_create(of_images, "pictured", &pictured));
    cls_buffer cells = rig_cells(64);
    const cls_launch shape = cls_launch_1d(1);
    const cls_arg bad[] = {cls_arg_buffer(cells), cls_arg_buffer(NULL), cls_arg_u64(0),
                           cls_arg_local(8)};
    for (int i = 0; i < 4; i++) {
        const cls_arg args[] = {cls_arg_buffer(cells), bad[i]};
        EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch(pictured, &shape, args, 2, NULL));
        assert_non_null(strstr(cls_last_error_detail(), "image"));
    }
    OK(cls_buffer_destroy(cells));
    OK(cls_kernel_destroy(pictured));
    OK(cls_program_destroy(of_images));
}

static void test_structs_of_a_wrong_size_are_refused(void **state) {
    (void)state;
    rig_need("structure_arguments");
    cls_kernel by_value = kernel_of("by_value");
    cls_buffer cells = rig_cells(64);
    cls_launch one = cls_launch_1d(1);
    unsigned char wide[48] = {0};
    for (size_t size = 4; size <= 48; size += 4) {
        cls_arg args[] = {cls_arg_buffer(cells), cls_arg_value(wide, size), cls_arg_u8(1),
                          cls_arg_i64(1)};
        EXPECT(size == 40 ? CLS_SUCCESS : CLS_ERROR_INVALID_VALUE,
               cls_kernel_launch(by_value, &one, args, 4, NULL));
    }
    OK(cls_buffer_destroy(cells));
    OK(cls_kernel_destroy(by_value));
}

/* Of each type that there is a function for, each is passed for each. */
static void test_values_of_a_wrong_type_are_refused(void **state) {
    (void)state;
    rig_need("structure_arguments");
    static const char typed[] =
        "typedef float real; typedef struct { int a; float b; } pair;\n"
        "kernel void f32(global int *o, float n) { o[0] = (int)n; }\n"
        "kernel void i32(global int *o, int n) { o[0] = n; }\n"
        "kernel void i64(global int *o, long n) { o[0] = (int)n; }\n"
        "kernel void u8(global int *o, uchar n) { o[0] = n; }\n"
        "kernel void u32(global int *o, unsigned int n) { o[0] = (int)n; }\n"
        "kernel void u64(global int *o, ulong n) { o[0] = (int)n; }\n"
        "kernel void own(global int *o, real n) { o[0] = (int)n; }\n"
        "kernel void structure(global int *o, pair n) { o[0] = n.a; }\n"
        "kernel void vector3(global int *o, int3 n) { o[0] = n.x; }\n";
    static const struct {
        const char *name;
        size_t size;
        int floating; /* -1: the kernel's type is its own, and any is taken */
    } kernels[] = {{"f32", 4, 1},  {"i32", 4, 0},        {"i64", 8, 0},
                   {"u8", 1, 0},   {"u32", 4, 0},        {"u64", 8, 0},
                   {"own", 4, -1}, {"structure", 8, -1}, {"vector3", 16, -1}};
    const struct {
        cls_arg arg;
        int floating;
    } given[] = {{cls_arg_f32(7), 1}, {cls_arg_f64(7), 1},
                 {cls_arg_i32(7), 0}, {cls_arg_i64(7), 0},
                 {cls_arg_u8(7), 0},  {cls_arg_u32(7), 0},
                 {cls_arg_u64(7), 0}, {cls_arg_value("seven of sixteen", 16), -1}};
    cls_program of_types;
    cls_buffer cells = rig_cells(1);
    const cls_launch one = cls_launch_1d(1);
    OK(cls_program_from_source(rig.context, typed, "typed.cl", NULL, &of_types));
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        cls_kernel kernel;
        OK(cls_kernel_create(of_types, kernels[k].name, &kernel));
        for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
            const bool same = kernels[k].floating < 0 || given[i].floating < 0 ||
                              kernels[k].floating == given[i].floating;
            const bool fits = given[i].arg.size == kernels[k].size && same;
            const cls_arg args[] = {cls_arg_buffer(cells), given[i].arg};
            EXPECT(fits ? CLS_SUCCESS : CLS_ERROR_INVALID_VALUE,
                   cls_kernel_launch(kernel, &one, args, 2, NULL));
            if (fits)
                continue;
            char bytes[32];
            snprintf(bytes, sizeof bytes, "of %zu bytes was given", given[i].arg.size);
            assert_non_null(strstr(cls_last_error_detail(), kernels[k].name));
            assert_non_null(strstr(cls_last_error_detail(), "argument 1"));
            assert_non_null(strstr(cls_last_error_detail(), bytes));
        }
        OK(cls_kernel_destroy(kernel));
    }
    OK(cls_program_destroy(of_types));
    OK(cls_buffer_destroy(cells));
}

/* What is wrong, of which kernel and argument, and what there is instead. */
static void test_messages_name_what_they_are_about(void **state) {
    (void)state;
    cls_kernel reverse = kernel_of("reverse"), none;
    cls_buffer cells = rig_cells(64);
    const cls_launch four = {1, {4, 0, 0}, {4, 0, 0}, {0, 0, 0}, NULL, 0};
    const cls_arg good[] = {cls_arg_buffer(cells), cls_arg_local(16)};
    const cls_arg empty[] = {good[0], cls_arg_local(0)}, value[] = {good[0], cls_arg_i32(1)};
    const struct {
        const cls_launch *launch;
        const cls_arg *args;
        unsigned n;
        const char *part;
    } bad[] = {
        {&four, NULL, 2, "'reverse': the list of 2 arguments is null"},
        {&four, good, 1, "'reverse' has 2 parameters, not 1"},
        {NULL, good, 2, "'reverse': the launch is null"},
        {&four, empty, 2, "'reverse': argument 1 is 0 bytes of __local memory"},
        {&four, value, 2, "takes __local memory; an integer of 4 bytes was given"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EXPECT(CLS_ERROR_INVALID_VALUE,
               cls_kernel_launch(reverse, bad[i].launch, bad[i].args, bad[i].n, NULL));
        if (!strstr(cls_last_error_detail(), bad[i].part))
            fail_msg("\"%s\" has no \"%s\"", cls_last_error_detail(), bad[i].part);
    }
    EXPECT(CLS_ERROR_NOT_FOUND, cls_kernel_create(program, "revers", &none));
    assert_non_null(strstr(cls_last_error_detail(), "by_eights"));
    OK(cls_buffer_destroy(cells));
    OK(cls_kernel_destroy(reverse));
}

static void test_wrong_shapes_are_refused(void **state) {
    (void)state;
    cls_kernel nothing = kernel_of("nothing");
    const cls_launch bad[] = {
        {0, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
        {4, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
        {1, {10, 1, 1}, {3, 0, 0}, {0, 0, 0}, NULL, 0},
        {2, {8, 8, 1}, {8, 0, 0}, {0, 0, 0}, NULL, 0},
        {2, {8, 8, 1}, {8, 3, 0}, {0, 0, 0}, NULL, 0},
        {1, {1u << 30, 1, 1}, {1u << 30, 0, 0}, {0, 0, 0}, NULL, 0},
        {3, {SIZE_MAX, SIZE_MAX, 2}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cls_status status = cls_kernel_launch(nothing, &bad[i], NULL, 0, NULL);
        if (status != CLS_ERROR_INVALID_VALUE)
            fail_msg("shape %zu is %s", i, cls_status_string(status));
    }
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch(nothing, NULL, NULL, 0, NULL));
    const cls_launch empty[] = {{1, {0, 1, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
                                {2, {5, 0, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
                                {3, {5, 5, 0}, {1, 1, 1}, {0, 0, 0}, NULL, 0}};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        OK(cls_kernel_launch(nothing, &empty[i], NULL, 0, NULL));
    OK(cls_kernel_destroy(nothing));
}

/* No argument state is shared: threads launch one kernel with arguments of their own. */
struct launches {
    cls_kernel kernel;
    cls_buffer cells;
    unsigned rounds;
};

static bool launch_own(void *arg, unsigned i) {
    struct launches *launches = arg;
    cls_launch shape = cls_launch_1d(1);
    cls_stream stream;
    if (cls_stream_create(rig.context, NULL, &stream))
        return false;
    for (unsigned k = 0; k < launches->rounds; k++) {
        cls_arg args[] = {cls_arg_updates(launches->cells, i * 4, 4), cls_arg_u32(i),
                          cls_arg_u32(3), cls_arg_u32(k), cls_arg_u32(1)};
        if (cls_kernel_launch_async(launches->kernel, &shape, args, 5, stream))
            return false;
    }
    return !cls_stream_synchronize(stream) && !cls_stream_destroy(stream);
}

static void test_threads_launch_one_kernel(void **state) {
    (void)state;
    enum { THREADS = 12 };
    if (rig_runs_inline())
        SKIP_BECAUSE("this driver is for single-threaded use");
    struct launches launches = {rig.step, rig_cells(THREADS), rig_scale(2000, 20)};
    uint32_t expected = 0;
    assert_int_equal(team_run(THREADS, launch_own, &launches), 0);
    for (unsigned k = 0; k < launches.rounds; k++)
        expected = expected * 3 + k;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(rig_cell(launches.cells, i), expected);
    OK(cls_buffer_destroy(launches.cells));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_to_three_dimensions),
        cmocka_unit_test(test_the_local_size_is_the_callers),
        cmocka_unit_test(test_a_group_that_the_source_fixes_need_not_be_told),
        cmocka_unit_test(test_local_memory),
        cmocka_unit_test(test_more_local_memory_than_there_is),
        cmocka_unit_test(test_values_of_any_size_are_copied_by_the_call),
        cmocka_unit_test(test_long_values_are_copied_by_the_launch),
        cmocka_unit_test(test_each_launch_has_its_own_arguments),
        cmocka_unit_test(test_a_handle_that_comes_back_means_its_new_memory),
        cmocka_unit_test(test_null_and_constant_buffers),
        cmocka_unit_test(test_wrong_arguments_are_refused),
        cmocka_unit_test(test_an_image_cannot_be_passed),
        cmocka_unit_test(test_structs_of_a_wrong_size_are_refused),
        cmocka_unit_test(test_values_of_a_wrong_type_are_refused),
        cmocka_unit_test(test_messages_name_what_they_are_about),
        cmocka_unit_test(test_wrong_shapes_are_refused),
        cmocka_unit_test(test_threads_launch_one_kernel),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
