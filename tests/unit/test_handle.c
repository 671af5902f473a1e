/* SPDX-License-Identifier: MIT */
/* Handles: looked up by value, stale after destroy, safe against garbage and against threads. */
#include "../support/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/buffer.h>
#include <clstream/context.h>
#include <clstream/event.h>
#include <clstream/stream.h>
#include <clstream/timeline.h>

#include "base/handle.h"

struct thing {
    struct object object;
    int value;
};

static _Atomic int finalized;

static void thing_finalize(struct object *object) {
    (void)object;
    finalized++;
}

static struct object_pool things = OBJECT_POOL(9, sizeof(struct thing), "thing", thing_finalize);
static struct object_pool others = OBJECT_POOL(10, sizeof(struct thing), "other", thing_finalize);

static void handle_finds_its_object(void **state) {
    (void)state;
    struct thing *thing = object_create(&things);
    assert_non_null(thing);
    assert_int_equal(thing->value, 0);
    void *handle = object_handle(&thing->object);
    assert_ptr_equal(object_acquire(&things, handle), thing);
    object_release(&thing->object);
    assert_true(object_destroy(&things, handle));
}

static void destroyed_handle_is_stale_at_once(void **state) {
    (void)state;
    struct thing *thing = object_create(&things);
    void *handle = object_handle(&thing->object);
    object_retain(&thing->object);
    finalized = 0;
    assert_true(object_destroy(&things, handle));
    assert_null(object_acquire(&things, handle));
    assert_false(object_destroy(&things, handle));
    assert_int_equal(finalized, 0);
    object_release(&thing->object);
    assert_int_equal(finalized, 1);
}

static void recycled_slot_does_not_revive_old_handles(void **state) {
    (void)state;
    enum { TIMES = 1000 };
    void *old[TIMES];
    for (int i = 0; i < TIMES; i++) {
        struct thing *thing = object_create(&things);
        old[i] = object_handle(&thing->object);
        for (int j = 0; j < i; j++)
            assert_null(object_acquire(&things, old[j]));
        assert_true(object_destroy(&things, old[i]));
    }
}

/* The library's own objects end with their last reference. */
static void a_handle_that_nobody_ends_names_no_later_object(void **state) {
    (void)state;
    struct thing *thing = object_create(&things);
    const void *first = object_handle(&thing->object);
    object_release(&thing->object);
    assert_null(object_acquire(&things, first));
    thing = object_create(&things);
    assert_ptr_not_equal(object_handle(&thing->object), first);
    assert_null(object_acquire(&things, first));
    assert_true(object_destroy(&things, object_handle(&thing->object)));
}

static void foreign_and_garbage_handles_are_refused(void **state) {
    (void)state;
    struct thing *thing = object_create(&things);
    void *handle = object_handle(&thing->object);
    assert_null(object_acquire(&others, handle));
    assert_null(object_acquire(&things, NULL));
    assert_null(object_acquire(&things, thing));
    srand(1);
    for (int i = 0; i < 1000000; i++) {
        uintptr_t bits = 0;
        for (size_t k = 0; k < sizeof bits; k++)
            bits = bits << 8 | (uintptr_t)(rand() & 255);
        if ((void *)bits != handle)
            assert_null(object_acquire(&things, (void *)bits));
    }
    assert_true(object_destroy(&things, handle));
}

static void detail_tells_what_is_wrong(void **state) {
    (void)state;
    struct thing *thing = object_create(&things);
    void *handle = object_handle(&thing->object);
    object_destroy(&things, handle);
    assert_int_equal(object_invalid(&things, handle), CLS_ERROR_INVALID_HANDLE);
    assert_non_null(strstr(cls_last_error_detail(), "stale"));
    object_invalid(&things, NULL);
    assert_non_null(strstr(cls_last_error_detail(), "null"));
    object_invalid(&things, thing);
    assert_non_null(strstr(cls_last_error_detail(), "is no thing handle"));
}

static void many_objects_have_places_of_their_own(void **state) {
    (void)state;
    enum { COUNT = sizeof(void *) > 4 ? 10000 : 8000 }; /* of at most 8,192 in 32 bits */
    void **handles = malloc(COUNT * sizeof *handles);
    long before = things.live;
    for (int i = 0; i < COUNT; i++) {
        struct thing *thing = object_create(&things);
        thing->value = i;
        handles[i] = object_handle(&thing->object);
    }
    assert_int_equal(things.live - before, COUNT);
    for (int i = 0; i < COUNT; i++) {
        struct thing *thing = object_acquire(&things, handles[i]);
        assert_int_equal(thing->value, i);
        object_release(&thing->object);
        assert_true(object_destroy(&things, handles[i]));
    }
    assert_int_equal(things.live, before);
    free(handles);
}

/* --- several lives --- */

static struct object_pool cats;
static bool keep_cats;
static unsigned reclaimed;

static bool reclaim_cat(struct object *object) {
    if (keep_cats) {
        reclaimed++;
        object_revive(object);
    }
    return keep_cats;
}

static struct object_pool cats =
    OBJECT_POOL_RECLAIMED(11, sizeof(struct thing), "cat", thing_finalize, reclaim_cat);

static void each_life_has_a_handle_of_its_own(void **state) {
    (void)state;
    struct thing *cat = object_create(&cats);
    for (int life = 0; life < 9; life++) {
        void *handle = object_handle(&cat->object);
        assert_ptr_equal(object_peek(&cats, handle), cat);
        assert_int_equal(object_generation(&cat->object), object_generation_of(handle));
        object_retain(&cat->object); /* by a command that outlives this life */
        assert_true(object_end_life(&cat->object, object_generation_of(handle)));
        assert_false(object_end_life(&cat->object, object_generation_of(handle)));
        assert_null(object_peek(&cats, handle));
        assert_null(object_acquire(&cats, handle));
        assert_false(object_destroy(&cats, handle));
        object_begin_life(&cat->object);
        assert_null(object_peek(&cats, handle));
        assert_ptr_not_equal(object_handle(&cat->object), handle);
        object_release(&cat->object);
    }
    assert_int_equal(object_references(&cat->object), 1);
    assert_true(object_destroy(&cats, object_handle(&cat->object)));
}

static void an_end_can_be_taken_back(void **state) {
    (void)state;
    struct thing *cat = object_create(&cats);
    void *handle = object_handle(&cat->object);
    assert_true(object_end_life(&cat->object, object_generation_of(handle)));
    object_undo_end(&cat->object);
    assert_ptr_equal(object_acquire(&cats, handle), cat);
    object_release(&cat->object);
    assert_true(object_destroy(&cats, handle));
}

static void the_last_reference_may_revive(void **state) {
    (void)state;
    struct thing *cat = object_create(&cats);
    void *handle = object_handle(&cat->object);
    object_retain(&cat->object);
    keep_cats = true;
    reclaimed = 0;
    finalized = 0;
    assert_true(object_destroy(&cats, handle));
    assert_int_equal(reclaimed, 0);
    object_release(&cat->object);
    assert_int_equal(reclaimed, 1);
    assert_null(object_peek(&cats, handle));
    void *next = object_handle(&cat->object);
    assert_ptr_equal(object_peek(&cats, next), cat);
    assert_int_equal(object_references(&cat->object), 1);
    keep_cats = false;
    assert_int_equal(finalized, 0);
    assert_true(object_destroy(&cats, next));
    assert_int_equal(finalized, 1);
}

/* --- threads: one destroys what the others look up --- */

enum { ROUNDS = 20000, LOOKERS = 3 };

static _Atomic(void *) shared;
static _Atomic int stop_looking;

static void *look_up(void *found) {
    while (!stop_looking) {
        struct thing *thing = object_acquire(&things, shared);
        if (!thing)
            continue;
        *(long *)found += thing->value == 42;
        object_release(&thing->object);
    }
    return NULL;
}

static void lookups_race_with_destroy_safely(void **state) {
    (void)state;
    pthread_t threads[LOOKERS];
    long found[LOOKERS] = {0};
    long before = things.live;
    finalized = stop_looking = 0;
    for (int i = 0; i < LOOKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up, &found[i]), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct thing *thing = object_create(&things);
        thing->value = 42;
        void *handle = object_handle(&thing->object);
        shared = handle;
        assert_true(object_destroy(&things, handle));
    }
    stop_looking = 1;
    for (int i = 0; i < LOOKERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(finalized, ROUNDS);
    assert_int_equal(things.live, before);
}

/* --- as many objects as there are handles --- */

static void a_type_without_handles_left_says_so(void **state) {
    (void)state;
    void *handles[3];
    object_limit(others.used + 3);
    for (int i = 0; i < 3; i++) {
        struct thing *thing = object_create(&others);
        assert_non_null(thing);
        handles[i] = object_handle(&thing->object);
    }
    assert_null(object_create(&others));
    assert_int_equal(object_none(&others, "a thing"), CLS_ERROR_LIMIT);
    assert_non_null(strstr(cls_last_error_detail(), "a thing"));
    for (int i = 0; i < 3; i++)
        assert_true(object_destroy(&others, handles[i]));
    assert_int_equal(object_none(&others, "a thing"), CLS_ERROR_OUT_OF_MEMORY);
    object_limit(UINT32_MAX);
}

static cls_context context;

static cls_status make_buffer(void **out) {
    return cls_buffer_create(context, 64, (cls_buffer *)out);
}
static cls_status make_event(void **out) {
    return cls_event_create(context, NULL, (cls_event *)out);
}
static cls_status make_stream(void **out) {
    return cls_stream_create(context, NULL, (cls_stream *)out);
}
static cls_status make_timeline(void **out) {
    return cls_timeline_create(NULL, (cls_timeline *)out);
}
static cls_status end_buffer(void *handle) { return cls_buffer_destroy(handle); }
static cls_status end_event(void *handle) { return cls_event_destroy(handle); }
static cls_status end_stream(void *handle) { return cls_stream_destroy(handle); }
static cls_status end_timeline(void *handle) { return cls_timeline_destroy(handle); }

static void objects_without_handles_are_a_limit(void **state) {
    enum { LIMIT = 40 };
    static const struct {
        cls_status (*make)(void **out), (*end)(void *handle);
        const char *name;
    } kinds[] = {{make_buffer, end_buffer, "a buffer"},
                 {make_event, end_event, "an event"},
                 {make_stream, end_stream, "a stream"},
                 {make_timeline, end_timeline, "a timeline"}};
    void *handles[LIMIT + 1];
    (void)state;
    if (cls_context_default(&context))
        SKIP_BECAUSE("no device");
    object_limit(LIMIT);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        cls_status status = CLS_SUCCESS;
        unsigned n = 0;
        while (n <= LIMIT && (status = kinds[i].make(&handles[n])) == CLS_SUCCESS)
            n++;
        assert_int_equal(status, CLS_ERROR_LIMIT);
        assert_non_null(strstr(cls_last_error_detail(), kinds[i].name));
        assert_true(n > LIMIT / 2);
        while (n > 0)
            assert_int_equal(kinds[i].end(handles[--n]), CLS_SUCCESS);
        assert_int_equal(kinds[i].make(&handles[0]), CLS_SUCCESS);
        assert_int_equal(kinds[i].end(handles[0]), CLS_SUCCESS);
    }
    object_limit(UINT32_MAX);
}

enum { MOST_KEPT = 100 };

/* Buffers that nobody has: freed ones, which a pool keeps. */
static void keep_unused(cls_stream stream, size_t bytes, unsigned count) {
    cls_buffer buffers[MOST_KEPT];
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(cls_malloc_async(stream, bytes, &buffers[i]), CLS_SUCCESS);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(cls_free_async(buffers[i], stream), CLS_SUCCESS);
    assert_int_equal(cls_stream_synchronize(stream), CLS_SUCCESS);
}

static void handles_of_unused_memory_are_given_up(void **state) {
    enum { LIMIT = MOST_KEPT + MOST_KEPT / 2 };
    void *handles[MOST_KEPT];
    cls_stream stream;
    (void)state;
    if (cls_context_default(&context))
        SKIP_BECAUSE("no device");
    assert_int_equal(cls_stream_create(context, NULL, &stream), CLS_SUCCESS);
    object_limit(LIMIT);
    keep_unused(stream, 1 << 10, MOST_KEPT);
    keep_unused(stream, 2 << 10, MOST_KEPT);
    for (unsigned i = 0; i < MOST_KEPT; i++)
        assert_int_equal(make_buffer(&handles[i]), CLS_SUCCESS);
    for (unsigned i = 0; i < MOST_KEPT; i++)
        assert_int_equal(end_buffer(handles[i]), CLS_SUCCESS);
    object_limit(UINT32_MAX);
    assert_int_equal(cls_stream_destroy(stream), CLS_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handle_finds_its_object),
        cmocka_unit_test(destroyed_handle_is_stale_at_once),
        cmocka_unit_test(recycled_slot_does_not_revive_old_handles),
        cmocka_unit_test(a_handle_that_nobody_ends_names_no_later_object),
        cmocka_unit_test(foreign_and_garbage_handles_are_refused),
        cmocka_unit_test(detail_tells_what_is_wrong),
        cmocka_unit_test(many_objects_have_places_of_their_own),
        cmocka_unit_test(each_life_has_a_handle_of_its_own),
        cmocka_unit_test(an_end_can_be_taken_back),
        cmocka_unit_test(the_last_reference_may_revive),
        cmocka_unit_test(lookups_race_with_destroy_safely),
        cmocka_unit_test(a_type_without_handles_left_says_so),
        cmocka_unit_test(objects_without_handles_are_a_limit),
        cmocka_unit_test(handles_of_unused_memory_are_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
