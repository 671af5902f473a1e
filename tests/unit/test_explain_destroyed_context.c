/* SPDX-License-Identifier: MIT */
/* A context that another thread destroys while it is being explained. */
#include "../support/test.h"

#include <clstream.h>

#include "stream/stream.h"

static cls_context going; /* destroyed before its streams are looked for */

struct stream *__real_stream_next(struct stream *previous);
struct stream *__wrap_stream_next(struct stream *previous);

struct stream *__wrap_stream_next(struct stream *previous) {
    const cls_context context = going;
    going = NULL;
    if (context)
        assert_int_equal(cls_context_destroy(context), CLS_SUCCESS);
    return __real_stream_next(previous);
}

static void test_a_context_that_goes_has_nothing_to_do(void **state) {
    char text[64] = "x";
    size_t length = 1;
    cls_context context;
    (void)state;
    assert_int_equal(cls_context_create(NULL, &context), CLS_SUCCESS);
    going = context;
    assert_int_equal(cls_context_explain(context, text, sizeof text, &length), CLS_SUCCESS);
    assert_null(going);
    assert_string_equal(text, "");
    assert_int_equal(length, 0);
    assert_int_equal(cls_context_explain(context, text, sizeof text, &length),
                     CLS_ERROR_INVALID_HANDLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_context_that_goes_has_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
