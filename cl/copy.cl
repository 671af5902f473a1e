/* SPDX-License-Identifier: MIT */
/* Rectangles of bytes, where the driver's own copy cannot be used. */

kernel void copy_rect(global const uchar *from, ulong from_offset, ulong from_pitch,
                      global uchar *to, ulong to_offset, ulong to_pitch, ulong width, ulong count) {
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        ulong row = i / width, column = i % width;
        to[to_offset + row * to_pitch + column] = from[from_offset + row * from_pitch + column];
    }
}
