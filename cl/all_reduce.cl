/* SPDX-License-Identifier: MIT */
/*
 * The sum of arrays of several devices, for lib/pipeline/group_sum.c: a device adds a slice of all of them, in their
 * order, and writes the sums to all. The options say E, the type of an element; V, of W elements that a work-item has;
 * and ARRAYS, which is ARRAYS_N for N arrays. Array k begins at element at##k.
 */
#ifdef IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define ARRAYS_2(X) X(0) X(1)
#define ARRAYS_3(X) ARRAYS_2(X) X(2)
#define ARRAYS_4(X) ARRAYS_3(X) X(3)
#define ARRAYS_5(X) ARRAYS_4(X) X(4)
#define ARRAYS_6(X) ARRAYS_5(X) X(5)
#define ARRAYS_7(X) ARRAYS_6(X) X(6)
#define ARRAYS_8(X) ARRAYS_7(X) X(7)
#define ARRAYS_9(X) ARRAYS_8(X) X(8)
#define ARRAYS_10(X) ARRAYS_9(X) X(9)
#define ARRAYS_11(X) ARRAYS_10(X) X(10)
#define ARRAYS_12(X) ARRAYS_11(X) X(11)
#define ARRAYS_13(X) ARRAYS_12(X) X(12)
#define ARRAYS_14(X) ARRAYS_13(X) X(13)
#define ARRAYS_15(X) ARRAYS_14(X) X(14)
#define ARRAYS_16(X) ARRAYS_15(X) X(15)

/* Loaded first, so that the devices' memory answers all at once. */
#define PARAMETER(k) , __global E *a##k, ulong at##k
#define LOAD(k) const V v##k = *(const __global V *)(a##k + at##k + i);
#define TERM(k) sum = k ? sum + v##k : v##k;
#define STORE(k) *(__global V *)(a##k + at##k + i) = sum;

#define ELEMENT(k) rest = k ? rest + a##k[at##k + j] : a##k[at##k + j];
#define STORE_ELEMENT(k) a##k[at##k + j] = rest;

__kernel void all_reduce(ulong count ARRAYS(PARAMETER)) {
    const ulong i = (ulong)get_global_id(0) * W;
    if (i + W <= count) {
        ARRAYS(LOAD)
        V sum;
        ARRAYS(TERM)
        ARRAYS(STORE)
        return;
    }
    for (ulong j = i; j < count; j++) {
        E rest;
        ARRAYS(ELEMENT)
        ARRAYS(STORE_ELEMENT)
    }
}
