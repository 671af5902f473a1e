/* SPDX-License-Identifier: MIT */
/*
 * Floats of 16 bits: `half` is the binary16 of IEEE 754, `bfloat16` the upper half of a float. In memory both are
 * ushorts, in registers floats. And how vectors of all types lie in memory. Included after V() and GLUE().
 *
 * Integer code that takes every element of a vector the same way through: it is the same bits on every device, and a
 * CPU's vector unit does it as fast as memory goes. Nothing here makes or reads a float below the smallest normal one,
 * which devices may take for zero. NVIDIA's GPUs, where arithmetic would be the limit, have instructions for halves, which
 * give the same bits for every number; the sign of a NaN that they read may be lost.
 */
#ifndef NARROW_ONCE
#define NARROW_ONCE
#define IS_NARROW(type) GLUE(IS_NARROW_, type)
#define IS_NARROW_float 0
#define IS_NARROW_double 0
#define IS_NARROW_int 0
#define IS_NARROW_long 0
#define IS_NARROW_char 0
#define IS_NARROW_short 0
#define IS_NARROW_uchar 0
#define IS_NARROW_ushort 0
#define IS_NARROW_uint 0
#define IS_NARROW_ulong 0
#define IS_NARROW_half 1
#define IS_NARROW_bfloat16 1

/* The types of an element in memory and in registers, and a vector's way from one to the other. */
#define MEMORY(type) GLUE(MEMORY_, IS_NARROW(type))(type)
#define MEMORY_0(type) type
#define MEMORY_1(type) ushort
#define VALUE(type) GLUE(VALUE_, IS_NARROW(type))(type)
#define VALUE_0(type) type
#define VALUE_1(type) float
#define UNPACK(type, bits) GLUE(UNPACK_, IS_NARROW(type))(type, bits)
#define UNPACK_0(type, bits) (bits)
#define UNPACK_1(type, bits) GLUE(unpack_, type)(bits)
#define PACK(type, value) GLUE(PACK_, IS_NARROW(type))(type, value)
#define PACK_0(type, value) (value)
#define PACK_1(type, value) GLUE(pack_, type)(value)
/* A value as it would come back from memory. */
#define ROUND(type, value) UNPACK(type, PACK(type, value))

/* The alignment of a vector of W elements in memory. */
#ifdef ALIGNED
#define ALIGN(type) (W * sizeof(type) < 16 ? W * sizeof(type) : 16)
#else
/* Vectors aligned as their elements: PoCL's vload would go element by element. */
#define ALIGN(type) sizeof(type)
#endif
#define STORED_AS(type) __attribute__((aligned(ALIGN(type))))

#ifdef __NV_CL_C_VERSION
typedef union { V(ushort) vector; ushort each[W]; } split_halves;
typedef union { V(float) vector; float each[W]; } split_floats;

static V(float) unpack_half(V(ushort) bits) {
    split_halves from = {bits};
    split_floats to;
#pragma unroll
    for (uint i = 0; i < W; i++)
        asm("cvt.f32.f16 %0, %1;" : "=f"(to.each[i]) : "h"(from.each[i]));
    return to.vector;
}

static V(ushort) pack_half(V(float) value) {
    split_floats from = {value};
    split_halves to;
#pragma unroll
    for (uint i = 0; i < W; i++) {
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.each[i]) : "f"(from.each[i]));
        if (isnan(from.each[i]))
            to.each[i] = 0x7e00 | (as_uint(from.each[i]) >> 16 & 0x8000);
    }
    return to.vector;
}
#else
static V(float) unpack_half(V(ushort) bits) {
    const V(int) all = GLUE(convert_, V(int))(bits), size = all & 0x7fff, wide = size << 13;
    const V(int) normal = wide + (112 << 23);
    /* As a fraction behind 2^-14, which is taken off again. */
    const V(float) tiny = GLUE(as_, V(float))(wide + (113 << 23)) - 0x1p-14f;
    const V(int) finite = size < 0x400 ? GLUE(as_, V(int))(tiny) : normal;
    return GLUE(as_, V(float))((size < 0x7c00 ? finite : normal + (112 << 23)) |
                               (all & 0x8000) << 16);
}

static V(ushort) pack_half(V(float) value) {
    const V(int) all = GLUE(as_, V(int))(value), size = all & 0x7fffffff;
    const V(int) normal = (size - (112 << 23) + 0xfff + (size >> 13 & 1)) >> 13;
    /* The last bit of 1/2 + x is the last that x has in a half. */
    const V(int) tiny =
        GLUE(as_, V(int))(GLUE(as_, V(float))(size) + 0.5f) - (126 << 23);
    const V(int) finite = size < 113 << 23 ? tiny : min(normal, (V(int))0x7c00);
    const V(int) any = size > 0x7f800000 ? (V(int))0x7e00 : finite;
    return GLUE(convert_, V(ushort))(any | (all >> 16 & 0x8000));
}
#endif

static V(float) unpack_bfloat16(V(ushort) bits) {
    return GLUE(as_, V(float))(GLUE(convert_, V(uint))(bits) << 16);
}

static V(ushort) pack_bfloat16(V(float) value) {
    const V(uint) all = GLUE(as_, V(uint))(value);
    const V(uint) near = (all + 0x7fffu + (all >> 16 & 1u)) >> 16;
    const V(int) is_nan = (GLUE(as_, V(int))(value) & 0x7fffffff) > 0x7f800000;
    return GLUE(convert_, V(ushort))(is_nan ? all >> 16 | 0x40u : near); /* that bit makes it quiet */
}
#endif
