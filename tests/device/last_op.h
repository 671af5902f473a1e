/* SPDX-License-Identifier: MIT */
/* The last operation of each family by the library's table, so that a new row of it is tested with the
 * others: a family's operations are 1, 2, ... */
#ifndef CLSTREAM_TESTS_LAST_OP_H
#define CLSTREAM_TESTS_LAST_OP_H

enum { OF_CAST, OF_WHERE, OF_UNARY, OF_UNARY_PARAM, OF_BINARY, OF_REDUCE, OF_DOT };

enum last_op {
#define OP(family, op, name, types, result) +(OF_##family == OF_UNARY)
    LAST_UNARY = 0
#include "ops/ops.def"
    ,
#undef OP
#define OP(family, op, name, types, result) +(OF_##family == OF_UNARY_PARAM)
    LAST_UNARY_PARAM = 0
#include "ops/ops.def"
    ,
#undef OP
#define OP(family, op, name, types, result) +(OF_##family == OF_BINARY)
    LAST_BINARY = 0
#include "ops/ops.def"
    ,
#undef OP
#define OP(family, op, name, types, result) +(OF_##family == OF_REDUCE)
    LAST_REDUCE = 0
#include "ops/ops.def"
#undef OP
};

#endif
