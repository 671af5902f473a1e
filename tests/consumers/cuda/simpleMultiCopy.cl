/* SPDX-License-Identifier: MIT */
kernel void incKernel(global int *out, global const int *in, int n, int times) {
    int i = get_global_id(0);
    if (i < n)
        for (int k = 0; k < times; k++)
            out[i] = in[i] + 1;
}
