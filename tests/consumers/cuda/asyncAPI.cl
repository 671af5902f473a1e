/* SPDX-License-Identifier: MIT */
kernel void increment_kernel(global int *data, int value) { data[get_global_id(0)] += value; }
