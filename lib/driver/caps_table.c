/* SPDX-License-Identifier: MIT */
#include "driver/caps_table.h"

#include <stddef.h>
#include <string.h>

#define FLAG(member, meaning) \
    { #member, meaning, "bool", offsetof(struct caps, member), true }
#define FIGURE(member, unit, meaning) \
    { #member, meaning, unit, offsetof(struct caps, member), false }

static const struct figure {
    const char *name;
    const char *meaning;
    const char *unit;
    size_t offset;
    bool flag; /* the member is a bool, else a double */
} figures[] = {
    FLAG(out_of_order, "an out-of-order queue, profiled or not, can be made and runs commands"),
    FLAG(out_of_order_concurrent, "two kernels on one out-of-order queue were seen to overlap"),
    FLAG(out_of_order_serial, "they never did, where on two queues they nearly always did"),
    FLAG(queues_concurrent, "two kernels on two queues were seen to overlap"),
    FLAG(copy_compute_overlap, "a pinned copy and a kernel on two queues were seen to overlap"),
    FLAG(unflushed_progresses, "work that was not flushed completes under polling"),
    FLAG(unflushed_runs, "it completes with nobody looking, across queues too"),
    FLAG(timestamps_sane, "profiling times are in order and on the host's scale"),
    FLAG(marker_times_sane, "a marker's end is no earlier than that of the work before it"),
    FLAG(migrate_blocks, "enqueueing a migration waits for the work ahead of it"),
    FLAG(fp64, "double precision"),
    FLAG(priorities, "queues with a priority can be made"),
    FIGURE(pageable_write_blocks, "share",
           "of a pageable 4 MiB upload, spent before the call returns"),
    FIGURE(pageable_read_blocks, "share",
           "of a pageable 4 MiB download, spent before the call returns"),
    FIGURE(pinned_speedup, "x", "a 4 MiB upload from pinned memory against pageable"),
    FIGURE(launch_in_order_ns, "ns", "one launch, in-order queue, no event"),
    FIGURE(launch_in_order_event_ns, "ns", "one launch, in-order queue, an event each"),
    FIGURE(launch_out_of_order_ns, "ns", "one launch, out-of-order queue, chained by events"),
    FIGURE(event_cost_ratio, "x", "in-order launches with an event each against none, at least"),
    FIGURE(chain_cost_ratio, "x", "out-of-order chained launches against in-order ones, at least"),
    FLAG(rounds_agreed, "the rounds behind both ratios agreed; else all is probed again later"),
    FIGURE(flush_ns, "ns", "clFlush of an idle queue"),
    FIGURE(event_query_ns, "ns", "asking an event for its state"),
    FLAG(prefer_in_order, "chosen: streams run on in-order queues unless told otherwise"),
    FLAG(event_less, "chosen: in-order streams do without an event per command"),
    FLAG(chain_shares, "chosen: launches in a row share an event on out-of-order streams"),
    FLAG(flushes, "chosen: work is flushed before anybody waits for it"),
    FLAG(stage_writes, "chosen: pageable uploads go through pinned chunks"),
    FLAG(stage_reads, "chosen: pageable downloads go through pinned chunks"),
};

_Static_assert(sizeof figures / sizeof *figures == CAPS_FIGURES, "one row for each figure");

const size_t caps_figures = CAPS_FIGURES;

static double number(const struct caps *caps, const struct figure *figure) {
    const char *at = (const char *)caps + figure->offset;
    bool flag;
    double value;
    if (!figure->flag) {
        memcpy(&value, at, sizeof value);
        return value;
    }
    memcpy(&flag, at, sizeof flag);
    return flag;
}

cls_capability caps_figure(const struct caps *caps, size_t i) {
    const struct figure *figure = &figures[i];
    return (cls_capability){figure->name, figure->meaning, figure->unit, number(caps, figure)};
}

void caps_to_numbers(const struct caps *caps, double numbers[CAPS_FIGURES]) {
    for (size_t i = 0; i < CAPS_FIGURES; i++)
        numbers[i] = number(caps, &figures[i]);
}

void caps_from_numbers(const double numbers[CAPS_FIGURES], struct caps *caps) {
    for (size_t i = 0; i < CAPS_FIGURES; i++) {
        char *at = (char *)caps + figures[i].offset;
        bool flag = numbers[i] != 0;
        if (figures[i].flag)
            memcpy(at, &flag, sizeof flag);
        else
            memcpy(at, &numbers[i], sizeof numbers[i]);
    }
}
