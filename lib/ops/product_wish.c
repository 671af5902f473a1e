/* SPDX-License-Identifier: MIT */
#include "ops/product_wish.h"

#include "base/setting.h"

enum product_wish product_wish(void) {
    static const struct setting setting = {"CLSTREAM_GEMM",
                                           {{"units", WISH_UNITS},
                                            {"mma", WISH_MMA},
                                            {"pedantic", WISH_PEDANTIC},
                                            {"clblast", WISH_CLBLAST}},
                                           WISH_NONE};
    static _Atomic int known = -1;
    return (enum product_wish)setting_read(&setting, &known);
}
