/* SPDX-License-Identifier: MIT */
#include "driver/caps_table.h"

#include <stddef.h>
#include <string.h>

#define FLAG(member, meaning) \
    { #member, meaning, "bool", offsetof(struct caps, member), true }
#define FIGURE(member, unit, meaning) \
    { #member, meaning, unit, offsetof(struct caps, member), false }

#define FILL(i, width)                                                                         \
    {                                                                                          \
        "fill_" #width "_gbs", "a fill of 512 KiB with a pattern of " #width " bytes", "GB/s", \
            offsetof(struct caps, fill_gbs) + (i) * sizeof(double), false                      \
    }

static const struct figure {
    const char *name;
    const char *meaning;
    const char *unit;
    size_t offset;
    bool flag; /* the member is a bool, else a double */
} figures[] = {
    FLAG(out_of_order, "an out-of-order queue, profiled or not, can be made and runs commands"),
    FLAG(out_of_order_concurrent, "two kernels on one out-of-order queue overlapped"),
    FLAG(out_of_order_serial,
         "two kernels overlap on two queues, but never on one out-of-order queue"),
    FLAG(queues_concurrent, "two kernels on two queues overlapped"),
    FLAG(copy_compute_overlap, "a pinned copy and a kernel on two queues overlapped"),
    FLAG(unflushed_progresses, "unflushed work completes while its event is polled"),
    FLAG(unflushed_runs, "unflushed work completes without polling, across queues too"),
    FLAG(timestamps_sane, "profiling times are in order and on the host's scale"),
    FLAG(marker_times_sane, "a marker ends no earlier than the work before it"),
    FLAG(migrate_blocks, "enqueueing a migration waits for the work ahead of it"),
    FLAG(binary_compiles, "a program is compiled when the driver is asked for its binary"),
    FLAG(fp64, "double precision"),
    FLAG(priorities, "queues with a priority can be made"),
    FIGURE(pageable_write_blocks, "share",
           "of the time of a pageable 4 MiB upload is spent inside the call"),
    FIGURE(pageable_read_blocks, "share",
           "of the time of a pageable 4 MiB download is spent inside the call"),
    FIGURE(pinned_speedup, "x", "speed of a 4 MiB upload from pinned memory, relative to pageable"),
    FIGURE(launch_in_order_ns, "ns", "one launch, in-order queue, no event"),
    FIGURE(launch_in_order_event_ns, "ns", "one launch, in-order queue, one event per launch"),
    FIGURE(launch_out_of_order_ns, "ns", "one launch, out-of-order queue, chained by events"),
    FIGURE(event_cost_ratio, "x",
           "in-order launches with an event each, relative to none (lower bound)"),
    FIGURE(chain_cost_ratio, "x",
           "out-of-order chained launches, relative to in-order (lower bound)"),
    FLAG(rounds_agreed, "the rounds of both ratios agreed; if not, all is probed again later"),
    FIGURE(flush_ns, "ns", "clFlush of an idle queue"),
    FIGURE(event_query_ns, "ns", "query of an event's state"),
    FILL(0, 1),
    FILL(1, 2),
    FILL(2, 4),
    FILL(3, 8),
    FILL(4, 16),
    FIGURE(local_array_bytes, "B",
           "local memory that a kernel's own arrays may have, stated or tried"),
    FIGURE(trial_seed, "",
           "the trials of trusted mechanisms drew offsets, sizes and shapes from it"),
    FLAG(prefer_in_order, "chosen: streams run on in-order queues unless told otherwise"),
    FLAG(event_less, "chosen: in-order streams take no event per command"),
    FLAG(chain_shares, "chosen: launches in a row share an event on out-of-order streams"),
    FLAG(flushes, "chosen: the library flushes work, which may not start otherwise"),
    FLAG(stage_writes, "chosen: pageable uploads go through pinned chunks"),
    FLAG(keep_programs, "chosen: the disk cache keeps built programs"),
    FLAG(stage_reads, "chosen: pageable downloads go through pinned chunks"),
};

_Static_assert(sizeof figures / sizeof *figures == CAPS_FIGURES, "one row for each figure");

const size_t caps_figures = CAPS_FIGURES + TRUSTS;

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
    if (i >= CAPS_FIGURES)
        return trust_figure(caps, i - CAPS_FIGURES);
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
