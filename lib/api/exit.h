/* SPDX-License-Identifier: MIT */
/* The handler that runs at process exit; stream/exit.h registers it and says why. */
#ifndef CLSTREAM_API_EXIT_H
#define CLSTREAM_API_EXIT_H

/* Drops queued commands, drains the work that drivers hold, and joins the library's threads. Further calls do
 * nothing. */
void exit_run(void);

#endif
