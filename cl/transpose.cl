/* SPDX-License-Identifier: MIT */
/*
 * Transposition of a matrix, whose elements are moved as integers of their size.
 *
 *     -DTYPE=uint      uchar, ushort, uint or ulong
 *     -DSIDE=32        rows and columns of a block
 *     -DRUNS           the shape of CPUs: a work-item a group, which moves a block by way of its registers
 *     -DGROUP=256      otherwise the work-items of a group, which moves a block by way of local memory
 *     -DPAD=1          and elements between rows of that, so that those of a column are in different banks
 *
 * Places are (first element, distance between rows), shape is (rows, columns) of the input, and `across` is its blocks
 * beside each other.
 */
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)

#ifdef RUNS
/* Registers hold squares of eight rows of eight elements; more of them do not fit there. */
#define SQUARE 8
typedef GLUE(TYPE, SQUARE) vector;
/* Vectors aligned as their elements: PoCL's vload would go element by element. */
typedef vector stored __attribute__((aligned(sizeof(TYPE))));

/* The elements of two halves of vectors in turn. */
#define IN_TURN(a, b) (vector)(a.s0, b.s0, a.s1, b.s1, a.s2, b.s2, a.s3, b.s3)

/* Three times an element goes to the place whose number, the bits of its row and then those of its column, is its own,
 * rotated by a bit. */
static void transpose_square(global const TYPE *in, ulong in_step, global TYPE *out, ulong out_step) {
    vector x[SQUARE], y[SQUARE];
#pragma unroll
    for (uint i = 0; i < SQUARE; i++)
        x[i] = *(global const stored *)(in + i * in_step);
#pragma unroll
    for (uint time = 0; time < 3; time++) {
#pragma unroll
        for (uint i = 0; i < SQUARE / 2; i++) {
            y[2 * i] = IN_TURN(x[i].lo, x[i + SQUARE / 2].lo);
            y[2 * i + 1] = IN_TURN(x[i].hi, x[i + SQUARE / 2].hi);
        }
#pragma unroll
        for (uint i = 0; i < SQUARE; i++)
            x[i] = y[i];
    }
#pragma unroll
    for (uint i = 0; i < SQUARE; i++)
        *(global stored *)(out + i * out_step) = x[i];
}

static void transpose_rest(global const TYPE *in, ulong in_step, global TYPE *out, ulong out_step, uint rows,
                           uint columns) {
    for (uint j = 0; j < columns; j++)
        for (uint i = 0; i < rows; i++)
            out[j * out_step + i] = in[i * in_step + j];
}

/* By squares of `side` rows and columns, or what is left of them. */
#define BY_SQUARES(move, side)                                                                                 \
    for (uint j = 0; j < columns; j += side)                                                                   \
        for (uint i = 0; i < rows; i += side)                                                                  \
            move(in + i * in_step + j, in_step, out + j * out_step + i, out_step, min(rows - i, (uint)(side)), \
                 min(columns - j, (uint)(side)));

static void transpose_part(global const TYPE *in, ulong in_step, global TYPE *out, ulong out_step, uint rows,
                           uint columns) {
    if (rows == SQUARE && columns == SQUARE)
        transpose_square(in, in_step, out, out_step);
    else
        transpose_rest(in, in_step, out, out_step, rows, columns);
}

/* Of cache lines, which are read and written whole before they can be lost: where rows are a power of two of bytes
 * apart, a cache keeps few of them. */
static void transpose_lines(global const TYPE *in, ulong in_step, global TYPE *out, ulong out_step, uint rows,
                            uint columns) {
    BY_SQUARES(transpose_part, SQUARE)
}

kernel void transpose(global const TYPE *in, ulong2 in_place, global TYPE *out, ulong2 out_place, ulong2 shape,
                      uint across) {
    const uint block = (uint)get_group_id(0);
    const ulong top = (ulong)(block / across) * SIDE, left = (ulong)(block % across) * SIDE;
    const ulong in_step = in_place.s1, out_step = out_place.s1;
    const uint rows = (uint)min(shape.s0 - top, (ulong)SIDE), columns = (uint)min(shape.s1 - left, (ulong)SIDE);
    in += in_place.s0 + top * in_step + left;
    out += out_place.s0 + left * out_step + top;
    BY_SQUARES(transpose_lines, 64 / sizeof(TYPE))
}
#else
__attribute__((reqd_work_group_size(GROUP, 1, 1)))
kernel void transpose(global const TYPE *in, ulong2 in_place, global TYPE *out, ulong2 out_place, ulong2 shape,
                      uint across) {
    local TYPE tile[SIDE][SIDE + PAD];
    const uint block = (uint)get_group_id(0);
    const uint x = get_local_id(0) % SIDE, first = get_local_id(0) / SIDE;
    const ulong top = (ulong)(block / across) * SIDE, left = (ulong)(block % across) * SIDE;
#pragma unroll
    for (uint k = 0; k < SIDE; k += GROUP / SIDE) {
        const uint y = first + k;
        if (top + y < shape.s0 && left + x < shape.s1)
            tile[y][x] = in[in_place.s0 + (top + y) * in_place.s1 + left + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint k = 0; k < SIDE; k += GROUP / SIDE) {
        const uint y = first + k;
        if (left + y < shape.s1 && top + x < shape.s0)
            out[out_place.s0 + (left + y) * out_place.s1 + top + x] = tile[x][y];
    }
}
#endif
