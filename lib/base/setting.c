/* SPDX-License-Identifier: MIT */
#include "base/setting.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "system/files.h"
#include "system/processes.h"

/* All that the library reads; tests/unit/docs.sh compares README.md and clstream(7) with it. */
enum { LONGEST = 40, NEAR = 2 };
static const char variables[][LONGEST + 1] = {
    "CLSTREAM_CACHE",         "CLSTREAM_CACHE_DIR",   "CLSTREAM_CHECK",
    "CLSTREAM_CHECK_LOG",     "CLSTREAM_DEVICE",      "CLSTREAM_FLUSH",
    "CLSTREAM_GEMM",          "CLSTREAM_KERNEL_PATH", "CLSTREAM_LAUNCH_BLOCKING",
    "CLSTREAM_MANAGED",       "CLSTREAM_OP_SHAPE",    "CLSTREAM_PROBE",
    "CLSTREAM_QUEUE_ORDER",   "CLSTREAM_SCAN_TILES",  "CLSTREAM_TRACE",
    "CLSTREAM_TRACE_RECORDS", "CLSTREAM_TRIAL_SEED",
};
enum { VARIABLES = sizeof variables / sizeof variables[0] };

enum { WORDS = sizeof((struct setting *)NULL)->words / sizeof(struct setting_word) };

/* The place of a word in the setting, or WORDS. */
static size_t place_of(const struct setting *setting, const char *text) {
    size_t i = 0;
    while (i < WORDS && setting->words[i].word && strcmp(text, setting->words[i].word) != 0)
        i++;
    return i < WORDS && setting->words[i].word ? i : WORDS;
}

/* What the variable says now; `ignored`: its unknown word, or NULL. */
static int look(const struct setting *setting, const char **ignored) {
    const char *text = system_variable(setting->variable);
    const size_t place = text ? place_of(setting, text) : WORDS;
    *ignored = place == WORDS && text && *text ? text : NULL;
    return place < WORDS ? setting->words[place].value : setting->otherwise;
}

/* Without the report a misspelt word would be taken for an option that has no effect. */
static void tell_ignored(const struct setting *setting, const char *text) {
    fprintf(stderr, "clstream: %s=%s is ignored: there are", setting->variable, text);
    for (size_t i = 0; i < WORDS && setting->words[i].word; i++) {
        const bool is_last = i + 1 == WORDS || !setting->words[i + 1].word;
        fprintf(stderr, "%s '%s'", !i ? "" : is_last ? " and" : ",", setting->words[i].word);
    }
    fputc('\n', stderr);
}

int setting_read(const struct setting *setting, _Atomic int *known) {
    int value = atomic_load_explicit(known, memory_order_relaxed);
    if (value < 0) {
        const char *ignored;
        int before = -1;
        value = look(setting, &ignored);
        if (atomic_compare_exchange_strong(known, &before, value) && ignored)
            tell_ignored(setting, ignored);
    }
    return value;
}

int setting_now(const struct setting *setting, atomic_bool *told) {
    const char *ignored;
    const int value = look(setting, &ignored);
    if (ignored && !atomic_exchange(told, true))
        tell_ignored(setting, ignored);
    return value;
}

bool setting_lists(const char *variable, const char *word) {
    const char *at = system_variable(variable);
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
    const char *text = system_variable(setting->variable);
    const bool on = text && strcmp(text, setting->word) == 0;
    if (text && *text && !on && !atomic_exchange(&setting->told, true))
        fprintf(stderr, "clstream: %s=%s is ignored: there is '%s'\n", setting->variable, text,
                setting->word);
    return on;
}

cls_status setting_number(const char *variable, size_t *value) {
    const char *text = system_variable(variable);
    char *rest = NULL;
    if (!text || !*text)
        return CLS_SUCCESS;
    const unsigned long long n = *text >= '0' && *text <= '9' ? strtoull(text, &rest, 10) : 0;
    if (!rest || *rest)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s=%s is no number", variable, text);
    *value = n < SIZE_MAX ? (size_t)n : SIZE_MAX;
    return CLS_SUCCESS;
}

const char *setting_path(const char *variable, const char **folder) {
    static char started_in[4096];
    static bool known;
    const char *path = system_variable(variable);
    if (!known) { /* the first call comes before there are threads */
        known = true;
        if (!file_working_folder(started_in, sizeof started_in))
            *started_in = '\0';
    }
    if (!path || !*path)
        return NULL;
    *folder = file_is_absolute(path) ? "" : started_in;
    return path;
}

/* --- misspelt names --- */

/* How many letters one has to insert, leave out or change to make the name another one. */
static unsigned edits(const char *name, size_t length, const char *other) {
    unsigned char row[LONGEST + 1];
    const size_t width = strlen(other);
    for (size_t k = 0; k <= width; k++)
        row[k] = (unsigned char)k;
    for (size_t i = 1; i <= length; i++) {
        unsigned char corner = row[0];
        row[0] = (unsigned char)i;
        for (size_t k = 1; k <= width; k++) {
            const unsigned char above = row[k];
            unsigned char best = above < row[k - 1] ? above : row[k - 1];
            best = (unsigned char)(best + 1);
            if (corner + (name[i - 1] != other[k - 1]) < best)
                best = (unsigned char)(corner + (name[i - 1] != other[k - 1]));
            row[k] = best;
            corner = above;
        }
    }
    return row[width];
}

static void check_name(const char *name, size_t length) {
    const char *near = NULL;
    unsigned fewest = NEAR + 1;
    for (size_t i = 0; i < VARIABLES; i++) {
        const unsigned n = edits(name, length, variables[i]);
        if (n < fewest) {
            fewest = n;
            near = variables[i];
        }
    }
    if (near && fewest)
        fprintf(stderr, "clstream: %.*s is ignored: is it %s?\n", (int)length, name, near);
}

/* Other names that begin so are somebody else's. */
static void check_names(void) {
    static const char prefix[] = "CLSTREAM_";
    for (char **at = system_variables(); at && *at; at++) {
        const size_t length = strcspn(*at, "=");
        if (strncmp(*at, prefix, sizeof prefix - 1) == 0 && length < LONGEST)
            check_name(*at, length);
    }
}

__attribute__((constructor)) static void at_start(void) {
    const char *folder;
    setting_path(variables[0], &folder);
    check_names();
}
