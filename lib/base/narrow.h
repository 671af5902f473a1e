/* SPDX-License-Identifier: MIT */
/* Floats of 16 bits on the host. */
#ifndef CLSTREAM_BASE_NARROW_H
#define CLSTREAM_BASE_NARROW_H

#include <stdint.h>

/* The bits of the nearest element of CLS_F16 or CLS_BF16, of two equally near the even one; a NaN stays a quiet one. */
uint16_t narrow_f16(double value);
uint16_t narrow_bf16(double value);

/* The value of an element, exactly. */
double wide_of_f16(uint16_t bits);
double wide_of_bf16(uint16_t bits);

#endif
