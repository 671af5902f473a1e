/* SPDX-License-Identifier: MIT */
/*
 * The capability record of a device: measured by probes at first use, which take about a tenth of a second, and cached
 * on disk for each driver version. It has the verdicts on what the library relies on (driver/trust.h), too. Probes run
 * in a cl_context of their own, which is released afterwards. If the machine was so busy that the rounds of a
 * comparison disagree, the record is valid for ten minutes and is then made anew.
 */
#ifndef CLSTREAM_DRIVER_CAPS_H
#define CLSTREAM_DRIVER_CAPS_H

#include "driver/device.h"
#include "driver/trust.h"

/* Threshold of "dear": an event per command, or a chained launch on an out-of-order queue, that costs more than this
 * times the cheaper alternative. */
#define CAPS_DEAR 1.10

/* Patterns of fills are 1, 2, 4, 8 or 16 bytes wide. */
enum { FILL_WIDTHS = 5, FILL_WIDEST = 1 << (FILL_WIDTHS - 1) };

struct caps {
    /* measured */
    bool out_of_order; /* an out-of-order queue, profiled or not, can be made and runs commands */
    bool out_of_order_concurrent; /* two independent kernels on one such queue overlapped */
    bool out_of_order_serial;     /* they never did, while on two queues they nearly always did */
    bool queues_concurrent;       /* two independent kernels on two queues overlapped */
    bool copy_compute_overlap;    /* a pinned copy and a kernel on two queues overlapped */
    bool unflushed_progresses;    /* unflushed work completes while its event is polled */
    bool unflushed_runs;          /* unflushed work completes unpolled, waits across queues too */
    bool timestamps_sane;         /* queued <= submit <= start <= end, nonzero, on a sane scale */
    bool marker_times_sane;       /* a marker ends no earlier than the work before it */
    bool migrate_blocks;          /* enqueueing a migration waits for the work ahead of it */
    bool binary_compiles; /* a program's binary is compiled when the driver is asked for it */
    bool fp64;
    bool priorities;              /* cl_khr_priority_hints, and a queue with one can be made */
    double pageable_write_blocks; /* share of a non-blocking write spent before it returns */
    double pageable_read_blocks;
    double pinned_speedup;           /* of pinned over pageable copies, host to device */
    double launch_in_order_ns;       /* per launch, in-order, no event */
    double launch_in_order_event_ns; /* in-order, one event per launch, kept and released */
    double launch_out_of_order_ns;   /* out-of-order, chained events */
    /* lower bounds: four rounds of five had no lower ratio */
    double event_cost_ratio;      /* in-order launches: with an event each / without events */
    double chain_cost_ratio;      /* out-of-order chained launches / the cheaper in-order way */
    bool rounds_agreed;           /* four rounds of five agreed, for both ratios */
    double flush_ns;              /* clFlush of an idle queue */
    double event_query_ns;        /* clGetEventInfo of the status */
    double fill_gbs[FILL_WIDTHS]; /* by the pattern's width; 0: not measured */
    double local_array_bytes;     /* that a kernel's own arrays in local memory may have */
    double trial_seed;            /* of what the trials have drawn */
    enum trial_verdict verdicts[TRUSTS]; /* of the trials (driver/trust.h) */
    char untried[96];                    /* why the first that is untried is so; not on disk */
    /* chosen from the above, and read by streams */
    bool prefer_in_order; /* CLS_ORDER_AUTO means in-order */
    bool event_less;      /* in-order streams take no event per command: events are dear */
    bool chain_shares; /* launches in a row on an out-of-order stream share the last one's event */
    bool flushes;      /* the library flushes work: the driver may not start it otherwise */
    bool stage_writes; /* pageable host-to-device copies go through pinned chunks */
    bool stage_reads;
    bool keep_programs; /* in the disk cache */
};

/* The record; the first call probes it or reads it from the cache, and other threads wait meanwhile.
 * A probe that fails gives its figure the value that asks least of the driver; the record is still
 * made. */
cls_status device_caps(struct device *device, const struct caps **out);

/* Whether the library may rely on a mechanism of the driver's: its trial did not fail. */
static inline bool caps_trusts(const struct caps *caps, enum trust which) {
    return caps->verdicts[which] != TRIAL_WRONG;
}

/* Whether a trial was run and found the mechanism right. A mechanism that was not tried is not believed. */
static inline bool caps_proves(const struct caps *caps, enum trust which) {
    return caps->verdicts[which] == TRIAL_RIGHT;
}

/* The same for all use of sub-buffers but rectangles. */
static inline bool caps_trusts_parts(const struct caps *caps) {
    return caps_trusts(caps, TRUST_SUB_BUFFER_ARGUMENTS) &&
           caps_trusts(caps, TRUST_SUB_BUFFER_COPIES);
}

struct text;

/* Adds the key of one of a device's records in the disk cache; false: without memory. */
bool caps_key(const struct device *device, const char *record, int format, struct text *key);

/* CLSTREAM_PROBE=again replaces a record that was made while the machine was busy with something else. */
bool caps_wanted_anew(void);

/* Sets the chosen part of a record from its measured part. */
void caps_choose(const struct device *device, struct caps *caps);

/* The width at which the driver fills `bytes` bytes fastest with a pattern of `width` bytes: a wider one holds it several
 * times, where offset and size are multiples of that, and a narrower one where the pattern repeats itself. */
size_t caps_fill_width(const struct caps *caps, const void *pattern, size_t width, size_t offset,
                       size_t bytes);

/* The number of figures in a record, and each figure by its index. */
extern const size_t caps_figures;
cls_capability caps_figure(const struct caps *caps, size_t i);

#endif
