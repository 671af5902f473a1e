/* SPDX-License-Identifier: MIT */
/* Copies: do pageable ones block, what does pinned memory gain, do they overlap with a kernel? */
#include "driver/probe.h"

#include <stdlib.h>
#include <string.h>

#include "system/clocks.h"

enum { BYTES = 4 << 20, SMALL_BYTES = 1 << 20, REPEATS = 5, MAX_COPIES = 16, TRIES = 3 };

#define NEVER 1e18

struct copies {
    cl_mem device;
    cl_mem pinned_memory;
    void *pinned;
    void *pageable;
};

enum direction { WRITE, READ };

static bool enqueue_copy(struct probe *probe, const struct copies *copies, enum direction direction,
                         void *host, size_t bytes, cl_event *event) {
    cl_command_queue queue = probe->queues[0];
    return probe_did(
        probe,
        direction == WRITE
            ? clEnqueueWriteBuffer(queue, copies->device, CL_FALSE, 0, bytes, host, 0, NULL, event)
            : clEnqueueReadBuffer(queue, copies->device, CL_FALSE, 0, bytes, host, 0, NULL, event));
}

/* Of a few copies: the shortest time in ns, and the median share of a copy's time that the call itself
 * took. */
struct timing {
    double ns;
    double blocks;
};

static double shorter(double a, double b) { return a < b ? a : b; }

static bool time_one(struct probe *probe, const struct copies *copies, enum direction direction,
                     void *host, size_t bytes, struct timing *out) {
    cl_event event = NULL;
    uint64_t start = clock_now_ns();
    if (probe->stuck || !enqueue_copy(probe, copies, direction, host, bytes, &event))
        return false;
    double returned = (double)(clock_now_ns() - start);
    if (!probe_finish(probe, probe->queues[0], event))
        return false;
    out->ns = (double)(clock_now_ns() - start);
    out->blocks = returned / out->ns;
    return true;
}

static bool time_copies(struct probe *probe, const struct copies *copies, enum direction direction,
                        void *host, size_t bytes, struct timing *out) {
    struct timing timing = {NEVER, 1}, one = {NEVER, 1};
    double blocks[REPEATS];
    for (unsigned i = 0; i < REPEATS; i++) {
        if (!time_one(probe, copies, direction, host, bytes, &one))
            return false;
        unsigned place = i;
        for (; place > 0 && blocks[place - 1] > one.blocks; place--)
            blocks[place] = blocks[place - 1];
        blocks[place] = one.blocks;
        timing.ns = shorter(timing.ns, one.ns);
    }
    timing.blocks = blocks[REPEATS / 2];
    *out = timing;
    return true;
}

/* NVIDIA blocks in small pageable copies and in very large ones, but not in those between: the worse of
 * two sizes counts. */
static bool time_pageable(struct probe *probe, const struct copies *copies,
                          enum direction direction, struct timing *out) {
    struct timing small, large;
    if (!time_copies(probe, copies, direction, copies->pageable, SMALL_BYTES, &small) ||
        !time_copies(probe, copies, direction, copies->pageable, BYTES, &large))
        return false;
    *out = (struct timing){large.ns, small.blocks > large.blocks ? small.blocks : large.blocks};
    return true;
}

/* `n` pinned copies on one queue, a kernel on the other; either may be absent. In ns. */
static double time_together(struct probe *probe, const struct copies *copies, unsigned n,
                            bool kernel) {
    cl_event copied = NULL, ran = NULL;
    bool well = true;
    uint64_t start = clock_now_ns();
    if (kernel) {
        well = probe_enqueue(probe, probe->queues[1], 0, probe->rounds, NULL, &ran);
        clFlush(probe->queues[1]);
    }
    for (unsigned i = 0; i < n && well; i++)
        well =
            enqueue_copy(probe, copies, WRITE, copies->pinned, BYTES, i == n - 1 ? &copied : NULL);
    if (n > 0)
        well = probe_finish(probe, probe->queues[0], copied) && well;
    if (kernel)
        well = probe_finish(probe, probe->queues[1], ran) && well;
    return well ? (double)(clock_now_ns() - start) : NEVER;
}

/* Overlap hides at least half of the shorter one behind the other. */
static bool overlaps(struct probe *probe, const struct copies *copies, double copy_ns) {
    double copy = NEVER, kernel = NEVER, both = NEVER;
    double fit = 1e6 / copy_ns;
    unsigned n = fit > MAX_COPIES ? MAX_COPIES : fit < 1 ? 1 : (unsigned)fit;
    for (unsigned i = 0; i < TRIES && !probe->stuck; i++) {
        copy = shorter(copy, time_together(probe, copies, n, false));
        kernel = shorter(kernel, time_together(probe, copies, 0, true));
        both = shorter(both, time_together(probe, copies, n, true));
        if (both < NEVER && copy + kernel - both > shorter(copy, kernel) / 2)
            return true;
    }
    return false;
}

static bool open_copies(struct probe *probe, struct copies *copies) {
    cl_int code;
    cl_event event = NULL;
    memset(copies, 0, sizeof *copies);
    copies->pageable = malloc(BYTES);
    if (!copies->pageable)
        return false;
    memset(copies->pageable, 1, BYTES);
    copies->device = clCreateBuffer(probe->context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    if (code != CL_SUCCESS)
        return false;
    copies->pinned_memory = clCreateBuffer(
        probe->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, BYTES, NULL, &code);
    if (code != CL_SUCCESS)
        return false;
    void *pinned = clEnqueueMapBuffer(probe->queues[0], copies->pinned_memory, CL_FALSE,
                                      CL_MAP_READ | CL_MAP_WRITE, 0, BYTES, 0, NULL, &event, &code);
    if (code != CL_SUCCESS || !probe_finish(probe, probe->queues[0], event))
        return false;
    memset(pinned, 1, BYTES);
    copies->pinned = pinned;
    return true;
}

static void close_copies(struct probe *probe, struct copies *copies) {
    cl_event event = NULL;
    if (copies->pinned && clEnqueueUnmapMemObject(probe->queues[0], copies->pinned_memory,
                                                  copies->pinned, 0, NULL, &event) == CL_SUCCESS)
        probe_finish(probe, probe->queues[0], event);
    probe_free(probe, copies->pageable);
    if (probe->stuck)
        return; /* a copy may still be under way */
    if (copies->pinned_memory)
        clReleaseMemObject(copies->pinned_memory);
    if (copies->device)
        clReleaseMemObject(copies->device);
}

static bool run_copies(struct probe *probe, const struct copies *copies, struct caps *caps) {
    struct timing read, pageable, pinned;
    const bool reads = time_pageable(probe, copies, READ, &read);
    if (reads)
        caps->pageable_read_blocks = read.blocks;
    if (!time_pageable(probe, copies, WRITE, &pageable))
        return false;
    caps->pageable_write_blocks = pageable.blocks;
    if (!time_copies(probe, copies, WRITE, copies->pinned, BYTES, &pinned))
        return false;
    caps->pinned_speedup = pageable.ns / pinned.ns;
    caps->copy_compute_overlap = overlaps(probe, copies, pinned.ns);
    return reads;
}

bool probe_copies(struct probe *probe, struct caps *caps) {
    struct copies copies;
    if (probe->stuck)
        return false;
    const bool measured = open_copies(probe, &copies) && run_copies(probe, &copies, caps);
    close_copies(probe, &copies);
    return measured;
}
