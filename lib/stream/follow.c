/* SPDX-License-Identifier: MIT */
#include "stream/follow.h"

#include "stream/failure.h"
#include "stream/hooks.h"
#include "stream/legacy.h"
#include "stream/submit.h"
#include "stream/wait.h"
#include "stream/wait_check.h"

/* Adds a wait to `stream`, which is entered, and takes over what the work that it waits for has come to. */
cls_status stream_follow_entered(struct stream *stream, const struct stream *other,
                                 uint64_t position, const struct dep *dep,
                                 const struct learned *learned) {
    if (RARELY(stream->capturing) && other)
        return hooks.capture.refuse(stream, "wait for work outside of the capture");
    cls_status status = dep ? deps_add(&stream->waits, dep) : CLS_SUCCESS;
    if (dep && !status)
        stream->counters.waits++;
    if (!status)
        order_cache_learn(&stream->order_cache, stream, learned);
    /* Looked at last: a failure found from here on is told to this stream by its wait. */
    const struct failure *failure =
        other && other != stream ? stream_failure_at(other, position) : NULL;
    if (RARELY(failure))
        stream_inherit_locked(stream, failure);
    return status;
}

cls_status stream_enter_behind(struct stream *stream, struct stream *other, uint64_t position) {
    struct learned learned;
    struct dep dep;
    if (!other || other == stream) {
        pthread_mutex_lock(&stream->lock);
        return CLS_SUCCESS;
    }
    order_cache_gather(other, position, &learned);
    const bool done = stream_dep(other, position, stream, &dep);
    const bool check = !done && wait_check_wanted(&dep);
    if (!done)
        object_retain(&other->object);
    cls_status status = RARELY(check) ? wait_check_enter(stream, &dep) : CLS_SUCCESS;
    if (RARELY(status)) {
        dep_release(&dep);
        return status;
    }
    if (race_on())
        hooks.race.waits(stream, other, position);
    pthread_mutex_lock(&stream->lock);
    status = stream_follow_entered(stream, other, position, done ? NULL : &dep, &learned);
    if (RARELY(check))
        wait_check_unlock();
    if (RARELY(status))
        pthread_mutex_unlock(&stream->lock);
    if (!done && RARELY(status))
        dep_release(&dep);
    return status;
}

cls_status stream_wait_for(struct stream *stream, struct stream *other, uint64_t position) {
    cls_status status = stream_enter_behind(stream, other, position);
    if (status)
        return status;
    pthread_mutex_unlock(&stream->lock);
    return legacy_note_wait(stream);
}

cls_status stream_come_after(struct stream *stream, struct stream *other, uint64_t position) {
    const struct dep dep = {.stream = other, .position = position, .order_only = true};
    if (other == stream)
        return CLS_SUCCESS;
    if (race_on()) /* to whom it is no matter whether it happens to be over */
        hooks.race.waits(stream, other, position);
    if (atomic_load(&other->retired) >= position)
        return CLS_SUCCESS;
    object_retain(&other->object);
    cls_status status = stream_add_wait(stream, &dep);
    if (status)
        dep_release(&dep);
    return status;
}
