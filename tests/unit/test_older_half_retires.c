/* SPDX-License-Identifier: MIT */
/* A submitter in passing asks about the older half of what is in flight, and only once that is done goes on to
 * retire it: nothing is asked about the newer, which the driver is at work on. */
#include "../support/test.h"

#include <stdatomic.h>
#include <stdbool.h>

#include <clstream.h>
#include <clstream/opencl.h>

#include "driver/caps.h"
#include "driver/device.h"
#include "driver/quirk.h"
#include "made_up_caps.h"
#include "stream/context.h"
#include "stream/stream.h"

enum { LAUNCHES = 20, SPAN = 256, SETS = 2, SET = 4 };

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

/* What is launched from here on is at work, as the driver says. */
static void make(struct setting *setting, cls_order order, const char *source, const char *kernel) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    config.order = order;
    assert_int_equal(cls_context_create(NULL, &setting->context), CLS_SUCCESS);
    make_up_caps(setting->context, plain);
    /* Whose workaround asks about launches, too; here all grids are alike. */
    struct context *inside = object_peek(&context_pool, setting->context);
    inside->device->quirks &= ~(unsigned)QUIRK_UNLIKE_GRIDS_ABORT;
    assert_int_equal(cls_stream_create(setting->context, &config, &setting->stream), CLS_SUCCESS);
    assert_int_equal(
        cls_program_from_source(setting->context, source, NULL, NULL, &setting->program),
        CLS_SUCCESS);
    assert_int_equal(cls_kernel_create(setting->program, kernel, &setting->kernel), CLS_SUCCESS);
    setting->inside = object_peek(&stream_pool, setting->stream);
    play.known = play.done = 0;
    play.plays = true;
}

/* A stream with all launches in flight, and its lock held. */
static void set_up(struct setting *setting) {
    const cls_launch one = cls_launch_1d(1);
    make(setting, CLS_ORDER_AUTO, "kernel void none(void) {}", "none");
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

/* Launches of which no two in a row fit into one flight: together they use too many buffers. */
static void launch_apart(const struct setting *setting, unsigned n) {
    const cls_launch one = cls_launch_1d(1);
    cls_buffer buffers[SETS][SET];
    for (unsigned b = 0; b < SETS * SET; b++)
        assert_int_equal(cls_buffer_create(setting->context, 64, &buffers[b / SET][b % SET]),
                         CLS_SUCCESS);
    for (unsigned i = 0; i < n; i++) {
        cls_arg args[SET];
        for (unsigned b = 0; b < SET; b++)
            args[b] = cls_arg_buffer(buffers[i % SETS][b]);
        assert_int_equal(cls_kernel_launch_async(setting->kernel, &one, args, SET, setting->stream),
                         CLS_SUCCESS);
    }
    for (unsigned b = 0; b < SETS * SET; b++)
        assert_int_equal(cls_buffer_destroy(buffers[b / SET][b % SET]), CLS_SUCCESS);
}

static struct caps *caps_of(const struct setting *setting) {
    return (struct caps *)(uintptr_t)setting->inside->context->caps;
}

/* As where in-order streams have few events, and asking is dear. */
static void set_up_sparse(struct setting *setting) {
    make(setting, CLS_ORDER_IN_ORDER,
         "kernel void four(global int *a, global int *b, global int *c, global int *d) {"
         " *a = *b = *c = *d = 1; }",
         "four");
    caps_of(setting)->event_less = true;
    setting->inside->events.mode = EVENTS_SPARSE;
    caps_of(setting)->event_query_ns = 1000;
}

/* Of more than a batch has. */
static void test_one_event_may_tell_of_many_flights(void **state) {
    struct setting setting;
    (void)state;
    set_up_sparse(&setting);
    launch_apart(&setting, 2 * SPAN);
    pthread_mutex_lock(&setting.inside->lock);
    play.plays = false;
    assert_int_equal(clFinish(setting.inside->queue->cl), CL_SUCCESS);
    const unsigned before = setting.inside->flights.count;
    assert_null(flights_trim(setting.inside));
    const bool fewer = setting.inside->flights.count < before;
    const bool lies = setting.inside->context->device->quirks & QUIRK_STATUS_LIES;
    plain(caps_of(&setting));
    assert_true(before == 2 * SPAN && (fewer || lies));
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
        cmocka_unit_test(test_one_event_may_tell_of_many_flights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
