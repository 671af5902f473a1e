/* SPDX-License-Identifier: MIT */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define THREADS 512 /* of a group, as the program launches them */

/* The sum of `value` over a group, in its first work-item. */
double group_sum(double value, local double *sums) {
    size_t i = get_local_id(0);
    sums[i] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t span = THREADS / 2; span > 0; span /= 2) {
        if (i < span)
            sums[i] += sums[i + span];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sums[0];
}

kernel void reduce(global const float *in, global double *out, ulong n, ulong groups) {
    local double sums[THREADS];
    double sum = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))
        sum += in[i];
    sum = group_sum(sum, sums);
    if (get_local_id(0) == 0 && get_group_id(0) < groups)
        out[get_group_id(0)] = sum;
}

kernel void reduceFinal(global const double *in, global double *out, ulong n) {
    local double sums[THREADS];
    double sum = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))
        sum += in[i];
    sum = group_sum(sum, sums);
    if (get_local_id(0) == 0)
        *out = sum;
}
