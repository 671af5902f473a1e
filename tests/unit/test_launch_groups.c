/* SPDX-License-Identifier: MIT */
/* Launches without a local size, of sizes that no group divides: what the driver gets, and that every item runs once. */
#include "../support/test.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "command/kernel.h"
#include "driver/device.h"
#include "driver/source_kernels.h"
#include "driver/source_words.h"
#include "wrapped_launch.h"

/* `count` may be cut; `strided` may not, since it asks for the global size; both add to the cell of their index. */
static const char source[] =
    "kernel void count(global uint *out, uint width, uint height) {\n"
    "    size_t at = (get_global_id(2) * height + get_global_id(1)) * width + get_global_id(0);\n"
    "    out[at] = out[at] * 3 + 1 + (uint)at;\n"
    "}\n";
static const char strided[] =
    "kernel void strided(global uint *out, uint n) {\n"
    "    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) out[i] += 1;\n"
    "}\n";

/* --- what the driver gets --- */

static struct {
    size_t offset[3], global[3], local[3];
    bool has_local;
} seen[8];
static unsigned n_seen, refuse_nth;
static bool accept_all_locals;

cl_int launch_instead(const struct wrapped_launch *call) {
    struct wrapped_launch passed_on = *call;
    if (n_seen < sizeof seen / sizeof *seen) {
        memset(&seen[n_seen], 0, sizeof *seen);
        for (cl_uint i = 0; i < call->dims; i++) {
            seen[n_seen].global[i] = call->global[i];
            seen[n_seen].offset[i] = call->offset ? call->offset[i] : 0;
            seen[n_seen].local[i] = call->local ? call->local[i] : 0;
        }
        seen[n_seen].has_local = call->local != NULL;
    }
    if (++n_seen == refuse_nth)
        return CL_OUT_OF_RESOURCES;
    if (accept_all_locals)
        passed_on.local = NULL;
    return launch_really(&passed_on);
}

static void watch(void) {
    n_seen = 0;
    refuse_nth = 0;
}

/* --- the parts --- */

struct parts {
    cls_program program;
    cls_kernel kernel;
    cls_stream stream;
    cls_buffer cells;
};

static void open_parts(struct parts *parts, const char *text, const char *name, const char *options,
                       cls_order order, size_t cells) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    const uint32_t zero = 0;
    config.order = order;
    OK(cls_program_from_source(NULL, text, "groups.cl", options, &parts->program));
    OK(cls_kernel_create(parts->program, name, &parts->kernel));
    OK(cls_stream_create(NULL, &config, &parts->stream));
    OK(cls_buffer_create(NULL, cells * sizeof zero, &parts->cells));
    OK(cls_fill(parts->cells, 0, cells * sizeof zero, &zero, sizeof zero, parts->stream));
    watch();
}

static void close_parts(const struct parts *parts) {
    OK(cls_kernel_destroy(parts->kernel));
    OK(cls_program_destroy(parts->program));
    OK(cls_stream_destroy(parts->stream));
    OK(cls_buffer_destroy(parts->cells));
}

static cls_status launch_count(const struct parts *parts, const cls_launch *shape) {
    const cls_arg args[] = {cls_arg_buffer(parts->cells), cls_arg_u32((uint32_t)shape->global[0]),
                            cls_arg_u32((uint32_t)shape->global[1])};
    return cls_kernel_launch_async(parts->kernel, shape, args, 3, parts->stream);
}

/* That each cell was counted by each of `times` launches, once. */
static void check_cells(const struct parts *parts, size_t n, unsigned times) {
    uint32_t *cells = malloc(n * sizeof *cells);
    assert_non_null(cells);
    OK(cls_copy_d2h(cells, parts->cells, 0, n * sizeof *cells, parts->stream));
    for (size_t i = 0; i < n; i++) {
        uint32_t expected = 0;
        for (unsigned k = 0; k < times; k++)
            expected = expected * 3 + 1 + (uint32_t)i;
        if (cells[i] != expected)
            fail_msg("cell %zu of %zu is %u, not %u", i, n, cells[i], expected);
    }
    free(cells);
}

static size_t items(const size_t global[3], unsigned dims) {
    size_t n = 1;
    for (unsigned i = 0; i < dims; i++)
        n *= global[i];
    return n;
}

/* Whether a group of 64 or more, whole in the dimensions before it, divides a dimension. */
static bool is_round(const size_t global[3], unsigned dims) {
    size_t inner = 1;
    for (unsigned i = 0; i < dims; inner *= global[i++])
        for (size_t group = 1; group <= 256; group++)
            if (group * inner >= 64 && global[i] % group == 0)
                return true;
    return false;
}

/* --- tests --- */

static const cls_launch odd[] = {
    {1, {100003, 1, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
    {1, {10007, 1, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
    {2, {8209, 19, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
    {2, {3, 33331, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
    {3, {2, 5, 4001}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
    {3, {997, 3, 5}, {0, 0, 0}, {0, 0, 0}, NULL, 0},
};

static void test_odd_sizes_run_in_two_parts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int order = CLS_ORDER_AUTO; order <= CLS_ORDER_OUT_OF_ORDER; order++) {
            const size_t n = items(odd[i].global, odd[i].dims);
            struct parts parts;
            open_parts(&parts, source, "count", NULL, (cls_order)order, n);
            OK(launch_count(&parts, &odd[i]));
            assert_int_equal(n_seen, 2);
            assert_true(seen[0].has_local && !seen[1].has_local);
            assert_true(is_round(seen[1].global, odd[i].dims));
            assert_int_equal(
                items(seen[0].global, odd[i].dims) + items(seen[1].global, odd[i].dims), n);
            for (int again = 0; again < 3; again++)
                OK(launch_count(&parts, &odd[i]));
            check_cells(&parts, n, 4);
            close_parts(&parts);
        }
}

/* Of which the driver may choose columns: PoCL does. */
static void test_odd_rows_are_groups(void **state) {
    (void)state;
    struct parts parts;
    struct kernel *kernel;
    const cls_launch rows = cls_launch_2d(263, 512);
    open_parts(&parts, source, "count", NULL, CLS_ORDER_AUTO, items(rows.global, 2));
    OK(kernel_get(parts.kernel, &kernel));
    const bool fits = kernel->max_group >= 263; /* else cut in two */
    object_release(&kernel->object);
    OK(launch_count(&parts, &rows));
    assert_int_equal(n_seen, fits ? 1 : 2);
    if (fits) {
        assert_int_equal(seen[0].local[0], 263);
        assert_int_equal(seen[0].local[1], 1);
    }
    check_cells(&parts, items(rows.global, 2), 1);
    close_parts(&parts);
}

static void test_round_and_small_sizes_run_as_they_are(void **state) {
    (void)state;
    const cls_launch plain[] = {cls_launch_1d(100000),    cls_launch_1d(99999),
                                cls_launch_1d(4099),      cls_launch_2d(128, 1009),
                                cls_launch_3d(7, 11, 13), cls_launch_1d(1 << 16)};
    struct parts parts;
    open_parts(&parts, source, "count", NULL, CLS_ORDER_AUTO, 1 << 18);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        watch();
        OK(launch_count(&parts, &plain[i]));
        assert_int_equal(n_seen, 1);
        assert_false(seen[0].has_local);
    }
    cls_launch given = {1, {10007, 1, 1}, {1, 0, 0}, {0, 0, 0}, NULL, 0};
    watch();
    OK(launch_count(&parts, &given));
    assert_int_equal(n_seen, 1);
    OK(cls_stream_synchronize(parts.stream));
    close_parts(&parts);
}

/* Held back behind a host function, and in front of a copy: the order is kept. */
static void wait_a_little(void *arg) {
    (void)arg;
    cls_profiler_now();
}

static void test_parts_keep_the_order(void **state) {
    (void)state;
    struct parts parts;
    const size_t n = items(odd[0].global, 1);
    open_parts(&parts, source, "count", NULL, CLS_ORDER_OUT_OF_ORDER, n);
    for (int i = 0; i < 20; i++) {
        if (i % 4 == 0)
            OK(cls_stream_launch_host_async(parts.stream, wait_a_little, NULL));
        OK(launch_count(&parts, &odd[0]));
    }
    check_cells(&parts, n, 20);
    close_parts(&parts);
}

static void test_a_refused_part_fails_the_launch(void **state) {
    (void)state;
    const size_t n = items(odd[0].global, 1);
    for (unsigned nth = 1; nth <= 2; nth++) {
        struct parts parts;
        open_parts(&parts, source, "count", NULL, CLS_ORDER_AUTO, n);
        refuse_nth = nth;
        assert_int_not_equal(launch_count(&parts, &odd[0]), CLS_SUCCESS);
        watch();
        OK(cls_stream_reset(parts.stream));
        OK(launch_count(&parts, &odd[1]));
        OK(cls_stream_synchronize(parts.stream));
        close_parts(&parts);
    }
}

/* Some drivers abort when they are given back the event of a failed command in the middle of a chain. */
static void test_parts_fail_with_what_they_wait_for(void **state) {
    (void)state;
    cl_context context;
    cl_int code;
    OK(cls_context_get_cl(NULL, &context, NULL));
    for (int i = 0; i < 20; i++) {
        struct parts parts;
        cl_event gate = clCreateUserEvent(context, &code);
        assert_int_equal(code, CL_SUCCESS);
        open_parts(&parts, source, "count", NULL, CLS_ORDER_AUTO, items(odd[1].global, 1));
        OK(cls_stream_wait_cl(parts.stream, gate));
        OK(launch_count(&parts, &odd[1]));
        assert_int_equal(clSetUserEventStatus(gate, -1), CL_SUCCESS);
        assert_int_not_equal(cls_stream_synchronize(parts.stream), CLS_SUCCESS);
        OK(cls_stream_reset(parts.stream));
        OK(launch_count(&parts, &odd[1]));
        OK(cls_stream_synchronize(parts.stream));
        close_parts(&parts);
        assert_int_equal(clReleaseEvent(gate), CL_SUCCESS);
    }
}

static cls_profile_operation first_operation(cls_profiler profiler, cls_stream stream) {
    cls_profile_operation operation = CLS_PROFILE_OPERATION_INIT;
    cls_profile profile;
    size_t index;
    OK(cls_profiler_snapshot(profiler, &profile));
    OK(cls_profile_find_stream(profile, stream, &index));
    OK(cls_profile_get_operation(profile, index, 0, &operation));
    OK(cls_profile_destroy(profile));
    return operation;
}

static void test_small_groups_are_told_by_the_profile(void **state) {
    (void)state;
    cls_profiler profiler;
    OK(cls_profiler_create(NULL, &profiler));
    for (int cut = 0; cut < 2; cut++) {
        struct parts parts;
        open_parts(&parts, cut ? source : strided, cut ? "count" : "strided", NULL, CLS_ORDER_AUTO,
                   100003);
        OK(cls_profiler_start(profiler));
        const cls_arg args[] = {cls_arg_buffer(parts.cells), cls_arg_u32(100003), cls_arg_u32(1)};
        OK(cls_kernel_launch(parts.kernel, &odd[0], args, cut ? 3 : 2, parts.stream));
        OK(cls_profiler_stop(profiler));
        const cls_profile_operation operation = first_operation(profiler, parts.stream);
        assert_int_equal(n_seen, cut ? 2 : 1);
        assert_int_equal(operation.count, 1);
        assert_int_equal(operation.small_groups, !cut);
        close_parts(&parts);
    }
    OK(cls_profiler_destroy(profiler));
}

static struct device *device_in_use(void) {
    struct device *device;
    OK(device_find(NULL, &device));
    return device;
}

static bool compiler_takes(const char *options) {
    cls_program program;
    if (cls_program_from_source(NULL, strided, "strided.cl", options, &program))
        return false;
    OK(cls_program_destroy(program));
    return true;
}

/* Where the device allows it and the program does, whatever the kernel asks for: one launch with a group size. */
static void test_unequal_groups_where_device_and_program_allow_them(void **state) {
    (void)state;
    struct device *device = device_in_use();
    const bool has = device->odd_groups;
    device->odd_groups = true;
    accept_all_locals = !has;
    for (int v2 = 0; v2 < 3; v2++) {
        static const char *const options[] = {"-cl-std=CL1.2", "-cl-std=CL2.0",
                                              "-cl-std=CL2.0 -cl-uniform-work-group-size"};
        struct parts parts;
        if (!compiler_takes(options[v2])) {
            print_message("the compiler does not take %s\n", options[v2]);
            continue;
        }
        open_parts(&parts, strided, "strided", options[v2], CLS_ORDER_AUTO, 100003);
        const cls_arg args[] = {cls_arg_buffer(parts.cells), cls_arg_u32(100003)};
        OK(cls_kernel_launch(parts.kernel, &odd[0], args, 2, parts.stream));
        assert_int_equal(n_seen, 1);
        assert_int_equal(seen[0].has_local, v2 == 1);
        assert_true(v2 != 1 || seen[0].local[0] >= 64);
        close_parts(&parts);
    }
    device->odd_groups = has;
    accept_all_locals = false;
}

static void test_what_a_source_can_ask(void **state) {
    (void)state;
    static const char *const tells[] = {
        "x = get_global_size(0);", "get_group_id(0)",
        "get_local_id(0)",         "get_global_offset(0)",
        "get_num_groups(0)",       "get_global_linear_id()",
        "get_glo\\\nbal_size(0)",  "a ## b",
        "#include \"x.h\"\n",      "__builtin_x()",
        "sub_group_barrier(1)",    "asm(\"\")",
    };
    for (size_t i = 0; i < sizeof tells / sizeof *tells; i++)
        assert_false(source_ignores_grid(tells[i], ""));
    assert_false(source_ignores_grid("F(0)", "-DF=get_global_size"));
    assert_true(source_ignores_grid("get_global_id(0) + get_work_dim() + get_image_width(i)", ""));
    assert_true(options_allow_odd_groups("-cl-std=CL3.0 -DX"));
    assert_true(options_allow_odd_groups("-cl-std=CL1.2 -cl-std=CL2.0"));
    assert_false(options_allow_odd_groups("-cl-std=CL2.0 -cl-std=CL1.2"));
    assert_false(options_allow_odd_groups("-DX"));
}

/* A source, and which of the functions k, l and m cannot tell a launch in parts. */
static const struct {
    const char *source, *options, *may_be_cut;
} programs[] = {
#define SAFE(name) "kernel void " name "(global int *o) { o[get_global_id(0)] = 1; }\n"
#define TELLS(name) "kernel void " name "(global int *o) { o[get_local_id(0)] = 1; }\n"
    {SAFE("k") TELLS("l") SAFE("m"), "", "k m"},
    {"// get_group_id\n" SAFE(
         "k") "/* get_local_id(0) */ kernel void l(void) { printf(\"'asm\"); }\n",
     "", "k l"},
    {"int f(int i);\nint g(int i) { return f(i); }\nint f(int i) { return i + get_local_id(0); }\n"
     "kernel void k(global int *o) { o[0] = g(1); }\n" SAFE("l"),
     "", "l"},
    {"#define AT(o) \\\n  o[get_lo\\\ncal_id(0)]\n#define ALSO(o) AT(o)\n"
     "kernel void k(global int *o) { ALSO(o) = 1; }\n" SAFE("l"),
     "", "l"},
    {"kernel void k(global int *o) { F(o); }\n" SAFE("l"), "-D F(o)=o[get_local_id(0)]", "l"},
    {SAFE("k") TELLS("l"), "-DNAME=\"a b\"", ""},
    /* names that only macros know */
    {"#define NAME k\nkernel void NAME(global int *o) { o[get_local_id(0)] = 1; }\n"
     "kernel void m(void) {}\n#if 0\n" SAFE("k") "#endif\n",
     "", ""},
    {"#define NOTHING\nkernel void k NOTHING(global int *o) { o[get_local_id(0)] = 1; }\n" SAFE(
         "l"),
     "", ""},
    {"#define FUNCTION(name) int name(void) { return get_local_id(0); }\nFUNCTION(f)\n" SAFE("k"),
     "", ""},
    {"#define FUNCTION(name) int name(void) { return get_global_id(0); }\nFUNCTION(f)\n" SAFE("k")
         TELLS("l"),
     "", "k"},
    {"#define GLUE(a, b) a##b\nkernel void k(void) { GLUE(get_local, _id)(0); }\n" SAFE("l"), "",
     "l"},
    {"#define GLUE(a, b) a##b\nint GLUE(f, 1)(void) { return 1; }\n" SAFE("k"), "", ""},
    {"#define TWO void f(void) { get_local_id(0); } kernel void\nTWO l(void) {}\n"
     "kernel void k(void) { f(); }\n",
     "", ""},
    /* branches */
    {"#ifdef A\n" TELLS("k") "#else\n" SAFE("k") "#endif\n" SAFE("l"), "", "l"},
    {"kernel void k(global int *o) {\n#if A\n  if (1) { o[0] = 1; }\n#else\n  o[1] = 1;\n#endif\n"
     "  o[get_local_id(0)] = 1;\n}\n" SAFE("l"),
     "", "l"},
    {"kernel void k(global int *o) {\n#if A\n  o[1] = 2; }\n#else\n  o[get_local_id(0)] = 1; }\n"
     "#endif\n" SAFE("l"),
     "", ""},
    {"#define END }\nkernel void k(global int *o) { o[0] = 1; END\n" TELLS("l"), "", ""},
    {"static\n#ifdef A\nvoid f(void) { }\n#endif\nvoid g(void) { get_local_id(0); }\n"
     "kernel void k(void) { f(); }\n" SAFE("l"),
     "", ""},
    /* what is no function */
    {"typedef struct { int x; } pair;\nenum { N = 2 };\nconstant int t[] = { 1, 2 };\n" SAFE(
         "k") "pair l(pair p) { p.x = get_local_id(0); return p; }\n"
              "__attribute__((always_inline)) pair m(pair p) { return p; }\n",
     "", "k m"},
    {"int (^block)(void) = ^(void) { return (int)get_local_id(0); };\n" SAFE("k"), "", ""},
    {"#pragma OPENCL EXTENSION x : enable\n#if 0\n#error don't\n#endif\n" TELLS("k") SAFE("l"), "",
     "l"},
    {SAFE("k") "#include <x.h>\n", "", ""},
    {"kernel void k(global int *o) { o[0] = 1 <% 2; }\n" TELLS("l"), "", ""},
    {TELLS("k") SAFE("l") "}\n", "", ""},
    {"kernel void l(void) { k(); }\n" TELLS("k"), "", ""},
};

static void test_each_kernel_is_told_from_its_neighbours(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        struct text names = {0};
        text_append(&names, "", 0);
        source_kernels_without_grid(programs[i].source, programs[i].options, &names);
        for (const char *name = "klm"; *name; name++) {
            const char padded[] = {' ', *name, ' ', '\0'};
            const bool found = strstr(names.bytes, padded) != NULL;
            if (found != (strchr(programs[i].may_be_cut, *name) != NULL))
                fail_msg("%c is %sfound in program %zu:\n%s", *name, found ? "" : "not ", i,
                         programs[i].source);
        }
        free(names.bytes);
    }
}

/* That what a launch without a local size becomes is the kernel's own matter. */
static void test_a_neighbour_does_not_keep_a_launch_whole(void **state) {
    static const char *const names[] = {"count", "strided"};
    struct text both = {0};
    const cls_launch odd_line = cls_launch_1d(100003);
    (void)state;
    text_printf(&both, "%s%s", source, strided);
    for (int i = 0; i < 2; i++) {
        struct parts parts;
        open_parts(&parts, both.bytes, names[i], "-cl-std=CL1.2", CLS_ORDER_AUTO, 100003);
        const cls_arg args[] = {cls_arg_buffer(parts.cells), cls_arg_u32(100003), cls_arg_u32(1)};
        OK(cls_kernel_launch(parts.kernel, &odd_line, args, i == 0 ? 3 : 2, parts.stream));
        assert_int_equal(n_seen, i == 0 ? 2 : 1);
        if (i == 0)
            check_cells(&parts, 100003, 1);
        close_parts(&parts);
    }
    free(both.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_sizes_run_in_two_parts),
        cmocka_unit_test(test_each_kernel_is_told_from_its_neighbours),
        cmocka_unit_test(test_a_neighbour_does_not_keep_a_launch_whole),
        cmocka_unit_test(test_odd_rows_are_groups),
        cmocka_unit_test(test_round_and_small_sizes_run_as_they_are),
        cmocka_unit_test(test_parts_keep_the_order),
        cmocka_unit_test(test_a_refused_part_fails_the_launch),
        cmocka_unit_test(test_parts_fail_with_what_they_wait_for),
        cmocka_unit_test(test_small_groups_are_told_by_the_profile),
        cmocka_unit_test(test_unequal_groups_where_device_and_program_allow_them),
        cmocka_unit_test(test_what_a_source_can_ask),
    };
    return cmocka_run_group_tests_name("launch groups", tests, NULL, NULL);
}
