/* SPDX-License-Identifier: MIT */
/* Programs as bytes: round trips, and refusals before the driver sees them; as SPIR-V; as the user's objects. */
#include "../support/rig.h"

#include <stdlib.h>
#include <string.h>

static const char source[] =
    "kernel void put(global uint *o, uint add) { o[get_global_id(0)] = VALUE + add; }\n";

static struct {
    void *bytes;
    size_t size;
} binary;

static int make_binary(void **state) {
    cls_program program;
    if (rig_setup(state))
        return -1;
    if (cls_program_from_source(rig.context, source, "put.cl", "-DVALUE=40", &program))
        return -1;
    const cls_status status = cls_program_get_binary(program, NULL, 0, &binary.size);
    if (status == CLS_ERROR_UNSUPPORTED)
        return cls_program_destroy(program);
    binary.bytes = malloc(binary.size);
    return status || !binary.bytes ||
           cls_program_get_binary(program, binary.bytes, binary.size, &binary.size) ||
           cls_program_destroy(program);
}

static int free_binary(void **state) {
    free(binary.bytes);
    return rig_teardown(state);
}

#define NEED_BINARY()  \
    if (!binary.bytes) \
    SKIP_BECAUSE("the driver gives no binaries")

static void test_there_and_back(void **state) {
    (void)state;
    NEED_BINARY();
    cls_program program, again;
    cls_kernel kernel;
    cls_buffer cells = rig_cells(8);
    size_t size = 0;
    OK(cls_program_from_binary(rig.context, binary.bytes, binary.size, &program));
    OK(cls_kernel_create(program, "put", &kernel));
    const cls_launch shape = cls_launch_1d(8);
    const cls_arg args[] = {cls_arg_buffer(cells), cls_arg_u32(2)};
    OK(cls_kernel_launch(kernel, &shape, args, 2, NULL));
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(rig_cell(cells, i), 42);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_kernel_launch(kernel, &shape, args, 1, NULL));
    OK(cls_kernel_destroy(kernel));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_kernel_create(program, "nothing", &kernel));
    /* A program of a binary has one too. */
    OK(cls_program_get_binary(program, NULL, 0, &size));
    void *second = malloc(size);
    OK(cls_program_get_binary(program, second, size, &size));
    OK(cls_program_destroy(program));
    OK(cls_program_from_binary(rig.context, second, size, &again));
    OK(cls_program_destroy(again));
    free(second);
    OK(cls_buffer_destroy(cells));
}

static void refused(cls_status status, const void *bytes, size_t size) {
    cls_program program = (cls_program)&binary;
    EXPECT(status, cls_program_from_binary(rig.context, bytes, size, &program));
    assert_ptr_equal(program, (cls_program)&binary);
}

/* Drivers abort on some of these. */
static void test_altered_bytes_are_refused(void **state) {
    (void)state;
    NEED_BINARY();
    unsigned char *copy = malloc(binary.size + 1);
    memcpy(copy, binary.bytes, binary.size);
    copy[binary.size] = 0;
    refused(CLS_ERROR_INVALID_VALUE, copy, binary.size + 1);
    refused(CLS_ERROR_INVALID_VALUE, copy, 0);
    for (size_t i = 0; i < 64; i++) {
        const size_t at = i * (binary.size - 1) / 63;
        refused(CLS_ERROR_INVALID_VALUE, copy, at);
        copy[at] ^= 0x10;
        refused(CLS_ERROR_INVALID_VALUE, copy, binary.size);
        copy[at] ^= 0x10;
    }
    refused(CLS_ERROR_INVALID_VALUE, source, sizeof source);
    refused(CLS_ERROR_INVALID_VALUE, NULL, 8);
    free(copy);
}

static void test_room(void **state) {
    (void)state;
    NEED_BINARY();
    cls_program program;
    size_t size = 7;
    char little[16];
    OK(cls_program_from_source(rig.context, source, NULL, "-DVALUE=1", &program));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_program_get_binary(program, little, sizeof little, &size));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_program_get_binary(program, NULL, 16, &size));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_program_get_binary(program, little, 0, NULL));
    assert_int_equal(size, 7);
    OK(cls_program_destroy(program));
}

/* kernel void put(global uint *o) { *o = 42; } */
enum { VOID = 1, UINT, POINTER, FUNCTION, ANSWER, PUT, TO, BODY, BOUND };
#define OP(words, code) ((uint32_t)(words) << 16 | (code))
#define PUT_TEXT 0x00747570
static uint32_t spirv[] = {
    0x07230203, 0x00010000, 0,         BOUND,    0, /* version 1.0 */
    OP(2, 17),  4,          OP(2, 17), 6,           /* capabilities: Addresses, Kernel */
    OP(3, 14),  2,          2,                      /* pointers of 64 bits, OpenCL */
    OP(4, 15),  6,          PUT,       PUT_TEXT,    /* entry point: a kernel */
    OP(2, 19),  VOID,                               /* types */
    OP(4, 21),  UINT,       32,        0,        OP(4, 32), POINTER,   5,
    UINT, /* global */
    OP(4, 33),  FUNCTION,   VOID,      POINTER,  OP(4, 43), UINT,      ANSWER,
    42, /* a constant */
    OP(5, 54),  VOID,       PUT,       0,        FUNCTION,  OP(3, 55), POINTER,
    TO,                                                                   /* the function */
    OP(2, 248), BODY,       OP(5, 62), TO,       ANSWER,    2,         4, /* an aligned store */
    OP(1, 253), OP(1, 56)};
enum { POINTER_BITS = 10 };

static uint32_t put_of(cls_program program) {
    cls_kernel kernel;
    cls_buffer cells = rig_cells(1);
    const cls_launch one = cls_launch_1d(1);
    const cls_arg args[] = {cls_arg_buffer(cells)};
    OK(cls_kernel_create(program, "put", &kernel));
    OK(cls_kernel_launch(kernel, &one, args, 1, NULL));
    const uint32_t seen = rig_cell(cells, 0);
    OK(cls_kernel_destroy(kernel));
    OK(cls_buffer_destroy(cells));
    return seen;
}

static void test_spirv(void **state) {
    (void)state;
    cls_program program;
    cl_device_id device;
    cl_uint bits = 0;
    OK(cls_context_get_cl(rig.context, NULL, &device));
    assert_int_equal(clGetDeviceInfo(device, CL_DEVICE_ADDRESS_BITS, sizeof bits, &bits, NULL), 0);
    spirv[POINTER_BITS] = bits == 32 ? 1 : 2;
    const cls_status status =
        cls_program_from_il(rig.context, spirv, sizeof spirv, "put.spv", NULL, &program);
    if (status == CLS_ERROR_UNSUPPORTED)
        SKIP_BECAUSE("%s", cls_last_error_detail());
    OK(status);
    assert_int_equal(put_of(program), 42);
    OK(cls_program_destroy(program));
}

static void test_other_bytes_are_no_spirv(void **state) {
    (void)state;
    cls_program program = NULL;
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_program_from_il(rig.context, source, sizeof source, NULL, NULL, &program));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_program_from_il(rig.context, spirv, sizeof spirv - 1, "cut.spv", NULL, &program));
    assert_non_null(strstr(cls_last_error_detail(), "cut.spv"));
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_program_from_il(rig.context, spirv, 0, NULL, NULL, &program));
    assert_null(program);
}

static cl_program own_program(cl_context context, const char *text) {
    cl_int code;
    cl_program made = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    return made;
}

static void test_own_programs_are_wrapped(void **state) {
    (void)state;
    cl_context context, other;
    cl_device_id device;
    cl_int code;
    cl_program again;
    cls_program program = NULL;
    OK(cls_context_get_cl(rig.context, &context, &device));
    cl_program own = own_program(context, "kernel void put(global uint *o) { *o = 43; }");
    EXPECT(CLS_ERROR_INVALID_STATE, cls_program_wrap(rig.context, own, &program));
    assert_int_equal(clBuildProgram(own, 1, &device, "", NULL, NULL), CL_SUCCESS);
    OK(cls_program_wrap(rig.context, own, &program));
    OK(cls_program_get_cl(program, &again));
    assert_ptr_equal(again, own);
    assert_int_equal(clReleaseProgram(own), CL_SUCCESS);
    assert_int_equal(put_of(program), 43);
    OK(cls_program_destroy(program));
    other = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    own = own_program(other, "kernel void put(global uint *o) { *o = 44; }");
    EXPECT(CLS_ERROR_WRONG_CONTEXT, cls_program_wrap(rig.context, own, &program));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_program_wrap(rig.context, NULL, &program));
    assert_int_equal(clReleaseProgram(own), CL_SUCCESS);
    assert_int_equal(clReleaseContext(other), CL_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_altered_bytes_are_refused),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_spirv),
        cmocka_unit_test(test_other_bytes_are_no_spirv),
        cmocka_unit_test(test_own_programs_are_wrapped),
    };
    return cmocka_run_group_tests(tests, make_binary, free_binary);
}
