/* SPDX-License-Identifier: MIT */
#include "api/outside_wait.h"

#include "base/error.h"
#include "check/race.h"
#include "stream/submit.h"

static void outside_wait_finalize(struct object *object) {
    object_release(((struct outside_wait *)(void *)object)->awaited);
}

static struct object_pool outside_wait_pool = OBJECT_POOL(
    14, sizeof(struct outside_wait), "wait for something outside", outside_wait_finalize);

cls_status outside_wait_new(const struct gate_type *type, struct object *awaited,
                            struct outside_wait **out) {
    struct outside_wait *wait = object_create(&outside_wait_pool);
    if (!wait)
        return object_none(&outside_wait_pool, "a wait");
    object_retain(awaited);
    wait->gate.type = type;
    wait->awaited = awaited;
    *out = wait;
    return CLS_SUCCESS;
}

/* Has the wait begin, and end, now and not with the stream's next command, which carries it where there is no memory for
 * the mark. */
static void mark_wait(struct stream *stream) {
    struct detail held;
    uint64_t position;
    error_save(&held);
    stream_mark(stream, &position);
    error_restore(&held, CLS_SUCCESS);
}

cls_status outside_wait_begin(struct outside_wait *wait, struct stream *stream) {
    const struct dep dep = {.gate = &wait->gate};
    if (race_on())
        race_waits_outside();
    cls_status status = stream_add_wait(stream, &dep);
    if (status)
        dep_release(&dep);
    else
        mark_wait(stream);
    return status;
}

struct stream *outside_wait_source(struct gate *gate, uint64_t unused, unsigned *cursor,
                                   uint64_t *position) {
    (void)gate;
    (void)unused;
    (void)cursor;
    *position = 0;
    return NULL;
}
