/* SPDX-License-Identifier: MIT */
/* Calls of clstream/rows.h that only submit, by buffers that the caller keeps (op_begin_kept). */
#ifndef CLSTREAM_OPS_ROWS_KEPT_H
#define CLSTREAM_OPS_ROWS_KEPT_H

#include <stdbool.h>

#include <clstream/rows.h>

struct buffer;

/* Of the input and the output. */
cls_status softmax_kept(bool logarithm, const cls_matrix matrices[2],
                        struct buffer *const buffers[2], cls_stream stream);

/* Of the input and the output; the buffers are those of the input, the gain, the shift and the output. `shift` NULL: it is
 * cls_rms_norm, and has no buffer. */
cls_status norm_kept(const cls_matrix matrices[2], const cls_vector *gain, const cls_vector *shift,
                     double epsilon, struct buffer *const *buffers, cls_stream stream);

/* Of the matrix and the results. */
cls_status reduce_lines_kept(cls_reduce_op op, const cls_matrix *in, const cls_vector *out,
                             bool by_column, struct buffer *const buffers[2], cls_stream stream);

#endif
