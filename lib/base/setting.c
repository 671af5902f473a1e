/* SPDX-License-Identifier: MIT */
#include "base/setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = sizeof((struct setting *)NULL)->words / sizeof(struct setting_word) };

/* The place of a word in the setting, or WORDS. */
static size_t place_of(const struct setting *setting, const char *text) {
    size_t i = 0;
    while (i < WORDS && strcmp(text, setting->words[i].word) != 0)
        i++;
    return i;
}

/* Without the report a misspelt word would be taken for an option that has no effect. */
static void tell_ignored(const struct setting *setting, const char *text) {
    if (*text)
        fprintf(stderr, "clstream: %s=%s is ignored: there are '%s' and '%s'\n", setting->variable,
                text, setting->words[0].word, setting->words[1].word);
}

int setting_read(const struct setting *setting, _Atomic int *known) {
    int value = atomic_load_explicit(known, memory_order_relaxed);
    if (value < 0) {
        const char *text = getenv(setting->variable);
        text = text ? text : "";
        const size_t place = place_of(setting, text);
        int before = -1;
        value = place < WORDS ? setting->words[place].value : setting->otherwise;
        if (atomic_compare_exchange_strong(known, &before, value) && place == WORDS)
            tell_ignored(setting, text);
    }
    return value;
}

bool setting_lists(const char *variable, const char *word) {
    const char *at = getenv(variable);
    const size_t length = strlen(word);
    while (at && *at) {
        const size_t n = strcspn(at, ",");
        if (n == length && !strncmp(at, word, n))
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

bool setting_is_on(struct setting_switch *setting) {
    const char *text = getenv(setting->variable);
    const bool on = text && strcmp(text, setting->word) == 0;
    if (text && *text && !on && !atomic_exchange(&setting->told, true))
        fprintf(stderr, "clstream: %s=%s is ignored: there is '%s'\n", setting->variable, text,
                setting->word);
    return on;
}
