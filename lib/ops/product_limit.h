/* SPDX-License-Identifier: MIT */
/* What CLSTREAM_GEMM rules out. */
#ifndef CLSTREAM_OPS_PRODUCT_LIMIT_H
#define CLSTREAM_OPS_PRODUCT_LIMIT_H

/* Nothing; wgmma; matrix units for f32; all but CLBlast for f32 and f64. */
enum product_limit { LIMIT_NONE, LIMIT_MMA, LIMIT_PEDANTIC, LIMIT_CLBLAST };

enum product_limit product_limit(void);

#endif
