/* SPDX-License-Identifier: MIT */
/*
 * The probes behind the capability record, and the little world that they share. A probe never
 * waits without a limit: it flushes, then polls the events. Once a wait has run out the world is
 * `stuck`: nothing more is run, and nothing is released either, because that may block too.
 *
 * No probe makes a user event, or uses clFinish to wait.
 */
#ifndef CLSTREAM_DRIVER_PROBE_H
#define CLSTREAM_DRIVER_PROBE_H

#include <stdint.h>

#include "driver/caps.h"

enum { PROBE_KERNELS = 2, PROBE_TRIES = 16 };

struct probe {
    struct device *device;
    cl_context context;
    cl_program program;
    cl_kernel kernels[PROBE_KERNELS]; /* each with a buffer of its own: nothing orders them */
    cl_mem words[PROBE_KERNELS];
    cl_command_queue queues[PROBE_KERNELS]; /* in-order */
    cl_command_queue out_of_order;          /* NULL: none */
    uint64_t timeout_ns;
    cl_uint rounds; /* that keep one work-item busy for about a millisecond */
    bool stuck;
};

/* Fills the measured figures. False: nothing could be run, there was no memory for the copies, or a
 * wait ran out, so that the record is not worth keeping on disk. */
bool probe_device(struct device *device, struct caps *caps);

/* One work-item of kernel `which` for `rounds`, on `queue`. `event` may be NULL. */
bool probe_enqueue(struct probe *probe, cl_command_queue queue, unsigned which, cl_uint rounds,
                   const cl_event *wait, cl_event *event);

/* Flushes and waits, and releases the event: true when it completed well. A NULL event is false. */
bool probe_finish(struct probe *probe, cl_command_queue queue, cl_event event);

/* Has it completed, well or not, within `ns`? Flushes nothing. */
bool probe_poll(cl_event event, uint64_t ns);

/* Whether an out-of-order queue is told to run one kernel after the other, by how many of the tries overlapped on
 * two queues and on it: none on it, and three of four on two. Where both ways overlap as often as each other, by
 * whatever chance, that is said less than once in 100,000 times. */
bool probe_is_serial(unsigned on_queues, unsigned on_unordered, unsigned tries);

/* The probes by subject, each in a file of its own. */
void probe_launches(struct probe *probe, struct caps *caps);
void probe_kernel_overlap(struct probe *probe, struct caps *caps);
bool probe_copies(struct probe *probe, struct caps *caps); /* false: they could not be measured */

#endif
