/* SPDX-License-Identifier: MIT */
/*
 * The per-thread error detail. The first detector reports, callers propagate: whoever finds the
 * fault calls error_set once, everybody above just returns the status. Reports are `cold`: compilers
 * then keep what leads to one out of the way of what runs every time.
 */
#ifndef CLSTREAM_BASE_ERROR_H
#define CLSTREAM_BASE_ERROR_H

#include <clstream/status.h>

/* Stores the message for this thread and returns `status`. Never fails: without memory for a long
 * message (a compiler's log) it is cut to what fits the thread's static space. */
cls_status error_set(cls_status status, const char *format, ...)
    __attribute__((cold, format(printf, 2, 3)));

/* As error_set, with the driver's own code behind it. */
cls_status error_set_code(cls_status status, int code, const char *format, ...)
    __attribute__((cold, format(printf, 3, 4)));

/* How many messages this thread has stored: whether a call of somebody else's left one. */
unsigned long error_count(void);

#endif
