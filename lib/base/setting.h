/* SPDX-License-Identifier: MIT */
/* Options set by environment variables. */
#ifndef CLSTREAM_BASE_SETTING_H
#define CLSTREAM_BASE_SETTING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <clstream/status.h>

/* An option of two to four words. The variable is read once, because a program may change its environment while another
 * thread is in the library. Unset or empty means `otherwise`, and so does an unknown word, which is reported once
 * on the standard error. */
struct setting {
    const char *variable;
    struct setting_word {
        const char *word;
        int value;
    } words[4];
    int otherwise;
};

/* `known` is -1 before the first call, and no setting's value. */
int setting_read(const struct setting *setting, _Atomic int *known);

/* The same of what the variable says now; `told` remembers that an unknown word was reported. */
int setting_now(const struct setting *setting, atomic_bool *told);

/* Whether the variable, a list separated by commas, has this word. */
bool setting_lists(const char *variable, const char *word);

/* A switch: one word turns it on. An unknown word is reported once on the standard error. */
struct setting_switch {
    const char *variable, *word;
    atomic_bool told;
};

/* What the variable says now. */
bool setting_is_on(struct setting_switch *setting);

/* A variable's number; unset or empty means `*value` as it is, and one that is too large for size_t means SIZE_MAX. Reports
 * CLS_ERROR_INVALID_VALUE for what is no number. */
cls_status setting_number(const char *variable, size_t *value);

/* The value of a variable that names a file or a folder; NULL: unset or empty. Before it stands `*folder`: that in which
 * the program was started, with a slash at its end, and "" where the name is absolute. */
const char *setting_path(const char *variable, const char **folder);

#endif
