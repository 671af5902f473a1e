/* SPDX-License-Identifier: MIT */
#include "ops/product_limit.h"

#include "base/setting.h"

enum product_limit product_limit(void) {
    static const struct setting setting = {
        "CLSTREAM_GEMM",
        {{"mma", LIMIT_MMA}, {"pedantic", LIMIT_PEDANTIC}, {"clblast", LIMIT_CLBLAST}},
        LIMIT_NONE};
    static _Atomic int known = -1;
    return (enum product_limit)setting_read(&setting, &known);
}
