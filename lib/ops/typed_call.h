/* SPDX-License-Identifier: MIT */
/*
 * The calls behind the typed names: the generic call, after a check that the views have the types in the name. Called
 * by the generated lib/ops/typed.c only.
 */
#ifndef CLSTREAM_OPS_TYPED_CALL_H
#define CLSTREAM_OPS_TYPED_CALL_H

#include <stdbool.h>

#include <clstream/binary.h>
#include <clstream/reduce.h>
#include <clstream/types.h>
#include <clstream/unary.h>

cls_status typed_cast(cls_dtype from, cls_dtype to, cls_array in, cls_array out, cls_stream stream,
                      bool blocking);
cls_status typed_where(cls_dtype condition_type, cls_dtype type, cls_array condition,
                       cls_array if_true, cls_array if_false, cls_array out, cls_stream stream,
                       bool blocking);
cls_status typed_unary(cls_unary_op op, cls_dtype type, cls_array in, cls_array out,
                       cls_stream stream, bool blocking);
/* `param` points to a value of the type. */
cls_status typed_unary_param(cls_unary_param_op op, cls_dtype type, cls_array in, cls_array out,
                             const void *param, cls_stream stream, bool blocking);
cls_status typed_binary(cls_binary_op op, cls_dtype type, cls_array a, cls_array b, cls_array out,
                        cls_stream stream, bool blocking);
cls_status typed_reduce(cls_reduce_op op, cls_dtype type, cls_array in, void *result,
                        cls_stream stream);
cls_status typed_reduce_async(cls_reduce_op op, cls_dtype type, cls_array in, cls_array out,
                              cls_stream stream);
cls_status typed_dot(cls_dtype type, cls_array a, cls_array b, void *result, cls_stream stream);
cls_status typed_dot_async(cls_dtype type, cls_array a, cls_array b, cls_array out,
                           cls_stream stream);

#endif
