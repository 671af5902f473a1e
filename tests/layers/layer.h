/* SPDX-License-Identifier: MIT */
/*
 * What every layer has: the table of the driver (or layer) below, wrappers for each of its entries, and
 * the functions by which the loader finds the layer. A layer is one file that includes this one, says
 * what happens around calls, and includes layer_wrappers.h.
 */
#ifndef CLSTREAM_TESTS_LAYER_H
#define CLSTREAM_TESTS_LAYER_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "tests/layers/layer_calls.h"

#define LAYER_EXPORT __attribute__((visibility("default")))

/* The kinds of objects that the driver counts references of. */
enum layer_object {
    OBJECT_NONE,
    OBJECT_CONTEXT,
    OBJECT_QUEUE,
    OBJECT_MEMORY,
    OBJECT_PROGRAM,
    OBJECT_KERNEL,
    OBJECT_EVENT,
    OBJECT_SAMPLER,
    LAYER_OBJECTS
};

/* A command on its way to the driver; what is passed on is read from here. */
struct layer_enqueue {
    enum layer_call call;
    cl_command_queue queue;
    cl_uint count;
    const cl_event *events;
    cl_event *event;
    bool blocking;
    /* the layer's own */
    void *note;
    cl_event own;
    int role;
    cl_event gate;
};

static cl_icd_dispatch next;

/* What a query answers: `needed` bytes, where there is room for them. */
static inline cl_int layer_answer(const void *from, size_t needed, size_t size, void *value,
                                  size_t *size_ret) {
    if (value && size < needed)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, from, needed);
    if (size_ret)
        *size_ret = needed;
    return CL_SUCCESS;
}

/* Before a call: a code to fail it with, or CL_SUCCESS. */
static cl_int layer_enter(enum layer_call call);

/* References to an object came (1) or went (-1). */
static void layer_object(enum layer_object kind, int change);

/* Around a command with a wait list, after layer_enter. */
static cl_int layer_before_enqueue(struct layer_enqueue *e);
static void layer_after_enqueue(struct layer_enqueue *e, cl_int code);

/* Puts the layer's own functions over the wrappers. */
static void layer_override(cl_icd_dispatch *table);
static const char *layer_name(void);

#endif
