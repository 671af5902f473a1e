/* SPDX-License-Identifier: MIT */
/* Events inside: the latest record, a position of a stream. */
#ifndef CLSTREAM_STREAM_EVENT_H
#define CLSTREAM_STREAM_EVENT_H

#include <pthread.h>
#include <stdint.h>

#include <clstream/event.h>

#include "base/handle.h"
#include "base/rare.h"

struct context;
struct event_records;
struct stream;

/* When the marked work was done: on the host's clock, as noticed, and on the device's where the driver
 * tells. Only times of one clock are ever compared. */
struct event_time {
    bool has_device;
    uint64_t host_ns, device_ns;
};

struct event {
    struct object object;
    pthread_mutex_t
        lock; /* of the slot: it outlives the event. A leaf; guards what `stream` heads */
    struct context *context; /* retained */
    bool timed;
    struct event_records *records; /* its only ones, if processes share it; NULL: they do not */
    const char *
        owner; /* the block that it belongs to, in words: no capture records it. NULL: the user's */
    /* guarded by the lock */
    struct stream *stream; /* retained; NULL: never recorded */
    uint64_t position;
    uint64_t serial;      /* of the latest record */
    uint64_t next_serial; /* the last one given out */
    uint64_t
        time_serial; /* of the record that `time` is of: it may come before the record is set */
    struct event_time time;
    struct object
        *captured; /* the capture that the latest record is part of, retained; NULL: none */
    unsigned node; /* of that capture */
};

extern struct object_pool event_pool;

/* A new event. Takes over the context's reference and the records (NULL: none) in every case. */
cls_status event_new(struct context *context, struct event_records *records, struct event **out);

/* The latest record: the stream, retained, or NULL, and the position. Reports a bad handle, and refuses a captured record
 * and an event that processes share. */
cls_status event_snapshot(cls_event handle, struct stream **stream, uint64_t *position);

/* The same for a caller that knows those: `*shared`, retained, is such an event, which has no stream; or NULL. */
cls_status event_snapshot_or_shared(cls_event handle, struct stream **stream, uint64_t *position,
                                    struct event **shared);

/* A record in a capture; `capture` is retained, or NULL. */
struct captured_record {
    struct object *capture;
    unsigned node;
};

/* The same that tells of a captured record, too, which has no stream. */
cls_status event_snapshot_any(cls_event handle, struct stream **stream, uint64_t *position,
                              struct captured_record *captured, struct event **shared);

/* Under the lock: takes the captured record out, for the caller to release without locks; NULL: there was none. */
static inline struct object *event_take_captured(struct event *event) {
    struct object *captured = event->captured;
    event->captured = NULL;
    return captured;
}

/* Has a new event belong to a block. */
void event_own(cls_event handle, const char *owner);

/* Under the stream's lock, of a captured stream: refuses what a block would order by its own events. */
cls_status event_refuse_owner(struct stream *stream, const char *owner) COLD;

/* Looks up a handle and locks the event, as stream_enter does. Reports. */
cls_status event_enter(cls_event handle, struct event **out);

/* Under the lock: the latest record, as event_snapshot has it. */
struct stream *event_latest(struct event *event, uint64_t *position);

/* The number of a new record, for the two below. */
uint64_t event_new_serial(struct event *event);

/* Sets the record, unless a later one was set meanwhile. Without locks. */
void event_set_record(struct event *event, struct stream *stream, uint64_t position,
                      uint64_t serial);

/* Stores the end time of a timed record, unless it has been re-recorded since. */
void event_set_time(struct event *event, uint64_t serial, const struct event_time *time);

#endif
