/* SPDX-License-Identifier: MIT */
/*
 * Trials of what a driver does, by values (driver/trust.h): two buffers, what the host expects in them, and commands
 * that are waited for as the probes wait. A trial sets the buffers' contents, has the driver change them, changes what
 * is expected in the same way, and compares every byte.
 *
 * A trial covers a family: offsets, sizes and shapes are drawn, and which of them are equal or aligned is gone through
 * in turn, since drivers tell their special cases by that. The seed of the draws is part of the capability record.
 *
 * trial.c has the buffers and the trials of transfers, copies and fills; trial_rect.c those of rectangles,
 * trial_kernel.c those that launch kernels, trial_host.c those of memory that the host uses too, trial_address.c those of
 * addresses.
 */
#ifndef CLSTREAM_DRIVER_TRIAL_H
#define CLSTREAM_DRIVER_TRIAL_H

#include "driver/probe.h"

struct trial {
    struct probe *probe;
    size_t unit;  /* a multiple of the base alignment; the sub-buffers begin at one of these */
    size_t bytes; /* of each buffer */
    cl_mem memory[2];
    unsigned char *wanted[2]; /* what the buffers should hold */
    unsigned char *read;
    uint64_t draws; /* the state of trial_draw */
};

/* A place in a buffer or in a sub-buffer of it. */
struct trial_place {
    cl_mem memory;
    unsigned which; /* of the trial's buffers */
    size_t origin;  /* of the memory in that buffer */
    size_t bytes;
};

static inline struct trial_place trial_whole(const struct trial *trial, unsigned which) {
    return (struct trial_place){trial->memory[which], which, 0, trial->bytes};
}

/* False: there is no memory for it. trial_close is called in any case. */
bool trial_open(struct trial *trial, struct probe *probe);
void trial_close(struct trial *trial);

/* The trials, one for each row of the table. True: all values were as wanted. */
bool trial_of_transfers(struct trial *trial);
bool trial_of_odd_copies(struct trial *trial);
bool trial_of_odd_fills(struct trial *trial);
bool trial_of_sub_buffer_copies(struct trial *trial);
/* trial_rect.c */
bool trial_of_rectangles(struct trial *trial);
bool trial_of_padded_rows(struct trial *trial);
bool trial_of_sub_buffer_rectangles(struct trial *trial);
/* trial_kernel.c */
bool trial_of_queue_order(struct trial *trial);
bool trial_of_events_in_queue(struct trial *trial);
bool trial_of_events_across_queues(struct trial *trial);
bool trial_of_arguments_set_again(struct trial *trial);
bool trial_of_local_arguments(struct trial *trial);
bool trial_of_structure_arguments(struct trial *trial);
bool trial_of_launch_offsets(struct trial *trial);
bool trial_of_rounding(struct trial *trial);
bool trial_of_sub_buffer_arguments(struct trial *trial);

/* trial_host.c */
bool trial_of_mapped_memory(struct trial *trial);
bool trial_of_host_memory(struct trial *trial);
bool trial_of_shared_memory(struct trial *trial);

/* trial_address.c */
bool trial_of_addresses(struct trial *trial);
bool trial_of_pointer_arguments(struct trial *trial);

/* --- steps of a trial --- */

/* Begins the draws of one trial, so that they do not depend on those of the others. */
void trial_seed(struct trial *trial, uint32_t seed, unsigned which);

/* A number below `n`. */
size_t trial_draw(struct trial *trial, size_t n);

/* Writes both buffers, and expects them so. `salt` tells the contents of trials apart. */
bool trial_reset(struct trial *trial, unsigned salt);

/* Notes the code of a call; true when it succeeded. */
bool trial_did(struct trial *trial, cl_int code);

/* The same for a command on the probe's first queue, which is waited for. */
bool trial_done(struct trial *trial, cl_int code, cl_event event);

/* A write or read on that queue, which is waited for. */
bool trial_write(struct trial *trial, cl_mem memory, size_t offset, size_t bytes, const void *from);
bool trial_read(struct trial *trial, cl_mem memory, size_t offset, size_t bytes, void *to);

/* Whether both buffers hold what is expected, after what is enqueued on that queue. */
bool trial_compare(struct trial *trial);

/* A launch of `probe_bytes`: `n` bytes of `to` become those of `from`, each with `value` in an exclusive or. */
bool trial_change(struct trial *trial, cl_mem from, cl_mem to, cl_uint n, cl_uint value);

/* A sub-buffer of `memory[which]` of one unit, at unit `at`; NULL when it cannot be made. */
cl_mem trial_part(struct trial *trial, unsigned which, size_t at);

/* Calls `use` with a sub-buffer of either buffer, at different origins. */
bool trial_with_parts(struct trial *trial, bool (*use)(struct trial *, const struct trial_place *,
                                                       const struct trial_place *));

#endif
