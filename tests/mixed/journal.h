/* SPDX-License-Identifier: MIT */
/* What each thread did last, to be read where something is wrong; the first difference is the one that counts. */
#ifndef CLSTREAM_TESTS_JOURNAL_H
#define CLSTREAM_TESTS_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

enum { JOURNAL_LINES = 400, JOURNAL_TEXT = 120 };

struct journal {
    unsigned count;
    struct {
        uint64_t at; /* in the order of all threads */
        char text[JOURNAL_TEXT];
    } lines[JOURNAL_LINES];
};

void journal_clear(struct journal *journal);
void journal_note(struct journal *journal, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints the last lines of all of them, oldest first. */
void journals_print(struct journal *const *journals, unsigned count);

/* Says what is wrong, once in a process; `journals_spoilt` tells everybody to stop. */
void journal_wrong(struct journal *journal, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool journals_spoilt(void);

#endif
