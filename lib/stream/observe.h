/* SPDX-License-Identifier: MIT */
/*
 * What an observer (the profiler) sees of commands. While one is set, stream_submit gives each command a
 * trace record, which goes with it through the FIFO and its flight and is told to the observer when the
 * command retires. While none is set a command carries a null pointer, and each place where commands pass
 * tests it: nothing else is paid.
 */
#ifndef CLSTREAM_STREAM_OBSERVE_H
#define CLSTREAM_STREAM_OBSERVE_H

#include <stdatomic.h>

#include <clstream/stream.h>

#include "base/rare.h"
#include "driver/event.h"

struct stream;
struct command;

enum { TRACE_RECORD_DEPS = 4 };

/* A position of another stream, or something else that is waited for. */
struct trace_record_dep {
    uint64_t stream; /* its id; 0: a gate, or the user's own cl_event */
    uint64_t position;
};

/* Host times are of clock_now_ns; 0 where the command did not come so far. */
struct trace_record {
    struct trace_record *next; /* among the stream's spare ones */
    const char *label;         /* static or interned */
    cls_command_kind kind;
    cls_status outcome;
    uint64_t position;
    uint64_t bytes;
    uint64_t memory;          /* bytes of buffers alive in the context at submission */
    unsigned queue;           /* the driver queue's number; 0: it never was on one */
    uint64_t submitted;       /* to the stream */
    uint64_t handing, handed; /* before and after the driver's enqueue */
    uint64_t began, ended;    /* of what the library ran itself */
    uint64_t retired;         /* noticed to be done */
    bool small_groups;        /* a launch of a size that no group suits */
    bool at_end; /* the event is that of the command before it, with whose end it comes */
    struct event_times device; /* all 0 where there is no event or no time */
    unsigned n_deps;           /* those beyond TRACE_RECORD_DEPS are counted only */
    struct trace_record_dep deps[TRACE_RECORD_DEPS];
    struct trace_record_dep
        failed_by; /* of an outcome that is an error: the command that failed first */
};

struct observer {
    /* A command is done. Under the stream's lock: takes only leaf locks. */
    void (*retired)(const struct stream *stream, const struct trace_record *trace_record);
    /* There was no memory to see a command. */
    void (*missed)(void);
    /* The process exits and all that could be drained is; drivers still work. */
    void (*drained)(void);
};

/* The one observer, a table that is never freed; NULL mostly. */
extern _Atomic(const struct observer *) observer_now;

static inline const struct observer *observer(void) {
    return atomic_load_explicit(&observer_now, memory_order_acquire);
}

/* All under the stream's lock. The command is about to be submitted: its waits are still the stream's. */
void observe_submit(struct stream *stream, struct command *command) COLD;

/* The submission was refused. */
void observe_refused(struct stream *stream, struct command *command) COLD;

/* Tells of a command that retires, whose event may be NULL, and takes the record back. Its outcome is
 * known by now. */
void observe_retired(struct stream *stream, struct trace_record *trace_record, uint64_t position,
                     cl_event event) COLD;

/* Frees a list of spare records. */
void trace_records_free(struct trace_record *spare);

#endif
