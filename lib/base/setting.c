/* SPDX-License-Identifier: MIT */
#include "base/setting.h"

#include <stdlib.h>
#include <string.h>

static int value_of(const struct setting *setting, const char *text) {
    for (size_t i = 0; text && i < sizeof setting->words / sizeof *setting->words; i++)
        if (strcmp(text, setting->words[i].word) == 0)
            return setting->words[i].value;
    return setting->otherwise;
}

int setting_read(const struct setting *setting, _Atomic int *known) {
    int value = atomic_load_explicit(known, memory_order_relaxed);
    if (value < 0) {
        value = value_of(setting, getenv(setting->variable));
        atomic_store_explicit(known, value, memory_order_relaxed);
    }
    return value;
}
