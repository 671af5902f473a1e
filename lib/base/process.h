/* SPDX-License-Identifier: MIT */
/*
 * The process that uses the library. A child forked after the first use has none of the library's threads, locks that
 * other threads held at the fork stay taken in it, and drivers do not work there. So every call in such a child is
 * refused with CLS_ERROR_FORKED before it takes a lock: a call with a handle finds no object (process_at_fork), and
 * the others ask process_enter or process_check.
 */
#ifndef CLSTREAM_BASE_PROCESS_H
#define CLSTREAM_BASE_PROCESS_H

#include <stdbool.h>

#include <clstream/status.h>

/* Called first by calls without a handle that make an object or reach a driver: CLS_ERROR_FORKED in a forked child.
 * Else the process uses the library from here on. */
cls_status process_enter(void);

/* CLS_ERROR_FORKED in a child that was forked after its parent's first use. For other calls without a handle. */
cls_status process_check(void);

/* Whether this process uses the library, and is no such child. */
bool process_uses(void);

/* Sets the function that makes lookups of handles fail. It is called in such a child, which has one thread. */
void process_at_fork(void (*in_child)(void));

#endif
