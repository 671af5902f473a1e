/* SPDX-License-Identifier: MIT */
/* The exit handler: see stream/exit.h, which registers it. */
#ifndef CLSTREAM_API_EXIT_H
#define CLSTREAM_API_EXIT_H

/* Stops what is queued, drains what the drivers hold, joins the library's threads; the first call does. */
void exit_run(void);

#endif
