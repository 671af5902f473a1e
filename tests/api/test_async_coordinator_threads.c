/* SPDX-License-Identifier: MIT */
/* Async coordinators: operations on a buffer that are queued while a function submits another one on it. */
#include <clstream/async_coordinator.h>

#include "../support/rig.h"

enum { OLD = 3, NEW = 8 };

struct beside {
    cls_async_coordinator coordinator;
    cls_buffer cells, copy;
    uint32_t seen;
};

/* Reads the cell on its own stream, and has it downloaded beside. */
static cls_status download_beside(cls_stream stream, const cls_slot *slot, void *arg) {
    struct beside *beside = arg;
    (void)slot;
    OK(cls_async_coordinator_queue_download(beside->coordinator, cls_place_buffer(beside->cells),
                                            &beside->seen, sizeof beside->seen, NULL, 0, NULL));
    return cls_copy_d2d_async(beside->copy, 0, beside->cells, 0, sizeof beside->seen, stream);
}

static void what_follows_waits_for_both(void **state) {
    (void)state;
    const uint32_t old = OLD, new = NEW;
    struct beside beside = {.cells = rig_cells(1), .copy = rig_cells(1)};
    const cls_place place = cls_place_buffer(beside.cells);
    cls_compute compute = CLS_COMPUTE_INIT;
    struct gate gate;
    cls_stream uploads, downloads;
    OK(cls_async_coordinator_create(rig.context, NULL, &beside.coordinator));
    OK(cls_async_coordinator_get_stream(beside.coordinator, CLS_OP_DOWNLOAD, &downloads));
    OK(cls_async_coordinator_get_stream(beside.coordinator, CLS_OP_UPLOAD, &uploads));
    OK(cls_async_coordinator_queue_upload(beside.coordinator, &old, sizeof old, place, NULL, 0,
                                          NULL));
    gate_init(&gate);
    OK(cls_stream_launch_host_async(downloads, gate_hold, &gate));
    compute.fn = download_beside;
    compute.arg = &beside;
    compute.buffers = &beside.cells;
    compute.n_buffers = 1;
    OK(cls_async_coordinator_queue_compute(beside.coordinator, &compute, NULL, 0, NULL));
    OK(cls_async_coordinator_queue_upload(beside.coordinator, &new, sizeof new, place, NULL, 0,
                                          NULL));
    EXPECT(CLS_ERROR_TIMEOUT, cls_stream_wait(uploads, 50 * 1000 * 1000));
    gate_open(&gate);
    OK(cls_async_coordinator_synchronize_all(beside.coordinator));
    assert_int_equal(beside.seen, OLD);
    assert_int_equal(rig_cell(beside.cells, 0), NEW);
    OK(cls_async_coordinator_destroy(beside.coordinator));
    OK(cls_buffer_destroy(beside.cells));
    OK(cls_buffer_destroy(beside.copy));
    gate_destroy(&gate);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_follows_waits_for_both)};
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
