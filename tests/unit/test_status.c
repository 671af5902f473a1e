/* SPDX-License-Identifier: MIT */
/* Statuses, driver codes and the per-thread detail. */
#include "../support/test.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "driver/status.h"

static void every_status_has_its_own_name(void **state) {
    (void)state;
    for (int a = CLS_ERROR_FORKED; a <= CLS_NOT_READY; a++) {
        const char *name = cls_status_string((cls_status)a);
        assert_string_not_equal(name, "CLS_UNKNOWN_STATUS");
        for (int b = CLS_ERROR_FORKED; b < a; b++)
            assert_string_not_equal(name, cls_status_string((cls_status)b));
    }
    assert_string_equal(cls_status_string(CLS_ERROR_OVERLAP), "CLS_ERROR_OVERLAP");
    assert_string_equal(cls_status_string((cls_status)2), "CLS_UNKNOWN_STATUS");
    assert_string_equal(cls_status_string((cls_status)(CLS_ERROR_FORKED - 1)),
                        "CLS_UNKNOWN_STATUS");
}

static void codes_have_statuses_and_names(void **state) {
    static const struct {
        cl_int code;
        cls_status status;
        const char *name;
    } rows[] = {
        {CL_SUCCESS, CLS_SUCCESS, "CL_SUCCESS"},
        {CL_OUT_OF_HOST_MEMORY, CLS_ERROR_OUT_OF_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
        {CL_MEM_OBJECT_ALLOCATION_FAILURE, CLS_ERROR_OUT_OF_DEVICE_MEMORY,
         "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {CL_BUILD_PROGRAM_FAILURE, CLS_ERROR_BUILD_FAILED, "CL_BUILD_PROGRAM_FAILURE"},
        {-14, CLS_ERROR_COMMAND_FAILED, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
        {CL_INVALID_KERNEL_NAME, CLS_ERROR_NOT_FOUND, "CL_INVALID_KERNEL_NAME"},
        {-1001, CLS_ERROR_NO_DEVICE, "CL_PLATFORM_NOT_FOUND_KHR"},
        {-12345, CLS_ERROR_DRIVER, "CL_UNKNOWN_CODE"},
        {1, CLS_ERROR_DRIVER, "CL_UNKNOWN_CODE"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(status_of_cl(rows[i].code), rows[i].status);
        assert_string_equal(cl_code_name(rows[i].code), rows[i].name);
    }
}

/* The codes of OpenCL 3.0's header, without a gap: -1 to -19 and -30 to -72. */
static void every_code_of_the_standard_is_known(void **state) {
    (void)state;
    for (cl_int code = -72; code < 0; code++) {
        int known = strcmp(cl_code_name(code), "CL_UNKNOWN_CODE") != 0;
        assert_int_equal(known, code >= -19 || code <= -30);
        assert_int_not_equal(status_of_cl(code), CLS_SUCCESS);
    }
}

static void driver_failure_is_told_with_its_call(void **state) {
    (void)state;
    cls_clear_last_error();
    assert_int_equal(driver_status(CL_SUCCESS, "clFlush"), CLS_SUCCESS);
    assert_string_equal(cls_last_error_detail(), "");
    assert_int_equal(driver_status(CL_OUT_OF_RESOURCES, "clFlush"), CLS_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_string_equal(cls_last_error_detail(), "clFlush: CL_OUT_OF_RESOURCES (-5)");
    assert_int_equal(cls_last_error_code(), CL_OUT_OF_RESOURCES);
    assert_int_equal(error_set(CLS_ERROR_IO, "no code"), CLS_ERROR_IO);
    assert_int_equal(cls_last_error_code(), 0);
}

static char *long_text(size_t length, char fill) {
    char *text = malloc(length + 1);
    assert_non_null(text);
    memset(text, fill, length);
    text[length] = '\0';
    return text;
}

/* Across the border between the static space and the heap. */
static void details_of_any_length_are_whole(void **state) {
    static const size_t lengths[] = {0, 1, 510, 511, 512, 513, 100000, 5, 70000, 512, 0};
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char *text = long_text(lengths[i], (char)('a' + i));
        error_set_code(CLS_ERROR_BUILD_FAILED, -11, "%s", text);
        assert_string_equal(cls_last_error_detail(), text);
        assert_int_equal(cls_last_error_code(), -11);
        free(text);
    }
    cls_clear_last_error();
    assert_string_equal(cls_last_error_detail(), "");
    assert_int_equal(cls_last_error_code(), 0);
}

static void message_may_quote_the_one_before(void **state) {
    (void)state;
    for (size_t length = 400; length < 1200; length += 400) {
        char *text = long_text(length, 'q');
        error_set(CLS_ERROR_IO, "%s", text);
        error_set(CLS_ERROR_IO, "copy: %s", cls_last_error_detail());
        assert_memory_equal(cls_last_error_detail(), "copy: q", 7);
        assert_string_equal(cls_last_error_detail() + 6, text);
        free(text);
    }
}

static void *report_in_thread(void *same) {
    char text[2000];
    memset(text, 't', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    if (*cls_last_error_detail() != '\0')
        return NULL;
    error_set(CLS_ERROR_IO, "%s", text);
    return strcmp(cls_last_error_detail(), text) ? NULL : same;
}

/* Words of either form, held while others of either form, or none, are stored. */
static void held_words_stand_again(void **state) {
    enum { LONG = 2000 };
    char *mine = long_text(LONG, 'm'), *others = long_text(LONG, 'o');
    const char *before[] = {"", "mine", mine}, *between[] = {NULL, "others", others};
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned k = 0; k < 3; k++)
            for (unsigned fails = 0; fails < 2; fails++) {
                struct detail held;
                cls_clear_last_error();
                error_set_code(CLS_ERROR_IO, -7, "%s", before[i]);
                const char *handed_out = cls_last_error_detail();
                const unsigned long count = error_count();
                error_save(&held);
                assert_string_equal(cls_last_error_detail(), "");
                assert_int_equal(cls_last_error_code(), 0);
                if (between[k])
                    error_set_code(CLS_ERROR_IO, -8, "%s", between[k]);
                const cls_status status = fails ? CLS_ERROR_IO : CLS_SUCCESS;
                assert_int_equal(error_restore(&held, status), status);
                const bool theirs = fails && between[k];
                assert_string_equal(cls_last_error_detail(), theirs ? between[k] : before[i]);
                assert_int_equal(cls_last_error_code(), theirs ? -8 : -7);
                assert_int_equal(error_count(), count + theirs);
                if (!theirs)
                    assert_ptr_equal(cls_last_error_detail(), handed_out);
            }
    free(mine);
    free(others);
}

static void threads_have_details_of_their_own(void **state) {
    pthread_t threads[8];
    (void)state;
    error_set_code(CLS_ERROR_LIMIT, -7, "mine");
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, report_in_thread, state), 0);
    for (size_t i = 0; i < 8; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, state);
    }
    assert_string_equal(cls_last_error_detail(), "mine");
    assert_int_equal(cls_last_error_code(), -7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_own_name),
        cmocka_unit_test(codes_have_statuses_and_names),
        cmocka_unit_test(every_code_of_the_standard_is_known),
        cmocka_unit_test(driver_failure_is_told_with_its_call),
        cmocka_unit_test(details_of_any_length_are_whole),
        cmocka_unit_test(message_may_quote_the_one_before),
        cmocka_unit_test(held_words_stand_again),
        cmocka_unit_test(threads_have_details_of_their_own),
    };
    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
