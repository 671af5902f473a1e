/* SPDX-License-Identifier: MIT */
/* The calling thread's locale, for foreign code that prints numbers. */
#ifndef CLSTREAM_SYSTEM_LOCALES_H
#define CLSTREAM_SYSTEM_LOCALES_H

#include <stdbool.h>

struct plain_locale {
    void *own, *before;
    char numbers[128];
};

/* Has the calling thread print numbers as C does. False without memory, and then there is nothing to end. */
bool plain_locale_begin(struct plain_locale *locale);
void plain_locale_end(struct plain_locale *locale);

#endif
