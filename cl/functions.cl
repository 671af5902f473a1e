/* SPDX-License-Identifier: MIT */
/*
 * Exponentials, logarithms, sines and the like of vectors of type A, for cl/map.cl, which includes this file once
 * for each set of types.
 *
 * Those of f32 take every element of a vector the same way through, which a CPU's vector unit needs; drivers' own
 * go element by element, or change their method for a whole vector because of one element (PoCL 3.1 then gives
 * wrong sines of the others). The polynomials are minimax fits, and in pieces that do not wait for each other.
 */
#ifndef FUNCTIONS_ONCE
#define FUNCTIONS_ONCE
/* Whether any element of a comparison holds: by halves, where drivers' any() goes one by one. */
#define ANY(test) (GLUE(UNION_, W)(test) != 0)
#define UNION_1(v) (v)
#define UNION_2(v) ((v).x | (v).y)
#define UNION_4(v) UNION_2((v).lo | (v).hi)
#define UNION_8(v) UNION_4((v).lo | (v).hi)
#define UNION_16(v) UNION_8((v).lo | (v).hi)
/* Polynomials of two and four terms in x of a vector type; x2 is its square. */
#define TERMS2(type, x, a, b) ((type)(a) + (x) * (type)(b))
#define TERMS4(type, x, x2, a, b, c, d) (TERMS2(type, x, a, b) + (x2) * TERMS2(type, x, c, d))
/* 2^23 + 2^22 and 2^52 + 2^51: added to a float or a double, they leave the nearest integer in its low bits. */
#define TO_INTEGER_F32 12582912.0f
#define TO_INTEGER_F64 0x1.8p52
/* Which of these functions the program's operations call, and of the compiler's own with them. */
#if defined(USES_normcdf) || defined(USES_gelu_erf) || defined(USES_gelu_erf_gradient)
#define NEEDS_ERFC
#endif
#if defined(USES_gelu_gradient) || defined(USES_silu_gradient)
#define NEEDS_GATED
#endif
#if defined(NEEDS_GATED) || defined(USES_gelu_erf_gradient) || defined(USES_sigmoid_gradient) || \
    defined(USES_tanh_gradient)
#define NEEDS_DECAY
#endif
#if defined(USES_exp) || defined(USES_sigmoid) || defined(USES_silu) || defined(USES_gelu) || \
    defined(USES_tanh) || defined(USES_erf) || defined(USES_elu) || defined(NEEDS_ERFC) || \
    defined(NEEDS_DECAY)
#define NEEDS_EXP
#endif
#if defined(USES_pow) || defined(USES_powf)
#define NEEDS_POWER
#endif
#endif

/* Of the binary operations only gradients call functions. */
#undef CALLS_FUNCTIONS
#if defined(UNARY) || defined(UNARY_PARAM) || (defined(BINARY) && defined(NEEDS_DECAY))
#define CALLS_FUNCTIONS
#endif

#if IS_FLOAT(A) && !IS_DOUBLE(A) && defined(CALLS_FUNCTIONS)
#define AS_FLOAT GLUE(as_, V(float))
#define AS_INT GLUE(as_, V(int))

#ifdef RUNS
#if defined(NEEDS_EXP)
/*
 * e^x = 2^n e^r, where n is the integer nearest to x / ln 2. Gives e^r - 1, and n + 127 in *k. ln 2 is taken off in two
 * parts, of which the first has 16 digits: a multiple below 2^8 is exact.
 */
static T FN(exp_parts)(T x, M *k) {
    const T shifted = x * (T)1.44269504f + (T)TO_INTEGER_F32;
    const T n = shifted - (T)TO_INTEGER_F32;
    const T r = (x - n * (T)0x1.62e4p-1f) - n * (T)0x1.7f7d1cp-20f, r2 = r * r;
    const T p = TERMS4(T, r, r2, 0.49999994f, 0.166665196f, 0.0416682698f, 0.00836886652f) +
                r2 * r2 * (T)0.00138208491f;
    *k = AS_INT(shifted) - AS_INT((T)TO_INTEGER_F32) + (M)127;
    return r + r2 * p;
}

/* For x whose result, and half of it, are normal numbers: |x| up to 86. */
static T FN(exp_near)(T x) {
    M k;
    const T part = FN(exp_parts)(x, &k);
    return ((T)1 + part) * AS_FLOAT(k << 23);
}

/* For |x| up to 170: 2^n by two factors, where one of them might be no normal number. */
static T FN(exp_far)(T x) {
    M k;
    const T part = FN(exp_parts)(x, &k);
    const M first = (k + (M)127) >> 1;
    return ((T)1 + part) * AS_FLOAT(first << 23) * AS_FLOAT((k + (M)127 - first) << 23);
}

/* For x not above 0; that of -0 is -0. */
static T FN(expm1_of)(T x) {
    M k;
    const T part = FN(exp_parts)(x < (T)-80 ? (T)-80 : x, &k), scale = AS_FLOAT(k << 23);
    return x == (T)0 ? x : scale * part + (scale - (T)1);
}

/* For any x: from 89 on the result is infinite, below -104 it is 0. */
static T FN(exp_of)(T x) {
    const T below = x > (T)89 ? (T)89 : x;
    return FN(exp_far)(below < (T)-104 ? (T)-104 : below);
}
#endif

#if defined(USES_log)
/* ln x = e ln 2 + ln(1 + f), where x = 2^e (1 + f) with 1 + f from sqrt(1/2) to sqrt(2). */
static T FN(log_of)(T x) {
    const M tiny = x < (T)0x1p-126f, root = (M)0x3f3504f3;
    const M bits = AS_INT(tiny ? x * (T)0x1p23f : x) - root;
    const T e = CONVERT(float)(bits >> 23) - (tiny ? (T)23 : (T)0);
    const T f = AS_FLOAT((bits & (M)0x7fffff) + root) - (T)1, f2 = f * f;
    const T p =
        TERMS4(T, f, f2, 0.333333313f, -0.250008196f, 0.200012416f, -0.166234091f) +
        f2 * f2 * TERMS4(T, f, f2, 0.1420158f, -0.131596103f, 0.127622172f, -0.0763643906f);
    const T low = f2 * (f * p - (T)0.5f) + e * (T)0x1.7f7d1cp-20f;
    const T other = x == (T)0 ? (T)-INFINITY : x < (T)0 ? (T)NAN : x;
    return x > (T)0 && x < (T)INFINITY ? e * (T)0x1.62e4p-1f + (f + low) : other;
}
#endif

#if defined(USES_tanh)
static T FN(tanh_of)(T x) {
    const T z = fabs(x) > (T)10 ? (T)10 : fabs(x), s = x * x, s2 = s * s;
    const T p =
        TERMS4(T, s, s2, -0.333333224f, 0.133329779f, -0.0539292991f, 0.0216635372f) +
        s2 * s2 * (TERMS2(T, s, -0.00826453883f, 0.00258266716f) + s2 * (T)-0.000455460744f);
    return z < (T)0.9f ? x * ((T)1 + s * p)
                       : copysign((T)1 - (T)2 / (FN(exp_near)((T)2 * z) + (T)1), x);
}
#endif
#else
/* A GPU's elements go each by itself: its own are shorter where neighbours go the same way. */
#if defined(NEEDS_EXP)
static T FN(exp_near)(T x) { return exp(x); }
static T FN(exp_far)(T x) { return exp(x); }
static T FN(exp_of)(T x) { return exp(x); }
#endif
#if defined(USES_log)
static T FN(log_of)(T x) { return log(x); }
#endif
#if defined(USES_tanh)
static T FN(tanh_of)(T x) { return tanh(x); }
#endif

#if defined(USES_elu)
/* For x not above 0; that of -0 is -0. */
static T FN(expm1_of)(T x) {
    const T x2 = x * x;
    const T p = TERMS4(T, x, x2, 0.49999997f, 0.166665629f, 0.0416583158f, 0.0083022872f) +
                x2 * x2 * TERMS2(T, x, 0.00132955075f, 0.000140648335f);
    return x < (T)-0.8f ? exp(x) - (T)1 : x * ((T)1 + x * p);
}
#endif
#endif

#if defined(NEEDS_ERFC)
/* erfc |x| = e^-x^2 t p(t - 1/2), where t = 1 / (1 + |x|/2). 0 from 10.5 on. */
static T FN(erfc_of)(T x) {
    const T z = fabs(x) > (T)10.5f ? (T)10.5f : fabs(x);
    const T t = (T)1 / ((T)1 + z * (T)0.5f), u = t - (T)0.5f, u2 = u * u, u4 = u2 * u2;
    const T p =
        TERMS4(T, u, u2, 0.510791361f, 0.687160909f, 0.558939874f, 0.145743936f) +
        u4 * (TERMS4(T, u, u2, -0.171879709f, -0.10304264f, 0.0954279155f, 0.0485096872f) +
              u4 * (T)-0.0594692267f);
    const T tail = FN(exp_far)(-z * z) * (t * p);
    return x < (T)0 ? (T)2 - tail : tail;
}
#endif

#if defined(USES_erf)
/* Up to 0.6 x (1 + p(x^2)); from there 1 - e^(x q(x)), which from 4 on is 1. */
static T FN(erf_of)(T x) {
    const T z = fabs(x) > (T)4 ? (T)4 : fabs(x), z2 = z * z, z4 = z2 * z2;
    const T p = TERMS4(T, z2, z4, 0.128379151f, -0.376124442f, 0.11279916f, -0.0265943017f) +
                z4 * z4 * (T)0.00443332968f;
    const T q = TERMS4(T, z, z2, -1.12850678f, -0.635769844f, -0.105151832f, 0.022786729f) +
                z4 * TERMS2(T, z, -0.00317063276f, 0.00020688615f);
    return z < (T)0.6f ? x + x * p : copysign((T)1 - FN(exp_near)(z * q), x);
}
#endif

#if defined(USES_sin) || defined(USES_cos)
/* sin(x + quarters pi/2) for |x| up to 256. Pi/2 is taken off in three parts, of which the first
 * two have 16 digits: a multiple below 2^8 of those is exact. */
static T FN(sine_of)(T x, int quarters) {
    const T shifted = x * (T)0.636619772f + (T)TO_INTEGER_F32;
    const T n = shifted - (T)TO_INTEGER_F32;
    const T r = ((x - n * (T)0x1.921ep0f) - n * (T)0x1.b544p-16f) - n * (T)0x1.0b4612p-34f;
    const T s = r * r, s2 = s * s;
    const M k = AS_INT(shifted) + (M)quarters;
    const T sine = r * ((T)1 + s * TERMS4(T, s, s2, -0.166666672f, 0.00833332911f, -0.000198392328f,
                                          2.71736667e-06f));
    const T cosine = TERMS2(T, s, 1, -0.5f) + s2 * (TERMS2(T, s, 0.0416666456f, -0.00138872513f) +
                                                    s2 * (T)2.44256826e-05f);
    const T value = (k & (M)1) != (M)0 ? cosine : sine;
    return AS_FLOAT(AS_INT(value) ^ ((k & (M)2) << 30)); /* the second bit is the sign */
}
#endif

#if defined(USES_sin)
/* The driver's own where it has to be: mixed with nothing nearer than it. */
static T FN(sin_of)(T x) {
    const M far = fabs(x) > (T)256;
    const T near = FN(sine_of)(far ? (T)0 : x, 0);
    return ANY(far) ? (far ? sin(x) : near) : near;
}
#endif

#if defined(USES_cos)
static T FN(cos_of)(T x) {
    const M far = fabs(x) > (T)256;
    const T near = FN(sine_of)(far ? (T)0 : x, 1);
    return ANY(far) ? (far ? cos(x) : near) : near;
}
#endif
#undef AS_FLOAT
#undef AS_INT
#elif IS_FLOAT(A) && defined(CALLS_FUNCTIONS)
#if defined(NEEDS_EXP)
static T FN(exp_of)(T x) { return exp(x); }
#endif
#if defined(USES_log)
static T FN(log_of)(T x) { return log(x); }
#endif
#if defined(USES_tanh)
static T FN(tanh_of)(T x) { return tanh(x); }
#endif
#if defined(NEEDS_ERFC)
static T FN(erfc_of)(T x) { return erfc(x); }
#endif
#if defined(USES_erf)
static T FN(erf_of)(T x) { return erf(x); }
#endif
#if defined(USES_elu)
static T FN(expm1_of)(T x) { return expm1(x); }
#endif
#if defined(USES_sin)
static T FN(sin_of)(T x) { return sin(x); }
#endif
#if defined(USES_cos)
static T FN(cos_of)(T x) { return cos(x); }
#endif
#endif

#ifdef NEEDS_POWER
#if IS_DOUBLE(A) && W > 4
/* PoCL 3.1 lets a special case in one element of a vector spoil others: one by one. */
static T FN(power)(T x, T y) {
    union { T vector; A element[W]; } base = {x}, exponent = {y};
    for (uint i = 0; i < W; i++)
        base.element[i] = pow(base.element[i], exponent.element[i]);
    return base.vector;
}
#elif IS_FLOAT(A) && !IS_DOUBLE(A) && defined(RUNS) && defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define D V(double)
#define BITS V(ulong)
#define AS_D GLUE(as_, D)
#define AS_BITS GLUE(as_, BITS)

/* The logarithm of a to base 2, to 33 bits, of a above 0 that is no special case of f64: e + log2(1 + f), where a is
 * 2^e (1 + f) with 1 + f from sqrt(1/2) to sqrt(2). */
static D FN(log2_of)(D a) {
    const BITS root = (BITS)0x3fe6a09e667f3bcdul;
    const BITS bits = AS_BITS(a) + ((BITS)0x3ff0000000000000ul - root);
    /* With these as its low bits, a number from 2^52 on. */
    const D e = AS_D(bits >> 52 | (BITS)0x4330000000000000ul) - (D)(0x1p52 + 1023);
    const D f = AS_D((bits & (BITS)0xffffffffffffful) + root) - (D)1, f2 = f * f, f4 = f2 * f2;
    const D p = TERMS4(D, f, f2, 1.4426950409152361, -0.721347525468973, 0.48089833281335187,
                       -0.360672764391619) +
                f4 * (TERMS4(D, f, f2, 0.28853965001239024, -0.24050514905765277,
                             0.20612564710806813, -0.17905164697717005) +
                      f4 * TERMS4(D, f, f2, 0.15863761529071382, -0.15664060027179272,
                                  0.15646683147800292, -0.08875900180481452));
    return e + f * p;
}

/* 2^t to 29 bits; beyond what f32 has, something beyond it. */
static D FN(exp2_of)(D t) {
    const D below = t > (D)300 ? (D)300 : t, near = below < (D)-300 ? (D)-300 : below;
    const D shifted = near + (D)TO_INTEGER_F64;
    const D r = near - (shifted - (D)TO_INTEGER_F64), r2 = r * r;
    const D p = TERMS4(D, r, r2, 1.0000000005541685, 0.6931472057372614, 0.24022646890621205,
                       0.05550328776974714) +
                r2 * r2 * (TERMS2(D, r, 0.009618488958531115, 0.001339993121613564) +
                           r2 * (D)0.00015345811624152593);
    return AS_D(AS_BITS(p) + (AS_BITS(shifted) << 52));
}

/* |x|^y = 2^(y log2 |x|) in f64, which has the digits that the product takes, and no subnormal numbers here. */
static T FN(power)(T x, T y) {
    const D logarithm = FN(log2_of)(CONVERT(double)(fabs(x)));
    const T size = CONVERT(float)(FN(exp2_of)(CONVERT(double)(y) * logarithm));
    const T of_zero = y > (T)0 ? (T)0 : y < (T)0 ? (T)INFINITY : (T)1;
    const T value = x == (T)0 ? of_zero : size;
    /* Of what is below 0 whole powers have a value, and odd ones its sign. */
    const T whole = floor(y), halves = floor(y * (T)0.5f);
    const T sign = whole == y && halves + halves != y ? x : (T)1;
    const T near = x < (T)0 && whole != y ? (T)NAN : copysign(value, sign);
    const M far = !(fabs(x) < (T)INFINITY && fabs(y) < (T)INFINITY);
    return ANY(far) ? (far ? pow(x, y) : near) : near;
}
#undef D
#undef BITS
#undef AS_D
#undef AS_BITS
#elif IS_FLOAT(A)
static T FN(power)(T x, T y) { return pow(x, y); }
#endif
#endif
