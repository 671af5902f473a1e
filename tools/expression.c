/* SPDX-License-Identifier: MIT */
#include "expression.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 5, MAX_WORD = 64 };

struct word {
    size_t at;
    size_t length;
};

#define EXPRESSION_TYPES "f32 f64 i32 i64 u8 u32 f16 bf16 i8 i16 u16"

bool expression_fail(struct expression_error *error, size_t at, size_t length, const char *format,
                     ...) {
    va_list args;
    error->at = at;
    error->length = length ? length : 1;
    va_start(args, format);
    vsnprintf(error->reason, sizeof error->reason, format, args);
    va_end(args);
    return false;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Splits text[at, end) into words; more than MAX_WORDS are counted, not kept. */
static unsigned split(const char *text, size_t at, size_t end, struct word *words) {
    unsigned n = 0;
    while (at < end) {
        while (at < end && is_blank(text[at]))
            at++;
        size_t start = at;
        while (at < end && !is_blank(text[at]))
            at++;
        if (at > start && n < MAX_WORDS)
            words[n] = (struct word){start, at - start};
        n += at > start;
    }
    return n;
}

/* Copies a word where a terminated string is needed; false for one longer than any meaningful
 * word. */
static bool word_text(const char *text, struct word word, char *to) {
    if (word.length >= MAX_WORD)
        return false;
    memcpy(to, text + word.at, word.length);
    to[word.length] = '\0';
    return true;
}

static bool parse_type(const char *text, struct word word, cls_dtype *dtype,
                       struct expression_error *error) {
    char name[MAX_WORD];
    if (word_text(text, word, name) && cls_dtype_parse(name, dtype) == CLS_SUCCESS)
        return true;
    return expression_fail(error, word.at, word.length,
                           "'%.*s' is no type; there are " EXPRESSION_TYPES,
                           (int)(word.length < MAX_WORD ? word.length : MAX_WORD), text + word.at);
}

/* strtod stops where the word does, at a blank, a bar or the end. */
static bool parse_number(const char *text, struct word word, double *number,
                         struct expression_error *error) {
    const int shown = (int)(word.length < MAX_WORD ? word.length : MAX_WORD);
    char *end;
    errno = 0;
    *number = strtod(text + word.at, &end);
    if (end != text + word.at + word.length)
        return expression_fail(error, word.at, word.length, "'%.*s' is no number", shown,
                               text + word.at);
    if (errno == ERANGE && isinf(*number))
        return expression_fail(error, word.at, word.length, "'%.*s' is too large", shown,
                               text + word.at);
    return true;
}

static bool unknown_name(const char *text, struct word word, struct expression_error *error) {
    const struct operation *near = operation_suggest(text + word.at, word.length);
    return expression_fail(error, word.at, word.length, "unknown operation '%.*s'%s%s%s",
                           (int)(word.length < MAX_WORD ? word.length : MAX_WORD), text + word.at,
                           near ? "; did you mean '" : "", near ? near->name : "",
                           near ? "'?" : "");
}

static bool check_arguments(const struct operation *operation, const struct word *words,
                            unsigned n_words, size_t end, struct expression_error *error) {
    const unsigned wanted = 1u + operation->takes_type + operation->n_numbers;
    if (n_words < wanted)
        return expression_fail(error, end, 1, "'%s' needs %s%s%s", operation->name,
                               operation->takes_type ? "a type (" EXPRESSION_TYPES ")" : "",
                               operation->takes_type && operation->n_numbers ? " and " : "",
                               operation->n_numbers == 2   ? "two numbers"
                               : operation->n_numbers == 1 ? "a number"
                                                           : "");
    if (n_words > wanted)
        return expression_fail(error, words[wanted].at, words[wanted].length,
                               "'%s' takes no %sargument", operation->name,
                               wanted == 1 ? "" : "further ");
    return true;
}

/* The stage in text[at, end). */
static bool parse_stage(const char *text, size_t at, size_t end, struct stage *stage,
                        struct expression_error *error) {
    struct word words[MAX_WORDS];
    const unsigned n_words = split(text, at, end, words);
    unsigned next = 1;

    if (n_words == 0)
        return expression_fail(error, end, 1, "a stage is missing here");
    stage->operation = operation_find(text + words[0].at, words[0].length);
    if (!stage->operation)
        return unknown_name(text, words[0], error);
    const unsigned last = n_words < MAX_WORDS ? n_words - 1 : MAX_WORDS - 1;
    stage->at = words[0].at;
    stage->length = words[last].at + words[last].length - stage->at;
    if (!check_arguments(stage->operation, words, n_words, stage->at + stage->length, error))
        return false;
    if (stage->operation->takes_type && !parse_type(text, words[next++], &stage->dtype, error))
        return false;
    for (unsigned i = 0; i < stage->operation->n_numbers; i++)
        if (!parse_number(text, words[next++], &stage->numbers[i], error))
            return false;
    return true;
}

bool expression_parse(const char *text, struct expression *expression,
                      struct expression_error *error) {
    struct expression parsed = {.text = text};
    size_t at = 0;
    for (;;) {
        const size_t end = at + strcspn(text + at, "|");
        struct stage stage = {.operation = NULL};
        if (parsed.n_stages == EXPRESSION_MAX_STAGES)
            return expression_fail(error, at, end - at, "more than %d stages",
                                   EXPRESSION_MAX_STAGES);
        if (!parse_stage(text, at, end, &stage, error))
            return false;
        parsed.stages[parsed.n_stages++] = stage;
        if (text[end] == '\0')
            break;
        at = end + 1;
    }
    *expression = parsed;
    return true;
}

int expression_explain(const char *text, const struct expression_error *error, char *to,
                       size_t capacity) {
    const size_t length = strlen(text), carets = error->length;
    char *line = malloc(2 * (length + 1) + error->at + carets + 1);
    if (!line)
        return snprintf(to, capacity, "column %zu: %s", error->at + 1, error->reason);
    char *marks = line + length + 1;
    for (size_t i = 0; i < length; i++)
        line[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    line[length] = '\0';
    memset(marks, ' ', error->at);
    memset(marks + error->at, '^', carets);
    marks[error->at + carets] = '\0';
    const int written = snprintf(to, capacity, "column %zu: %s\n  %s\n  %s", error->at + 1,
                                 error->reason, line, marks);
    free(line);
    return written;
}
