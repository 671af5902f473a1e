/* SPDX-License-Identifier: MIT */
/* Fills: what they cost by the width of the pattern. A width that a driver has no loop for takes up to 30 times as long. */
#include "driver/probe.h"
#include "system/clocks.h"

enum { BYTES = 512 << 10, ROUNDS = 4 };

/* In ns; 0 when it failed. */
static double time_one(struct probe *probe, cl_mem memory, size_t width) {
    static const unsigned char pattern[FILL_WIDEST] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    cl_event event = NULL;
    const uint64_t start = clock_now_ns();
    if (probe->stuck || !probe_did(probe, clEnqueueFillBuffer(probe->queues[0], memory, pattern,
                                                              width, 0, BYTES, 0, NULL, &event)))
        return 0;
    return probe_finish(probe, probe->queues[0], event) ? (double)(clock_now_ns() - start) : 0;
}

/* The rounds take turns, so that what disturbs one of them disturbs all widths; the first only warms up. */
void probe_fills(struct probe *probe, struct caps *caps) {
    cl_int code;
    if (!caps_trusts(caps, TRUST_ODD_FILLS))
        return; /* a kernel of the library fills */
    cl_mem memory = clCreateBuffer(probe->context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
    if (!probe_did(probe, code))
        return;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < FILL_WIDTHS; i++) {
            const double ns = time_one(probe, memory, (size_t)1 << i);
            if (round && ns > 0 && BYTES / ns > caps->fill_gbs[i])
                caps->fill_gbs[i] = BYTES / ns;
        }
    if (!probe->stuck)
        clReleaseMemObject(memory);
}
