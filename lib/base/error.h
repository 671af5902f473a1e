/* SPDX-License-Identifier: MIT */
/*
 * The per-thread error detail. The first detector reports, callers propagate: whoever finds the
 * fault calls error_set once, everybody above just returns the status. Reports are `cold`: compilers
 * then keep what leads to one out of the way of what runs every time.
 */
#ifndef CLSTREAM_BASE_ERROR_H
#define CLSTREAM_BASE_ERROR_H

#include <clstream/status.h>

enum { SHORT_DETAIL = 512 };

/* If and only if `long_text` is set does it hold the detail; otherwise `text` does. */
struct detail {
    char text[SHORT_DETAIL];
    char *long_text;
    int code;
    unsigned long count;
};

/* Stores the message for this thread and returns `status`. Never fails: without memory for a long
 * message (a compiler's log) it is cut to what fits the thread's static space. */
cls_status error_set(cls_status status, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* As error_set, with the driver's own code behind it. */
cls_status error_set_code(cls_status status, int code, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* How many messages this thread has stored: whether a call of somebody else's left one. */
unsigned long error_count(void);

/*
 * Around what may fail on the way and succeed all the same: a caller keeps the words, and the string that it was
 * handed, of its own last error unless the whole fails with words of its own. In between the thread has no detail.
 * error_settle takes the status of the whole, and returns it; each error_hold needs one, on the same thread.
 */
void error_hold(struct detail *held);
cls_status error_settle(struct detail *held, cls_status status);

#endif
