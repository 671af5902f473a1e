/* SPDX-License-Identifier: MIT */
/*
 * A driver that cannot say how far a command is, and a little world in which it has something to do. For a test
 * program that is linked with $(silent_driver_ldflags).
 */
#ifndef CLSTREAM_TESTS_SILENT_DRIVER_H
#define CLSTREAM_TESTS_SILENT_DRIVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <clstream.h>
#include <clstream/opencl.h>

/* What fails, with CL_OUT_OF_RESOURCES. */
extern struct silent {
    atomic_bool queries_fail, waits_fail, markers_fail;
    _Atomic(cl_event) about; /* the only event that queries and waits fail about; NULL: all */
    atomic_uint running;     /* queries that are told that the command runs, whatever it does */
} silent;

/* What the driver was asked for. */
extern struct seen {
    atomic_uint refused; /* queries */
    atomic_uint unmapped, markers, released;
    cl_mem watched; /* whose releases count; NULL: all */
} seen;

enum { CELLS = 1 << 16, BYTES = CELLS * 4 };

struct world {
    cls_context context;
    cls_stream stream;
    cls_program program;
    cls_kernel kernel;
    cls_buffer cells;
};

/* All but the context, which is there already. Returns as many rounds as make a kernel slow: it takes about a
 * fifth of a second. */
uint32_t world_make(struct world *world, const cls_stream_config *config);

/* All cells are 0, and a kernel that changes them is under way. */
void world_open(struct world *world);

void world_close(struct world *world);

cls_status launch(cls_kernel kernel, cls_buffer cells, uint32_t rounds, cls_stream stream);

void nap(long ms);

/* Until a count has come to `wanted`, and is no more. */
void wait_until(const atomic_uint *count, unsigned wanted);

#endif
