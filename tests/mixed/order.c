/* SPDX-License-Identifier: MIT */
/*
 * What orders streams: events, timelines, the user's own OpenCL events.
 *
 * A stream that comes to depend on what has failed drops all that it still holds, also what it was given before
 * the wait. The model does not know what that is, so a lane is settled before it is made to wait for what fails,
 * and then kept busy with work on memory that nobody looks at.
 */
#include "operations.h"

static void prepare_to_fail(struct player *player, struct lane *lane) {
    lane_finish(player, lane);
    for (unsigned n = draw(player, 5); n > 0; n--)
        do_aside(player, lane);
}

/* --- marks: events that anybody records and waits for --- */

static struct mark *lock_any_mark(struct player *player) {
    struct mark *mark = &player->world->marks[draw(player, MARKS)];
    pthread_mutex_lock(&mark->lock);
    return mark;
}

static unsigned number_of(const struct player *player, const struct mark *mark) {
    return (unsigned)(mark - player->world->marks);
}

void do_record(struct player *player, struct lane *lane) {
    struct mark *mark = lock_any_mark(player);
    cls_status status = cls_event_record(mark->event, lane->stream);
    model_record(&mark->model, &lane->model);
    journal_note(player->journal, "lane %u: records %u%s, %s", lane->number,
                 number_of(player, mark), mark->model.failed ? ", failed" : "",
                 cls_status_string(status));
    well(player, status, "record");
    pthread_mutex_unlock(&mark->lock);
}

void do_wait(struct player *player, struct lane *lane) {
    struct mark *mark = lock_any_mark(player);
    if (model_may_wait(&lane->model, &mark->model)) {
        if (mark->model.recorded && mark->model.failed)
            prepare_to_fail(player, lane);
        cls_status status = cls_stream_wait_event(lane->stream, mark->event);
        model_wait(&lane->model, &mark->model);
        journal_note(player->journal, "lane %u: waits for %u%s, %s", lane->number,
                     number_of(player, mark), mark->model.failed ? ", failed" : "",
                     cls_status_string(status));
        well(player, status, "wait_event");
    }
    pthread_mutex_unlock(&mark->lock);
}

void do_ask_mark(struct player *player, struct lane *lane) {
    struct mark *mark = lock_any_mark(player);
    cls_status status = chance(player, 2) ? cls_event_query(mark->event)
                                          : cls_event_wait(mark->event, draw(player, 100000));
    bool failed = mark->model.recorded && mark->model.failed;
    journal_note(player->journal, "asks %u, %s", number_of(player, mark),
                 cls_status_string(status));
    answered(player, lane, model_answers(failed, status), status, "an event");
    pthread_mutex_unlock(&mark->lock);
}

/* What the lane frees from here on is given to nobody before. */
void do_fence_frees(struct player *player, struct lane *lane) {
    struct mark *mark = lock_any_mark(player);
    well(player, cls_stream_frees_wait_event(lane->stream, mark->event), "frees_wait_event");
    journal_note(player->journal, "lane %u: frees wait for %u", lane->number,
                 number_of(player, mark));
    pthread_mutex_unlock(&mark->lock);
}

void do_renew_mark(struct player *player, struct lane *lane) {
    struct mark *mark = lock_any_mark(player);
    (void)lane;
    well(player, cls_event_destroy(mark->event), "event_destroy");
    mark->event = make_event(player);
    mark->model = (struct mark_model){.recorded = false};
    journal_note(player->journal, "renews %u", number_of(player, mark));
    pthread_mutex_unlock(&mark->lock);
}

/* --- edges of an event that lives for just that --- */

static void put_behind(struct player *player, struct lane *lane, struct lane *other) {
    cls_event event = make_event(player);
    struct mark_model mark;
    well(player, cls_event_record(event, other->stream), "record an edge");
    model_record(&mark, &other->model);
    if (mark.failed)
        prepare_to_fail(player, lane);
    well(player, cls_stream_wait_event(lane->stream, event), "wait for an edge");
    model_wait(&lane->model, &mark);
    well(player, cls_event_destroy(event), "event_destroy");
    journal_note(player->journal, "lane %u: behind lane %u%s", lane->number, other->number,
                 mark.failed ? ", failed" : "");
}

void do_follow(struct player *player, struct lane *lane, struct lane *other) {
    put_behind(player, lane, other);
}

/* Takes cells of another lane over: each waits for the other. */
void do_take_over(struct player *player, struct lane *lane, struct lane *other) {
    unsigned n = 1 + draw(player, ROW), to = draw(player, CELLS - n + 1),
             from = draw(player, CELLS - n + 1);
    put_behind(player, lane, other);
    journal_note(player->journal, "lane %u: takes over from lane %u", lane->number, other->number);
    taken(player, lane,
          cls_copy_d2d_async(lane->cells, to * 4, other->cells, from * 4, n * 4, lane->stream),
          "copy_d2d");
    model_write(&lane->model, to, &other->model.cells[from], n);
    put_behind(player, other, lane);
}

/* --- timelines --- */

static uint64_t next_value(struct player *player, const struct lane *lane) {
    return lane->values.value + 1 + draw(player, 3);
}

static void give_signal(struct player *player, struct lane *lane, uint64_t value) {
    cls_status status = cls_stream_signal_timeline(lane->stream, lane->timeline, value);
    model_signal(&lane->values, value, &lane->model);
    journal_note(player->journal, "lane %u: signals %u%s, %s", lane->number, (unsigned)value,
                 lane->values.failed ? ", failed" : "", cls_status_string(status));
    well(player, status, "signal_timeline");
}

void do_signal(struct player *player, struct lane *lane) {
    give_signal(player, lane, next_value(player, lane));
}

static void wait_for_value(struct player *player, struct lane *lane, struct lane *other,
                           uint64_t value, bool fails) {
    if (fails)
        prepare_to_fail(player, lane);
    cls_status status = cls_stream_wait_timeline(lane->stream, other->timeline, value);
    if (fails)
        model_poison(&lane->model, CAUSE_TIMELINE);
    journal_note(player->journal, "lane %u: waits for %u of lane %u%s, %s", lane->number,
                 (unsigned)value, other->number, fails ? ", failed" : "",
                 cls_status_string(status));
    well(player, status, "wait_timeline");
}

/* A value that was signalled, perhaps long ago; or one that is signalled behind some more work only. */
void do_wait_early(struct player *player, struct lane *lane, struct lane *other) {
    uint64_t value = next_value(player, other);
    bool fails = other->values.failed || !model_is_well(&other->model);
    if (other->values.value >= other->values.floor && chance(player, 2)) {
        value = other->values.floor +
                draw(player, (uint32_t)(other->values.value - other->values.floor + 1));
        wait_for_value(player, lane, other, value, model_value_fails(&other->values, value));
        return;
    }
    lane_make_room(player, lane);
    lane_make_room(player, other);
    wait_for_value(player, lane, other, value, fails);
    for (unsigned n = draw(player, 4); n > 0; n--)
        do_plain_command(player, chance(player, 2) ? lane : other);
    give_signal(player, other, value);
}

void do_ask_timeline(struct player *player, struct lane *lane) {
    const struct timeline_model *values = &lane->values;
    if (values->value < values->floor)
        return;
    uint64_t value = values->floor + draw(player, (uint32_t)(values->value - values->floor + 1));
    cls_status status = chance(player, 2)
                            ? cls_timeline_query(lane->timeline, value)
                            : cls_timeline_wait(lane->timeline, value, draw(player, 100000));
    journal_note(player->journal, "lane %u: asks for value %u, %s", lane->number, (unsigned)value,
                 cls_status_string(status));
    answered(player, lane, model_answers(model_value_fails(values, value), status), status,
             "a timeline");
}

/* Another one in its place; or the same once its failures are forgotten. */
void do_renew_timeline(struct player *player, struct lane *lane) {
    struct timeline_model *values = &lane->values;
    journal_note(player->journal, "lane %u: renews its timeline", lane->number);
    if (lane->timeline_named || chance(player, 2)) {
        well(player, cls_timeline_destroy(lane->timeline), "timeline_destroy");
        lane_make_timeline(player, lane);
        return;
    }
    if (values->value < values->floor)
        return;
    lane_finish(player, lane); /* a wait for what fails is over before all signals have come */
    cls_status status = cls_timeline_wait(lane->timeline, values->value, UINT64_MAX);
    answered(player, lane, model_ends(model_value_fails(values, values->value), status), status,
             "wait for a timeline");
    well(player, cls_timeline_reset(lane->timeline), "timeline_reset");
    *values = (struct timeline_model){values->value, values->value + 1, values->value, false};
}

/* --- the user's own OpenCL event --- */

/* Work of two lanes stands behind it before it is set, or fails. */
void do_hold(struct player *player, struct lane *lane, struct lane *other) {
    const bool fails = player->world->fails && chance(player, 4);
    cl_context context;
    cl_int code;
    if (player->world->blocking)
        return;
    well(player, cls_context_get_cl(player->world->context, &context, NULL), "get_cl");
    cl_event event = clCreateUserEvent(context, &code);
    if (code)
        return;
    lane_make_room(player, lane);
    lane_make_room(player, other);
    if (fails || !model_is_well(&lane->model)) {
        prepare_to_fail(player, lane);
        prepare_to_fail(player, other);
    }
    journal_note(player->journal, "lane %u: held%s", lane->number, fails ? ", to fail" : "");
    well(player, cls_stream_wait_cl(lane->stream, event), "wait_cl");
    if (fails)
        model_poison(&lane->model, CAUSE_EVENT);
    for (unsigned n = 1 + draw(player, 3); n > 0; n--)
        do_plain_command(player, lane);
    if (chance(player, 2))
        put_behind(player, other, lane);
    for (unsigned n = draw(player, 3); n > 0; n--)
        do_plain_command(player, other);
    clSetUserEventStatus(event, fails ? CL_OUT_OF_RESOURCES : CL_COMPLETE);
    clReleaseEvent(event);
}
