/* SPDX-License-Identifier: MIT */
/* The contents of a program's binary besides the driver's, and their refusals. */
#include "../support/test.h"

#include <stdlib.h>
#include <string.h>

#include <clstream.h>

#include "command/kernel.h"
#include "driver/cache_blob.h"
#include "stream/context.h"

/* `put` may be cut into two launches; `size` may not. */
static const char source[] =
    "kernel void put(global uint *o) { o[get_global_id(0)] = 1; }\n"
    "kernel void size(global uint *o) { o[0] = (uint)get_global_size(0); }\n";

static struct {
    void *bytes;
    size_t size;
} binary;

static int make_binary(void **state) {
    cls_program program;
    (void)state;
    if (cls_program_from_source(NULL, source, NULL, NULL, &program))
        return -1;
    cls_status status = cls_program_get_binary(program, NULL, 0, &binary.size);
    if (!status && (binary.bytes = malloc(binary.size)))
        status = cls_program_get_binary(program, binary.bytes, binary.size, &binary.size);
    return (status && status != CLS_ERROR_UNSUPPORTED) || cls_program_destroy(program);
}

static int free_binary(void **state) {
    (void)state;
    free(binary.bytes);
    return 0;
}

#define NEED_BINARY()  \
    if (!binary.bytes) \
    SKIP_BECAUSE("the driver gives no binaries")

static bool may_be_cut(cls_program program, const char *name) {
    cls_kernel made;
    struct kernel *kernel;
    OK(cls_kernel_create(program, name, &made));
    OK(kernel_get(made, &kernel));
    const bool may = kernel->may_be_cut;
    object_release(&kernel->object);
    OK(cls_kernel_destroy(made));
    return may;
}

/* Launches of sizes without divisors are as they were. */
static void test_what_the_source_told_is_kept(void **state) {
    (void)state;
    NEED_BINARY();
    cls_program program;
    OK(cls_program_from_binary(NULL, binary.bytes, binary.size, &program));
    assert_true(may_be_cut(program, "put"));
    assert_false(may_be_cut(program, "size"));
    OK(cls_program_destroy(program));
}

static void refused(cls_status status, const void *bytes, size_t size) {
    cls_program program = (cls_program)&binary;
    EXPECT(status, cls_program_from_binary(NULL, bytes, size, &program));
    assert_ptr_equal(program, (cls_program)&binary);
}

static void refused_blob(cls_status status, struct cache_bytes key, struct cache_bytes payload) {
    size_t size;
    void *blob = cache_blob_pack(CACHE_BINARY, key, payload, &size);
    assert_non_null(blob);
    refused(status, blob, size);
    free(blob);
}

/* The checksum is right, but the contents are for another device, or of no use. */
static void test_other_devices_and_other_contents_are_refused(void **state) {
    (void)state;
    NEED_BINARY();
    struct context *context;
    struct cache_bytes key, payload;
    OK(context_get(NULL, &context));
    const char *identity = context->device->identity;
    assert_true(cache_blob_open((struct cache_bytes){binary.bytes, binary.size}, CACHE_BINARY, &key,
                                &payload));
    assert_int_equal(key.size, strlen(identity));
    refused_blob(CLS_ERROR_UNSUPPORTED, (struct cache_bytes){identity, key.size - 1}, payload);
    assert_non_null(strstr(cls_last_error_detail(), "another device"));
    refused_blob(CLS_ERROR_INVALID_VALUE, key, (struct cache_bytes){"--", 2});
    refused_blob(CLS_ERROR_INVALID_VALUE, key, (struct cache_bytes){"--\0\0put.cl", 10});
    context_put(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_the_source_told_is_kept),
        cmocka_unit_test(test_other_devices_and_other_contents_are_refused),
    };
    return cmocka_run_group_tests(tests, make_binary, free_binary);
}
