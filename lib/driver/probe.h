/* SPDX-License-Identifier: MIT */
/*
 * The probes that fill the capability record (driver/caps.h), and the context that they share. A probe never
 * waits without a limit: it flushes, then polls the events. Once a wait has run out, the driver is taken to
 * be `stuck`: nothing more is run, and nothing is released either, because that may block too, and a command may still
 * use it.
 *
 * A call that fails says nothing of what the probe was to find out. Flushes and status queries are made again; of the
 * rest `code` tells.
 *
 * No probe makes a user event, or uses clFinish to wait.
 *
 * probe.c runs the probes and has the small ones; probe_build.c, probe_launch.c, probe_overlap.c,
 * probe_fill.c, probe_local.c, probe_matrix.c and probe_copy.c have one subject each; probe_context.c, below them, has the context and
 * its commands.
 */
#ifndef CLSTREAM_DRIVER_PROBE_H
#define CLSTREAM_DRIVER_PROBE_H

#include <stdint.h>

#include "driver/caps.h"
#include "driver/units.h"

enum { PROBE_KERNELS = 2, PROBE_TRIES = 16 };

struct probe {
    struct device *device;
    cl_context context; /* the caller's, or NULL: probe_open makes one */
    cl_program program;
    cl_kernel kernels[PROBE_KERNELS]; /* each with a buffer of its own: nothing orders them */
    cl_mem words[PROBE_KERNELS];
    cl_command_queue queues[PROBE_KERNELS]; /* in-order */
    cl_command_queue out_of_order;          /* NULL: none */
    uint64_t timeout_ns;
    cl_uint rounds; /* that keep one work-item busy for about a millisecond */
    cl_int code; /* of the first call or command that failed since probe_begin; CL_SUCCESS: none */
    bool stuck;
};

/* Fills the measured figures. False where the record should not be kept on disk: nothing could be run, there
 * was no memory for the copies, or a wait ran out. */
bool probe_device(struct device *device, struct caps *caps);

/* Tries the matrix units. False as above. */
bool probe_units(struct device *device, struct units *units);

/* Whether there may be some. */
bool probe_may_have_units(const struct device *device);

/* Whether an out-of-order queue counts as serial, from how many of the tries overlapped on two in-order
 * queues and on it: at least three of four on the two, none on it. For a driver on which both overlap equally
 * often the answer is wrong less than once in 100,000 times. */
bool probe_is_serial(unsigned on_queues, unsigned on_unordered, unsigned tries);

/* --- the probes by subject --- */

void probe_launches(struct probe *probe, struct caps *caps);
void probe_binary(struct probe *probe, struct caps *caps);
void probe_local_arrays(struct probe *probe, struct caps *caps);
void probe_kernel_overlap(struct probe *probe, struct caps *caps);
void probe_fills(struct probe *probe, struct caps *caps);
void probe_matrix_units(struct probe *probe, struct units *units);
bool probe_copies(struct probe *probe, struct caps *caps); /* false: they could not be measured */

/* --- the context (probe_context.c) --- */

/* Makes the context, kernels and queues of `device`. False: nothing is left to close. */
bool probe_open(struct probe *probe);

/* Inside driver_enter. Leaves everything as it is where the driver is stuck. */
void probe_close(struct probe *probe);

/* One work-item of kernel `which` for `rounds`, on `queue`. `event` may be NULL. */
bool probe_enqueue(struct probe *probe, cl_command_queue queue, unsigned which, cl_uint rounds,
                   const cl_event *wait, cl_event *event);

/* Forgets the failures so far. */
void probe_begin(struct probe *probe);

/* Notes the code of a call; true when it succeeded. */
bool probe_did(struct probe *probe, cl_int code);

/* Flushes and waits: true when the command completed well. A NULL event is false. Once it returns, the command has
 * ended, unless the driver is stuck. */
bool probe_wait(struct probe *probe, cl_command_queue queue, cl_event event);

/* The same, and releases the event. */
bool probe_finish(struct probe *probe, cl_command_queue queue, cl_event event);

/* Frees memory of the host that commands used. A driver that is stuck may still use it: it is kept then. */
void probe_free(const struct probe *probe, void *memory);

/* Whether the command ends, well or not, within `ns`; `*state` is its execution status then. Does not flush. */
bool probe_poll(struct probe *probe, cl_event event, uint64_t ns, cl_int *state);

/* Whether the driver said that there is too little of something, which it may have at another time. */
bool probe_lacks_memory(cl_int code);

/* Whether the code of a queue's creation says that the device has no queues of that kind. */
bool probe_refused_queue(cl_int code);

#endif
