/* SPDX-License-Identifier: MIT */
kernel void incKernel(global int *data, int n) {
    int i = get_global_id(0);
    if (i < n)
        data[i]++;
}
