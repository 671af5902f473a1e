/* SPDX-License-Identifier: MIT */
/* The kernel of NVIDIA's sample simpleIPC: sets `n` bytes to one value, whatever the grid is. */
kernel void simpleKernel(global char *bytes, int n, char value) {
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        bytes[i] = value;
}
