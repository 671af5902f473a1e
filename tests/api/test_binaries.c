/* SPDX-License-Identifier: MIT */
/* Programs as bytes: there and back, and what is refused before the driver sees it. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_altered_bytes_are_refused),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, make_binary, free_binary);
}
