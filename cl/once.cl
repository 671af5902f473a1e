/* SPDX-License-Identifier: MIT */
/*
 * Vectors that a kernel loads or stores once: NVIDIA's caches let them go first. ONCE(type) defines load_once() and
 * store_once(), for vectors of 16 bytes; others are loaded and stored as ever.
 */
#if defined(__NV_CL_C_VERSION) && defined(ALIGNED)
/* Without "memory" among the clobbers, so that loads are under way together: no item loads what it stored. */
#define ONCE(type)                                                                               \
    typedef union { type value; uint4 words; } GLUE(once_, type);                                \
    static type GLUE(load_once_, type)(global const type *at) {                                  \
        GLUE(once_, type) x;                                                                     \
        if (sizeof(type) == sizeof(uint4))                                                       \
            asm volatile("ld.global.cs.v4.u32 {%0, %1, %2, %3}, [%4];"                           \
                         : "=r"(x.words.s0), "=r"(x.words.s1), "=r"(x.words.s2), "=r"(x.words.s3) \
                         : "l"(at));                                                             \
        else                                                                                     \
            x.value = *at;                                                                       \
        return x.value;                                                                          \
    }                                                                                            \
    static void GLUE(store_once_, type)(global type *at, type value) {                           \
        const GLUE(once_, type) x = {value};                                                     \
        if (sizeof(type) == sizeof(uint4))                                                       \
            asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(x.words.s0), \
                         "r"(x.words.s1), "r"(x.words.s2), "r"(x.words.s3));                     \
        else                                                                                     \
            *at = value;                                                                         \
    }
#else
#define ONCE(type)                                                                               \
    static type GLUE(load_once_, type)(global const type *at) { return *at; }                    \
    static void GLUE(store_once_, type)(global type *at, type value) { *at = value; }
#endif
