/* SPDX-License-Identifier: MIT */
#ifndef CLSTREAM_TRACE_ENVIRONMENT_H
#define CLSTREAM_TRACE_ENVIRONMENT_H

/* Names the file that traces a process by itself, for a static library's programs to get it at all. */
extern const char observer_environment;

#endif
