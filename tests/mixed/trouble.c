/* SPDX-License-Identifier: MIT */
/* Failures, resets, streams that go with their work pending, and questions at any time. */
#include <stdio.h>

#include "operations.h"

static cl_int refuse(cl_command_queue queue, void *arg) {
    (void)queue;
    (void)arg;
    return CL_OUT_OF_RESOURCES;
}

void do_fail(struct player *player, struct lane *lane) {
    char label[32];
    if (!player->world->fails)
        return;
    snprintf(label, sizeof label, "failure %u", atomic_fetch_add(&player->world->failures, 1));
    cls_status status = cls_stream_foreign_async(lane->stream, label, refuse, NULL);
    journal_note(player->journal, "lane %u: %s, %s", lane->number, label,
                 cls_status_string(status));
    model_poison(&lane->model, CAUSE_OWN);
    taken(player, lane, status, "foreign_async");
}

/* Where more than one failure is on its way, what the others come to is decided before the reset by
 * waiting for all work; or not, and then both answers are right, and the one given is kept to. */
static void reset_many(struct player *player, struct lane *lane) {
    const unsigned tries = 64;
    bool decide = !lane->model.unsure && (player->world->threads == 1 || chance(player, 2));
    if (decide)
        cls_context_synchronize(player->world->context);
    for (unsigned i = 0; i < tries; i++) {
        well(player, cls_stream_reset(lane->stream), "reset");
        cls_status status = cls_stream_synchronize(lane->stream);
        journal_note(player->journal, "lane %u: reset of %u failures%s, %s", lane->number,
                     lane->model.causes, decide ? ", decided" : "", cls_status_string(status));
        const bool right = model_ends(false, status) || (!decide && model_ends(true, status));
        answered(player, lane, right, status, "synchronize after a reset");
        if (status == CLS_SUCCESS)
            break;
    }
    model_reset(&lane->model);
}

void lane_recover(struct player *player, struct lane *lane) {
    lane_finish(player, lane);
    if (lane->model.causes > 1) {
        reset_many(player, lane);
    } else {
        cls_status status = cls_stream_reset(lane->stream);
        journal_note(player->journal, "lane %u: reset, %s", lane->number,
                     cls_status_string(status));
        well(player, status, "reset");
        model_reset(&lane->model);
    }
}

void do_recover(struct player *player, struct lane *lane) {
    lane_recover(player, lane);
    if (chance(player, 2))
        lane_compare(player, lane);
}

void do_settle(struct player *player, struct lane *lane) {
    lane_finish(player, lane);
    if (model_is_well(&lane->model))
        lane_compare(player, lane);
}

void do_query(struct player *player, struct lane *lane) {
    cls_status status = cls_stream_query(lane->stream);
    journal_note(player->journal, "lane %u: query, %s", lane->number, cls_status_string(status));
    answered(player, lane, model_answers(!model_is_well(&lane->model), status), status, "query");
}

void do_wait_a_while(struct player *player, struct lane *lane) {
    cls_status status = cls_stream_wait(lane->stream, draw(player, 500000));
    journal_note(player->journal, "lane %u: a short wait, %s", lane->number,
                 cls_status_string(status));
    answered(player, lane, model_answers(!model_is_well(&lane->model), status), status, "wait");
}

/* A mark somewhere in the stream's work, of which nobody knows where. */
static void mark_anywhere(struct player *player, cls_stream stream) {
    cls_event event = make_event(player);
    cls_event_record(event, stream);
    cls_event_query(event);
    well(player, cls_event_destroy(event), "event_destroy");
}

/* Without the lane's lock: other threads may be at work on the stream, or have destroyed it. */
void do_peek(struct player *player, struct lane *lane) {
    cls_stream_counters counters = CLS_STREAM_COUNTERS_INIT;
    cls_stream_memory memory = CLS_STREAM_MEMORY_INIT;
    cls_stream stream = lane->stream;
    switch (draw(player, 7)) {
    case 0:
        cls_stream_query(stream);
        break;
    case 1:
        cls_stream_wait(stream, draw(player, 200000));
        break;
    case 2:
        cls_stream_get_counters(stream, &counters);
        break;
    case 3:
        mark_anywhere(player, stream);
        break;
    case 4:
        cls_stream_get_memory(stream, &memory);
        break;
    case 5:
        cls_context_synchronize(player->world->context);
        break;
    default:
        cls_context_explain(player->world->context, NULL, 0, NULL);
        break;
    }
}

/* The lane goes on with a new stream, behind the old one or after it. */
void do_replace(struct player *player, struct lane *lane) {
    bool failed = !model_is_well(&lane->model);
    struct mark_model left;
    if (lane->is_default)
        return;
    if (lane->before)
        lane_finish(player, lane);
    lane->before = make_event(player);
    lane->before_failed = failed;
    well(player, cls_event_record(lane->before, lane->stream), "record before destroy");
    model_record(&left, &lane->model);
    journal_note(player->journal, "lane %u: destroyed%s", lane->number, failed ? ", poisoned" : "");
    well(player, cls_stream_destroy(lane->stream), "stream_destroy");
    if (failed) /* what the old stream was to wait for, as other lanes' use of its cells */
        cls_context_synchronize(player->world->context);
    lane_make_stream(player, lane);
    if (!failed || chance(player, 2)) {
        well(player, cls_stream_wait_event(lane->stream, lane->before),
             "wait for the stream before");
        model_wait(&lane->model, &left);
    } else {
        cls_status status = cls_event_synchronize(lane->before);
        answered(player, lane, model_ends(true, status), status, "the destroyed stream's event");
    }
    /* A signal of the new stream, poisoned, may come before those of the old one. */
    if (lane->timeline_named || failed)
        do_renew_timeline(player, lane);
}
