/* SPDX-License-Identifier: MIT */
/*
 * Calls from the rooms below to the rooms above. The machine tells stream-ordered memory, the kernels' argument caches
 * and the race checker of points in a stream's life, and knows none of them: it calls this table, which lib/api/hooks.c
 * fills in once and for all. The table is constant, so that a link with LTO makes direct calls of them.
 */
#ifndef CLSTREAM_STREAM_HOOKS_H
#define CLSTREAM_STREAM_HOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <clstream/types.h>

#include "base/handle.h"
#include "base/rare.h"
#include "driver/device.h"

struct command;
struct context;
struct deps;
struct event;
struct fence;
struct stream;
struct touches;

/* Stream-ordered memory (memory/mempool.h). Under the stream's lock, but for `return_held` and `leave`. */
struct memory_hooks {
    /* The stream drops `waits`, which come behind position `since`: frees behind them wait on. Takes none of them. */
    void (*hold)(struct stream *stream, struct deps *waits, uint64_t since);
    void (*drop_fence)(struct fence *fence);
    bool (*is_held)(struct stream *stream);
    bool (*is_owed)(struct stream *stream);
    void (*return_held)(struct stream *stream);
    void (*shed)(struct stream *stream);
    void (*leave)(struct stream *stream); /* the stream ends */
    /* Marks an object that abandoned work holds, if it is a buffer: that use may never end. */
    void (*abandon)(struct object *object);
};

/* The race checker (check/race.h). Called while race_on() only, but for `prepare`. */
struct race_hooks {
    void (*prepare)(void);
    void (*meet_stream)(void);
    void (*forget_stream)(struct stream *stream);
    void (*submits)(const struct touches *touches);
    void (*submitted)(struct stream *stream, const struct command *command,
                      struct touches *touches);
    void (*waits)(struct stream *stream, struct stream *other, uint64_t position);
    bool (*waits_open)(const struct stream *stream);
    void (*observed)(struct stream *stream, uint64_t position);
    void (*retired)(struct stream *stream, uint64_t position);
    void (*was_read)(struct stream *stream, uint64_t position, uint64_t sum);
    void (*enter)(struct stream *stream, const struct command *command);
    void (*leave)(void);
    void (*part_of)(struct stream *lane, struct stream *stream, uint64_t position);
    void (*begins)(struct stream *stream, cl_mem memory);
    void (*ends)(struct stream *stream, cl_mem memory);
    void (*frees_wait)(struct stream *stream, struct stream *other, uint64_t position);
    void (*forget_memory)(const struct device *device, cl_mem memory);
    void (*forget_host)(const void *memory, size_t bytes);
};

struct launch_args;
struct captured_record;
struct refs;

/* Captures (graph/capture.h). Called for captured streams and events only, but for the last two. */
struct capture_hooks {
    /* Under the stream's lock, which it drops: stream_submit_entered of a captured stream. */
    cls_status (*submit)(struct stream *stream, struct command *command,
                         const struct launch_args *args, uint64_t *position);
    /* Under the stream's lock: CLS_ERROR_INVALID_STATE, and its capture is invalid from now on. `call` in words. */
    cls_status (*refuse)(struct stream *stream, const char *call);
    /* Under the locks of the stream and of the event: a node that stands for the stream's nodes so far. That of a timed
     * event has launches record it. `event` NULL: none is recorded. */
    cls_status (*record)(struct stream *stream, struct event *event, struct captured_record *out);
    /* Without locks, or under any: whether the capture has ended. */
    bool (*is_over)(const struct object *capture);
    /* Without locks: later nodes of the stream come after that node of the capture. */
    cls_status (*wait)(cls_stream stream, struct object *capture, unsigned node);
    /* Under the event's lock: CLS_ERROR_INVALID_STATE, as refuse. */
    cls_status (*refuse_event)(struct object *capture, const char *call);
    /* Without the lock: the stream is reset or destroyed. */
    void (*leave)(struct stream *stream);
    /* Under the stream's lock: whether launches of graphs among the references use something (stream_last_use). */
    bool (*uses)(const struct refs *refs,
                 bool (*uses)(const struct refs *, const void *, const void *), const void *arg);
    /* Likewise: whether a node of such a launch has failed with the driver. */
    bool (*has_failed)(const struct refs *refs);
};

struct hooks {
    struct memory_hooks memory;
    struct race_hooks race;
    struct capture_hooks capture;
    /* Frees the argument caches of the kernels that the stream launched; under its lock, or at its end. */
    void (*forget_kernels)(struct stream *stream);
    /* A context has ended, its streams with it: frees what rooms above keep in it. */
    void (*context_ends)(struct context *context);
    /* Failed work is about to retire: all that has retired so far came before it. Under its stream's lock. */
    void (*work_fails)(void);
    /* The process exits. */
    void (*at_exit)(void);
};

extern const struct hooks hooks; /* lib/api/hooks.c */

extern _Atomic bool race_is_on; /* set before the first stream is made, never afterwards */

static inline bool race_on(void) {
    return RARELY(atomic_load_explicit(&race_is_on, memory_order_relaxed));
}

#endif
