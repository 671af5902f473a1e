/* SPDX-License-Identifier: MIT */
/* A factor of REAL: a value, or the element at `place` unless that is NOWHERE. */
#define NOWHERE 0xfffffffffffffffful

static REAL factor_of(global const REAL *from, ulong place, REAL value) {
    return place != NOWHERE ? from[place] : value;
}
