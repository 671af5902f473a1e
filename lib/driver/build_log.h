/* SPDX-License-Identifier: MIT */
/* Rewrites a compiler's messages so that they name the caller's file and line. */
#ifndef CLSTREAM_DRIVER_BUILD_LOG_H
#define CLSTREAM_DRIVER_BUILD_LOG_H

/* NVIDIA's compiler ignores #line: its messages say "<kernel>:N", N counted in the whole source. Given the
 * source, which begins with a #line directive, returns a copy of the log that names its file and line; the
 * caller frees it. NULL without memory. */
char *build_log_located(const char *log, const char *source);

#endif
