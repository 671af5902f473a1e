/* SPDX-License-Identifier: MIT */
#include "check/race_report.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/check.h>

#include "base/at_exit.h"
#include "base/error.h"
#include "base/process.h"
#include "base/setting.h"
#include "base/sized.h"
#include "base/text.h"
#include "check/race.h"
#include "check/race_graph.h"
#include "system/files.h"

enum { KEPT = 256, PRINTED = 100 };

static cls_check_counts counts = CLS_CHECK_COUNTS_INIT;
static cls_check_finding *kept[KEPT];
static size_t n_kept;
static FILE *out;
static struct at_exit handler;

static void open_log(void) {
    const char *folder, *name = setting_path("CLSTREAM_CHECK_LOG", &folder);
    struct text path = {0};
    out = stderr;
    if (!name)
        return;
    text_printf(&path, "%s%s", folder, name);
    FILE *log = path.failed ? NULL : file_open(path.bytes, "a");
    free(path.bytes);
    if (log)
        out = log;
    else
        fprintf(stderr, "clstream: CLSTREAM_CHECK_LOG: %s cannot be written\n", name);
}

FILE *check_log(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_log);
    return out;
}

static void summarize(void) {
    if (!at_exit_is_due(&handler))
        return;
    fprintf(out,
            "clstream: race check: %" PRIu64 " commands, %" PRIu64 " races, %" PRIu64
            " possible, %" PRIu64 " forgotten\n",
            counts.commands, counts.races, counts.possible, counts.forgotten);
    fflush(out);
}

void race_report_start(void) {
    counts.on = 1;
    fprintf(check_log(), "clstream: race check is on (CLSTREAM_CHECK=race)\n");
    fflush(out);
    at_exit_register(&handler, summarize);
}

void race_count_command(void) { counts.commands++; }
void race_count_forgotten(void) { counts.forgotten++; }

/* --- texts --- */

static void describe_node(struct text *text, const struct race_finding *finding,
                          const struct race_side *side) {
    const struct race_node *node = &finding->nodes[side->position - 1];
    if (node->first == node->last)
        text_printf(text, "node %u ('%s')", node->first, side->label);
    else
        text_printf(text, "nodes %u to %u (fused: '%s')", node->first, node->last, side->label);
}

static void describe_side(struct text *text, const struct race_finding *finding,
                          const struct race_side *side) {
    static const char *const verbs[2][2] = {{"reads", "writes"}, {"may read", "may write"}};
    const char *verb = verbs[side->possible][side->write];
    if (finding->nodes) {
        describe_node(text, finding, side);
        text_printf(text, " of graph '%s' %s", side->stream, verb);
    } else if (side->stream) {
        text_printf(text, "command %" PRIu64 " of stream '%s' ('%s') %s", side->position,
                    side->stream, side->label, verb);
    } else {
        text_printf(text, "the host %s", verb);
    }
}

static void describe_bytes(struct text *text, const struct race_finding *finding) {
    const size_t n = finding->end - finding->start;
    if (finding->host)
        text_printf(text, "%zu byte%s of host memory at %p", n, n == 1 ? "" : "s",
                    (void *)(uintptr_t)finding->start);
    else if (n == 1)
        text_printf(text, "byte %zu of a buffer of %zu bytes", finding->start, finding->bytes);
    else
        text_printf(text, "bytes %zu to %zu of a buffer of %zu bytes", finding->start,
                    finding->end - 1, finding->bytes);
}

/* How to put the second access behind the first one. */
static void describe_remedy(struct text *text, const struct race_finding *finding) {
    const struct race_side *first = &finding->first, *second = &finding->second;
    if (finding->nodes)
        text_printf(text, "Neither comes after the other: in the capture, record an event behind "
                          "the first, and make the stream of the second wait for it first.");
    else if (finding->mapped)
        text_printf(text, "The bytes are mapped for the host: unmap them before "
                          "the command is submitted.");
    else if (second->stream)
        text_printf(
            text,
            "Neither waits for the other: record an event on '%s' after its command %" PRIu64
            ", and make '%s' wait for it before its command %" PRIu64 ".",
            first->stream, first->position, second->stream, second->position);
    else
        text_printf(text,
                    "The host does not wait for the command: before the access, synchronize with "
                    "'%s', or with an event recorded on it after command %" PRIu64 ".",
                    first->stream, first->position);
}

/* How to say exactly what is accessed. */
static void describe_declaration(struct text *text, const struct race_side *side) {
    if (side->possible && side->stream)
        text_printf(text,
                    " If '%s' only reads, or only writes, or does neither there, pass its buffers "
                    "by cls_arg_reads or cls_arg_writes.",
                    side->label);
    else if (side->possible)
        text_printf(text, " If the host only reads or only writes, declare that instead.");
}

static void describe(struct text *text, const struct race_finding *finding) {
    text_printf(text, "%srace: ", race_is_possible(finding) ? "possible " : "");
    describe_side(text, finding, &finding->first);
    text_printf(text, " and ");
    describe_side(text, finding, &finding->second);
    text_printf(text, " ");
    describe_bytes(text, finding);
    text_printf(text, ". ");
    describe_remedy(text, finding);
    describe_declaration(text, finding->first.possible ? &finding->first : &finding->second);
}

static void describe_change(struct text *text, const struct race_change *change) {
    const struct race_side *copy = &change->copy;
    text_printf(text,
                "%srace: %zu bytes of host memory at %p were %s before command %" PRIu64
                " of stream '%s' ('%s') had read them. The host does not wait for the copy: before "
                "the %s, synchronize with '%s', or with an event recorded on it after command "
                "%" PRIu64 ".",
                change->possible ? "possible " : "", change->bytes,
                (void *)(uintptr_t)change->start, change->gone ? "unmapped" : "changed",
                copy->position, copy->stream, copy->label, change->gone ? "free" : "change",
                copy->stream, copy->position);
    if (change->possible)
        text_printf(text, " If the copy waits for the change, by a signal or a host function, "
                          "declare it with cls_check_host_access.");
}

/* --- publishing --- */

/* Counts a finding; whether it is to be described. */
static bool count(bool possible) {
    const uint64_t number = counts.races + counts.possible;
    ++*(possible ? &counts.possible : &counts.races);
    if (number == PRINTED)
        fprintf(out, "clstream: further races are only counted\n");
    return number < PRINTED || n_kept < KEPT;
}

/* Takes over the text. */
static void publish(bool possible, struct text *text) {
    cls_check_finding finding = {.size = sizeof finding, .possible = possible};
    snprintf(finding.text, sizeof finding.text, "%s",
             text->failed ? "race: no memory to describe it" : text->bytes);
    free(text->bytes);
    if (counts.races + counts.possible <= PRINTED)
        fprintf(out, "clstream: %s\n", finding.text);
    fflush(out);
    cls_check_finding *copy = n_kept < KEPT ? malloc(sizeof *copy) : NULL;
    if (!copy)
        return;
    *copy = finding;
    kept[n_kept++] = copy;
}

void race_report(const struct race_finding *finding) {
    struct text text = {0};
    if (!count(race_is_possible(finding)))
        return;
    describe(&text, finding);
    publish(race_is_possible(finding), &text);
}

void race_report_change(const struct race_change *change) {
    struct text text = {0};
    if (!count(change->possible))
        return;
    describe_change(&text, change);
    publish(change->possible, &text);
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
