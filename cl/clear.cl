/* SPDX-License-Identifier: MIT */
/* Words of 0, of temporary memory. */
kernel void clear(global uint *words, ulong count) {
    const ulong i = get_global_id(0);
    if (i < count)
        words[i] = 0;
}
