/* SPDX-License-Identifier: MIT */
/**
 * @file profiler.h
 * Profilers: what the streams of the process did, when, at what rate, and why not at once.
 *
 * A **profiler** keeps a record of every command that completes while it runs, of every stream and
 * context of the process, in a ring of fixed size: when it is full the oldest record goes and is counted.
 * Streams that exist are profiled from their next command on and stop being so when no profiler runs:
 * their queue is replaced, order kept. Several profilers may run at once. While none runs, commands pay
 * nothing; doc/performance.md has the cost while one does. A **profile** is an immutable copy of a
 * profiler's records, to read, report and export; it outlives its profiler.
 *
 * **Time** is nanoseconds of the host's monotonic clock (CLOCK_MONOTONIC, cls_profiler_now). Device times
 * are mapped to it: each command's enqueue call brackets the driver's "queued" time, and its end precedes
 * the moment at which the host sees it done; where the device has OpenCL 2.1's timer and it agrees, its
 * readings are brackets too. In windows of 50 ms the brackets are intersected and the middle taken, and
 * between windows the offset is interpolated, so that clocks that drift stay together. cls_clock tells how
 * a record's start and end came to be. Within a record queued <= submitted <= start <= end always.
 *
 * All calls are safe from any thread. None waits for the device: what is to be in a profile should be
 * synchronized first. Functions that take an index return CLS_ERROR_OUT_OF_RANGE past the last one; those
 * that fill in a struct return CLS_ERROR_INVALID_VALUE for a null one or a size field that is not the
 * struct's; all return CLS_ERROR_INVALID_HANDLE for a handle that is null, stale or foreign.
 *
 * **Environment.** CLSTREAM_TRACE=FILE profiles the whole process and writes FILE at its exit, in the
 * format of its suffix (cls_profile_export), in the folder that the program was started in where FILE names
 * none; a "%p" in the file's own name becomes the process id. Work that is pending at exit() is drained
 * first. _exit, abort and fatal signals write nothing, and neither do forked children, but for programs that
 * they execute. A file that cannot be written is told on the standard error. CLSTREAM_TRACE_RECORDS=N sets
 * the size of the ring.
 */
#ifndef CLSTREAM_PROFILER_H
#define CLSTREAM_PROFILER_H

#include <clstream/stream.h>

CLS_BEGIN_DECLS

/** What records commands. */
typedef struct cls_profiler_handle *cls_profiler;
/** A copy of what a profiler had recorded. */
typedef struct cls_profile_handle *cls_profile;

/** Options of cls_profiler_create. Start with CLS_PROFILER_CONFIG_INIT. */
typedef struct cls_profiler_config {
    size_t size;     /**< sizeof(cls_profiler_config) */
    size_t capacity; /**< records that the ring holds, about 300 bytes each; 0: 65536 */
} cls_profiler_config;

#define CLS_PROFILER_CONFIG_INIT \
    { sizeof(cls_profiler_config), 0 }

/**
 * Creates a profiler that does not run yet. `config` may be NULL.
 * @retval CLS_ERROR_INVALID_VALUE a null out, a wrong size field, a capacity above 2^26
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_profiler_create(const cls_profiler_config *config, cls_profiler *out);

/** Stops and destroys a profiler; its profiles stay. */
CLS_API cls_status cls_profiler_destroy(cls_profiler profiler);

/** Starts recording. No-op when it runs. Commands submitted from here on are seen. */
CLS_API cls_status cls_profiler_start(cls_profiler profiler);

/**
 * Stops recording: what completes later is not recorded. No-op when it does not run. It first notices
 * what is done, and does not wait for what is not.
 */
CLS_API cls_status cls_profiler_stop(cls_profiler profiler);

/** Forgets all records and the count of those dropped. */
CLS_API cls_status cls_profiler_clear(cls_profiler profiler);

/** The present time of the clock of all records. */
CLS_API uint64_t cls_profiler_now(void);

/**
 * Adds a record of the caller's own: a span, or a mark where start and end are equal.
 * `label` is copied, 63 bytes of it. It is kept whether or not the profiler runs.
 * @retval CLS_ERROR_INVALID_VALUE null label, or an end before its start
 */
CLS_API cls_status cls_profiler_add(cls_profiler profiler, const char *label, uint64_t start_ns,
                                    uint64_t end_ns, uint64_t bytes);

/**
 * Opens a range of the calling thread, for every profiler that runs; ranges nest. `name` is copied, 63
 * bytes of it. Ranges nested deeper than 32 are not recorded.
 * @retval CLS_ERROR_INVALID_VALUE a null name
 */
CLS_API cls_status cls_range_push(const char *name);

/**
 * Closes the calling thread's innermost range. It is recorded if a profiler ran when it was opened.
 * @retval CLS_ERROR_INVALID_STATE no range is open
 */
CLS_API cls_status cls_range_pop(void);

/* --- profiles --- */

/**
 * Copies what a profiler has recorded so far; it goes on as it was.
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_profiler_snapshot(cls_profiler profiler, cls_profile *out);

/** Destroys a profile. */
CLS_API cls_status cls_profile_destroy(cls_profile profile);

/** What a record is of. */
typedef enum cls_record_type {
    CLS_RECORD_COMMAND = 0, /**< of a stream */
    CLS_RECORD_RANGE = 1,   /**< of cls_range_push and cls_range_pop */
    CLS_RECORD_USER = 2     /**< of cls_profiler_add */
} cls_record_type;

/** Where a record's start and end come from. */
typedef enum cls_clock {
    CLS_CLOCK_DEVICE = 0, /**< the driver's times, mapped */
    CLS_CLOCK_HOST = 1,   /**< measured where it ran: host functions, staged copies, ranges */
    /** The driver has no usable times (the probes say so; zero; a start after the end): from the end of the stream's
     * earlier work and of what the command waits for, but not before it was with the driver, until it was noticed to
     * be done. */
    CLS_CLOCK_NOTICED = 2
} cls_clock;

/**
 * What held a command back between the end of its stream's earlier commands and its own start: the gap. For
 * a stream's first command the gap begins with its submission. It is cut at the moments at which one cause ends and the next begins, in this order:
 *
 *   dependency  until the last command of other streams that it waits for has ended, and until it was
 *               handed over where it waits for a timeline or a cl_event; a wait that a marker took
 *               just before it (the record of a timed event, say) counts as its own
 *   host        from there until the program submitted it
 *   latency     from there until the driver had it, and the least time that any command of the device
 *               took from there to its start
 *   queue       of the rest, while the driver queue ran another stream's command
 *   width       of what is left, while the device ran other commands: it had no room
 *   latency     what is left of that
 *
 * A record's hold is the cause of the longest part; NONE where there is no gap, and for markers and
 * commands that failed. A marker is no earlier command: its time is in the gap of the next one.
 */
typedef enum cls_hold {
    CLS_HOLD_NONE = 0,       /**< nothing */
    CLS_HOLD_DEPENDENCY = 1, /**< another stream, a timeline or a cl_event */
    CLS_HOLD_HOST = 2,       /**< the program, which had not submitted it */
    CLS_HOLD_QUEUE = 3,      /**< another stream's command in the same driver queue */
    CLS_HOLD_WIDTH = 4,      /**< other commands, which filled the device */
    CLS_HOLD_LATENCY = 5,    /**< the way to the driver and to the device */
    CLS_HOLDS = 6            /**< how many causes there are */
} cls_hold;

/** A command that another one waited for. */
typedef struct cls_profile_dependency {
    uint64_t stream;   /**< its number; 0: a timeline, or a cl_event of the program's own */
    uint64_t position; /**< its number in its stream, from 1 */
} cls_profile_dependency;

/** How many dependencies a record tells. */
enum {
    CLS_PROFILE_DEPENDENCIES = 4 /**< of one command */
};

/** One record. Start with CLS_PROFILE_RECORD_INIT. */
typedef struct cls_profile_record {
    size_t size;           /**< sizeof(cls_profile_record) */
    cls_record_type type;  /**< what it is of */
    cls_command_kind kind; /**< of a command */
    char label[64];        /**< of the command, the range or the caller's own */
    uint64_t stream;   /**< of a command: the stream's number, as in cls_profile_stream; else 0 */
    uint64_t position; /**< of a command: in its stream, from 1 */
    uint64_t thread;   /**< of a range: a number of the thread, from 1; else 0 */
    uint64_t bytes;    /**< moved by a copy or a fill, or the caller's own; else 0 */
    uint64_t memory; /**< of a command: bytes of buffers and pools in its context when submitted */
    uint64_t queued_ns;    /**< submitted to the stream */
    uint64_t submitted_ns; /**< handed to the driver, or to a thread of the library */
    uint64_t start_ns;     /**< of the work itself */
    uint64_t end_ns;       /**< of the work itself */
    uint64_t
        device_ns[4];  /**< the driver's own: queued, submitted, start, end; 0 where it has none */
    cls_clock clock;   /**< where start and end come from */
    cls_status status; /**< of a command that failed or was dropped: the stream's error */
    cls_hold hold;     /**< the longest part of the gap */
    uint64_t held_ns;  /**< the gap */
    unsigned queue;    /**< the driver queue's number; streams of one number share it; 0: none */
    unsigned n_dependencies; /**< waits on other streams, or of timelines; the first 4 are told */
    cls_profile_dependency
        dependencies[CLS_PROFILE_DEPENDENCIES]; /**< of those waits, in no order */
} cls_profile_record;

#define CLS_PROFILE_RECORD_INIT                                                                   \
    {                                                                                             \
        sizeof(cls_profile_record), CLS_RECORD_COMMAND, CLS_COMMAND_KERNEL, "", 0, 0, 0, 0, 0, 0, \
            0, 0, 0, {0}, CLS_CLOCK_DEVICE, CLS_SUCCESS, CLS_HOLD_NONE, 0, 0, 0, {                \
            { 0, 0 }                                                                              \
        }                                                                                         \
    }

/** The i-th record, in the order of their starts. */
CLS_API cls_status cls_profile_get_record(cls_profile profile, size_t i, cls_profile_record *out);

/** Commands of one kind, or of one direction of transfer. */
typedef struct cls_profile_total {
    uint64_t count;    /**< of commands */
    uint64_t bytes;    /**< that they moved */
    uint64_t total_ns; /**< the sum of their durations */
} cls_profile_total;

/**
 * The whole report. Start with CLS_PROFILE_SUMMARY_INIT.
 *
 * "Work" is commands that ran on the device (kernels, copies, fills, migrations, foreign calls), failed
 * ones left out; host functions, callbacks and markers are none. "Busy" is the length of a union of
 * intervals [start, end): moments at which at least one of them ran.
 *
 *   concurrency           work_ns / busy_ns: how many commands ran at once while any did
 *   possible_concurrency  work_ns / critical_ns, where critical_ns is the longest chain of commands
 *                         through stream order and dependencies: what a device of unlimited width
 *                         would have come to with these durations
 */
typedef struct cls_profile_summary {
    size_t size;          /**< sizeof(cls_profile_summary) */
    size_t records;       /**< of all types */
    size_t streams;       /**< that have a record */
    uint64_t dropped;     /**< records that the ring had no room for any more */
    uint64_t begin_ns;    /**< the first queued ... */
    uint64_t end_ns;      /**< ... and the last end of all records */
    uint64_t failed;      /**< commands */
    uint64_t memory_peak; /**< the most bytes of buffers and pools in one context at a submission */
    cls_profile_total
        kinds[CLS_COMMAND_KINDS]; /**< all streams' commands, by kind, less failed ones */
    uint64_t work_ns;             /**< the sum of the durations of work */
    uint64_t busy_ns;             /**< at least one command at work */
    uint64_t critical_ns;         /**< the longest chain */
    double concurrency;           /**< achieved */
    double possible_concurrency;  /**< at most */
    uint64_t held_ns[CLS_HOLDS];  /**< the gaps of all streams, by cause */
} cls_profile_summary;

#define CLS_PROFILE_SUMMARY_INIT                                                            \
    {                                                                                       \
        sizeof(cls_profile_summary), 0, 0, 0, 0, 0, 0, 0, {{0, 0, 0}}, 0, 0, 0, 0, 0, { 0 } \
    }

/** The whole report. */
CLS_API cls_status cls_profile_get_summary(cls_profile profile, cls_profile_summary *out);

/** One stream. Start with CLS_PROFILE_STREAM_INIT. */
typedef struct cls_profile_stream {
    size_t size;                                /**< sizeof(cls_profile_stream) */
    uint64_t number;                            /**< from 1, of all streams of the process */
    char name[64];                              /**< at the time of the record */
    size_t device;                              /**< as in device.h */
    uint64_t commands;                          /**< with a record */
    uint64_t failed;                            /**< of those: failed or dropped */
    cls_profile_total kinds[CLS_COMMAND_KINDS]; /**< launches, transfers ..., less failed ones */
    uint64_t begin_ns;                          /**< first start of its commands */
    uint64_t end_ns;                            /**< last end of its commands */
    uint64_t busy_ns;                           /**< of its work */
    double latency_ns;                          /**< mean time from queued to end of its commands */
    uint64_t
        memory_peak; /**< the most bytes of buffers and pools in its context when it submitted */
    uint64_t held_ns[CLS_HOLDS]; /**< the gaps between its commands, by cause */
} cls_profile_stream;

#define CLS_PROFILE_STREAM_INIT                                                       \
    {                                                                                 \
        sizeof(cls_profile_stream), 0, "", 0, 0, 0, {{0, 0, 0}}, 0, 0, 0, 0, 0, { 0 } \
    }

/** The i-th stream that has a record, in the order of their numbers. */
CLS_API cls_status cls_profile_get_stream(cls_profile profile, size_t i, cls_profile_stream *out);

/**
 * The index of a stream in the profile.
 * @retval CLS_ERROR_NOT_FOUND it has no record
 */
CLS_API cls_status cls_profile_find_stream(cls_profile profile, cls_stream stream, size_t *index);

/** Commands of one label and kind. Start with CLS_PROFILE_OPERATION_INIT. */
typedef struct cls_profile_operation {
    size_t size;           /**< sizeof(cls_profile_operation) */
    char label[64];        /**< of the commands */
    cls_command_kind kind; /**< of the commands */
    uint64_t count;        /**< failed ones are left out */
    uint64_t bytes;        /**< that they moved */
    uint64_t total_ns;     /**< of all of them */
    double mean_ns;        /**< of one of them */
    uint64_t min_ns;       /**< the shortest */
    uint64_t max_ns;       /**< the longest */
    uint64_t p50_ns;       /**< the least duration that half of them do not exceed */
    uint64_t p99_ns;       /**< the least duration that 99% of them do not exceed */
} cls_profile_operation;

#define CLS_PROFILE_OPERATION_INIT \
    { sizeof(cls_profile_operation), "", CLS_COMMAND_KERNEL, 0, 0, 0, 0, 0, 0, 0, 0 }

/** All streams, where a stream's index is asked for. */
#define CLS_PROFILE_ALL SIZE_MAX

/** The i-th operation of the stream of index `stream`, or of all streams; most time in all first. */
CLS_API cls_status cls_profile_get_operation(cls_profile profile, size_t stream, size_t i,
                                             cls_profile_operation *out);

/**
 * Two groups of commands, A and B, and the time at which both were at work. Start with
 * CLS_PROFILE_OVERLAP_INIT. With a, b the busy times of A and B and C the longest chain, through stream
 * order and all dependencies, of commands of A and B (others count nothing):
 *
 *   overlap_ns   = the length of what their unions have in common
 *   possible_ns  = min(a, b, a + b - C), at least overlap_ns
 *   achieved     = overlap_ns / possible_ns; 1 where nothing was possible
 *
 * For a group with itself, a and b are the sum of its durations, overlap_ns is that sum less the group's busy
 * time, and possible_ns that sum less C, at least overlap_ns: 0 where its commands are all in one chain.
 */
typedef struct cls_profile_overlap {
    size_t size;          /**< sizeof(cls_profile_overlap) */
    uint64_t busy_ns[2];  /**< a and b */
    uint64_t overlap_ns;  /**< both at work */
    uint64_t possible_ns; /**< the most that could have been */
    double achieved;      /**< the ratio of the two, 0 to 1 */
} cls_profile_overlap;

#define CLS_PROFILE_OVERLAP_INIT \
    { sizeof(cls_profile_overlap), {0, 0}, 0, 0, 0 }

/** Two streams' work, by their indices. */
CLS_API cls_status cls_profile_get_stream_overlap(cls_profile profile, size_t a, size_t b,
                                                  cls_profile_overlap *out);

/**
 * Two kinds of work over all streams.
 * @retval CLS_ERROR_INVALID_VALUE also for a kind that is no work
 */
CLS_API cls_status cls_profile_get_kind_overlap(cls_profile profile, cls_command_kind a,
                                                cls_command_kind b, cls_profile_overlap *out);

/** The forms in which a profile is written. */
typedef enum cls_profile_format {
    CLS_PROFILE_AUTO = 0, /**< by the name: .json .html .svg .csv .txt */
    CLS_PROFILE_JSON = 1, /**< Chrome's trace events, also for Perfetto */
    CLS_PROFILE_HTML = 2, /**< a page to zoom, with the reports; needs no other file */
    CLS_PROFILE_SVG = 3,  /**< a picture of the timeline; needs no other file */
    CLS_PROFILE_CSV = 4,  /**< one record a line */
    CLS_PROFILE_TEXT = 5  /**< the reports */
} cls_profile_format;

/**
 * Writes a profile to a file, which appears under its name only once it is complete; a pipe or a device that
 * is there is written to.
 * @retval CLS_ERROR_INVALID_VALUE a null path, an unknown format, or AUTO with another suffix
 * @retval CLS_ERROR_IO
 * @retval CLS_ERROR_OUT_OF_MEMORY
 */
CLS_API cls_status cls_profile_export(cls_profile profile, const char *path,
                                      cls_profile_format format);

/** The name of a kind of commands ("kernel", "copy_h2d" ...); "?" for a value that is none. */
CLS_API const char *cls_command_kind_name(cls_command_kind kind);

/** The name of a cause ("dependency" ...); "?" for a value that is none. A static string. */
CLS_API const char *cls_hold_name(cls_hold hold);

CLS_END_DECLS

#endif
