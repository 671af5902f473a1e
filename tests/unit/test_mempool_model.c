/* SPDX-License-Identifier: MIT */
/*
 * The allocator against a model. Streams are real, but what they have submitted and what is done is set by
 * the test, so that every order of events can be had without a device. The model knows exactly what comes
 * before what; memory may be given again only where the model says that the free comes first.
 */
#include "../support/test.h"

#include <stdlib.h>
#include <string.h>

#include <clstream.h>

#include "base/size_class.h"
#include "memory/magazine.h"
#include "stream/context.h"

/* --- size classes --- */

static void check_class(size_t bytes, unsigned shift) {
    unsigned size_class = size_class_of(bytes, shift);
    size_t slot = size_class_bytes(size_class, shift), unit = (size_t)1 << shift;
    assert_true(slot >= bytes);
    assert_true(slot - bytes < unit || slot - bytes <= bytes / 8);
    assert_int_equal(slot % unit, 0);
    assert_int_equal(size_class_of(slot, shift), size_class);
    assert_int_equal(size_class_of(slot + 1, shift), size_class + 1);
}

static void every_size_has_a_class_that_fits(void **state) {
    (void)state;
    for (unsigned shift = 8; shift <= 12; shift += 4) {
        for (size_t bytes = 1; bytes < 300000; bytes += 1 + bytes / 999)
            check_class(bytes, shift);
        for (unsigned bit = 20; bit < (SIZE_MAX > UINT32_MAX ? 38 : 31); bit++)
            for (int off = -1; off <= 1; off++)
                check_class(((size_t)1 << bit) + (size_t)off, shift);
    }
#if SIZE_MAX > UINT32_MAX
    assert_true(size_class_of(SIZE_MAX, 8) >= SIZE_CLASSES);
    assert_true(size_class_bytes(SIZE_CLASSES - 1, 8) > (size_t)1 << 40);
#endif
}

/* --- the model --- */

enum { STREAMS = 5, POSITIONS = 4096, SLOTS = 4096, LIVE = 64, STEPS = 4000, EVENTS = 4 };

struct clock {
    uint64_t of[STREAMS];
};

/* How a slot was freed last. `past` stays true once it was: whoever took it then was right. */
struct free_note {
    struct buffer *slot;
    bool live;
    bool freed;
    bool held;
    bool past;
    unsigned stream;
    uint64_t position;
    struct clock fence;
};

struct model_stream {
    struct stream *stream;
    cls_stream handle;
    struct clock clock; /* what its next command comes after */
    struct clock waits; /* of its next command, pending */
    bool waiting;
    struct clock fence;
    struct clock *history; /* what each position comes after, itself included */
    struct clock *needs;   /* the waits that each position took along */
};

struct record {
    bool recorded;
    unsigned stream;
    uint64_t position;
};

struct model {
    uint64_t random;
    bool inserts;
    cls_context context;
    cls_mempool pool;
    struct model_stream streams[STREAMS];
    cls_event events[EVENTS];
    struct record records[EVENTS];
    struct free_note notes[SLOTS];
    unsigned n_notes;
    cls_buffer live[LIVE];
    unsigned n_live;
};

static uint32_t number(struct model *model, uint32_t below) {
    model->random ^= model->random << 13;
    model->random ^= model->random >> 7;
    model->random ^= model->random << 17;
    return (uint32_t)(model->random >> 16) % below;
}

static void join(struct clock *to, const struct clock *from) {
    for (unsigned i = 0; i < STREAMS; i++)
        if (from->of[i] > to->of[i])
            to->of[i] = from->of[i];
}

static bool is_reached(const struct model *model, const struct clock *clock) {
    for (unsigned i = 0; i < STREAMS; i++)
        if (atomic_load(&model->streams[i].stream->retired) < clock->of[i])
            return false;
    return true;
}

static void must(cls_status status) {
    if (status)
        fail_msg("%s: %s", cls_status_string(status), cls_last_error_detail());
}

/* --- the streams' work, as the test says it is --- */

static void submit(struct model *model, unsigned s) {
    struct model_stream *own = &model->streams[s];
    if (own->stream->submitted + 1 >= POSITIONS)
        return;
    pthread_mutex_lock(&own->stream->lock);
    uint64_t position = ++own->stream->submitted;
    deps_clear(&own->stream->waits);
    pthread_mutex_unlock(&own->stream->lock);
    own->needs[position] = own->waits;
    memset(&own->waits, 0, sizeof own->waits);
    own->waiting = false;
    own->clock.of[s] = position;
    own->history[position] = own->clock;
}

/* The oldest pending command is done, if what it waits for is. */
static void complete(struct model *model, unsigned s) {
    struct model_stream *own = &model->streams[s];
    uint64_t next = atomic_load(&own->stream->retired) + 1;
    if (next <= own->stream->submitted && is_reached(model, &own->needs[next]))
        atomic_store(&own->stream->retired, next);
}

/* Waits that nothing follows make a record submit a marker: here, a command of the test's. */
static void record(struct model *model, unsigned s) {
    unsigned event = number(model, EVENTS);
    if (model->streams[s].waiting)
        submit(model, s);
    if (model->streams[s].waiting)
        return;
    must(cls_event_record(model->events[event], model->streams[s].handle));
    model->records[event] = (struct record){true, s, model->streams[s].stream->submitted};
}

static void come_after(struct model *model, unsigned s, unsigned other, uint64_t position) {
    struct model_stream *own = &model->streams[s];
    join(&own->clock, &model->streams[other].history[position]);
    if (atomic_load(&model->streams[other].stream->retired) >= position)
        return;
    own->waiting = true;
    if (own->waits.of[other] < position)
        own->waits.of[other] = position;
}

static void wait_event(struct model *model, unsigned s) {
    unsigned event = number(model, EVENTS);
    const struct record *known = &model->records[event];
    if (!known->recorded || known->stream == s)
        return;
    must(cls_stream_wait_event(model->streams[s].handle, model->events[event]));
    come_after(model, s, known->stream, known->position);
}

static void fence(struct model *model, unsigned s) {
    unsigned event = number(model, EVENTS);
    const struct record *known = &model->records[event];
    if (!known->recorded || known->stream == s)
        return;
    must(cls_stream_frees_wait_event(model->streams[s].handle, model->events[event]));
    if (model->streams[s].fence.of[known->stream] < known->position)
        model->streams[s].fence.of[known->stream] = known->position;
}

/* --- memory --- */

static struct free_note *note_of(struct model *model, struct buffer *slot) {
    for (unsigned i = 0; i < model->n_notes; i++)
        if (model->notes[i].slot == slot)
            return &model->notes[i];
    assert_true(model->n_notes < SLOTS);
    model->notes[model->n_notes] = (struct free_note){.slot = slot};
    return &model->notes[model->n_notes++];
}

static bool is_past(const struct model *model, const struct free_note *note) {
    const struct model_stream *own = &model->streams[note->stream];
    uint64_t retired = atomic_load(&own->stream->retired);
    bool waits_over = retired == own->stream->submitted && note->position == retired + 1 &&
                      is_reached(model, &own->waits);
    return (retired >= note->position || waits_over) && is_reached(model, &note->fence);
}

/* What is past is past for good. */
static void look_at_notes(struct model *model) {
    for (unsigned i = 0; i < model->n_notes; i++) {
        struct free_note *note = &model->notes[i];
        if (note->freed && !note->past)
            note->past = is_past(model, note);
    }
}

/* A dependency that the allocator inserted is one from now on. */
static void see_inserted(struct model *model, unsigned s, unsigned other) {
    struct stream *stream = model->streams[s].stream;
    uint64_t position = deps_position_of(&stream->waits, model->streams[other].stream);
    if (model->inserts && position > model->streams[s].waits.of[other])
        come_after(model, s, other, position);
}

static void check_reuse(struct model *model, unsigned s, struct free_note *note) {
    assert_false(note->live);
    if (!note->freed || note->past)
        return;
    assert_false(note->held);
    if (note->stream == s)
        return;
    see_inserted(model, s, note->stream);
    assert_true(model->streams[s].clock.of[note->stream] >= note->position);
}

static struct buffer *slot_behind(cls_buffer handle) {
    struct buffer *slot = object_peek(&buffer_pool, handle);
    assert_non_null(slot);
    return slot;
}

static void allocate(struct model *model, unsigned s) {
    static const size_t sizes[] = {100, 256, 3000, 3000, 40000, 300000};
    cls_buffer buffer;
    if (model->n_live == LIVE)
        return;
    must(cls_mempool_malloc_async(model->pool, model->streams[s].handle,
                                  sizes[number(model, sizeof sizes / sizeof *sizes)], &buffer));
    struct free_note *note = note_of(model, slot_behind(buffer));
    check_reuse(model, s, note);
    *note = (struct free_note){.slot = note->slot, .live = true};
    model->live[model->n_live++] = buffer;
}

static void note_free(struct model *model, unsigned s, struct free_note *note, bool when_done) {
    struct model_stream *own = &model->streams[s];
    bool fenced = !is_reached(model, &own->fence);
    *note = (struct free_note){.slot = note->slot,
                               .freed = true,
                               .held = fenced || when_done,
                               .stream = s,
                               .position = own->stream->submitted + own->waiting,
                               .fence = own->fence};
}

/* A dependency on a free behind pending waits needs a marker of the real stream. */
static void spare_the_marker(struct model *model, unsigned s) {
    if (model->inserts && model->streams[s].waiting)
        submit(model, s);
}

static void release(struct model *model, unsigned s) {
    spare_the_marker(model, s);
    if (!model->n_live || (model->inserts && model->streams[s].waiting))
        return;
    unsigned i = number(model, model->n_live);
    cls_buffer buffer = model->live[i];
    struct free_note *note = note_of(model, slot_behind(buffer));
    must(cls_free_async(buffer, model->streams[s].handle));
    assert_int_equal(cls_free_async(buffer, model->streams[s].handle), CLS_ERROR_INVALID_HANDLE);
    note_free(model, s, note, false);
    model->live[i] = model->live[--model->n_live];
}

static void release_all(struct model *model, unsigned s) {
    bool when_done = number(model, 2);
    spare_the_marker(model, s);
    if (model->inserts && model->streams[s].waiting)
        return;
    unsigned kept = 0;
    struct buffer *slots[LIVE];
    for (unsigned i = 0; i < model->n_live; i++)
        slots[i] = slot_behind(model->live[i]);
    must(cls_stream_free_all_async(model->streams[s].handle,
                                   when_done ? CLS_FREE_WHEN_DONE : CLS_FREE_IN_ORDER));
    for (unsigned i = 0; i < model->n_live; i++)
        if (object_peek(&buffer_pool, model->live[i]))
            model->live[kept++] = model->live[i];
        else
            note_free(model, s, note_of(model, slots[i]), when_done);
    model->n_live = kept;
}

static void trim(struct model *model, unsigned s) {
    (void)s;
    must(cls_mempool_trim(model->pool, number(model, 2) ? 0 : 1 << 19));
}

/* --- episodes --- */

static const struct {
    unsigned weight;
    void (*fn)(struct model *model, unsigned s);
} steps[] = {{30, submit},  {25, complete}, {10, record},     {10, wait_event}, {40, allocate},
             {38, release}, {2, fence},     {1, release_all}, {1, trim}};

static void step(struct model *model) {
    unsigned sum = 0, kind = 0;
    for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++)
        sum += steps[i].weight;
    unsigned at = number(model, sum);
    while (at >= steps[kind].weight)
        at -= steps[kind++].weight;
    steps[kind].fn(model, number(model, STREAMS));
    look_at_notes(model);
}

/* Of all episodes, of which there are a hundred: what it takes to make one is the driver's. */
static cls_context shared_context;

static int open_context(void **state) {
    (void)state;
    return cls_context_create(NULL, &shared_context);
}

static int close_context(void **state) {
    (void)state;
    return cls_context_destroy(shared_context);
}

static void open_model(struct model *model, uint64_t seed, cls_reuse reuse) {
    cls_mempool_config config = CLS_MEMPOOL_CONFIG_INIT;
    config.reuse = reuse;
    model->random = seed * 2654435761u + 88172645463325252u;
    model->inserts = reuse & CLS_REUSE_INSERT;
    model->context = shared_context;
    must(cls_mempool_create(model->context, &config, &model->pool));
    for (unsigned i = 0; i < STREAMS; i++) {
        struct model_stream *own = &model->streams[i];
        must(cls_stream_create(model->context, NULL, &own->handle));
        own->stream = object_peek(&stream_pool, own->handle);
        own->history = calloc(POSITIONS, sizeof *own->history);
        own->needs = calloc(POSITIONS, sizeof *own->needs);
        assert_non_null(own->history);
        assert_non_null(own->needs);
    }
    for (unsigned i = 0; i < EVENTS; i++)
        must(cls_event_create(model->context, NULL, &model->events[i]));
}

/* All work is done and all memory freed: then all of it goes back. */
static void close_model(struct model *model, cls_mempool_statistics *total) {
    cls_mempool_statistics stats = CLS_MEMPOOL_STATISTICS_INIT;
    for (unsigned i = 0; i < STREAMS; i++) {
        pthread_mutex_lock(&model->streams[i].stream->lock);
        deps_clear(&model->streams[i].stream->waits);
        atomic_store(&model->streams[i].stream->retired, model->streams[i].stream->submitted + 1);
        pthread_mutex_unlock(&model->streams[i].stream->lock);
    }
    while (model->n_live)
        must(cls_free_async(model->live[--model->n_live], model->streams[0].handle));
    must(cls_mempool_trim(model->pool, 0));
    must(cls_mempool_get_statistics(model->pool, &stats));
    assert_int_equal(stats.used, 0);
    assert_int_equal(stats.reserved, 0);
    assert_int_equal(stats.mallocs, stats.frees);
    total->fresh += stats.fresh;
    total->same_stream += stats.same_stream;
    total->followed += stats.followed;
    total->done += stats.done;
    total->inserted += stats.inserted;
    for (unsigned i = 0; i < EVENTS; i++)
        must(cls_event_destroy(model->events[i]));
    for (unsigned i = 0; i < STREAMS; i++) {
        must(cls_stream_destroy(model->streams[i].handle));
        free(model->streams[i].history);
        free(model->streams[i].needs);
    }
    must(cls_mempool_destroy(model->pool));
}

static void play(cls_reuse reuse, unsigned episodes, cls_mempool_statistics *total) {
    memset(total, 0, sizeof *total);
    for (unsigned seed = 1; seed <= episodes; seed++) {
        struct model *model = calloc(1, sizeof *model);
        assert_non_null(model);
        open_model(model, seed, reuse);
        for (unsigned i = 0; i < STEPS; i++)
            step(model);
        close_model(model, total);
        free(model);
    }
}

static void reuse_is_always_ordered(void **state) {
    (void)state;
    cls_mempool_statistics total;
    play(CLS_REUSE_FOLLOW_DONE, 60, &total);
    print_message("fresh %llu, same stream %llu, followed %llu, done %llu\n",
                  (unsigned long long)total.fresh, (unsigned long long)total.same_stream,
                  (unsigned long long)total.followed, (unsigned long long)total.done);
    assert_true(total.same_stream > 100);
    assert_true(total.followed > 100);
    assert_true(total.done > 100);
    assert_int_equal(total.inserted, 0);
}

static void each_policy_alone(void **state) {
    (void)state;
    cls_mempool_statistics total;
    play(CLS_REUSE_FOLLOW, 5, &total);
    assert_true(total.followed > 10);
    play(CLS_REUSE_DONE, 5, &total);
    assert_int_equal(total.followed, 0);
    play(CLS_REUSE_NONE, 5, &total);
    assert_int_equal(total.followed, 0);
    play(CLS_REUSE_ALL, 20, &total);
    assert_true(total.inserted > 100);
    play(CLS_REUSE_INSERT, 20, &total);
    assert_true(total.inserted > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_has_a_class_that_fits),
        cmocka_unit_test(reuse_is_always_ordered),
        cmocka_unit_test(each_policy_alone),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
