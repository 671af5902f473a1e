/* SPDX-License-Identifier: MIT */
/*
 * struct optimizer, the object behind a cls_optimizer: its parameters, how a step is divided into launches, and its memory.
 * All of it but the contents of the memory is constant once the object is made.
 */
#ifndef CLSTREAM_OPS_OPTIMIZER_H
#define CLSTREAM_OPS_OPTIMIZER_H

#include <pthread.h>

#include <clstream/optimizer.h>

#include "base/handle.h"
#include "command/op.h"

/* The numbers of the state, as cl/optimizer.cl has them. Those from NORM on are written by what begins a step. */
enum optimizer_number {
    NUMBER_RATE,
    NUMBER_DECAY,
    NUMBER_BETA1, /* of SGD the momentum */
    NUMBER_REST1, /* 1 - beta1, of SGD 1 - dampening */
    NUMBER_BETA2,
    NUMBER_REST2,
    NUMBER_EPSILON,
    NUMBER_BIAS1, /* of SGD, whose rate is not corrected, 1; else 1 - beta1 */
    NUMBER_BIAS2,
    NUMBER_MAX_NORM,
    NUMBER_NESTEROV,
    NUMBER_NORM,
    NUMBER_OTHERS,
    NUMBERS = 24
};

/* The contents of the state's memory. Devices without doubles copy those as they are. */
struct optimizer_numbers {
    uint64_t steps, reserved;
    float singles[NUMBERS];
    double doubles[NUMBERS];
};

/* Memory of the optimizer's own; without a handle there is none. */
struct optimizer_memory {
    cls_buffer handle;
    struct buffer *buffer; /* of the handle */
    size_t bytes;          /* that are wanted; 0: none */
};

/* Bytes of a parameter or of the state, none of which overlap. */
struct optimizer_extent {
    uintptr_t memory;
    size_t start, end;
};

/* Parameters of one type, as many as a launch has arguments for. */
struct optimizer_launch {
    cls_dtype dtype;
    unsigned count;
    size_t first;         /* of `order`, and of the table's rows */
    size_t chunks;        /* as many work-groups change the parameters */
    size_t groups, each;  /* of the sum of squares: work-groups, and chunks of one */
    size_t first_partial; /* of that, in elements of its type's partial sums */
    size_t start, bytes;  /* of the moments; those of master weights are the same */
    bool is_aligned;      /* all parameters begin at multiples of 16 bytes */
};

struct optimizer {
    struct object object;
    pthread_mutex_t lock; /* of a step: no other one's launches are submitted between its own */
    cls_optimizer_config config;
    bool has_doubles;
    size_t n;
    struct op_view *parameters; /* retained */
    size_t *places;             /* of their moments, in bytes */
    size_t *order;              /* of parameters that are not empty, by type */
    size_t n_used;
    struct optimizer_launch *launches;
    size_t n_launches;
    struct optimizer_extent *extents; /* sorted */
    size_t n_extents;
    size_t singles,
        twofolds; /* partial sums of floats and of doubles, in their memory the other way round */
    struct optimizer_memory state, table, partials, first, second, master;
};

extern struct object_pool optimizer_pool;

/* Finds order, places, launches, and the sizes of the memory. */
cls_status optimizer_plan(struct optimizer *optimizer, const struct device *device);

/* The rows of the table, for n_used parameters. */
void optimizer_table(const struct optimizer *optimizer, uint64_t (*rows)[4],
                     const struct device *device);

/* Sorts the extents; CLS_ERROR_OVERLAP where two have bytes in common. */
cls_status optimizer_sort_extents(struct optimizer *optimizer);
struct optimizer_extent optimizer_extent_of(const struct op_view *view);
bool optimizer_overlaps(const struct optimizer *optimizer, const struct op_view *view);

/* CLS_ERROR_INVALID_VALUE unless the rate is at least 0 and finite, also as a float. */
cls_status optimizer_check_rate(double rate);

/* Looks up the optimizer and begins a call of its state. On failure holds nothing. */
cls_status optimizer_begin(cls_optimizer handle, struct optimizer **optimizer, struct op_call *call,
                           cls_stream stream, bool blocking);

/* op_end, and releases the optimizer. */
cls_status optimizer_end(struct optimizer *optimizer, struct op_call *call, cls_status status,
                         bool blocking);

#endif
