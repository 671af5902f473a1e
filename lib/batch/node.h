/* SPDX-License-Identifier: MIT */
/* Nodes: the recorded values and operations of a batch. They are in the order of recording, so a node's
 * inputs have lower numbers. */
#ifndef CLSTREAM_BATCH_NODE_H
#define CLSTREAM_BATCH_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include <clstream/blas.h>

#include "ops/map.h"
#include "ops/spec.h"

struct buffer;
struct random;
struct stream;

enum node_kind {
    NODE_UPLOAD,
    NODE_ARRAY,
    NODE_CONSTANT,
    NODE_MAP,    /* element by element; a parameter is a constant among its inputs */
    NODE_REDUCE, /* to a scalar */
    /* Single calls: each is a region of its own. */
    NODE_PRODUCT, /* of matrices */
    NODE_LINES,   /* reduction of each row or each column of a matrix */
    NODE_ROWS,    /* softmax or normalization of each row of a matrix */
    NODE_TAKE /* the state of a generator of random numbers, which goes on; behind the last of the same generator */
};

enum { NODE_MAX_INPUTS = 3 };

/* Where a value lies: `offset` elements into the buffer. */
struct array_place {
    struct buffer *buffer; /* retained by the owner of the place */
    size_t offset;
    uint32_t life; /* generation of the caller's buffer: cls_free_async changes it */
};

/* The sizes of a matrix product. */
struct node_product {
    size_t rows, columns, inner;
    cls_gemm_config config;
};

/* The matrix of a call on rows, without gaps. */
struct node_matrix {
    size_t rows, columns;
    bool by_column; /* of a reduction */
    enum row_op op; /* of the others */
    double epsilon; /* of a norm */
};

/* Of a binary operation of an array and a vector: each vector element goes with as many elements in turn as the vector
 * has (it is a row), or with a run of neighbours (it is a column). Or the vector is the state of a generator, which
 * draws a number for each element. */
enum node_broadcast { BROADCAST_NONE, BROADCAST_ROW, BROADCAST_COLUMN, BROADCAST_DRAW };

enum { BROADCAST_INPUT = 1 /* the vector among the inputs */ };

struct node_map {
    enum node_broadcast broadcast;
    uint64_t threshold, factor; /* of a draw: as cl/map.cl has them */
};

struct node_take {
    struct random *random; /* retained */
    uint64_t counters;     /* that the draws from the state take */
};

struct batch_node {
    enum node_kind kind;
    const struct op_row *row; /* of an operation */
    cls_dtype dtype;
    bool scalar;
    bool hidden; /* a parameter: the caller has no id of it */
    bool kept;
    bool ready; /* the latest execution wrote the value to `place` */
    bool dirty; /* the next execution uploads it */
    unsigned n_inputs;
    uint32_t inputs[NODE_MAX_INPUTS];
    uint32_t users; /* operations that take the value */
    size_t count;
    const void *host; /* of an upload */
    /* The stream and position of the upload's execution, until it is known to have succeeded; or NULL. */
    struct stream *uploader; /* retained */
    uint64_t uploaded_at;
    struct op_parameter element; /* of a constant */
    union {
        struct node_product product; /* of a product */
        struct node_take take;
        struct node_matrix matrix; /* of another call */
        struct node_map map;
    } of;
    struct array_place place; /* of an upload, an array, or a result */
    bool stored;              /* the place is the caller's */
};

static inline bool node_is_input(const struct batch_node *node) {
    return node->kind <= NODE_CONSTANT;
}

static inline bool node_is_call(const struct batch_node *node) {
    return node->kind >= NODE_PRODUCT;
}

/* Whether the input is the vector of a broadcast, which is read by calculated indices. */
static inline bool node_broadcasts(const struct batch_node *node, unsigned input) {
    return node->kind == NODE_MAP && node->of.map.broadcast && input == BROADCAST_INPUT;
}

static inline bool node_is_result(const struct batch_node *node) {
    return !node_is_input(node) && (node->kept || node->stored || node->users == 0);
}

/* The bytes of device memory for the value; never 0, because no buffer is empty. */
static inline size_t node_bytes(const struct batch_node *node) {
    const size_t bytes = node->count * cls_dtype_size(node->dtype);
    return bytes ? bytes : 8;
}

#endif
