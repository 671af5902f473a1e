/* SPDX-License-Identifier: MIT */
/*
 * The sum, minimum or maximum of arrays of several devices, element by element, for lib/pipeline/group_sum.c: a device
 * combines a slice of all of them, in their order, and writes the result to all, or with -DSCATTER to one array of its own.
 * The options say OP_sum, OP_min or OP_max; E, the type of an element, and IS_FLOAT where it is a floating-point type; V, of
 * W elements that a work-item has at once; LOOP, where it goes on behind the last work-item's; and ARRAYS, which is ARRAYS_N
 * for N arrays. Array k begins at element at##k.
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

/* As op_add, op_min and op_max of map.cl, so that the bits are the same: NaN wins. */
#ifdef IS_FLOAT
#define BEATS(x, y, before) (x before y || x != x)
#else
#define BEATS(x, y, before) (x before y)
#endif
#if defined(OP_sum)
#define COMBINE(x, y) (x + y)
#elif defined(OP_min)
#define COMBINE(x, y) (BEATS(x, y, <) ? x : y)
#else
#define COMBINE(x, y) (BEATS(x, y, >) ? x : y)
#endif

/* Loaded first, so that the devices' memory answers all at once. */
#define PARAMETER(k) , __global E *a##k, ulong at##k
#define LOAD(k) const V v##k = *(const __global V *)(a##k + at##k + i);
#define TERM(k) result = k ? COMBINE(result, v##k) : v##k;
#define LOAD_ELEMENT(k) const E e##k = a##k[at##k + j];
#define TERM_ELEMENT(k) rest = k ? COMBINE(rest, e##k) : e##k;

#ifdef SCATTER
#define TARGET , __global E *to, ulong to_at
#define STORE_ALL *(__global V *)(to + to_at + i) = result;
#define STORE_ELEMENTS to[to_at + j] = rest;
#else
#define TARGET
#define STORE(k) *(__global V *)(a##k + at##k + i) = result;
#define STORE_ELEMENT(k) a##k[at##k + j] = rest;
#define STORE_ALL ARRAYS(STORE)
#define STORE_ELEMENTS ARRAYS(STORE_ELEMENT)
#endif

#ifdef LOOP
#define EACH_ITEM for (ulong i = first; i < count; i += (ulong)get_global_size(0) * W)
#else
#define EACH_ITEM const ulong i = first; if (i < count)
#endif

__kernel void all_reduce(ulong count ARRAYS(PARAMETER) TARGET) {
    const ulong first = (ulong)get_global_id(0) * W;
    EACH_ITEM {
        if (i + W <= count) {
            ARRAYS(LOAD)
            V result;
            ARRAYS(TERM)
            STORE_ALL
        } else {
            for (ulong j = i; j < count; j++) {
                ARRAYS(LOAD_ELEMENT)
                E rest;
                ARRAYS(TERM_ELEMENT)
                STORE_ELEMENTS
            }
        }
    }
}
