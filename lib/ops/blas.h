/* SPDX-License-Identifier: MIT */
/* The checks shared by all calls of clstream/blas.h, and the submission of a CLBlast routine. */
#ifndef CLSTREAM_OPS_BLAS_H
#define CLSTREAM_OPS_BLAS_H

#include <clstream/blas.h>

#include "base/byte_span.h"
#include "command/op.h"
#include "driver/blas.h"

/* What follows the sums of a product: c = activation(alpha a b + beta c + bias). */
struct epilogue {
    bool has_bias;
    const struct op_row *activation; /* NULL: none */
};

static inline bool epilogue_is_none(const struct epilogue *epilogue) {
    return !epilogue->has_bias && !epilogue->activation;
}

/* Whether elements have 16 bits: f32 in registers. */
static inline bool blas_is_narrow(cls_dtype dtype) { return dtype == CLS_F16 || dtype == CLS_BF16; }

/* A BLAS call while it is checked. Its operands are the inputs, the output and, if there is one, the bias. */
struct blas_work {
    const char *name;           /* "gemm" */
    struct buffer *const *kept; /* of the views, where the caller has them; NULL: their handles' */
    const struct blas_view *views; /* operand i is views[i] */
    struct op_call op;
    unsigned out; /* the output's number */
    struct blas_call call;
    cls_gemm_math math; /* of an f32 product */
    bool waits;         /* the caller waits for the result */
    struct epilogue epilogue;
    size_t bias_row,
        bias_column;        /* elements of the bias from row to row, and from column to column */
    size_t result_bytes;    /* of a result in temporary memory; 0: it is the last view's */
    struct buffer *scratch; /* set by blas_submit where there is temporary memory */
    size_t result_place;    /* the result's in it, in bytes */
};

/* Where an operand lies: the array from its first element to its last, and the bytes of its elements in the buffer. Of a
 * batch of which one matrix begins between the rows of another and does not end before the next row, all bytes from the
 * first to the last. */
struct blas_view {
    cls_array array;
    struct byte_span span;
};

/* All report and leave `out` alone on failure. */
cls_status blas_matrix_view(const char *name, const cls_matrix *matrix, size_t batches,
                            struct blas_view *out);
cls_status blas_vector_view(const char *name, const cls_vector *vector, struct blas_view *out);
/* CLS_ERROR_OVERLAP if two of the output's matrices have an element in common. */
cls_status blas_check_apart(const char *name, const cls_matrix *c, size_t batches);
struct blas_view blas_array_view(const cls_array *array);

/* The role of the last operand: an input too, an output of the inputs' type, or an index. */
enum blas_last { BLAS_LAST_IN, BLAS_LAST_OUT, BLAS_LAST_INDEX };

/* Acquires the stream and the views of `operands` operands, and of the bias behind them if the work's epilogue has one,
 * which must be of one type and not overlap the output. On failure nothing is held, and blas_end must not be called. */
cls_status blas_begin(struct blas_work *work, enum blas_routine routine,
                      const struct blas_view *views, unsigned operands, enum blas_last last,
                      cls_stream stream, bool blocking);

/* The operand of a view. */
struct blas_operand blas_operand(const struct blas_work *work, unsigned view, size_t step,
                                 size_t stride);

/* Copies a caller's options, which may be null, over the defaults, and checks them. */
cls_status blas_read_config(const cls_gemm_config *config, cls_gemm_config *out);

/* cls_gemm_async of buffers that the caller keeps (op_begin_kept): a's, b's and c's. */
cls_status blas_gemm_kept(const cls_matrix matrices[3], struct buffer *const buffers[3],
                          const cls_gemm_config *config, cls_stream stream);

/* A factor as the routine takes it: rounded to the type of the views. */
double blas_factor(const struct blas_work *work, double factor);

/* A factor as a kernel takes it, in the type of the views. */
struct op_arg blas_factor_arg(bool f64, double factor);

cls_status blas_submit(struct blas_work *work);

/* Submits c = factor c instead, and the epilogue, of as many matrices as the call has batches, whose rows are `c.step`
 * apart. A factor of 1 and no epilogue submit nothing. */
cls_status blas_scale(struct blas_work *work, size_t rows, size_t columns, double factor);

cls_status blas_end(struct blas_work *work, cls_status status, bool blocking);

#endif
