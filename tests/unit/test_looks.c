/* SPDX-License-Identifier: MIT */
/* A submitter in passing asks about the older half of what is in flight, and only once that is done goes on to
 * retire it: nothing is asked about the newer, which the driver is at work on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "core/context.h"
#include "core/stream.h"
#include "driver/caps.h"
#include "made_up_caps.h"

enum { LAUNCHES = 20 };

/* What the driver says of the launches' events, once they are known: the first `done` are complete, the others are at
 * work; until then all are. */
static struct play {
    atomic_bool plays;
    cl_event events[LAUNCHES];
    atomic_uint known, done;
    atomic_uint asked, asked_of_undone; /* questions, and those about what is not done */
} play;

static unsigned index_of(cl_event event) {
    unsigned i = 0;
    while (i < play.known && play.events[i] != event)
        i++;
    return i;
}

cl_int __real_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                             size_t *needed);
cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                             size_t *needed);

cl_int __wrap_clGetEventInfo(cl_event event, cl_event_info what, size_t size, void *value,
                             size_t *needed) {
    if (!play.plays || what != CL_EVENT_COMMAND_EXECUTION_STATUS)
        return __real_clGetEventInfo(event, what, size, value, needed);
    const bool done = index_of(event) < play.done;
    play.asked++;
    play.asked_of_undone += !done;
    *(cl_int *)value = done ? CL_COMPLETE : CL_RUNNING;
    return CL_SUCCESS;
}

/* One event a launch, cheap to ask of. */
static void plain(struct caps *caps) {
    caps->event_less = caps->chain_shares = false;
    caps->event_query_ns = 1;
}

struct setting {
    cls_context context;
    cls_stream stream;
    cls_program program;
    cls_kernel kernel;
    struct stream *inside;
};

/* A stream with all launches in flight, and its lock held. */
static void set_up(struct setting *setting) {
    const cls_launch one = cls_launch_1d(1);
    assert_int_equal(cls_context_create(NULL, &setting->context), CLS_SUCCESS);
    make_up_caps(setting->context, plain);
    assert_int_equal(cls_stream_create(setting->context, NULL, &setting->stream), CLS_SUCCESS);
    assert_int_equal(cls_program_from_source(setting->context, "kernel void none(void) {}", NULL,
                                             NULL, &setting->program),
                     CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(setting->program, "none", &setting->kernel), CLS_SUCCESS);
    setting->inside = object_peek(&stream_pool, setting->stream);
    play.known = play.done = 0;
    play.plays = true;
    for (unsigned i = 0; i < LAUNCHES; i++)
        assert_int_equal(cls_kernel_launch_async(setting->kernel, &one, NULL, 0, setting->stream),
                         CLS_SUCCESS);
    pthread_mutex_lock(&setting->inside->lock);
    assert_int_equal(clFinish(setting->inside->queue->cl), CL_SUCCESS);
    assert_int_equal(setting->inside->flights.count, LAUNCHES);
    for (unsigned i = 0; i < LAUNCHES; i++)
        play.events[i] = flight_at(&setting->inside->flights, i)->event;
    play.known = LAUNCHES;
}

static void tear_down(struct setting *setting) {
    play.plays = false;
    pthread_mutex_unlock(&setting->inside->lock);
    assert_int_equal(cls_stream_synchronize(setting->stream), CLS_SUCCESS);
    assert_int_equal(cls_kernel_destroy(setting->kernel), CLS_SUCCESS);
    assert_int_equal(cls_program_destroy(setting->program), CLS_SUCCESS);
    assert_int_equal(cls_stream_destroy(setting->stream), CLS_SUCCESS);
    assert_int_equal(cls_context_destroy(setting->context), CLS_SUCCESS);
}

/* How many launches are left when the first `done` are over and somebody looks. */
static unsigned left_after(struct setting *setting, struct stream *(*look)(struct stream *),
                           unsigned done) {
    play.done = done;
    play.asked = play.asked_of_undone = 0;
    assert_null(look(setting->inside));
    return setting->inside->flights.count;
}

static void test_an_older_half_that_is_done_is_retired(void **state) {
    struct setting setting;
    (void)state;
    set_up(&setting);
    assert_int_equal(left_after(&setting, flights_trim, LAUNCHES - 1), LAUNCHES / 2);
    assert_int_equal(play.asked_of_undone, 0);
    tear_down(&setting);
}

static void test_of_one_that_is_not_only_the_newest_is_asked(void **state) {
    struct setting setting;
    (void)state;
    set_up(&setting);
    assert_int_equal(left_after(&setting, flights_trim, LAUNCHES / 2 - 1), LAUNCHES);
    assert_int_equal(play.asked, 1);
    assert_int_equal(left_after(&setting, flights_trim, LAUNCHES / 2), LAUNCHES / 2);
    assert_int_equal(play.asked_of_undone, 0);
    tear_down(&setting);
}

static void test_a_poll_goes_as_far_as_it_can(void **state) {
    struct setting setting;
    (void)state;
    set_up(&setting);
    assert_int_equal(left_after(&setting, flights_poll, LAUNCHES - 1), 1);
    tear_down(&setting);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_older_half_that_is_done_is_retired),
        cmocka_unit_test(test_of_one_that_is_not_only_the_newest_is_asked),
        cmocka_unit_test(test_a_poll_goes_as_far_as_it_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
