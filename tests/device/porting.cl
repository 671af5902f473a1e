/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL C of doc/porting.md, each expression once. lint.sh compiles it with every extension, and the test
 * test_porting for the device, with the extensions that it has. tests/unit/docs.sh looks for a function of the page that is
 * not here.
 */
/* Intel's compiler defines the macros of OpenCL C 3.0 for older versions too. */
#if __OPENCL_C_VERSION__ == 200 || (__OPENCL_C_VERSION__ >= 300 && defined(__opencl_c_atomic_scope_device))
#define FENCES
#endif
#if __OPENCL_C_VERSION__ == 200 || \
    (__OPENCL_C_VERSION__ >= 300 && defined(__opencl_c_work_group_collective_functions))
#define COLLECTIVES
#endif

int helper(int x);
int helper(int x) { return x + 1; }

kernel void places(global uint *out, constant float *table, local float *shared) {
    uint i = get_global_id(0);
    shared[get_local_id(0)] = table[get_group_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = get_local_size(0) + get_num_groups(0) + (uint)shared[0] + helper(1);
}

kernel void atomics(volatile global int *p, volatile global uint *u, volatile global float *f) {
    int old = atomic_add(p, 2);
    old += atomic_sub(p, 1);
    old += atomic_min(p, 3);
    old += atomic_max(p, 4);
    old += atomic_and(p, 5);
    old += atomic_or(p, 6);
    old += atomic_xor(p, 7);
    old += atomic_xchg(p, 8);
    old += atomic_cmpxchg(p, 8, 9);
    f[1] = atomic_xchg(f, 1.0f) + old + atomic_inc(u);
}

void add_float(volatile global float *p, float x);
void add_float(volatile global float *p, float x) {
    uint old, seen = as_uint(*p);
    do {
        old = seen;
        seen = atomic_cmpxchg((volatile global uint *)p, old, as_uint(as_float(old) + x));
    } while (seen != old);
}

kernel void float_atomics(volatile global float *sum, const global float *in) {
    add_float(sum, in[get_global_id(0)]);
}

#ifdef cl_khr_int64_base_atomics
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
kernel void long_atomics(volatile global long *p) {
    p[1] = atom_add(p, 1L) + atom_cmpxchg(p, 1L, 2L);
}
#endif
#ifdef cl_khr_int64_extended_atomics
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
kernel void long_extremes(volatile global long *p) { p[1] = atom_max(p, 1L); }
#endif

kernel void fences(global int *x) {
    x[0] = 1;
    mem_fence(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    x[1] = 2;
#ifdef FENCES
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
#endif
}

#ifdef COLLECTIVES
kernel void collectives(global int *x) {
    int i = get_global_id(0);
    x[i] = work_group_any(x[i]) + work_group_all(x[i]) + work_group_reduce_add(x[i]);
}
#endif

#if defined(cl_khr_subgroups) || defined(__opencl_c_subgroups)
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
kernel void sub_groups(global int *x) {
    uint i = get_global_id(0), lane = get_sub_group_local_id(), warp = get_sub_group_id();
    x[i] = sub_group_reduce_add(x[i]) + sub_group_broadcast(x[i], 0);
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    x[i] += sub_group_any(x[i]) + sub_group_all(x[i]) + lane + warp + get_sub_group_size() + get_max_sub_group_size();
}
#endif
#ifdef cl_khr_subgroup_shuffle
kernel void shuffles(global int *x) {
    uint i = get_global_id(0);
    x[i] = sub_group_shuffle(x[i], 0) + sub_group_shuffle_xor(x[i], 1);
}
#endif
#ifdef cl_khr_subgroup_shuffle_relative
kernel void relative_shuffles(global int *x) {
    uint i = get_global_id(0);
    x[i] = sub_group_shuffle_up(x[i], 1) + sub_group_shuffle_down(x[i], 1);
}
#endif
#ifdef cl_khr_subgroup_ballot
kernel void ballots(global uint *x) { x[0] = sub_group_ballot(x[1] > 2).x; }
#endif

kernel __attribute__((reqd_work_group_size(64, 1, 1))) void bounded(global int *restrict x) {
    x[get_global_id(0)] = 1;
}

kernel void numbers(global float *x, global int *n) {
    float y = native_log(x[5]) + native_powr(x[6], x[7]) + clamp(x[8], 0.0f, 1.0f);
    y += native_sin(x[0]) + native_exp(x[1]) + native_divide(x[2], x[3]) + rsqrt(x[4]);
    y += fma(x[0], x[1], x[2]) + as_float(n[0]) + (float4)(1, 2, 3, 4).x;
    n[0] = popcount(n[1]) + clz(n[2]) + mul24(n[3], n[4]) + mul_hi(n[5], n[6]) + as_int(y) + convert_int_rte(y);
    n[7] = 32 - clz(n[8] & -n[8]);
    printf("%d %v4hlf\n", n[0], (float4)(y));
}

kernel void halves(global half *h) { vstore_half(vload_half(0, h), 1, h); }

#ifdef cl_khr_fp16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void half_numbers(global half *h) { h[0] = h[1] + h[2]; }
#endif
