/* SPDX-License-Identifier: MIT */
/* The findings of the race checker: kept for the program to read, and written to where CLSTREAM_CHECK_LOG says. */
#ifndef CLSTREAM_CHECK_RACE_REPORT_H
#define CLSTREAM_CHECK_RACE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct race_node;

/* One of two accesses; `stream` is NULL for the host's, and the graph's name for a node's. */
struct race_side {
    const char *stream;
    const char *label;
    uint64_t position;
    bool write;
    bool possible; /* known by its buffer only */
};

struct race_finding {
    struct race_side first, second; /* the second may be the host's */
    const struct race_node
        *nodes;   /* both are of one graph (check/race_graph.h); NULL: they are not */
    bool host;    /* host memory, else a buffer */
    bool mapped;  /* the first has mapped the bytes for the host, and they still are */
    size_t bytes; /* size of the buffer */
    size_t start, end;
};

/* Host memory that changed before an upload had read it. */
struct race_change {
    struct race_side copy;
    bool possible; /* the upload waits for the program, which may have made the change before */
    bool gone;     /* the memory is not mapped any more */
    size_t start, bytes; /* what is uploaded */
};

static inline bool race_is_possible(const struct race_finding *finding) {
    return finding->first.possible || finding->second.possible;
}

/* The file that CLSTREAM_CHECK_LOG names, or the standard error. Opened by the first call. */
FILE *check_log(void);

/* Opens the report. */
void race_report_start(void);

/* All but race_report_start are called under the checker's lock. */
void race_report(const struct race_finding *finding);
void race_report_change(const struct race_change *change);
void race_count_command(void);
void race_count_forgotten(void);

#endif
