/* SPDX-License-Identifier: MIT */
/* `bytes` is a size_t of the host, which has 64 bits where these programs run. */
kernel void memcpy_kernel(global int *to, global const int *from, ulong bytes) {
    for (size_t i = get_global_id(0); i < bytes / sizeof(int); i += get_global_size(0))
        to[i] = from[i];
}
