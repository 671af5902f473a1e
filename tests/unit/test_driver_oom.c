/* SPDX-License-Identifier: MIT */
/*
 * Every allocation of the driver layer fails once: the call says so, and the same call succeeds
 * afterwards. Only the library's own allocations fail (--wrap at the link), never the driver's.
 */
#include "../support/test.h"

#include <stdbool.h>

#include "base/error.h"
#include "driver/caps.h"
#include "driver/program.h"

#include "child.h"
#include "failing_memory.h"
#include "scratch.h"

/* Each body fails allocation number `*(int *)arg`, and says whether there was one. */
enum { REACHED = 0, PAST_THE_LAST = -3 };

static int ended(void) {
    const bool reached = allocations_left < 0;
    allocations_left = -1;
    return reached ? REACHED : PAST_THE_LAST;
}

static int list_body(void *arg) {
    struct device *const *devices = NULL;
    size_t count = 77;
    allocations_left = *(int *)arg;
    cls_status status = device_list(&devices, &count);
    int result = ended();
    CHECK(status == CLS_SUCCESS || status == CLS_ERROR_OUT_OF_MEMORY);
    CHECK(status == CLS_SUCCESS || (devices == NULL && count == 77));
    CHECK(device_list(&devices, &count) == CLS_SUCCESS);
    return count ? result : NO_DEVICES;
}

static int caps_body(void *arg) {
    struct device *device;
    const struct caps *caps;
    if (device_find(NULL, &device) != CLS_SUCCESS)
        return NO_DEVICES;
    allocations_left = *(int *)arg;
    cls_status status = device_caps(device, &caps);
    int result = ended();
    CHECK(status == CLS_SUCCESS); /* the record is made, if not as full */
    return result;
}

static const char source[] = "__kernel void one(__global int *x) { x[0] = 1; }\n";
static const char broken[] = "__kernel void one(__global int *x) { x[0] = missing; }\n";

static int get_body_of(const char *text, cls_status wanted, int allocation) {
    const struct program_spec spec = {"one.cl", text, NULL};
    struct device *device;
    struct program_cache *cache;
    cl_program program = NULL;
    cl_int code;
    if (device_find(NULL, &device) != CLS_SUCCESS)
        return NO_DEVICES;
    cl_context context = clCreateContext(NULL, 1, &device->id, NULL, NULL, &code);
    CHECK(code == CL_SUCCESS);
    CHECK(program_cache_create(device, context, &cache) == CLS_SUCCESS);
    allocations_left = allocation;
    cls_status status = program_cache_get(cache, &spec, &program);
    int result = ended();
    CHECK(status == wanted || status == CLS_ERROR_OUT_OF_MEMORY);
    CHECK((status == CLS_SUCCESS) == (program != NULL));
    CHECK(status == CLS_SUCCESS || *cls_last_error_detail() != '\0');
    CHECK(program_cache_get(cache, &spec, &program) == wanted);
    program_cache_destroy(cache);
    clReleaseContext(context);
    return result;
}

static int get_body(void *arg) { return get_body_of(source, CLS_SUCCESS, *(int *)arg); }

static int broken_body(void *arg) {
    return get_body_of(broken, CLS_ERROR_BUILD_FAILED, *(int *)arg);
}

/* Fails the first allocation, the second, and so on until there is none left to fail. */
static void sweep(int (*body)(void *), int at_least) {
    for (int n = 0; n < 1000; n++) {
        int result = child_run(body, &n);
        if (result == NO_DEVICES) {
            print_message("no OpenCL device here\n");
            skip();
        }
        if (result == PAST_THE_LAST) {
            assert_true(n >= at_least);
            return;
        }
        if (result != REACHED)
            fail_msg("allocation %d: check in line %d failed", n, result);
    }
    fail_msg("no end of allocations");
}

static void device_list_can_be_made_again(void **state) {
    (void)state;
    sweep(list_body, 5);
}

static void capability_record_is_made_all_the_same(void **state) {
    (void)state;
    sweep(caps_body, 2);
}

static void program_can_be_asked_for_again(void **state) {
    (void)state;
    sweep(get_body, 4);
}

/* One allocation is for what the compiler says, where it says anything. */
static void build_error_without_memory_is_still_an_error(void **state) {
    (void)state;
    sweep(broken_body, 2);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        ON_DISK(device_list_can_be_made_again),
        ON_DISK(capability_record_is_made_all_the_same),
        ON_DISK(program_can_be_asked_for_again),
        ON_DISK(build_error_without_memory_is_still_an_error),
    };
    return cmocka_run_group_tests_name("driver_oom", tests, NULL, NULL);
}
