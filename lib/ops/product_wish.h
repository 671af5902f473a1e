/* SPDX-License-Identifier: MIT */
/* What CLSTREAM_GEMM asks for. */
#ifndef CLSTREAM_OPS_PRODUCT_WISH_H
#define CLSTREAM_OPS_PRODUCT_WISH_H

/* Nothing; matrix units wherever they can compute a product, or of them mma alone; none for f32; CLBlast for f32 and f64. */
enum product_wish { WISH_NONE, WISH_UNITS, WISH_MMA, WISH_PEDANTIC, WISH_CLBLAST };

enum product_wish product_wish(void);

#endif
