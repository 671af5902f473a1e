/* SPDX-License-Identifier: MIT */
/* Choices that environment variables make. */
#ifndef CLSTREAM_BASE_SETTING_H
#define CLSTREAM_BASE_SETTING_H

#include <stdatomic.h>
#include <stdbool.h>

/* The words that a variable may have, and what they mean; none means `otherwise`, and so
 * does any other, which is told once on the standard error. It is read once: a program may change
 * its environment while another thread is in the library. */
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

/* A variable that has one word or none. Any other is told at the first look. */
struct setting_switch {
    const char *variable, *word;
    atomic_bool told;
};

/* What the variable says now. */
bool setting_is_on(struct setting_switch *setting);

#endif
