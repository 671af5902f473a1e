/* SPDX-License-Identifier: MIT */
/*
 * A trace read back from the JSON that the library wrote, and its conversions. The library has computed the reports;
 * the tool only prints them.
 */
#ifndef CLSTREAM_TOOLS_JSON_TRACE_H
#define CLSTREAM_TOOLS_JSON_TRACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <uthash.h>

/* A row of the timeline: a stream, a thread with ranges, or the records added by the program. */
struct trace_lane {
    struct trace_place {
        uint64_t process,
            thread; /* process 0 is the host; a device's thread is a stream's number */
    } place;
    const char *name;
    unsigned rows; /* records that overlap lie below each other */
    unsigned top;  /* for who draws it */
    UT_hash_handle hh;
};

/* Times are nanoseconds from the begin of the trace, and not after its end. */
struct trace_record {
    const json_t *event, *args;
    struct trace_lane *lane;
    unsigned row;
    uint64_t start, end;
};

struct trace_arrow {
    const struct trace_lane *from, *to;
    uint64_t start, end;
};

struct trace {
    json_t *top;          /* strings live as long as this */
    const json_t *report; /* summary, streams, operations, overlaps */
    uint64_t begin_ns;    /* of the host's clock */
    uint64_t span;        /* what lies between its begin and its end */
    struct trace_lane *lanes, *by_place;
    struct trace_record *records; /* by start */
    struct trace_arrow *arrows;
    size_t n_lanes, n_records, n_arrows;
};

/* Write errors are left to ferror. trace_put_svg sorts the records by lane. */
void trace_put_svg(FILE *file, struct trace *trace);
void trace_put_csv(FILE *file, struct trace *trace);
void trace_put_text(FILE *file, struct trace *trace);

/* --- parts of these --- */

/* A name in one line. */
void trace_put_name(FILE *file, const char *name);

/* The failed commands with what made them fail. */
void trace_put_failures(FILE *file, const struct trace *trace);

/* --- members of its objects; 0 or "" where they are missing --- */

uint64_t trace_number(const json_t *object, const char *name);
const char *trace_string(const json_t *object, const char *name);

/* A number of microseconds, in nanoseconds. */
uint64_t trace_ns(const json_t *object, const char *name);
uint64_t trace_ns_of(const json_t *microseconds);

/* A position of a stream. */
struct trace_command {
    uint64_t stream, position;
};

/* The error of a command that failed, or NULL. */
const char *trace_failure(const struct trace_record *record);

/* The command that failed first, which may be the same; stream 0: none. */
struct trace_command trace_cause(const struct trace_record *record);

/* Whether it failed because of another command. */
bool trace_is_victim(const struct trace_record *record);

static inline bool trace_is_command(const struct trace_record *record) {
    return record->lane->place.process != 0;
}

#endif
