/* SPDX-License-Identifier: MIT */
/*
 * What is left of a matrix product without its sums: y = op(factor y + bias), of matrices `stride` elements apart with
 * rows `ld` apart. A factor of 0 reads nothing. The options are those of cl/epilogue.cl.
 */
#include "epilogue.cl"

kernel void scale(global output *y, ulong offset, ulong stride, ulong rows, ulong ld, ulong columns,
                  ulong count, SUM factor BIAS_PARAMETERS) {
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        const ulong row = i / columns % rows, column = i % columns, matrix = i / columns / rows;
        global output *at = y + offset + matrix * stride + row * ld + column;
        *at = ENDED(factor != 0 ? factor * UNPACK(TYPE, *at) : 0, row, column);
    }
}
