/* SPDX-License-Identifier: MIT */
/*
 * Every element-by-element operation. One program holds one of them, for one set of types and one
 * shape of launch, chosen by
 *
 *     -DCAST, -DWHERE, -DUNARY, -DUNARY_PARAM or -DBINARY
 *     -DOP=op_relu     which one of its family: the function below
 *     -DUSES_relu      the same for the preprocessor: a function that calls one of the compiler's
 *                      own is compiled only where it is used, so that a compiler that lacks one
 *                      still builds the other operations
 *     -DA=float        element type of the first input; half and bfloat16 as cl/narrow.cl has them
 *     -DB=float        element type of the second and third; A where there is none
 *     -DOUT=float      element type of the result
 *     -DW=4            elements in a vector: 1, 2, 4, 8 or 16
 *     -DBATCH=1        vectors that a work-item reads before it writes any; 1 but for one input
 *     -DSTEPS=1        batches of a work-item, at most 65,535
 *     -DALIGNED        every array starts at a multiple of 16 bytes, or of its vector if that is
 *                      less
 *     -DRUNS           the shape of CPUs: long runs of wide vectors, one work-item a group
 *
 * In place is allowed: a work-item reads an element before it writes it, and nobody else touches
 * it.
 *
 * A fused kernel (lib/batch/generate.c) includes this file once for each family and set of types that it needs, with W,
 * FUSED, a USES_ of each operation and a SUFFIX that tells their functions apart. It then gets the functions only, or
 * with -DACCESS those that read and write arrays of type A, with -DBROADCAST those that read a vector of them for each
 * row or each column of a matrix, or with -DDRAW one that draws for a dropout of them, and calls them itself: fused or
 * not, an element goes through the same code.
 */
#ifndef SUFFIX
#define SUFFIX
#endif
#ifndef MAP_ONCE
#define MAP_ONCE
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#if W == 1
#define V(type) type
#else
#define V(type) GLUE(type, W)
#endif
#define CONVERT(type) GLUE(convert_, V(type))

#include "narrow.cl"

/* What the preprocessor knows of the types. */
#define IS_FLOAT(type) GLUE(IS_FLOAT_, type)
#define IS_FLOAT_float 1
#define IS_FLOAT_double 1
#define IS_FLOAT_half 1
#define IS_FLOAT_bfloat16 1
#define IS_FLOAT_int 0
#define IS_FLOAT_long 0
#define IS_FLOAT_char 0
#define IS_FLOAT_short 0
#define IS_FLOAT_uchar 0
#define IS_FLOAT_ushort 0
#define IS_FLOAT_uint 0
#define IS_FLOAT_ulong 0
#define IS_DOUBLE(type) GLUE(IS_DOUBLE_, type)
#define IS_DOUBLE_float 0
#define IS_DOUBLE_double 1
#define IS_DOUBLE_half 0
#define IS_DOUBLE_bfloat16 0
#define IS_DOUBLE_int 0
#define IS_DOUBLE_long 0
#define IS_DOUBLE_char 0
#define IS_DOUBLE_short 0
#define IS_DOUBLE_uchar 0
#define IS_DOUBLE_ushort 0
#define IS_DOUBLE_uint 0
#define IS_DOUBLE_ulong 0
#define MIN_OF(type) GLUE(MIN_OF_, type)
#define MIN_OF_int (-2147483647 - 1)
#define MIN_OF_long (-9223372036854775807 - 1)
#define MIN_OF_char (-128)
#define MIN_OF_short (-32768)
#define MIN_OF_uchar 0
#define MIN_OF_ushort 0
#define MIN_OF_uint 0
#define MIN_OF_ulong 0
#define MAX_OF(type) GLUE(MAX_OF_, type)
#define MAX_OF_int 2147483647
#define MAX_OF_long 9223372036854775807
#define MAX_OF_char 127
#define MAX_OF_short 32767
#define MAX_OF_uchar 255
#define MAX_OF_ushort 65535
#define MAX_OF_uint 4294967295
#define MAX_OF_ulong 18446744073709551615u
/* The first value above the maximum, which every float type holds exactly. */
#define LIMIT_OF(type) GLUE(LIMIT_OF_, type)
#define LIMIT_OF_int 2147483648.0f
#define LIMIT_OF_long 9223372036854775808.0f
#define LIMIT_OF_char 128.0f
#define LIMIT_OF_short 32768.0f
#define LIMIT_OF_uchar 256.0f
#define LIMIT_OF_ushort 65536.0f
#define LIMIT_OF_uint 4294967296.0f
/* What comparing two vectors of a type gives, and the type for arithmetic that wraps around. */
#define MASK(type) GLUE(MASK_, type)
#define MASK_float int
#define MASK_double long
#define MASK_half int
#define MASK_bfloat16 int
#define MASK_int int
#define MASK_long long
#define MASK_char char
#define MASK_short short
#define MASK_uchar char
#define MASK_ushort short
#define MASK_uint int
#define MASK_ulong long
#define WRAP(type) GLUE(WRAP_, type)
#define WRAP_int uint
#define WRAP_long ulong
#define WRAP_char uchar
#define WRAP_short ushort
#define WRAP_uchar uchar
#define WRAP_ushort ushort
#define WRAP_uint uint
#define WRAP_ulong ulong

/* Of a double's fraction what a narrow type has not, the least normal number, and what has its last unit as a
 * double's. */
#define DROPPED(type) GLUE(DROPPED_, type)
#define DROPPED_half 42
#define DROPPED_bfloat16 45
#define LEAST_NORMAL(type) GLUE(LEAST_NORMAL_, type)
#define LEAST_NORMAL_half 0x1p-14
#define LEAST_NORMAL_bfloat16 0x1p-126
#define FIRST_UNIT(type) GLUE(FIRST_UNIT_, type)
#define FIRST_UNIT_half 0x1p28
#define FIRST_UNIT_bfloat16 0x1p-81

/* What is said in terms of A and OUT follows them from one inclusion to the next. */
#define FN(name) GLUE(name, SUFFIX)
/* A constant of type A, correctly rounded in either precision. */
#define K(x) GLUE(K_, A)(x)
#define K_float(x) GLUE(x, f)
#define K_double(x) x
#define K_half(x) GLUE(x, f)
#define K_bfloat16(x) GLUE(x, f)
/* A comparison of elements of type A, as the mask that chooses between elements of type OUT.
 * Compared once more, because rusticl 22.3 widens a true int to 1 where it should be -1. */
#define CHOOSE(test) (CONVERT(MASK(OUT))(test) != (V(MASK(OUT)))0)
/* Signed overflow is undefined; the unsigned type of the same size wraps around. */
#define AS_T GLUE(as_, V(A))
#define AS_U GLUE(as_, V(WRAP(A)))
/* Two ushorts alone become ints, in which their product may overflow. */
#if W == 1
#define PRODUCT(x, y) ((x) * 1u * (y))
#else
#define PRODUCT(x, y) ((x) * (y))
#endif
#define TRUTH(test) CONVERT(VALUE(OUT))((test) ? (M)1 : (M)0)
/* A result of type A or OUT. What stays in registers is rounded here, anything else where it is written. */
#ifdef FUSED
#define RESULT(x) ROUND(A, x)
#define CASTED(x) ROUND(OUT, x)
#else
#define RESULT(x) (x)
#define CASTED(x) (x)
#endif
/* What a fused kernel leaves is more than caches hold when its speed matters. Where a vector starts anywhere
 * it is an ordinary store: of the builtin's pointer clang takes the vector's own alignment for granted. */
#define STORE(p, value) (*(p) = (value))
#if defined(FUSED) && defined(ALIGNED) && defined(__has_builtin)
#if __has_builtin(__builtin_nontemporal_store)
#undef STORE
#define STORE(p, value) __builtin_nontemporal_store(value, p)
#endif
#endif
#endif

#if IS_DOUBLE(A) || IS_DOUBLE(OUT)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define T V(VALUE(A))
#define S V(VALUE(B))
#define R V(VALUE(OUT))
#define M V(MASK(A))
#define U V(WRAP(A))

#include "functions.cl"

#ifdef CAST
#define INPUTS 1
#if IS_NARROW(OUT) && IS_DOUBLE(A)
/* Rounded to the digits of OUT in one step, which two by way of a float would not be. Below the least normal number
 * the last digit of FIRST_UNIT + x is the last that x has in OUT. */
static R FN(op_cast)(T x) {
    const T size = fabs(x), tiny = (size + (T)FIRST_UNIT(OUT)) - (T)FIRST_UNIT(OUT);
    const M bits = GLUE(as_, M)(size);
    const M near = (bits + (M)((1L << (DROPPED(OUT) - 1)) - 1) + (bits >> DROPPED(OUT) & (M)1)) &
                   (M)(-1L << DROPPED(OUT));
    const T value = size < (T)LEAST_NORMAL(OUT) ? tiny : AS_T(near);
    return CASTED(GLUE(CONVERT(float), _rte)(size < (T)INFINITY ? copysign(value, x) : x));
}
#elif IS_NARROW(OUT) && IS_FLOAT(A)
static R FN(op_cast)(T x) { return CASTED(x); }
#elif IS_NARROW(OUT)
/* To the 24 digits of a float, of which the last is odd where any is lost: whatever OUT then rounds at, this is on the
 * same side of it as x. */
static R FN(op_cast)(T x) {
    /* Not abs(): PoCL 7.1 then takes the least integer for a positive number. */
    const U size = x < (T)0 ? (U)((U)0 - AS_U(x)) : AS_U(x), most = (U)(sizeof(A) * 8 - 24);
    const U lost = sizeof(A) < 4 ? (U)0 : most - min(clz(size), most);
    const U kept = size >> lost << lost;
    const V(float) value = CONVERT(float)(kept | (kept != size ? (U)1 << lost : (U)0));
    return CASTED(CHOOSE(x < (T)0) ? -value : value);
}
#elif IS_FLOAT(OUT)
static R FN(op_cast)(T x) { return GLUE(CONVERT(OUT), _rte)(x); }
#elif IS_FLOAT(A)
/* Nothing outside the range of OUT, and no NaN, reaches the conversion: drivers differ there. */
static R FN(op_cast)(T x) {
    M above = x >= (T)LIMIT_OF(OUT);
    T inside = x < (T)LIMIT_OF(OUT) ? x : (T)0;
    inside = inside < (T)MIN_OF(OUT) ? (T)MIN_OF(OUT) : inside;
    return CHOOSE(above) ? (R)MAX_OF(OUT) : CONVERT(OUT)(inside);
}
#else
static R FN(op_cast)(T x) {
#if MIN_OF(OUT) > MIN_OF(A)
    x = max(x, (T)MIN_OF(OUT));
#endif
#if MAX_OF(OUT) < MAX_OF(A)
    x = min(x, (T)MAX_OF(OUT));
#endif
    return CONVERT(OUT)(x);
}
#endif
#endif

#ifdef WHERE
#define INPUTS 3
#if W == 16 && MAX_OF(A) == 255 && MAX_OF(OUT) == 255
/* Four bytes at a time, which GPUs would otherwise take one by one: the top bit of a byte is set
 * where the byte is not 0, and spread over it. */
static R FN(op_where)(T condition, R if_true, R if_false) {
    const uint4 c = as_uint4(condition);
    const uint4 top = (((c & 0x7f7f7f7fu) + 0x7f7f7f7fu) | c) & 0x80808080u;
    const uint4 mask = (top >> 7) * 255u;
    return as_uchar16((as_uint4(if_true) & mask) | (as_uint4(if_false) & ~mask));
}
#else
static R FN(op_where)(T condition, R if_true, R if_false) {
    return CHOOSE(condition != (T)0) ? if_true : if_false;
}
#endif
#endif

#ifdef UNARY
#define INPUTS 1
static T FN(op_copy)(T x) { return x; }
#if IS_FLOAT(A)
/* Exact whatever they are fused with: a product here and a sum there are never one operation. */
#pragma OPENCL FP_CONTRACT OFF
static T FN(op_neg)(T x) { return -x; }
#if defined(USES_abs)
static T FN(op_abs)(T x) { return fabs(x); }
#endif
static T FN(op_sqr)(T x) { return RESULT(x * x); }
#pragma OPENCL FP_CONTRACT DEFAULT
static T FN(op_relu)(T x) { return x <= (T)0 ? (T)0 : x; }
static T FN(op_sign)(T x) { return x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x == x ? (T)0 : x; }
static T FN(op_recip)(T x) { return RESULT((T)1 / x); }
#if defined(USES_exp)
static T FN(op_exp)(T x) { return RESULT(FN(exp_of)(x)); }
#endif
#if defined(USES_log)
static T FN(op_log)(T x) { return RESULT(FN(log_of)(x)); }
#endif
#if defined(USES_sin)
static T FN(op_sin)(T x) { return RESULT(FN(sin_of)(x)); }
#endif
#if defined(USES_cos)
static T FN(op_cos)(T x) { return RESULT(FN(cos_of)(x)); }
#endif
#if defined(USES_tanh)
static T FN(op_tanh)(T x) { return RESULT(FN(tanh_of)(x)); }
#endif
#if defined(USES_erf)
static T FN(op_erf)(T x) { return RESULT(FN(erf_of)(x)); }
#endif
#if defined(USES_ceil)
static T FN(op_ceil)(T x) { return ceil(x); }
#endif
#if defined(USES_floor)
static T FN(op_floor)(T x) { return floor(x); }
#endif
#if defined(USES_round)
/* Halves go away from zero; x - whole is exact. */
static T FN(op_round)(T x) {
    T whole = trunc(x);
    return fabs(x - whole) >= (T)K(0.5) ? whole + copysign((T)1, x) : whole;
}
#endif
#if defined(USES_sqrt)
static T FN(op_sqrt)(T x) { return RESULT(sqrt(x)); }
#endif
#if defined(USES_sigmoid)
static T FN(op_sigmoid)(T x) { return RESULT((T)1 / ((T)1 + FN(exp_of)(-x))); }
#endif
#if defined(USES_normcdf)
/* erfc keeps the lower tail, which 1 + erf would cancel away. */
static T FN(op_normcdf)(T x) { return RESULT((T)K(0.5) * FN(erfc_of)(x * (T)K(-0.70710678118654752440))); }
#endif
/* x times what falls to 0 faster than x grows: at -infinity the limit, not -infinity times 0. */
static T FN(limited)(T x, T y) { return x == (T)-INFINITY ? -(T)0 : y; }
#if defined(USES_gelu_erf)
static T FN(op_gelu_erf)(T x) {
    return RESULT(FN(limited)(x, (T)K(0.5) * x * FN(erfc_of)(x * (T)K(-0.70710678118654752440))));
}
#endif
#if defined(USES_silu) || defined(USES_gelu)
/* x / (1 + e^-t), by halves of the exponent: e^-t does not overflow, and x e^t keeps its digits. */
static T FN(times_sigmoid)(T x, T t) {
    T root = FN(exp_of)((T)K(-0.5) * fabs(t));
    T top = t < (T)0 ? x * root * root : x;
    return FN(limited)(x, top / ((T)1 + root * root));
}
#endif
#if defined(USES_silu)
static T FN(op_silu)(T x) { return RESULT(FN(times_sigmoid)(x, x)); }
#endif
#if defined(USES_gelu)
/* 0.5 (1 + tanh u) is the sigmoid of 2u, which does not cancel. */
static T FN(op_gelu)(T x) {
    return RESULT(FN(times_sigmoid)(x, (T)K(1.59576912160573071176) * (x + (T)K(0.044715) * x * x * x)));
}
#endif
#else
static T FN(op_neg)(T x) { return AS_T((U)((U)0 - AS_U(x))); }
static T FN(op_sqr)(T x) { return AS_T((U)(PRODUCT(AS_U(x), AS_U(x)))); }
static T FN(op_abs)(T x) { return x < (T)0 ? FN(op_neg)(x) : x; }
static T FN(op_relu)(T x) { return x < (T)0 ? (T)0 : x; }
static T FN(op_sign)(T x) { return x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : (T)0; }
static T FN(op_ceil)(T x) { return x; }
static T FN(op_floor)(T x) { return x; }
static T FN(op_round)(T x) { return x; }
#endif
#endif

#ifdef UNARY_PARAM
#define INPUTS 1
static T FN(op_clamp_min)(T x, T p) { return x < p ? p : x; }
static T FN(op_clamp_max)(T x, T p) { return x > p ? p : x; }
#if IS_FLOAT(A)
#if defined(USES_elu)
static T FN(op_elu)(T x, T p) { return RESULT(x > (T)0 ? x : p * FN(expm1_of)(x)); }
#endif
#pragma OPENCL FP_CONTRACT OFF
static T FN(op_leaky_relu)(T x, T p) { return RESULT(x > (T)0 ? x : p * x); }
#pragma OPENCL FP_CONTRACT DEFAULT
#if defined(USES_powf)
static T FN(op_powf)(T x, T p) { return RESULT(FN(power)(x, p)); }
#endif
#pragma OPENCL FP_CONTRACT OFF
static T FN(op_scale)(T x, T p) { return RESULT(x * p); }
static T FN(op_add_scalar)(T x, T p) { return RESULT(x + p); }
#pragma OPENCL FP_CONTRACT DEFAULT
#else
static T FN(op_scale)(T x, T p) { return AS_T((U)(PRODUCT(AS_U(x), AS_U(p)))); }
static T FN(op_add_scalar)(T x, T p) { return AS_T((U)(AS_U(x) + AS_U(p))); }
#endif
#endif

#ifdef BINARY
#define INPUTS 2
#if IS_FLOAT(A)
/* Either operand's NaN wins. */
static T FN(op_min)(T a, T b) { return a < b || a != a ? a : b; }
static T FN(op_max)(T a, T b) { return a > b || a != a ? a : b; }
#pragma OPENCL FP_CONTRACT OFF
static T FN(op_add)(T a, T b) { return RESULT(a + b); }
static T FN(op_sub)(T a, T b) { return RESULT(a - b); }
static T FN(op_mul)(T a, T b) { return RESULT(a * b); }
#pragma OPENCL FP_CONTRACT DEFAULT
static T FN(op_div)(T a, T b) { return RESULT(a / b); }
#if defined(USES_pow)
static T FN(op_pow)(T a, T b) { return RESULT(FN(power)(a, b)); }
#endif
/* Dropout in a fused kernel: m is 0, or the factor of an element that stays. */
static T FN(op_dropout)(T x, T m) { return m == (T)0 ? (T)0 : RESULT(x * m); }
/* Gradients of activations: x is the activation's input, d the gradient by its output. */
static T FN(op_relu_gradient)(T x, T d) { return x <= (T)0 ? (T)0 : d; }
#if defined(NEEDS_DECAY)
/* e^t for t not above 0. It is 0 below an end where e^t is still a normal number, so that devices which flush smaller
 * ones agree with the others. */
static T FN(decay)(T t) { return t < (T)(IS_DOUBLE(A) ? -708 : -86) ? (T)0 : FN(exp_of)(t); }
/* From 1000 on all derivatives are constant, and an infinity would meet a factor of 0. */
static T FN(bounded)(T x) { return x > (T)1000 ? (T)1000 : x < (T)-1000 ? (T)-1000 : x; }
#endif
#if defined(NEEDS_GATED)
/* d (s + s (1 - s) w) with s = sigmoid(t): q / h or 1 / h by the sign of t, of which neither overflows. */
static T FN(gated)(T t, T w, T d) {
    const T q = FN(decay)(-fabs(t)), h = (T)1 + q;
    return d * (((t < (T)0 ? h * q : h) + w * q) / (h * h));
}
#endif
#if defined(USES_silu_gradient)
static T FN(op_silu_gradient)(T x, T d) { return RESULT(FN(gated)(FN(bounded)(x), FN(bounded)(x), d)); }
#endif
#if defined(USES_gelu_gradient)
static T FN(op_gelu_gradient)(T x, T d) {
    const T y = FN(bounded)(x), linear = (T)K(1.59576912160573071176) * y;
    const T cubic = (T)K(0.044715) * y * y;
    return RESULT(FN(gated)(linear * ((T)1 + cubic), linear * ((T)1 + (T)3 * cubic), d));
}
#endif
#if defined(USES_gelu_erf_gradient)
static T FN(op_gelu_erf_gradient)(T x, T d) {
    const T y = FN(bounded)(x), q = FN(decay)((T)K(-0.5) * y * y);
    const T share = (T)K(0.5) * FN(erfc_of)(y * (T)K(-0.70710678118654752440));
    const T slope = share + (T)K(0.39894228040143267794) * y * q;
    return RESULT(d * (y < (T)(IS_DOUBLE(A) ? K(-37.5) : K(-12.9)) ? (T)0 : slope));
}
#endif
#if defined(USES_sigmoid_gradient)
static T FN(op_sigmoid_gradient)(T x, T d) {
    const T q = FN(decay)(-fabs(x)), h = (T)1 + q;
    return RESULT(d * (q / (h * h)));
}
#endif
#if defined(USES_tanh_gradient)
/* 1 - tanh^2 without the difference, which cancels. */
static T FN(op_tanh_gradient)(T x, T d) {
    const T q = FN(decay)((T)-2 * fabs(x)), h = (T)1 + q;
    return RESULT(d * ((T)4 * q / (h * h)));
}
#endif
#else
static T FN(op_min)(T a, T b) { return a < b ? a : b; }
static T FN(op_max)(T a, T b) { return a > b ? a : b; }
static T FN(op_add)(T a, T b) { return AS_T((U)(AS_U(a) + AS_U(b))); }
static T FN(op_sub)(T a, T b) { return AS_T((U)(AS_U(a) - AS_U(b))); }
static T FN(op_mul)(T a, T b) { return AS_T((U)(PRODUCT(AS_U(a), AS_U(b)))); }
/* No divisor that traps is ever divided by: x / 0 is 0, and the minimum / -1 wraps to itself. */
static T FN(op_div)(T a, T b) {
#if MIN_OF(A) < 0
    M traps = b == (T)0 || (a == (T)MIN_OF(A) && b == (T)-1);
#else
    M traps = b == (T)0;
#endif
    T quotient = a / (traps ? (T)1 : b);
    return b == (T)0 ? (T)0 : quotient;
}
#endif
static R FN(op_eq)(T a, T b) { return TRUTH(a == b); }
static R FN(op_ne)(T a, T b) { return TRUTH(a != b); }
static R FN(op_lt)(T a, T b) { return TRUTH(a < b); }
static R FN(op_le)(T a, T b) { return TRUTH(a <= b); }
static R FN(op_gt)(T a, T b) { return TRUTH(a > b); }
static R FN(op_ge)(T a, T b) { return TRUTH(a >= b); }
/* Of dropout: x counts only as what there is an element for. */
static R FN(op_dropout_mask)(T x, T m) { return TRUTH(m != (T)0); }
#endif

/*
 * Reading and writing vectors. `left` is what is left of the array from p on; below 0 there is
 * nothing.
 */
#if !defined(FUSED) || defined(ACCESS)
typedef V(MEMORY(A)) FN(stored_a) STORED_AS(MEMORY(A));
typedef V(MEMORY(OUT)) FN(stored_out) STORED_AS(MEMORY(OUT));

static T FN(read_a)(global const MEMORY(A) *p, long left) {
    if (left >= W)
        return UNPACK(A, *(global const FN(stored_a) *)p);
    union { V(MEMORY(A)) vector; MEMORY(A) element[W]; } part = {(V(MEMORY(A)))0};
    for (uint i = 0; i < W; i++)
        if (i < left)
            part.element[i] = p[i];
    return UNPACK(A, part.vector);
}

#if INPUTS > 1
typedef V(MEMORY(B)) FN(stored_b) STORED_AS(MEMORY(B));
static S FN(read_b)(global const MEMORY(B) *p, long left) {
    if (left >= W)
        return UNPACK(B, *(global const FN(stored_b) *)p);
    union { V(MEMORY(B)) vector; MEMORY(B) element[W]; } part = {(V(MEMORY(B)))0};
    for (uint i = 0; i < W; i++)
        if (i < left)
            part.element[i] = p[i];
    return UNPACK(B, part.vector);
}
#endif

static void FN(write_out)(R value, global MEMORY(OUT) *p, long left) {
    if (left >= W) {
        STORE((global FN(stored_out) *)p, PACK(OUT, value));
        return;
    }
    union { V(MEMORY(OUT)) vector; MEMORY(OUT) element[W]; } part = {PACK(OUT, value)};
    for (uint i = 0; i < W; i++)
        if (i < left)
            p[i] = part.element[i];
}
#endif

#ifdef BROADCAST
/*
 * Elements i to i + W - 1 of a vector that is broadcast over a dense matrix. `by` is (n, (2^64 - 1) / n): the vector has n
 * elements that are taken in turn (a row), or each is taken n times (a column). i * by.s1 / 2^64 is above i / n - 1 and at
 * most i / n, so that the quotient is right, or one too small.
 */
/* Aligned as its elements, whatever arrays are. */
typedef V(MEMORY(A)) FN(part_of_row) __attribute__((aligned(sizeof(MEMORY(A)))));

static T FN(read_row)(global const MEMORY(A) *p, ulong2 by, ulong i, long left) {
    union { V(MEMORY(A)) vector; MEMORY(A) element[W]; } part = {(V(MEMORY(A)))0};
    ulong at = i - mul_hi(i, by.s1) * by.s0;
    at = at < by.s0 ? at : at - by.s0;
    if (left >= W && at + W <= by.s0)
        return UNPACK(A, *(global const FN(part_of_row) *)(p + at));
    for (uint k = 0; k < W; k++) {
        if (k < left)
            part.element[k] = p[at];
        at = at + 1 < by.s0 ? at + 1 : 0;
    }
    return UNPACK(A, part.vector);
}

static T FN(read_column)(global const MEMORY(A) *p, ulong2 by, ulong i, long left) {
    union { V(MEMORY(A)) vector; MEMORY(A) element[W]; } part = {(V(MEMORY(A)))0};
    ulong at = mul_hi(i, by.s1), used = i - at * by.s0;
    at = used < by.s0 ? at : at + 1;
    used = used < by.s0 ? used : used - by.s0;
    if (left >= W && used + W <= by.s0)
        return UNPACK(A, (V(MEMORY(A)))p[at]);
    for (uint k = 0; k < W; k++) {
        if (k < left)
            part.element[k] = p[at];
        used++;
        at = used < by.s0 ? at : at + 1;
        used = used < by.s0 ? used : 0;
    }
    return UNPACK(A, part.vector);
}
#endif

#ifdef DRAW
#ifndef DRAW_ONCE
#define DRAW_ONCE
#if W == 16
#define COUNTERS 4
#elif W == 8
#define COUNTERS 2
#else
#define COUNTERS 1
#endif
#include "philox.cl"

/* Words i to i + W - 1 of a generator with this state; i is a multiple of W. */
static V(uint) drawn_words(global const long *state, ulong i) {
    const words x = philox((ulong)state[2] + i / 4 + LANE_NUMBERS, (ulong)state[1], (ulong)state[0]);
#if W == 1
    const uint low = i & 1 ? x.at[1] : x.at[0], high = i & 1 ? x.at[3] : x.at[2];
    return i & 2 ? high : low;
#elif W == 2
    return i & 2 ? (uint2)(x.at[2], x.at[3]) : (uint2)(x.at[0], x.at[1]);
#else
    return ZIP(TWICE, uint, ZIP(COUNTERS, uint, x.at[0], x.at[2]), ZIP(COUNTERS, uint, x.at[1], x.at[3]));
#endif
}
#endif

/* What a dropout multiplies elements i to i + W - 1 by: 0, or the factor of those that stay. `by` is the threshold of the
 * words and the bits of the factor. */
static T FN(read_drawn)(global const long *state, ulong2 by, ulong i, long left) {
    const V(long) keep = kept(drawn_words(state, i), by.s0);
#if IS_DOUBLE(A)
    return AS_T((V(long))(long)by.s1 & keep);
#else
    return GLUE(as_, V(float))((V(int))(int)(uint)by.s1 & GLUE(convert_, V(int))(keep));
#endif
}
#endif

#ifdef FUSED
/* As it was before this inclusion. */
#undef BROADCAST
#undef DRAW
#undef ACCESS
#undef CAST
#undef WHERE
#undef UNARY
#undef UNARY_PARAM
#undef BINARY
#undef INPUTS
#undef SUFFIX
#undef A
#undef B
#undef OUT
#undef T
#undef S
#undef R
#undef M
#undef U
#elif !defined(MATRIX) /* cl/matrix.cl and cl/strided.cl have launches of their own */
/*
 * The launch. A work-group takes STEPS * BATCH rows of vectors, in which neighbouring work-items
 * take neighbouring vectors.
 */
kernel void map(global const MEMORY(A) *a, ulong a_offset,
#if INPUTS > 1
                global const MEMORY(B) *b, ulong b_offset,
#endif
#if INPUTS > 2
                global const MEMORY(B) *c, ulong c_offset,
#endif
                global MEMORY(OUT) *out, ulong out_offset, ulong count
#ifdef UNARY_PARAM
                , MEMORY(A) param
#endif
                ) {
    const ulong row = (ulong)get_local_size(0) * W;
    ulong i = get_group_id(0) * row * (STEPS * BATCH) + get_local_id(0) * W;

    for (uint step = 0; step < STEPS && i < count; step++, i += row * BATCH) {
        T x[BATCH];
#pragma unroll
        for (uint k = 0; k < BATCH; k++)
            x[k] = read_a(a + a_offset + i + k * row, (long)(count - i - k * row));
#pragma unroll
        for (uint k = 0; k < BATCH; k++) {
            const ulong at = i + k * row;
            const long left = (long)(count - at);
#if defined(UNARY_PARAM)
            const R value = OP(x[k], UNPACK(A, (V(MEMORY(A)))param));
#elif INPUTS == 1
            const R value = OP(x[k]);
#elif INPUTS == 2
            const R value = OP(x[k], read_b(b + b_offset + at, left));
#else
            const R value =
                OP(x[k], read_b(b + b_offset + at, left), read_b(c + c_offset + at, left));
#endif
            write_out(value, out + out_offset + at, left);
        }
    }
}
#endif
