/* SPDX-License-Identifier: MIT */
/* libcuda's calls fail, on a device whose memory it makes (linked.h and libcuda.c play both): linked_device.sh runs it. */
#include "../../support/rig.h"

#include <dlfcn.h>
#include <unistd.h>

#include <clstream/share.h>

#include "libcuda.h"

enum { BYTES = 100000, OUT_OF_MEMORY = 2, UNKNOWN = 999 };

static const struct libcuda_controls *cuda;
static cls_context other;

static int setup(void **state) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    cuda = library ? dlsym(library, LIBCUDA_CONTROLS) : NULL;
    if (!cuda) {
        print_error("no made-up libcuda: %s\n", dlerror());
        return -1;
    }
    return rig_setup(state) || cls_context_create(NULL, &other) ? -1 : 0;
}

static int teardown(void **state) {
    OK(cls_context_destroy(other));
    return rig_teardown(state);
}

/* The first question about the device. The first call is cuInit, which is not tried again; the next has no memory once. */
static void test_what_had_no_memory_to_be_tried_is_tried_again(void **state) {
    cls_share_info info = CLS_SHARE_INFO_INIT;
    (void)state;
    cuda->arm(2, OUT_OF_MEMORY);
    OK(cls_context_can_share(rig.context, other, &info));
    cuda->arm(0, 0);
    assert_int_equal(info.kind, CLS_SHARE_DIRECT_LINK);
    assert_true(info.gb_per_s > 0 && info.latency_ns > 0);
    assert_int_equal(cuda->live(), 0);
}

/* The last four bytes, as this handle has them. */
static void expect_last(cls_buffer buffer, uint32_t wanted) {
    uint32_t seen = 0;
    OK(cls_copy_d2h(&seen, buffer, BYTES - 4, 4, NULL));
    assert_int_equal(seen, wanted);
}

/* Makes memory, opens it in the other context, and leaves its descriptor only. */
static cls_status make(int *fd) {
    cls_buffer made, opened;
    const uint32_t value = 5;
    cls_status status = cls_buffer_create_shareable(rig.context, BYTES, &made);
    if (status)
        return status;
    status = cls_buffer_open(other, made, &opened);
    if (!status) {
        OK(cls_fill(made, BYTES - 4, 4, &value, 4, NULL));
        expect_last(opened, value);
        OK(cls_buffer_destroy(opened));
        status = cls_buffer_export(made, fd);
    }
    OK(cls_buffer_destroy(made));
    return status;
}

static cls_status use_once(void) {
    cls_buffer imported;
    int fd;
    cls_status status = make(&fd);
    if (status)
        return status;
    status = cls_buffer_import(other, fd, BYTES, &imported);
    close(fd);
    if (!status) {
        expect_last(imported, 5);
        OK(cls_buffer_destroy(imported));
    }
    return status;
}

static bool has_memory_open(void) {
    enum { DESCRIPTORS = 1024 };
    int fd = 0;
    while (fd < DESCRIPTORS && !libcuda_owner(fd))
        fd++;
    return fd < DESCRIPTORS;
}

/* A driver may give up memory later, on a thread of its own. */
static void expect_memory_gone(void) {
    for (unsigned i = 0; i < 10000 && has_memory_open(); i++)
        nap_ms(1);
    assert_false(has_memory_open());
    assert_int_equal(cuda->live(), 0);
}

/* An import says that libcuda refused the descriptor, whatever the code. */
static void sweep(int code, cls_status wanted) {
    unsigned nth = 0;
    do {
        cuda->arm(++nth, code);
        const cls_status status = use_once();
        assert_true(status == CLS_SUCCESS || status == wanted || status == CLS_ERROR_INVALID_VALUE);
    } while (cuda->failed());
    assert_true(nth > 5);
    cuda->arm(0, 0);
    OK(use_once());
    expect_memory_gone();
}

static void test_every_call_of_libcuda_fails(void **state) {
    (void)state;
    OK(use_once());
    sweep(OUT_OF_MEMORY, CLS_ERROR_OUT_OF_DEVICE_MEMORY);
    sweep(UNKNOWN, CLS_ERROR_DRIVER);
}

static void test_memory_of_other_lengths(void **state) {
    cls_buffer made, imported = NULL;
    int fd;
    (void)state;
    OK(cls_buffer_create_shareable(rig.context, 3 << 20, &made));
    OK(cls_buffer_export(made, &fd));
    OK(cls_buffer_destroy(made));
    EXPECT(CLS_ERROR_SIZE_MISMATCH, cls_buffer_import(other, fd, 5 << 20, &imported));
    assert_null(imported);
    OK(cls_buffer_import(other, fd, 3 << 20, &imported));
    OK(cls_buffer_destroy(imported));
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_had_no_memory_to_be_tried_is_tried_again),
        cmocka_unit_test(test_every_call_of_libcuda_fails),
        cmocka_unit_test(test_memory_of_other_lengths),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
