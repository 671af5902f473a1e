/* SPDX-License-Identifier: MIT */
/* Launches that share the last one's event, of a chain or on an in-order queue: those that nobody comes to ask of, and
 * no others. */
#include "../support/test.h"

#include "command/kernel.h"
#include "driver/caps.h"
#include "driver/event.h"
#include "made_up_caps.h"
#include "silent_driver.h"
#include "stream/context.h"
#include "stream/failure.h"
#include "stream/stream.h"
#include "stream/wait.h"

enum { SPAN = 16, LAUNCHES = 5 * SPAN, TRIES = 20 };

/* As where an event is dear to ask of. */
static void sharing(struct caps *caps) { caps->chain_shares = true; }

struct setting {
    struct world world;
    struct stream *inside;
    uint32_t rounds; /* that make a kernel slow */
};

static void set_up_order(struct setting *setting, cls_order order, unsigned max_in_flight) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    struct world *world = &setting->world;
    config.order = order;
    config.max_in_flight = max_in_flight;
    assert_int_equal(cls_context_create(NULL, &world->context), CLS_SUCCESS);
    make_up_caps(world->context, sharing);
    if (cls_stream_create(world->context, &config, &world->stream) == CLS_ERROR_UNSUPPORTED) {
        cls_context_destroy(world->context);
        print_message("the device has no out-of-order queues\n");
        skip();
    }
    assert_int_equal(cls_stream_destroy(world->stream), CLS_SUCCESS);
    setting->rounds = world_make(world, &config);
    assert_int_equal(cls_stream_synchronize(world->stream), CLS_SUCCESS);
    setting->inside = object_peek(&stream_pool, world->stream);
}

/* As where an in-order stream is better off without an event per command. */
static void set_up_in_order(struct setting *setting, unsigned max_in_flight) {
    set_up_order(setting, CLS_ORDER_IN_ORDER, max_in_flight);
    pthread_mutex_lock(&setting->inside->lock);
    setting->inside->events.mode = EVENTS_SPARSE;
    pthread_mutex_unlock(&setting->inside->lock);
}

static void set_up(struct setting *setting, unsigned max_in_flight) {
    set_up_order(setting, CLS_ORDER_OUT_OF_ORDER, max_in_flight);
}

static void run(const struct setting *setting, uint32_t rounds) {
    assert_int_equal(
        launch(setting->world.kernel, setting->world.cells, rounds, setting->world.stream),
        CLS_SUCCESS);
}

/* Flights of `n` launches behind a slow one that has them all wait; 0: it was over before they were counted. */
static unsigned flights_behind(const struct setting *setting, unsigned n) {
    const uint64_t before = atomic_load(&setting->inside->retired);
    run(setting, setting->rounds);
    for (unsigned i = 0; i < n; i++)
        run(setting, 1);
    pthread_mutex_lock(&setting->inside->lock);
    const bool all = atomic_load(&setting->inside->retired) == before;
    const unsigned count = all ? setting->inside->flights.count : 0;
    pthread_mutex_unlock(&setting->inside->lock);
    assert_int_equal(cls_stream_synchronize(setting->world.stream), CLS_SUCCESS);
    return count;
}

static unsigned flights_of(const struct setting *setting, unsigned n) {
    unsigned count, tries = 0;
    while ((count = flights_behind(setting, n)) == 0)
        assert_true(++tries < TRIES);
    return count;
}

static void test_launches_that_nobody_asks_of_share(void **state) {
    cls_stream_counters before = CLS_STREAM_COUNTERS_INIT, after = CLS_STREAM_COUNTERS_INIT;
    struct setting setting;
    (void)state;
    set_up(&setting, 0);
    assert_int_equal(cls_stream_get_counters(setting.world.stream, &before), CLS_SUCCESS);
    assert_int_equal(flights_of(&setting, LAUNCHES - 1), LAUNCHES / SPAN);
    assert_int_equal(cls_stream_get_counters(setting.world.stream, &after), CLS_SUCCESS);
    assert_int_equal((after.completed - before.completed) % LAUNCHES, 0);
    assert_int_equal(after.submitted, after.completed);
    assert_int_equal(after.failed, 0);
    world_close(&setting.world);
}

/* A bound that a few spans would fill is kept by launches. */
static void test_a_narrow_bound_is_not_filled_by_one(void **state) {
    struct setting setting;
    (void)state;
    set_up(&setting, 8);
    assert_int_equal(flights_of(&setting, 7), 8);
    world_close(&setting.world);
}

/* The slow one has an event of its own: the host waited for each before it. */
static void test_in_order_ones_leave_room_for_three_events_more(void **state) {
    struct setting setting;
    (void)state;
    set_up_in_order(&setting, 16);
    unsigned tries = 0;
    while (flights_behind(&setting, 12) != 1 + 12 / 4) /* the engine gives one more to who pauses */
        assert_true(++tries < TRIES);
    world_close(&setting.world);
}

/* Launches something whose end somebody can ask for, and later waits for that. */
struct asker {
    void (*launch)(const struct setting *setting, void *point);
    cls_status (*wait)(const struct setting *setting, void *point);
    void *point;
};

/* The host waits for a launch with a slow one behind it. False where that was over as well by then: nothing is
 * known. */
static bool is_told_by_itself(const struct setting *setting, const struct asker *asker) {
    const struct world *world = &setting->world;
    asker->launch(setting, asker->point);
    run(setting, 3 * setting->rounds);
    assert_int_equal(asker->wait(setting, asker->point), CLS_SUCCESS);
    const bool told = cls_stream_query(world->stream) == CLS_NOT_READY;
    assert_int_equal(cls_stream_synchronize(world->stream), CLS_SUCCESS);
    return told;
}

static void check_told_by_itself(const struct setting *setting, const struct asker *asker) {
    unsigned tries = 0;
    while (!is_told_by_itself(setting, asker))
        assert_true(++tries < TRIES);
}

/* A launch by itself would have an event as those before it, each of which was waited for. */
static void launch_and_record_by(const struct setting *setting, cls_event event,
                                 cls_stream stream) {
    run(setting, 1);
    run(setting, setting->rounds / 4);
    assert_int_equal(cls_event_record(event, stream), CLS_SUCCESS);
}

static void launch_and_record(const struct setting *setting, void *event) {
    launch_and_record_by(setting, *(cls_event *)event, setting->world.stream);
}

static cls_status wait_for_event(const struct setting *setting, void *event) {
    (void)setting;
    return cls_event_synchronize(*(cls_event *)event);
}

static void rest(void *unused) {
    (void)unused;
    nap(100);
}

static void check_record_is_told(struct setting *setting,
                                 void (*begin)(const struct setting *setting, void *event)) {
    cls_event event;
    assert_int_equal(cls_event_create(setting->world.context, NULL, &event), CLS_SUCCESS);
    check_told_by_itself(setting, &(struct asker){begin, wait_for_event, &event});
    assert_int_equal(cls_event_destroy(event), CLS_SUCCESS);
    world_close(&setting->world);
}

static void test_a_recorded_launch_is_told_by_itself(void **state) {
    struct setting setting;
    (void)state;
    set_up(&setting, 0);
    check_record_is_told(&setting, launch_and_record);
}

static void test_a_recorded_one_of_an_in_order_stream_too(void **state) {
    struct setting setting;
    (void)state;
    set_up_in_order(&setting, 0);
    check_record_is_told(&setting, launch_and_record);
}

/* The launch is held by the library when it is recorded. */
static void hold_and_record(const struct setting *setting, void *event) {
    assert_int_equal(cls_stream_launch_host_async(setting->world.stream, rest, NULL), CLS_SUCCESS);
    launch_and_record(setting, event);
}

static void test_a_held_one_that_is_recorded_too(void **state) {
    struct setting setting;
    (void)state;
    set_up_in_order(&setting, 0);
    check_record_is_told(&setting, hold_and_record);
}

static void launch_and_record_by_default(const struct setting *setting, void *event) {
    launch_and_record_by(setting, *(cls_event *)event, NULL);
}

/* The stream stands in for its context's own one. */
static void test_one_of_the_default_stream_too(void **state) {
    struct setting setting;
    cls_event event;
    (void)state;
    set_up_in_order(&setting, 0);
    struct context *context = setting.inside->context;
    struct stream *own = context->default_stream;
    assert_int_equal(cls_event_create(setting.world.context, NULL, &event), CLS_SUCCESS);
    context->default_stream = setting.inside;
    check_told_by_itself(&setting,
                         &(struct asker){launch_and_record_by_default, wait_for_event, &event});
    context->default_stream = own;
    assert_int_equal(cls_event_destroy(event), CLS_SUCCESS);
    world_close(&setting.world);
}

/* As layers above do, which keep positions. */
static void launch_at(const struct setting *setting, void *position) {
    const cls_launch shape = cls_launch_1d(16);
    const cls_arg args[] = {cls_arg_buffer(setting->world.cells), cls_arg_u32(setting->rounds / 4)};
    pthread_mutex_lock(&setting->inside->lock);
    assert_int_equal(
        launch_entered(setting->inside, setting->world.kernel, &shape, args, 2, position),
        CLS_SUCCESS);
}

static cls_status wait_for_position(const struct setting *setting, void *position) {
    return stream_wait(setting->inside, *(uint64_t *)position, WAIT_FOREVER);
}

static void test_a_launch_of_known_position_is_told_by_itself(void **state) {
    struct setting setting;
    uint64_t position;
    (void)state;
    set_up(&setting, 0);
    check_told_by_itself(&setting, &(struct asker){launch_at, wait_for_position, &position});
    world_close(&setting.world);
}

/* One that was held by the library when it was asked of keeps its event as well. */
static void test_a_held_launch_keeps_its_event(void **state) {
    struct setting setting;
    (void)state;
    set_up(&setting, 0);
    const struct world *world = &setting.world;
    assert_int_equal(cls_stream_launch_host_async(world->stream, rest, NULL), CLS_SUCCESS);
    run(&setting, setting.rounds);
    run(&setting, 1);
    run(&setting, 1);
    unsigned most = 0;
    for (unsigned ms = 0; ms < 10000 && cls_stream_query(world->stream) == CLS_NOT_READY; ms++) {
        pthread_mutex_lock(&setting.inside->lock);
        const unsigned count = setting.inside->flights.count;
        pthread_mutex_unlock(&setting.inside->lock);
        most = count > most ? count : most;
        nap(1);
    }
    assert_int_equal(most, 3);
    world_close(&setting.world);
}

/* The event of such launches is the last one's: that it has not started tells nothing of the others, which are not
 * given up on a failed stream as what will never start. */
static void test_those_of_a_failed_stream_are_waited_for(void **state) {
    struct setting setting;
    (void)state;
    set_up(&setting, 0);
    struct stream *stream = setting.inside;
    run(&setting, 4 * setting.rounds);
    run(&setting, 1);
    pthread_mutex_lock(&stream->lock);
    assert_int_equal(stream->flights.count, 1);
    struct flight *flight = flight_last(&stream->flights);
    struct event_ref *share = flight_event_ref(stream, flight);
    stream_fail_locked(stream, flight->first, CLS_ERROR_COMMAND_FAILED, -1, "made up");
    pthread_mutex_unlock(&stream->lock);
    assert_int_equal(cls_stream_synchronize(setting.world.stream), CLS_ERROR_COMMAND_FAILED);
    assert_int_equal(event_state(stream->context->device, share->event), CL_COMPLETE);
    event_ref_drop(share);
    world_close(&setting.world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches_that_nobody_asks_of_share),
        cmocka_unit_test(test_a_narrow_bound_is_not_filled_by_one),
        cmocka_unit_test(test_in_order_ones_leave_room_for_three_events_more),
        cmocka_unit_test(test_a_recorded_launch_is_told_by_itself),
        cmocka_unit_test(test_a_recorded_one_of_an_in_order_stream_too),
        cmocka_unit_test(test_a_held_one_that_is_recorded_too),
        cmocka_unit_test(test_one_of_the_default_stream_too),
        cmocka_unit_test(test_a_launch_of_known_position_is_told_by_itself),
        cmocka_unit_test(test_a_held_launch_keeps_its_event),
        cmocka_unit_test(test_those_of_a_failed_stream_are_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
