/* SPDX-License-Identifier: MIT */
#include "journal.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { PRINTED = 120 };

static _Atomic uint64_t sequence;
static _Atomic bool spoilt;

void journal_clear(struct journal *journal) { journal->count = 0; }

static void note(struct journal *journal, const char *format, va_list values) {
    unsigned i = journal->count++ % JOURNAL_LINES;
    journal->lines[i].at = atomic_fetch_add(&sequence, 1);
    vsnprintf(journal->lines[i].text, JOURNAL_TEXT, format, values);
}

void journal_note(struct journal *journal, const char *format, ...) {
    va_list values;
    va_start(values, format);
    note(journal, format, values);
    va_end(values);
}

void journal_wrong(struct journal *journal, const char *format, ...) {
    char text[400];
    va_list values;
    if (atomic_exchange(&spoilt, true))
        return;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    journal_note(journal, "WRONG");
    printf("# wrong: %s\n", text);
}

bool journals_spoilt(void) { return atomic_load(&spoilt); }

/* The journal whose line `of[i]` is the earliest; `count` when none has one left. */
static unsigned earliest(struct journal *const *journals, const unsigned *of, unsigned count) {
    unsigned best = count;
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < count; i++) {
        if (of[i] == journals[i]->count)
            continue;
        uint64_t at = journals[i]->lines[of[i] % JOURNAL_LINES].at;
        if (at < least) {
            least = at;
            best = i;
        }
    }
    return best;
}

void journals_print(struct journal *const *journals, unsigned count) {
    unsigned of[16], i;
    for (i = 0; i < count; i++)
        of[i] = journals[i]->count > PRINTED ? journals[i]->count - PRINTED : 0;
    while ((i = earliest(journals, of, count)) < count) {
        printf("#   %u: %s\n", i, journals[i]->lines[of[i] % JOURNAL_LINES].text);
        of[i]++;
    }
}
