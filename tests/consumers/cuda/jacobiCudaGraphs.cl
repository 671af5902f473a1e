/* SPDX-License-Identifier: MIT */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define ROWS 512     /* of the matrix */
#define GROUP_ROWS 8 /* of a group */
#define THREADS 256  /* of a group */

void add_atomically(volatile global double *sum, double value) {
    volatile global long *bits = (volatile global long *)sum;
    long old = *bits, seen;
    while ((seen = atom_cmpxchg(bits, old, as_long(as_double(old) + value))) != old)
        old = seen;
}

/* The sum of `value` over a group, in all of its work-items. */
double group_sum(double value, local double *sums) {
    size_t i = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[i] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t span = THREADS / 2; span > 0; span /= 2) {
        if (i < span)
            sums[i] += sums[i + span];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return sums[0];
}

/* One step for the group's rows; adds what changed to `change`. */
kernel void JacobiMethod(global const float *a, global const double *b, float threshold, global const double *x,
                         global double *next, global double *change) {
    local double sums[THREADS];
    for (size_t row = get_group_id(0) * GROUP_ROWS, k = 0; k < GROUP_ROWS && row < ROWS; k++, row++) {
        double product = 0;
        for (size_t j = get_local_id(0); j < ROWS; j += THREADS)
            product += a[row * ROWS + j] * x[j];
        product = group_sum(product, sums);
        if (get_local_id(0) == 0) {
            double step = (b[row] - product) / a[row * ROWS + row];
            next[row] = x[row] + step;
            add_atomically(change, fabs(step));
        }
    }
}

/* Adds the distance of x to the solution, which is 1 everywhere. `unused` is the memory that the launch asks for. */
kernel void finalError(global const double *x, global double *sum, local double *unused) {
    local double sums[THREADS];
    double error = 0;
    for (size_t i = get_global_id(0); i < ROWS; i += get_global_size(0))
        error += fabs(x[i] - 1);
    error = group_sum(error, sums);
    if (get_local_id(0) == 0)
        add_atomically(sum, error);
}
