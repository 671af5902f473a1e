/* SPDX-License-Identifier: MIT */
/*
 * The error detail of each thread. The function that detects a fault calls error_set once; its callers return the
 * status only. Reports are `cold`, so that compilers keep the code that leads to one out of the hot path.
 */
#ifndef CLSTREAM_BASE_ERROR_H
#define CLSTREAM_BASE_ERROR_H

#include <clstream/status.h>

#include "system/formats.h"

enum { SHORT_DETAIL = 512 };

/* `long_text` holds the detail if it is set, otherwise `text` does. */
struct detail {
    char text[SHORT_DETAIL];
    char *long_text;
    int code;
    unsigned long count;
};

/* Stores the message for this thread and returns `status`. Never fails: without memory for a long
 * message (a compiler's log) it is cut to what fits the thread's static space. */
cls_status error_set(cls_status status, const char *format, ...)
    __attribute__((cold, format(SYSTEM_PRINTF, 2, 3)));

/* As error_set, with the driver's own code behind it. */
cls_status error_set_code(cls_status status, int code, const char *format, ...)
    __attribute__((cold, format(SYSTEM_PRINTF, 3, 4)));

/* CLS_ERROR_OUT_OF_MEMORY with the message "no memory " and what for: "for a stream", "to plan a batch". */
cls_status error_no_memory(const char *what, ...)
    __attribute__((cold, format(SYSTEM_PRINTF, 1, 2)));

/* How many messages this thread has stored; tells whether a call of foreign code has left one. */
unsigned long error_count(void);

/*
 * For work of which parts may fail while the whole succeeds: error_save saves the detail of the caller's last error
 * (and the string handed out for it), error_restore restores it unless the whole fails with a detail of its own. In
 * between the thread has no detail. error_restore takes and returns the status of the whole. Both are called once, on
 * the same thread.
 */
void error_save(struct detail *held);
cls_status error_restore(struct detail *held, cls_status status);

#endif
