/* SPDX-License-Identifier: MIT */
/* Async coordinators: reports of what is done, each given once, and what is kept of a million operations. */
#include <stdio.h>

#include <clstream/mempool.h>

#include "async_coordinators.h"

enum { TEAM = 4, TEAM_OPS = 400 };

struct team {
    cls_async_coordinator c;
    cls_buffer cells[TEAM];
    uint32_t values[TEAM][TEAM_OPS];
    _Atomic unsigned char seen[TEAM * TEAM_OPS + 1];
    _Atomic unsigned found;
};

static bool collect(struct team *team) {
    cls_completion done[16];
    size_t n;
    if (cls_async_coordinator_poll(team->c, done, 16, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (done[i].status || done[i].kind != CLS_OP_UPLOAD || !done[i].op ||
            done[i].op > TEAM * TEAM_OPS || team->seen[done[i].op]++)
            return false;
        team->found++;
    }
    return true;
}

static bool work(void *arg, unsigned i) {
    struct team *team = arg;
    for (unsigned k = 0; k < TEAM_OPS; k++) {
        cls_op op;
        team->values[i][k] = k;
        if (cls_async_coordinator_queue_upload(team->c, &team->values[i][k], 4,
                                               cls_place_buffer(team->cells[i]), NULL, 0, &op))
            return false;
        if (k % 50 == 49 && cls_async_coordinator_wait(team->c, op, CLS_FOREVER))
            return false;
        if (!collect(team))
            return false;
    }
    while (team->found < TEAM * TEAM_OPS)
        if (!collect(team))
            return false;
    return true;
}

static void each_report_is_given_once_across_threads(void **state) {
    (void)state;
    static struct team team;
    team.c = coordinator_make();
    for (unsigned i = 0; i < TEAM; i++)
        team.cells[i] = rig_cells(1);
    assert_int_equal(team_run(TEAM, work, &team), 0);
    assert_int_equal(team.found, TEAM * TEAM_OPS);
    for (unsigned i = 0; i < TEAM; i++) {
        assert_int_equal(rig_cell(team.cells[i], 0), TEAM_OPS - 1);
        OK(cls_buffer_destroy(team.cells[i]));
    }
    OK(cls_async_coordinator_destroy(team.c));
}

static void reports_say_what_was_done(void **state) {
    (void)state;
    cls_async_coordinator c = coordinator_make();
    cls_buffer cells = rig_cells(1);
    struct step step = {cells, 1, 1, 0};
    uint32_t value = 1;
    cls_op ops[3] = {0};
    cls_completion done[4];
    size_t n, seen = 0;
    OK(cls_async_coordinator_queue_upload(c, &value, 4, cls_place_buffer(cells), NULL, 0, &ops[0]));
    ops[1] = compute(c, &step, NULL, 0);
    OK(cls_async_coordinator_queue_download(c, cls_place_buffer(cells), &value, 4, NULL, 0,
                                            &ops[2]));
    OK(cls_async_coordinator_synchronize_all(c));
    OK(cls_async_coordinator_poll(c, done, 2, &n));
    assert_int_equal(n, 2);
    OK(cls_async_coordinator_poll(c, done + 2, 2, &n));
    assert_int_equal(n, 1);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            seen += done[i].op == ops[k] && (int)done[i].kind == k && done[i].status == CLS_SUCCESS;
    assert_int_equal(seen, 3);
    OK(cls_async_coordinator_poll(c, done, 2, &n));
    assert_int_equal(n, 0);
    OK(cls_async_coordinator_destroy(c));
    OK(cls_buffer_destroy(cells));
}

/* --- bounds --- */

static long resident_kb(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*s %ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages * 4;
}

static void memory_stays_flat_over_a_million(void **state) {
    (void)state;
    enum { OPS = 1000000, FEW = 8 };
    cls_async_coordinator c = coordinator_make();
    cls_compute what = CLS_COMPUTE_INIT;
    cls_op op = 0;
    long before = 0;
    what.fn = nothing;
    what.n_buffers = 1;
    cls_stream stream;
    OK(cls_async_coordinator_get_stream(c, CLS_OP_COMPUTE, &stream));
    for (unsigned i = 0; i < OPS; i++) {
        cls_buffer fresh;
        OK(cls_malloc_async(stream, 16, &fresh));
        what.buffers = &fresh;
        const cls_op last = op;
        OK(cls_async_coordinator_queue_compute(c, &what, &last, last ? 1 : 0, &op));
        OK(cls_free_async(fresh, stream));
        if (i == OPS / FEW)
            before = resident_kb();
    }
    assert_int_equal(op, OPS);
    OK(cls_async_coordinator_wait(c, 1, CLS_FOREVER));
    OK(cls_async_coordinator_synchronize_all(c));
    assert_true(resident_kb() - before < 16 * 1024);
    OK(cls_async_coordinator_destroy(c));
}

static void the_oldest_reports_are_dropped(void **state) {
    (void)state;
    enum { KEPT = 3, OPS = 2 * KEPT + 1 };
    cls_async_coordinator_config config = CLS_ASYNC_COORDINATOR_CONFIG_INIT;
    cls_async_coordinator c;
    cls_compute what = CLS_COMPUTE_INIT;
    cls_op ops[OPS];
    cls_completion done[OPS];
    size_t n;
    config.reports = KEPT;
    what.fn = nothing;
    OK(cls_async_coordinator_create(rig.context, &config, &c));
    for (int i = 0; i < OPS; i++)
        OK(cls_async_coordinator_queue_compute(c, &what, NULL, 0, &ops[i]));
    OK(cls_async_coordinator_synchronize_all(c));
    OK(cls_async_coordinator_poll(c, done, OPS, &n));
    assert_int_equal(n, KEPT);
    for (int i = 0; i < KEPT; i++)
        assert_int_equal(done[i].op, ops[OPS - KEPT + i]);
    OK(cls_async_coordinator_destroy(c));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_report_is_given_once_across_threads),
        cmocka_unit_test(reports_say_what_was_done),
        cmocka_unit_test(memory_stays_flat_over_a_million),
        cmocka_unit_test(the_oldest_reports_are_dropped),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
