/* SPDX-License-Identifier: MIT */
/*
 * Copies of rectangles and fills, where the driver has none or its own cannot be used. A row is cut to pieces of `piece`
 * bytes, a multiple of 16, and a team of TEAM neighbouring work-items takes one: there is one division a piece, not one
 * a byte. A team of one, for CPUs, walks over its bytes in a row, which compilers make wide moves of; in a larger one
 * neighbours take neighbouring bytes.
 */

/* `rows` are those of all slices, of `height` each. */
kernel void copy_rect(global const uchar *restrict from, ulong from_offset, ulong from_pitch, ulong from_slice,
                      global uchar *restrict to, ulong to_offset, ulong to_pitch, ulong to_slice, ulong width,
                      ulong height, ulong rows, ulong piece) {
    const ulong in_row = (width + piece - 1) / piece, lane = get_global_id(0) % TEAM;
    for (ulong i = get_global_id(0) / TEAM; i < in_row * rows; i += get_global_size(0) / TEAM) {
        const ulong at = i / in_row, column = (i - at * in_row) * piece, bytes = min(piece, width - column);
        const ulong slice = at / height, row = at - slice * height;
        global const uchar *source = from + from_offset + slice * from_slice + row * from_pitch + column;
        global uchar *target = to + to_offset + slice * to_slice + row * to_pitch + column;
        for (ulong k = lane; k < bytes; k += TEAM)
            target[k] = source[k];
    }
}

#if TEAM == 1
typedef uchar16 anywhere __attribute__((aligned(1)));
#endif

/* The pattern, of 1, 2, 4, 8 or 16 bytes, is repeated to 16. */
kernel void fill_rect(global uchar *to, ulong offset, ulong pitch, ulong slice_pitch, uchar16 pattern, ulong width,
                      ulong height, ulong rows, ulong piece) {
    const union { uchar16 all; uchar byte[16]; } of = {pattern};
    const ulong in_row = (width + piece - 1) / piece, lane = get_global_id(0) % TEAM;
    for (ulong i = get_global_id(0) / TEAM; i < in_row * rows; i += get_global_size(0) / TEAM) {
        const ulong at = i / in_row, column = (i - at * in_row) * piece, bytes = min(piece, width - column);
        const ulong slice = at / height, row = at - slice * height;
        global uchar *target = to + offset + slice * slice_pitch + row * pitch + column;
        ulong k = lane;
#if TEAM == 1
        for (; k + 16 <= bytes; k += 16)
            *(global anywhere *)(target + k) = pattern;
#endif
        for (; k < bytes; k += TEAM)
            target[k] = of.byte[k & 15];
    }
}
