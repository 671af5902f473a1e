/* SPDX-License-Identifier: MIT */
/* cls_pipeline_run: lists of functions, each after the one before it. */
#include <string.h>

#include <clstream/pipeline.h>

#include "../support/rig.h"

enum { ROUNDS = 40 };

struct list {
    cls_buffer cells;
    uint32_t out[ROUNDS];
    uint64_t fail_at;
};

static cls_status step_set(cls_stream stream, uint64_t input, void *arg) {
    const struct list *list = arg;
    if (input == list->fail_at)
        return CLS_ERROR_IO;
    return rig_set(stream, list->cells, (uint32_t)input, (uint32_t)input, 1);
}

static cls_status step_scale(cls_stream stream, uint64_t input, void *arg) {
    const struct list *list = arg;
    return rig_step(stream, list->cells, (uint32_t)input, 3, 2, 1);
}

static cls_status step_get(cls_stream stream, uint64_t input, void *arg) {
    struct list *list = arg;
    return cls_copy_d2h_async(&list->out[input], list->cells, input * 4, 4, stream);
}

static void steps_run_in_order(void **state) {
    (void)state;
    static struct list list;
    cls_stream a = rig_stream(), b = rig_stream();
    list.cells = rig_cells(ROUNDS);
    list.fail_at = UINT64_MAX;
    cls_step steps[] = {{step_set, a, &list}, {step_scale, b, &list}, {step_get, a, &list}};
    OK(cls_pipeline_run(steps, 3, ROUNDS));
    for (uint32_t i = 0; i < ROUNDS; i++)
        assert_int_equal(list.out[i], i * 3 + 2);
    list.fail_at = 4;
    memset(list.out, 0, sizeof list.out);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pipeline_run(NULL, 3, 1)); /* an older detail */
    EXPECT(CLS_ERROR_IO, cls_pipeline_run(steps, 3, ROUNDS));
    assert_string_equal(cls_last_error_detail(), "step 0, for input 4, returned CLS_ERROR_IO");
    assert_int_equal(list.out[3], 11);
    assert_int_equal(list.out[4], 0);
    OK(cls_pipeline_run(steps, 3, 0));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pipeline_run(NULL, 3, 1));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pipeline_run(steps, 0, 1));
    steps[1].fn = NULL;
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_pipeline_run_async(steps, 3, 1));
    OK(cls_stream_destroy(a));
    OK(cls_stream_destroy(b));
    OK(cls_buffer_destroy(list.cells));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_run_in_order)};
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
