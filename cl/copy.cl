/* SPDX-License-Identifier: MIT */
/* Copies of rectangles and fills, where the driver's own cannot be used. */

kernel void copy_rect(global const uchar *from, ulong from_offset, ulong from_pitch,
                      global uchar *to, ulong to_offset, ulong to_pitch, ulong width, ulong count) {
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        ulong row = i / width, column = i % width;
        to[to_offset + row * to_pitch + column] = from[from_offset + row * from_pitch + column];
    }
}

/* The pattern is 1, 2, 4, 8 or 16 bytes; `offset` is a multiple of that. */
kernel void fill_bytes(global uchar *to, ulong offset, uchar16 pattern, ulong pattern_bytes, ulong count) {
    union { uchar16 all; uchar byte[16]; } of = {pattern};
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0))
        to[offset + i] = of.byte[i & (pattern_bytes - 1)];
}
