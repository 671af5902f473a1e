/* SPDX-License-Identifier: MIT */
/*
 * Every element-by-element operation. One program holds one of them, for one set of types and one shape
 * of launch, chosen by
 *
 *     -DCAST, -DWHERE, -DUNARY, -DUNARY_PARAM or -DBINARY
 *     -DOP=op_relu     which one of its family: the function below
 *     -DA=float        element type of the first input
 *     -DB=float        element type of the second and third; A where there is none
 *     -DOUT=float      element type of the result
 *     -DW=4            elements in a vector: 1, 2, 4, 8 or 16
 *     -DBATCH=1        vectors that a work-item reads before it writes any; 1 but for one input
 *     -DSTEPS=1        batches of a work-item, at most 65,535
 *     -DALIGNED        every array starts at a multiple of 16 bytes, or of its vector if that is less
 *
 * In place is allowed: a work-item reads an element before it writes it, and nobody else touches it.
 */
#define GLUE_(a, b) a##b
#define GLUE(a, b) GLUE_(a, b)
#if W == 1
#define V(type) type
#else
#define V(type) GLUE(type, W)
#endif
#define CONVERT(type) GLUE(convert_, V(type))

/* What the preprocessor knows of the types. */
#define IS_FLOAT(type) GLUE(IS_FLOAT_, type)
#define IS_FLOAT_float 1
#define IS_FLOAT_double 1
#define IS_FLOAT_int 0
#define IS_FLOAT_long 0
#define IS_FLOAT_uchar 0
#define IS_FLOAT_uint 0
#define IS_FLOAT_ulong 0
#define IS_DOUBLE(type) GLUE(IS_DOUBLE_, type)
#define IS_DOUBLE_float 0
#define IS_DOUBLE_double 1
#define IS_DOUBLE_int 0
#define IS_DOUBLE_long 0
#define IS_DOUBLE_uchar 0
#define IS_DOUBLE_uint 0
#define IS_DOUBLE_ulong 0
#define MIN_OF(type) GLUE(MIN_OF_, type)
#define MIN_OF_int (-2147483647 - 1)
#define MIN_OF_long (-9223372036854775807 - 1)
#define MIN_OF_uchar 0
#define MIN_OF_uint 0
#define MIN_OF_ulong 0
#define MAX_OF(type) GLUE(MAX_OF_, type)
#define MAX_OF_int 2147483647
#define MAX_OF_long 9223372036854775807
#define MAX_OF_uchar 255
#define MAX_OF_uint 4294967295
#define MAX_OF_ulong 18446744073709551615u
/* The first value above the maximum, which every float type holds exactly. */
#define LIMIT_OF(type) GLUE(LIMIT_OF_, type)
#define LIMIT_OF_int 2147483648.0f
#define LIMIT_OF_long 9223372036854775808.0f
#define LIMIT_OF_uchar 256.0f
#define LIMIT_OF_uint 4294967296.0f
/* What comparing two vectors of a type gives, and the type for arithmetic that wraps around. */
#define MASK(type) GLUE(MASK_, type)
#define MASK_float int
#define MASK_double long
#define MASK_int int
#define MASK_long long
#define MASK_uchar char
#define MASK_uint int
#define MASK_ulong long
#define WRAP(type) GLUE(WRAP_, type)
#define WRAP_int uint
#define WRAP_long ulong
#define WRAP_uchar uchar
#define WRAP_uint uint
#define WRAP_ulong ulong

#if IS_DOUBLE(A) || IS_DOUBLE(OUT)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

typedef V(A) T;
typedef V(OUT) R;
typedef V(MASK(A)) M;

/* A comparison of elements of type A, as the mask that chooses between elements of type OUT. Compared
 * once more, because rusticl 22.3 widens a true int to 1 where it should be -1. */
#define CHOOSE(test) (CONVERT(MASK(OUT))(test) != (V(MASK(OUT)))0)

/* A constant of type A, correctly rounded in either precision. */
#if IS_DOUBLE(A)
#define K(x) x
#else
#define K(x) GLUE(x, f)
#endif

#if !IS_FLOAT(A)
/* Signed overflow is undefined; the unsigned type of the same size wraps around. */
typedef V(WRAP(A)) U;
#define AS_T GLUE(as_, V(A))
#define AS_U GLUE(as_, V(WRAP(A)))
#endif

#if IS_DOUBLE(A) && W > 4
/* PoCL 3.1 lets a special case in one element of a vector spoil others: one by one. */
T power(T x, T y) {
    union { T vector; A element[W]; } base = {x}, exponent = {y};
    for (uint i = 0; i < W; i++)
        base.element[i] = pow(base.element[i], exponent.element[i]);
    return base.vector;
}
#elif IS_FLOAT(A)
T power(T x, T y) { return pow(x, y); }
#endif

#ifdef CAST
#define INPUTS 1
#if IS_FLOAT(OUT)
R op_cast(T x) { return GLUE(CONVERT(OUT), _rte)(x); }
#elif IS_FLOAT(A)
/* Nothing outside the range of OUT, and no NaN, reaches the conversion: drivers differ there. */
R op_cast(T x) {
    M above = x >= (T)LIMIT_OF(OUT);
    T inside = x < (T)LIMIT_OF(OUT) ? x : (T)0;
    inside = inside < (T)MIN_OF(OUT) ? (T)MIN_OF(OUT) : inside;
    return CHOOSE(above) ? (R)MAX_OF(OUT) : CONVERT(OUT)(inside);
}
#else
R op_cast(T x) {
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
/* Four bytes at a time, which GPUs would otherwise take one by one: the top bit of a byte is set where
 * the byte is not 0, and spread over it. */
R op_where(T condition, R if_true, R if_false) {
    const uint4 c = as_uint4(condition);
    const uint4 top = (((c & 0x7f7f7f7fu) + 0x7f7f7f7fu) | c) & 0x80808080u;
    const uint4 mask = (top >> 7) * 255u;
    return as_uchar16((as_uint4(if_true) & mask) | (as_uint4(if_false) & ~mask));
}
#else
R op_where(T condition, R if_true, R if_false) {
    return CHOOSE(condition != (T)0) ? if_true : if_false;
}
#endif
#endif

#ifdef UNARY
#define INPUTS 1
#if W > 1 && !IS_DOUBLE(A)
/* PoCL 3.1 gives wrong sines and cosines of the small elements of a vector that has large ones too, for
 * which it changes its method: no vector here has both. */
#define BY_REACH(f, x) (any(FAR(x)) ? (FAR(x) ? f(x) : f(FAR(x) ? (T)0 : (x))) : f(x))
#define FAR(x) (fabs(x) > (T)100)
#else
#define BY_REACH(f, x) f(x)
#endif
T op_copy(T x) { return x; }
#if IS_FLOAT(A)
T op_neg(T x) { return -x; }
T op_abs(T x) { return fabs(x); }
T op_sqr(T x) { return x * x; }
T op_relu(T x) { return x <= (T)0 ? (T)0 : x; }
T op_sign(T x) { return x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : x == x ? (T)0 : x; }
T op_recip(T x) { return (T)1 / x; }
T op_exp(T x) { return exp(x); }
T op_log(T x) { return log(x); }
T op_sin(T x) { return BY_REACH(sin, x); }
T op_cos(T x) { return BY_REACH(cos, x); }
T op_tanh(T x) { return tanh(x); }
T op_erf(T x) { return erf(x); }
T op_ceil(T x) { return ceil(x); }
T op_floor(T x) { return floor(x); }
/* Halves go away from zero; x - whole is exact. */
T op_round(T x) {
    T whole = trunc(x);
    return fabs(x - whole) >= (T)K(0.5) ? whole + copysign((T)1, x) : whole;
}
T op_sqrt(T x) { return sqrt(x); }
T op_sigmoid(T x) { return (T)1 / ((T)1 + exp(-x)); }
/* erfc keeps the lower tail, which 1 + erf would cancel away. */
T op_normcdf(T x) { return (T)K(0.5) * erfc(x * (T)K(-0.70710678118654752440)); }
/* x times what falls to 0 faster than x grows: at -infinity the limit, not -infinity times 0. */
T limited(T x, T y) { return x == (T)-INFINITY ? -(T)0 : y; }
T op_gelu_erf(T x) { return limited(x, (T)K(0.5) * x * erfc(x * (T)K(-0.70710678118654752440))); }
/* x / (1 + e^-t), by halves of the exponent so that neither e^-t overflows nor x e^t loses digits. */
T times_sigmoid(T x, T t) {
    T root = exp((T)K(-0.5) * fabs(t));
    T top = t < (T)0 ? x * root * root : x;
    return limited(x, top / ((T)1 + root * root));
}
T op_silu(T x) { return times_sigmoid(x, x); }
/* 0.5 (1 + tanh u) is the sigmoid of 2u, which does not cancel. */
T op_gelu(T x) {
    return times_sigmoid(x, (T)K(1.59576912160573071176) * (x + (T)K(0.044715) * x * x * x));
}
#else
T op_neg(T x) { return AS_T((U)((U)0 - AS_U(x))); }
T op_sqr(T x) { return AS_T((U)(AS_U(x) * AS_U(x))); }
T op_abs(T x) { return x < (T)0 ? op_neg(x) : x; }
T op_relu(T x) { return x < (T)0 ? (T)0 : x; }
T op_sign(T x) { return x > (T)0 ? (T)1 : x < (T)0 ? (T)-1 : (T)0; }
#endif
#endif

#ifdef UNARY_PARAM
#define INPUTS 1
T op_clamp_min(T x, T p) { return x < p ? p : x; }
T op_clamp_max(T x, T p) { return x > p ? p : x; }
#if IS_FLOAT(A)
T op_elu(T x, T p) { return x > (T)0 ? x : p * expm1(x); }
T op_leaky_relu(T x, T p) { return x > (T)0 ? x : p * x; }
T op_powf(T x, T p) { return power(x, p); }
T op_scale(T x, T p) { return x * p; }
T op_add_scalar(T x, T p) { return x + p; }
#else
T op_scale(T x, T p) { return AS_T((U)(AS_U(x) * AS_U(p))); }
T op_add_scalar(T x, T p) { return AS_T((U)(AS_U(x) + AS_U(p))); }
#endif
#endif

#ifdef BINARY
#define INPUTS 2
#if IS_FLOAT(A)
/* Either operand's NaN wins. */
T op_min(T a, T b) { return a < b || a != a ? a : b; }
T op_max(T a, T b) { return a > b || a != a ? a : b; }
T op_add(T a, T b) { return a + b; }
T op_sub(T a, T b) { return a - b; }
T op_mul(T a, T b) { return a * b; }
T op_div(T a, T b) { return a / b; }
T op_pow(T a, T b) { return power(a, b); }
#else
T op_min(T a, T b) { return a < b ? a : b; }
T op_max(T a, T b) { return a > b ? a : b; }
T op_add(T a, T b) { return AS_T((U)(AS_U(a) + AS_U(b))); }
T op_sub(T a, T b) { return AS_T((U)(AS_U(a) - AS_U(b))); }
T op_mul(T a, T b) { return AS_T((U)(AS_U(a) * AS_U(b))); }
/* No divisor that traps is ever divided by: x / 0 is 0, and the minimum / -1 wraps to itself. */
T op_div(T a, T b) {
#if MIN_OF(A) < 0
    M traps = b == (T)0 || (a == (T)MIN_OF(A) && b == (T)-1);
#else
    M traps = b == (T)0;
#endif
    T quotient = a / (traps ? (T)1 : b);
    return b == (T)0 ? (T)0 : quotient;
}
#endif
#define TRUTH(test) CONVERT(OUT)((test) ? (M)1 : (M)0)
R op_eq(T a, T b) { return TRUTH(a == b); }
R op_ne(T a, T b) { return TRUTH(a != b); }
R op_lt(T a, T b) { return TRUTH(a < b); }
R op_le(T a, T b) { return TRUTH(a <= b); }
R op_gt(T a, T b) { return TRUTH(a > b); }
R op_ge(T a, T b) { return TRUTH(a >= b); }
#endif

/*
 * The launch. A work-group takes STEPS * BATCH rows of vectors, in which neighbouring work-items take
 * neighbouring vectors. `left` is what is left of the array from p on.
 */
#ifdef ALIGNED
#define ALIGN(type) (W * sizeof(type) < 16 ? W * sizeof(type) : 16)
#else
/* Vectors aligned as their elements: PoCL's vload would go element by element. */
#define ALIGN(type) sizeof(type)
#endif
#define STORED_AS(type) __attribute__((aligned(ALIGN(type))))
typedef V(A) stored_a STORED_AS(A);
typedef V(B) stored_b STORED_AS(B);
typedef V(OUT) stored_out STORED_AS(OUT);

ulong left_of(ulong count, ulong at) { return at < count ? count - at : 0; }

T read_a(global const A *p, ulong left) {
    if (left >= W)
        return *(global const stored_a *)p;
    union { T vector; A element[W]; } part = {(T)0};
    for (uint i = 0; i < W; i++)
        if (i < left)
            part.element[i] = p[i];
    return part.vector;
}

#if INPUTS > 1
typedef V(B) S;
S read_b(global const B *p, ulong left) {
    if (left >= W)
        return *(global const stored_b *)p;
    union { S vector; B element[W]; } part = {(S)0};
    for (uint i = 0; i < W; i++)
        if (i < left)
            part.element[i] = p[i];
    return part.vector;
}
#endif

void write_out(R value, global OUT *p, ulong left) {
    if (left >= W) {
        *(global stored_out *)p = value;
        return;
    }
    union { R vector; OUT element[W]; } part = {value};
    for (uint i = 0; i < W; i++)
        if (i < left)
            p[i] = part.element[i];
}

kernel void map(global const A *a, ulong a_offset,
#if INPUTS > 1
                global const B *b, ulong b_offset,
#endif
#if INPUTS > 2
                global const B *c, ulong c_offset,
#endif
                global OUT *out, ulong out_offset, ulong count
#ifdef UNARY_PARAM
                , A param
#endif
                ) {
    const ulong row = (ulong)get_local_size(0) * W;
    ulong i = get_group_id(0) * row * (STEPS * BATCH) + get_local_id(0) * W;

    for (uint step = 0; step < STEPS && i < count; step++, i += row * BATCH) {
        T x[BATCH];
#pragma unroll
        for (uint k = 0; k < BATCH; k++)
            x[k] = read_a(a + a_offset + i + k * row, left_of(count, i + k * row));
#pragma unroll
        for (uint k = 0; k < BATCH; k++) {
            const ulong at = i + k * row, left = left_of(count, at);
#if defined(UNARY_PARAM)
            const R value = OP(x[k], (T)param);
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
