/* SPDX-License-Identifier: MIT */
/*
 * The order in which streams of different priority hand over what the library holds. An observer notes when
 * each command goes to the driver. The test submits behind a gate, opens it, and then leaves the streams to
 * the library's own threads: it looks at what the observer counts only.
 */
#include "../support/test.h"

#include <semaphore.h>
#include <stdio.h>
#include <time.h>

#include <clstream.h>

#include "../support/patience.h"
#include "stream/observe.h"
#include "stream/stream.h"
#include "system/clocks.h"

enum { STREAMS = 9, EACH = 4, MANY = 100, COMES_S = 60 };

static struct {
    struct {
        int priority;
        uint64_t handing;
    } seen[STREAMS * MANY];
    atomic_uint taken; /* places */
    atomic_uint count; /* fills that are done, and noted */
} notes;

/* Under a stream's lock, of which there are several. */
static void note(const struct stream *stream, const struct trace_record *trace_record) {
    if (trace_record->kind != CLS_COMMAND_FILL)
        return;
    unsigned i = atomic_fetch_add(&notes.taken, 1);
    notes.seen[i].priority = stream->priority;
    notes.seen[i].handing = trace_record->handing;
    atomic_fetch_add(&notes.count, 1);
}

static void nothing(void) {}

static const struct observer watcher = {note, nothing, nothing};

static void await_fills(unsigned count) {
    for (int ms = 0; atomic_load(&notes.count) < count; ms++) {
        assert_true((unsigned)ms < 1000 * patience(COMES_S));
        clock_sleep_ns(CLOCK_MS);
    }
}

/* --- the scene --- */

static struct {
    cls_context context;
    cls_stream gate, streams[STREAMS];
    int priorities[STREAMS];
    cls_event event; /* behind the gate */
    cls_buffer buffers[STREAMS];
    sem_t opened;
} scene;

static void wait_for_opening(void *arg) {
    (void)arg;
    while (sem_wait(&scene.opened))
        continue;
}

/* Streams of all priorities, in no order, that wait for an event behind the gate. */
static int open_scene(void **state) {
    static const int priorities[STREAMS] = {
        CLS_PRIORITY_LOW,    CLS_PRIORITY_HIGH, CLS_PRIORITY_NORMAL,
        CLS_PRIORITY_NORMAL, CLS_PRIORITY_LOW,  CLS_PRIORITY_HIGH,
        CLS_PRIORITY_HIGH,   CLS_PRIORITY_LOW,  CLS_PRIORITY_NORMAL,
    };
    (void)state;
    sem_init(&scene.opened, 0, 0);
    atomic_store(&notes.taken, 0);
    atomic_store(&notes.count, 0);
    if (cls_context_create(NULL, &scene.context) ||
        cls_stream_create(scene.context, NULL, &scene.gate) ||
        cls_event_create(scene.context, NULL, &scene.event))
        return -1;
    for (int i = 0; i < STREAMS; i++) {
        cls_stream_config config = CLS_STREAM_CONFIG_INIT;
        config.priority = scene.priorities[i] = priorities[i];
        if (cls_stream_create(scene.context, &config, &scene.streams[i]) ||
            cls_buffer_create(scene.context, 64, &scene.buffers[i]))
            return -1;
    }
    atomic_store(&observer_now, &watcher);
    if (cls_stream_launch_host_async(scene.gate, wait_for_opening, NULL) ||
        cls_event_record(scene.event, scene.gate))
        return -1;
    return 0;
}

static int close_scene(void **state) {
    (void)state;
    cls_status status = cls_context_synchronize(scene.context);
    atomic_store(&observer_now, NULL);
    for (int i = 0; i < STREAMS; i++) {
        cls_buffer_destroy(scene.buffers[i]);
        cls_stream_destroy(scene.streams[i]);
    }
    cls_event_destroy(scene.event);
    cls_stream_destroy(scene.gate);
    status = status ? status : cls_context_destroy(scene.context);
    sem_destroy(&scene.opened);
    return status ? -1 : 0;
}

static void fill(int i, unsigned times) {
    const uint32_t zero = 0;
    for (unsigned k = 0; k < times; k++)
        assert_int_equal(
            cls_fill_async(scene.buffers[i], 0, 64, &zero, sizeof zero, scene.streams[i]), 0);
}

/* The moments between which work of a priority went to the driver. */
static void span_of(int priority, uint64_t *first, uint64_t *last) {
    *first = UINT64_MAX;
    *last = 0;
    for (unsigned i = 0; i < atomic_load(&notes.count); i++) {
        if (notes.seen[i].priority != priority)
            continue;
        if (notes.seen[i].handing < *first)
            *first = notes.seen[i].handing;
        if (notes.seen[i].handing > *last)
            *last = notes.seen[i].handing;
    }
    assert_true(*first && *last);
}

static void held_work_goes_in_order_of_priority(void **state) {
    (void)state;
    uint64_t first[3], last[3];
    for (int i = 0; i < STREAMS; i++) {
        assert_int_equal(cls_stream_wait_event(scene.streams[i], scene.event), 0);
        fill(i, EACH);
    }
    sem_post(&scene.opened);
    await_fills(STREAMS * EACH);
    for (int i = 0; i < 3; i++)
        span_of(CLS_PRIORITY_HIGH + i, &first[i], &last[i]);
    assert_true(last[0] <= first[1]); /* all the high before the first normal one */
    assert_true(last[1] <= first[2]);
}

static void streams_do_not_wait_for_more_urgent_ones_that_are_stuck(void **state) {
    (void)state;
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    cls_timeline never = NULL;
    assert_int_equal(cls_timeline_create(NULL, &never), 0);
    unsigned free_fills = 0;
    for (int i = 0; i < STREAMS; i++) {
        if (scene.priorities[i] == CLS_PRIORITY_LOW) {
            assert_int_equal(cls_stream_wait_event(scene.streams[i], scene.event), 0);
            fill(i, MANY);
            free_fills += MANY;
        } else {
            assert_int_equal(cls_stream_wait_timeline(scene.streams[i], never, 1), 0);
            fill(i, 1);
        }
    }
    sem_post(&scene.opened);
    await_fills(free_fills);
    assert_int_equal(cls_stream_get_counters(scene.streams[1], &counters), 0);
    assert_int_equal(counters.queued, 1); /* it is urgent, and stuck */
    assert_int_equal(cls_timeline_signal(never, 1), 0);
    assert_int_equal(cls_timeline_destroy(never), 0);
}

static void both_priorities_are_shown(void **state) {
    (void)state;
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    for (int i = 0; i < STREAMS; i++) {
        assert_int_equal(cls_stream_get_info(scene.streams[i], &info), 0);
        assert_int_equal(info.held_priority, scene.priorities[i]);
        assert_true(info.priority == scene.priorities[i] || info.priority == CLS_PRIORITY_NORMAL);
    }
    sem_post(&scene.opened);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(held_work_goes_in_order_of_priority, open_scene,
                                        close_scene),
        cmocka_unit_test_setup_teardown(streams_do_not_wait_for_more_urgent_ones_that_are_stuck,
                                        open_scene, close_scene),
        cmocka_unit_test_setup_teardown(both_priorities_are_shown, open_scene, close_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
