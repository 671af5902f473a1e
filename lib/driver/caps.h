/* SPDX-License-Identifier: MIT */
/*
 * The capability record of a device: probes at first use, for about a tenth of a second, cached on disk per
 * driver version. Probes run in a cl_context of their own, which is gone afterwards. Where the machine was so
 * busy that the rounds of a comparison disagree, the record serves for ten minutes and is then made anew.
 */
#ifndef CLSTREAM_DRIVER_CAPS_H
#define CLSTREAM_DRIVER_CAPS_H

#include "driver/device.h"

/* An event per command, or a chained launch on an out-of-order queue, that costs more than this times the
 * cheaper way is dear. */
#define CAPS_DEAR 1.10

struct caps {
    /* measured */
    bool out_of_order; /* an out-of-order queue, profiled or not, can be made and runs commands */
    bool out_of_order_concurrent; /* two independent kernels on one were seen to overlap */
    bool out_of_order_serial;     /* they never do, where on two queues they nearly always do */
    bool queues_concurrent;       /* two independent kernels on two queues did */
    bool copy_compute_overlap;    /* a pinned copy and a kernel on two queues did */
    bool unflushed_progresses;    /* polling an unflushed queue completes the work */
    bool unflushed_runs;          /* it completes by itself, also what waits for another queue's */
    bool timestamps_sane;         /* queued <= submit <= start <= end, nonzero, on a sane scale */
    bool marker_times_sane;       /* a marker ends no earlier than the work before it */
    bool migrate_blocks;          /* enqueueing a migration waits for the work ahead of it */
    bool fp64;
    bool priorities;              /* cl_khr_priority_hints, and a queue with one can be made */
    double pageable_write_blocks; /* share of a non-blocking write spent before it returns */
    double pageable_read_blocks;
    double pinned_speedup;           /* pinned against pageable, host to device */
    double launch_in_order_ns;       /* per launch, in-order, no event */
    double launch_in_order_event_ns; /* in-order, an event each, kept and released */
    double launch_out_of_order_ns;   /* out-of-order, chained events */
    /* what four rounds of five took at least */
    double event_cost_ratio; /* in-order with an event each against none */
    double chain_cost_ratio; /* out-of-order, chained, against in-order as it is cheaper */
    bool rounds_agreed;      /* four rounds of five said the same of both */
    double flush_ns;         /* clFlush of an idle queue */
    double event_query_ns;   /* clGetEventInfo of the status */
    /* chosen from the above; what streams read */
    bool prefer_in_order; /* CLS_ORDER_AUTO means in-order */
    bool event_less;      /* an in-order stream is better off without an event per command */
    bool chain_shares; /* launches in a row on an out-of-order stream share the last one's event */
    bool flushes;      /* work is flushed before anybody waits for it */
    bool stage_writes; /* pageable host-to-device copies go through pinned chunks */
    bool stage_reads;
};

/* The record, probed or read from the cache on the first call (other threads wait for it). Where a
 * probe fails, its figure takes the value that asks least of the driver; the record is still made.
 */
cls_status device_caps(struct device *device, const struct caps **out);

/* Sets the chosen part of a record from its measured part. */
void caps_choose(const struct device *device, struct caps *caps);

/* The figures of a record by number, for lists. */
extern const size_t caps_figures;
cls_capability caps_figure(const struct caps *caps, size_t i);

#endif
