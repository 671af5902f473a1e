/* SPDX-License-Identifier: MIT */
/* A choice that an environment variable makes. It is read once: a program may change its environment while another
 * thread is in the library. */
#ifndef CLSTREAM_BASE_SETTING_H
#define CLSTREAM_BASE_SETTING_H

#include <stdatomic.h>

/* The words that a variable may have, and what they mean; none means `otherwise`, and so
 * does any other, which is told once on the standard error. */
struct setting {
    const char *variable;
    struct setting_word {
        const char *word;
        int value;
    } words[2];
    int otherwise;
};

/* `known` is -1 before the first call, and no setting's value. */
int setting_read(const struct setting *setting, _Atomic int *known);

#endif
