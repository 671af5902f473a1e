/* SPDX-License-Identifier: MIT */
/**
 * @file profiler.h
 * Profilers: what the streams of the process did, when, at what rate, and what delayed it.
 *
 * A **profiler** records every command of every stream and context of the process that completes
 * while the profiler runs. The records are in a ring of fixed size: when it is full, the oldest
 * record is dropped and counted. Streams are profiled from their next command on, and no longer
 * once no profiler runs: their OpenCL queue is replaced, and the order is kept. Several profilers
 * may run at the same time. While none runs, commands cost nothing extra; doc/performance.md states
 * the cost while one does. A **profile** is an immutable copy of a profiler's records, to read,
 * report and export. It outlives its profiler.
 *
 * **Time** is in nanoseconds of the host's monotonic clock (CLOCK_MONOTONIC, cls_profiler_now).
 * Device times are converted to it. The enqueue call of each command brackets the driver's "queued"
 * time, and the end of the command precedes the moment at which the host sees it done. If the
 * device has OpenCL 2.1's timer and it agrees, its readings give brackets too. In each window of 50
 * ms the brackets are intersected and the middle is taken; between windows the offset is
 * interpolated, so clocks that drift stay aligned. cls_clock says where the start and end of a
 * record come from. In a record queued <= submitted <= start <= end always holds.
 *
 * Every function may be called from any thread. None waits for the device: synchronize the work
 * that should be in a profile first. Functions that take an index return CLS_ERROR_OUT_OF_RANGE
 * past the last one. Functions that fill in a struct return CLS_ERROR_INVALID_VALUE if it is null
 * or its size field is not that of the struct. All return CLS_ERROR_INVALID_HANDLE for a null,
 * stale or foreign handle.
 *
 * **Environment.** CLSTREAM_TRACE=FILE profiles the whole process and writes FILE at its exit, in
 * the format of its suffix (cls_profile_export). A FILE without a folder is written to the folder
 * in which the program was started. A "%p" in the file's own name becomes the process id. Pending
 * work is drained first at exit(). A signal that the program neither handles nor ignores writes FILE
 * too, before it ends the process, without what is pending then; after a fault or abort the process
 * ends within five seconds, with or without FILE. _exit and SIGKILL write nothing, nor does abort
 * where a driver's compiler handles its signal first. Forked children
 * write nothing either, but programs that they execute do. If the file cannot be written, a message
 * goes to stderr. CLSTREAM_TRACE_RECORDS=N sets the size of the ring.
 */
#ifndef CLSTREAM_PROFILER_H
#define CLSTREAM_PROFILER_H

#include <clstream/stream.h>

CLS_BEGIN_DECLS

/** Records commands while it runs. */
typedef struct cls_profiler_handle *cls_profiler;
/** A copy of the records of a profiler. */
typedef struct cls_profile_handle *cls_profile;

/** Options of cls_profiler_create. Start with CLS_PROFILER_CONFIG_INIT. */
typedef struct cls_profiler_config {
    size_t size;     /**< sizeof(cls_profiler_config) */
    size_t capacity; /**< records in the ring, about 300 bytes each; 0: 65536 */
} cls_profiler_config;

#define CLS_PROFILER_CONFIG_INIT \
    { sizeof(cls_profiler_config), 0 }

/**
 * Creates a profiler that does not run yet. NULL `config`: the defaults. The caller destroys it.
 * @retval CLS_ERROR_INVALID_VALUE `out` is null, a wrong size field, or a capacity above 2^26
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_profiler_create(const cls_profiler_config *config, cls_profiler *out);

/** Stops and destroys a profiler. Its profiles remain valid. */
CLS_API cls_status cls_profiler_destroy(cls_profiler profiler);

/** Starts recording. Commands submitted from now on are recorded. No-op if the profiler runs. */
CLS_API cls_status cls_profiler_start(cls_profiler profiler);

/**
 * Stops recording: commands that complete later are not recorded. It first collects the commands
 * that are done, and does not wait for the others. No-op if the profiler does not run.
 */
CLS_API cls_status cls_profiler_stop(cls_profiler profiler);

/** Deletes all records, and resets the count of dropped ones. */
CLS_API cls_status cls_profiler_clear(cls_profiler profiler);

/** Returns the current time of the clock that all records use. */
CLS_API uint64_t cls_profiler_now(void);

/**
 * Adds a record of the caller's own: a span, or a mark if start and end are equal. It is added
 * whether or not the profiler runs. At most 63 bytes of `label` are copied.
 * @retval CLS_ERROR_INVALID_VALUE `label` is null, or the end is before the start
 */
CLS_API cls_status cls_profiler_add(cls_profiler profiler, const char *label, uint64_t start_ns,
                                    uint64_t end_ns, uint64_t bytes);

/**
 * Opens a range of the calling thread, for every profiler that runs. Ranges nest; ranges nested
 * deeper than 32 are not recorded. At most 63 bytes of `name` are copied. Launches of a graph
 * record the ranges that were pushed during its capture (graph.h).
 * @retval CLS_ERROR_INVALID_VALUE `name` is null
 */
CLS_API cls_status cls_range_push(const char *name);

/**
 * Closes the innermost range of the calling thread. It is recorded if a profiler ran when it was
 * opened.
 * @retval CLS_ERROR_INVALID_STATE no range is open
 */
CLS_API cls_status cls_range_pop(void);

/* --- profiles --- */

/**
 * Copies the records so far into a new profile; the profiler continues. The caller destroys the
 * profile.
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_profiler_snapshot(cls_profiler profiler, cls_profile *out);

/** Destroys a profile. */
CLS_API cls_status cls_profile_destroy(cls_profile profile);

/** Types of records. */
typedef enum cls_record_type {
    CLS_RECORD_COMMAND = 0, /**< a command of a stream */
    CLS_RECORD_RANGE = 1,   /**< a range of cls_range_push and cls_range_pop */
    CLS_RECORD_USER = 2     /**< a record of cls_profiler_add */
} cls_record_type;

/** Where the start and end of a record come from. */
typedef enum cls_clock {
    CLS_CLOCK_DEVICE = 0, /**< the driver's times, converted */
    CLS_CLOCK_HOST = 1,   /**< measured on the host: host functions, staged copies, ranges */
    /**
     * The driver has no usable times (the probes say so, they are zero, or the start is after the
     * end). The start is the end of the stream's earlier work and of the work that the command
     * waits for, but not before the driver got the command. The end is the moment at which the
     * library noticed that it was done.
     */
    CLS_CLOCK_NOTICED = 2
} cls_clock;

/**
 * What held a command back during its gap: the time from the end of its stream's earlier commands
 * to its own start. The gap of a stream's first command begins with its submission. The gap is
 * split into consecutive parts, in this order:
 *
 *     dependency  until the last command of other streams that it waits for has ended, and until
 *                 it was handed over, if it waits for a timeline or a cl_event; a wait taken by a
 *                 marker just before it (the record of a timed event, say) counts as its own
 *     host        from there until the program submitted it
 *     latency     from there until the driver had it, plus the least time that any command of the
 *                 device took from there to its start
 *     queue       of the rest, while the driver queue ran another stream's command
 *     width       of what is left, while the device ran other commands: it had no room
 *     latency     what is left of that
 *
 * The hold of a record is the cause of the longest part. It is NONE if there is no gap, and for
 * markers and failed commands. A marker does not count as an earlier command: its time is in the
 * gap of the next one.
 */
typedef enum cls_hold {
    CLS_HOLD_NONE = 0,       /**< nothing */
    CLS_HOLD_DEPENDENCY = 1, /**< another stream, a timeline or a cl_event */
    CLS_HOLD_HOST = 2,       /**< the program, which had not submitted it yet */
    CLS_HOLD_QUEUE = 3,      /**< another stream's command in the same driver queue */
    CLS_HOLD_WIDTH = 4,      /**< other commands, which filled the device */
    CLS_HOLD_LATENCY = 5,    /**< the time to reach the driver and the device */
    CLS_HOLDS = 6            /**< the number of causes */
} cls_hold;

/** A command that another command waited for. */
typedef struct cls_profile_dependency {
    uint64_t stream;   /**< number of its stream; 0: a timeline, or a cl_event of the program's
                            own */
    uint64_t position; /**< number of the command in its stream, from 1 */
} cls_profile_dependency;

/** Limits of a record. */
enum {
    CLS_PROFILE_DEPENDENCIES = 4 /**< dependencies that a record lists */
};

/** One record. Start with CLS_PROFILE_RECORD_INIT. */
typedef struct cls_profile_record {
    size_t size;             /**< sizeof(cls_profile_record) */
    cls_record_type type;    /**< type of the record */
    cls_command_kind kind;   /**< kind of a command */
    char label[64];          /**< label of the command, the range or the
                                  caller's record */
    uint64_t stream;         /**< of a command: number of its stream, as in
                                  cls_profile_stream; else 0 */
    uint64_t position;       /**< of a command: number in its stream, from 1 */
    uint64_t thread;         /**< of a range: number of its thread, from 1;
                                  else 0 */
    uint64_t bytes;          /**< moved by a copy or a fill, or given by the
                                  caller; else 0 */
    uint64_t memory;         /**< of a command: bytes of buffers and pools in
                                  its context at its submission */
    uint64_t queued_ns;      /**< when it was submitted to the stream */
    uint64_t submitted_ns;   /**< when it was handed to the driver, or to a
                                  thread of the library */
    uint64_t start_ns;       /**< when the work itself started */
    uint64_t end_ns;         /**< when the work itself ended */
    uint64_t device_ns[4];   /**< the driver's own times: queued, submitted,
                                  start, end; 0 if it has none */
    cls_clock clock;         /**< where start_ns and end_ns come from */
    cls_status status;       /**< error of the stream, if the command failed
                                  or was dropped */
    cls_hold hold;           /**< cause of the longest part of the gap */
    uint64_t held_ns;        /**< length of the gap */
    unsigned queue;          /**< number of the driver queue; streams with the
                                  same number share it; 0: none */
    unsigned n_dependencies; /**< waits on other streams or timelines; the
                                  first 4 are listed */
    cls_profile_dependency
        dependencies[CLS_PROFILE_DEPENDENCIES]; /**< these waits, in no particular order */
    int small_groups;                           /**< of a launch: nonzero if no group suits its size
                                  (cls_launch), which makes it slow */
    cls_profile_dependency failed_by;           /**< of a failed command: the command that failed
                                                     first, which may be this one, and for which
                                                     the others were not run or do not count;
                                                     stream 0: no command's failure */
} cls_profile_record;

#define CLS_PROFILE_RECORD_INIT                                                                   \
    {                                                                                             \
        sizeof(cls_profile_record), CLS_RECORD_COMMAND, CLS_COMMAND_KERNEL, "", 0, 0, 0, 0, 0, 0, \
            0, 0, 0, {0}, CLS_CLOCK_DEVICE, CLS_SUCCESS, CLS_HOLD_NONE, 0, 0, 0, {{0, 0}}, 0, {   \
            0, 0                                                                                  \
        }                                                                                         \
    }

/** Gets record `i`, in the order of the start times. */
CLS_API cls_status cls_profile_get_record(cls_profile profile, size_t i, cls_profile_record *out);

/** Totals of the commands of one kind, or of one direction of transfer. */
typedef struct cls_profile_total {
    uint64_t count;    /**< number of commands */
    uint64_t bytes;    /**< bytes that they moved */
    uint64_t total_ns; /**< sum of their durations */
} cls_profile_total;

/**
 * The whole report. Start with CLS_PROFILE_SUMMARY_INIT.
 *
 * The word "work" means the commands that ran on the device (kernels, copies, fills, migrations,
 * foreign calls), without failed ones. Host functions, callbacks and markers are not work. "Busy"
 * is the length of a union of intervals [start, end): the time in which at least one of them ran.
 *
 *     concurrency           work_ns / busy_ns: how many commands ran at once, while any did
 *     possible_concurrency  work_ns / critical_ns, where critical_ns is the longest chain of
 *                           commands through stream order and dependencies: the concurrency
 *                           that a device of unlimited width would reach
 */
typedef struct cls_profile_summary {
    size_t size;          /**< sizeof(cls_profile_summary) */
    size_t records;       /**< number of records of all types */
    size_t streams;       /**< number of streams that have a record */
    uint64_t dropped;     /**< records dropped because the ring was full */
    uint64_t begin_ns;    /**< first queued time of all records */
    uint64_t end_ns;      /**< last end time of all records */
    uint64_t failed;      /**< commands that failed or were dropped */
    uint64_t memory_peak; /**< most bytes of buffers and pools in one context at a
                               submission */
    cls_profile_total
        kinds[CLS_COMMAND_KINDS]; /**< commands of all streams, by kind, without failed ones */
    uint64_t work_ns;             /**< sum of the durations of work */
    uint64_t busy_ns;             /**< time in which at least one command of work ran */
    uint64_t critical_ns;         /**< duration of the longest chain */
    double concurrency;           /**< achieved */
    double possible_concurrency;  /**< upper limit of the concurrency */
    uint64_t held_ns[CLS_HOLDS];  /**< gaps of all streams, by cause */
} cls_profile_summary;

#define CLS_PROFILE_SUMMARY_INIT                                                            \
    {                                                                                       \
        sizeof(cls_profile_summary), 0, 0, 0, 0, 0, 0, 0, {{0, 0, 0}}, 0, 0, 0, 0, 0, { 0 } \
    }

/** Gets the whole report. */
CLS_API cls_status cls_profile_get_summary(cls_profile profile, cls_profile_summary *out);

/** Report on one stream. Start with CLS_PROFILE_STREAM_INIT. */
typedef struct cls_profile_stream {
    size_t size;                                /**< sizeof(cls_profile_stream) */
    uint64_t number;                            /**< number of the stream in the process, from 1 */
    char name[64];                              /**< at the time of the record */
    size_t device;                              /**< index of the device, as in device.h */
    uint64_t commands;                          /**< commands that have a record */
    uint64_t failed;                            /**< commands that failed or were dropped */
    cls_profile_total kinds[CLS_COMMAND_KINDS]; /**< its commands, by kind, without failed ones */
    uint64_t begin_ns;                          /**< first start of its commands */
    uint64_t end_ns;                            /**< last end of its commands */
    uint64_t busy_ns;                           /**< time in which its work ran */
    double latency_ns;                          /**< mean time from queued to end of its commands */
    uint64_t memory_peak;                       /**< most bytes of buffers and pools in its
                                                     context at a submission */
    uint64_t held_ns[CLS_HOLDS];                /**< gaps between its commands, by cause */
} cls_profile_stream;

#define CLS_PROFILE_STREAM_INIT                                                       \
    {                                                                                 \
        sizeof(cls_profile_stream), 0, "", 0, 0, 0, {{0, 0, 0}}, 0, 0, 0, 0, 0, { 0 } \
    }

/** Gets the report on the i-th stream that has a record, in the order of the streams' numbers. */
CLS_API cls_status cls_profile_get_stream(cls_profile profile, size_t i, cls_profile_stream *out);

/**
 * Gets the index of a stream in the profile.
 * @retval CLS_ERROR_NOT_FOUND the stream has no record
 */
CLS_API cls_status cls_profile_find_stream(cls_profile profile, cls_stream stream, size_t *index);

/** Report on the commands of one label and kind. Start with CLS_PROFILE_OPERATION_INIT. */
typedef struct cls_profile_operation {
    size_t size;           /**< sizeof(cls_profile_operation) */
    char label[64];        /**< label of the commands */
    cls_command_kind kind; /**< kind of the commands */
    uint64_t count;        /**< number of commands, without failed ones */
    uint64_t bytes;        /**< bytes that they moved */
    uint64_t total_ns;     /**< sum of their durations */
    double mean_ns;        /**< mean duration */
    uint64_t min_ns;       /**< shortest duration */
    uint64_t max_ns;       /**< longest duration */
    uint64_t p50_ns;       /**< least duration that 50% of them do not exceed */
    uint64_t p99_ns;       /**< the least duration that 99% of them do not exceed */
    uint64_t small_groups; /**< how many of them were launches in small groups, as in
                                cls_profile_record */
} cls_profile_operation;

#define CLS_PROFILE_OPERATION_INIT \
    { sizeof(cls_profile_operation), "", CLS_COMMAND_KERNEL, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** All streams, in place of a stream's index. */
#define CLS_PROFILE_ALL SIZE_MAX

/**
 * Gets the report on the i-th operation of the stream of index `stream`, or of all streams; the
 * operation with the most time in total comes first.
 */
CLS_API cls_status cls_profile_get_operation(cls_profile profile, size_t stream, size_t i,
                                             cls_profile_operation *out);

/**
 * Two groups of commands, A and B, and the time in which both ran. Start with
 * CLS_PROFILE_OVERLAP_INIT. Let a and b be the busy times of A and B, and C the longest chain of
 * commands of A and B through stream order and all dependencies (other commands count as zero):
 *
 *     overlap_ns   = the time in which commands of both groups ran
 *     possible_ns  = min(a, b, a + b - C), at least overlap_ns
 *     achieved     = overlap_ns / possible_ns; 1 if nothing was possible
 *
 * For a group with itself, a and b are the sum of its durations, overlap_ns is that sum minus the
 * group's busy time, and possible_ns is that sum minus C, at least overlap_ns: 0 if its commands
 * form one chain.
 */
typedef struct cls_profile_overlap {
    size_t size;          /**< sizeof(cls_profile_overlap) */
    uint64_t busy_ns[2];  /**< a and b */
    uint64_t overlap_ns;  /**< time in which both ran */
    uint64_t possible_ns; /**< the most that was possible */
    double achieved;      /**< overlap_ns / possible_ns, 0 to 1 */
} cls_profile_overlap;

#define CLS_PROFILE_OVERLAP_INIT \
    { sizeof(cls_profile_overlap), {0, 0}, 0, 0, 0 }

/** Gets the overlap of two streams' work, by their indices. */
CLS_API cls_status cls_profile_get_stream_overlap(cls_profile profile, size_t a, size_t b,
                                                  cls_profile_overlap *out);

/**
 * Gets the overlap of two kinds of work over all streams.
 * @retval CLS_ERROR_INVALID_VALUE also for a kind that is not work
 */
CLS_API cls_status cls_profile_get_kind_overlap(cls_profile profile, cls_command_kind a,
                                                cls_command_kind b, cls_profile_overlap *out);

/**
 * Formats of an exported profile. `clstream trace --convert FILE.json -o OUT` makes a picture (.svg), a table (.csv) or
 * the reports as text (.txt) from JSON.
 */
typedef enum cls_profile_format {
    CLS_PROFILE_AUTO = 0, /**< by the suffix: .json .html */
    CLS_PROFILE_JSON = 1, /**< Chrome's trace events with the reports; Perfetto reads them too */
    CLS_PROFILE_HTML = 2  /**< a page with a timeline to zoom and the reports; self-contained */
} cls_profile_format;

/**
 * Writes a profile to a file. The file appears under its name only once it is complete. An existing
 * pipe or device is written to directly.
 * @retval CLS_ERROR_INVALID_VALUE the path is null, the format is unknown, or it is AUTO and the
 *                                 suffix is unknown
 * @retval CLS_ERROR_IO
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_profile_export(cls_profile profile, const char *path,
                                      cls_profile_format format);

/** Returns the name of a kind of command ("kernel", "copy_h2d" ...); "?" for an unknown value. */
CLS_API const char *cls_command_kind_name(cls_command_kind kind);

/** Returns the name of a cause ("dependency" ...), a static string; "?" for an unknown value. */
CLS_API const char *cls_hold_name(cls_hold hold);

CLS_END_DECLS

#endif
