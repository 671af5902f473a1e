/* SPDX-License-Identifier: MIT */
kernel void init_array(global int *data, global const int *step, int times) {
    size_t i = get_global_id(0);
    int value = data[i];
    for (int k = 0; k < times; k++)
        value += *step;
    data[i] = value;
}
