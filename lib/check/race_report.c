/* SPDX-License-Identifier: MIT */
#include "check/race_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/check.h>

#include "base/at_exit.h"
#include "base/error.h"
#include "base/process.h"
#include "base/sized.h"
#include "check/race.h"

enum { KEPT = 256, PRINTED = 100 };

static cls_check_counts counts = CLS_CHECK_COUNTS_INIT;
static cls_check_finding *kept[KEPT];
static size_t n_kept;
static FILE *out;
static struct at_exit handler;

/* Without a race, a summary goes to a log file only: it shows that each of many programs was checked. */
static void summarize(void) {
    if (!at_exit_is_due(&handler))
        return;
    uint64_t found = counts.races + counts.possible;
    if (out != stderr || found)
        fprintf(out,
                "clstream: race check: %" PRIu64 " commands, %" PRIu64 " races, %" PRIu64
                " possible, %" PRIu64 " forgotten\n",
                counts.commands, counts.races, counts.possible, counts.forgotten);
    fflush(out);
}

void race_report_start(void) {
    const char *path = getenv("CLSTREAM_CHECK_LOG");
    counts.on = 1;
    out = path && *path ? fopen(path, "a") : stderr;
    if (!out) {
        fprintf(stderr, "clstream: CLSTREAM_CHECK_LOG: %s cannot be written\n", path);
        out = stderr;
    }
    at_exit_register(&handler, summarize);
}

void race_count_command(void) { counts.commands++; }
void race_count_forgotten(void) { counts.forgotten++; }

static void describe_side(char *text, size_t room, const struct race_side *side) {
    const char *does = side->write ? "writes" : "reads";
    if (!side->stream)
        snprintf(text, room, "the host %s", does);
    else
        snprintf(text, room, "'%s' (stream '%s', command %" PRIu64 ") %s", side->label,
                 side->stream, side->position, does);
}

static void describe_bytes(char *text, size_t room, const struct race_finding *finding) {
    if (finding->host)
        snprintf(text, room, "%zu bytes of host memory at %p", finding->end - finding->start,
                 (void *)(uintptr_t)finding->start);
    else
        snprintf(text, room, "bytes [%zu, %zu) of a buffer of %zu", finding->start, finding->end,
                 finding->bytes);
}

static void describe_edge(char *text, size_t room, const struct race_finding *finding) {
    const struct race_side *first = &finding->first, *second = &finding->second;
    if (second->stream)
        snprintf(text, room,
                 "record an event on '%s' after command %" PRIu64
                 " and let '%s' wait for it before command %" PRIu64,
                 first->stream, first->position, second->stream, second->position);
    else
        snprintf(text, room,
                 "synchronize '%s', or an event recorded on it after command %" PRIu64
                 ", before the access",
                 first->stream, first->position);
}

static void describe(char *text, size_t room, const struct race_finding *finding) {
    char first[192], second[192], bytes[96], edge[224];
    describe_side(first, sizeof first, &finding->first);
    describe_side(second, sizeof second, &finding->second);
    describe_bytes(bytes, sizeof bytes, finding);
    describe_edge(edge, sizeof edge, finding);
    snprintf(text, room, "%srace: %s and %s %s; nothing orders them: %s",
             finding->possible ? "possible " : "", first, second, bytes, edge);
}

void race_report(const struct race_finding *finding) {
    cls_check_finding said = {.size = sizeof said, .possible = finding->possible};
    uint64_t number = counts.races + counts.possible;
    ++*(finding->possible ? &counts.possible : &counts.races);
    if (number >= PRINTED && n_kept == KEPT)
        return;
    describe(said.text, sizeof said.text, finding);
    if (number < PRINTED)
        fprintf(out, "clstream: %s\n", said.text);
    if (number == PRINTED)
        fprintf(out, "clstream: further races are only counted\n");
    fflush(out);
    cls_check_finding *copy = n_kept < KEPT ? malloc(sizeof *copy) : NULL;
    if (!copy)
        return;
    *copy = said;
    kept[n_kept++] = copy;
}

/* --- the caller's questions --- */

cls_status cls_check_get_counts(cls_check_counts *result) {
    cls_status status = SIZED_CHECK(cls_check_counts, result);
    if (!status)
        status = process_check();
    if (status)
        return status;
    race_lock();
    SIZED_OUT(cls_check_counts, result, &counts);
    race_unlock();
    return CLS_SUCCESS;
}

cls_status cls_check_get_finding(size_t index, cls_check_finding *finding) {
    cls_status status = SIZED_CHECK(cls_check_finding, finding);
    if (!status)
        status = process_check();
    if (status)
        return status;
    race_lock();
    bool found = index < n_kept;
    if (found)
        SIZED_OUT(cls_check_finding, finding, kept[index]);
    race_unlock();
    return found ? CLS_SUCCESS : error_set(CLS_ERROR_OUT_OF_RANGE, "no finding %zu is kept", index);
}

cls_status cls_check_clear(void) {
    cls_status status = process_check();
    if (status)
        return status;
    race_lock();
    while (n_kept)
        free(kept[--n_kept]);
    counts.races = counts.possible = counts.commands = counts.forgotten = 0;
    race_unlock();
    return CLS_SUCCESS;
}
