/* SPDX-License-Identifier: MIT */
/* The internals of a profile: records on the host's clock, their dependencies, and the reports computed from them. */
#ifndef CLSTREAM_TRACE_PROFILE_H
#define CLSTREAM_TRACE_PROFILE_H

#include <clstream/profiler.h>

#include "base/handle.h"
#include "driver/timer.h"
#include "trace/ring.h"

#define NO_INDEX UINT32_MAX

/* The commands that a command follows, as indices of records; NO_INDEX: not recorded. */
struct link {
    uint32_t stream;   /* index of its stream; NO_INDEX: the record is no command */
    uint32_t previous; /* in its stream */
    uint32_t waits[CLS_PROFILE_DEPENDENCIES];
    uint32_t cause; /* of its failure, which may be itself; NO_INDEX: none, or not recorded */
};

struct operations {
    cls_profile_operation *items; /* most time first */
    size_t count;
};

struct profile {
    struct object object;
    size_t count;                /* of records, below UINT32_MAX */
    cls_profile_record *records; /* by start */
    struct link *links;          /* of each record */
    uint32_t *commands;          /* indices of the commands, by stream and position; n_commands */
    uint32_t *order;             /* the same, by time of submission: dependencies come first */
    size_t n_commands;
    cls_profile_stream *streams;   /* by number */
    struct operations *operations; /* n_streams of them, and those of all last */
    size_t n_streams;
    cls_profile_summary summary;
};

/* A reading of a device's timer. */
struct timed_device {
    const struct device *device;
    struct timer_reading reading;
};

/* What a profile is made of. */
struct evidence {
    struct raw *raws; /* oldest first */
    size_t count;
    uint64_t dropped;
    const struct timed_device *timers;
    size_t n_timers;
};

/* Fills in a zeroed profile, which needs profile_free also on failure. Sets the error detail. */
cls_status profile_build(struct profile *profile, const struct evidence *evidence);
void profile_free(struct profile *profile);

/* --- its parts, in this order --- */

/* records: host times (trace/mapping.c). */
cls_status map_records(struct profile *profile, const struct evidence *evidence);

/* streams, links, commands, order (trace/links.c). */
cls_status link_records(struct profile *profile, const struct evidence *evidence);

/* holds of records, and the sums of their streams and the summary (trace/hold.c). */
cls_status find_holds(struct profile *profile);

/* operations (trace/operations.c). */
cls_status count_operations(struct profile *profile);

/* --- what records are --- */

static inline bool is_command(const cls_profile_record *record) {
    return record->type == CLS_RECORD_COMMAND;
}

/* Kinds that keep a device at work. */
static inline bool is_work_kind(cls_command_kind kind) {
    return kind <= CLS_COMMAND_MIGRATE || kind == CLS_COMMAND_FOREIGN;
}

static inline bool is_work(const cls_profile_record *record) {
    return is_command(record) && is_work_kind(record->kind) && !record->status;
}

static inline uint64_t duration(const cls_profile_record *record) {
    return record->end_ns - record->start_ns;
}

/* --- overlap (trace/overlap.c) --- */

/* Some of a profile's work: of a stream, of a kind, or all. */
struct record_group {
    uint32_t stream; /* NO_INDEX: any */
    int kind;        /* -1: any */
};

/* How long at least one command of `a` or `b` ran, and the sum of their durations. */
uint64_t group_busy(const struct profile *profile, const struct record_group *a,
                    const struct record_group *b);
uint64_t group_sum(const struct profile *profile, const struct record_group *group);

/* The longest chain of work of `a` or `b`. CLS_ERROR_OUT_OF_MEMORY. */
cls_status group_chain(const struct profile *profile, const struct record_group *a,
                       const struct record_group *b, uint64_t *ns);

cls_status group_overlap(const struct profile *profile, const struct record_group *a,
                         const struct record_group *b, cls_profile_overlap *out);

/* How many pairs of streams a report compares. Each comparison reads every record, and a program may have
 * thousands of streams. */
size_t pairs_compared(const struct profile *profile);

#endif
