/* SPDX-License-Identifier: MIT */
/*
 * The lengths of runs, from the numbers of their last elements, which begin at places.s0. There are count[places.s1] runs, of
 * which places.s3 are asked for; the lengths begin at places.s2.
 */
kernel void run_lengths(global const ulong *ends, global const long *count, global long *lengths,
                        ulong4 places) {
    const ulong i = get_global_id(0);
    ends += places.s0;
    if (i < min((ulong)count[places.s1], places.s3))
        lengths[places.s2 + i] = ends[i] - (i > 0 ? ends[i - 1] : -1);
}
