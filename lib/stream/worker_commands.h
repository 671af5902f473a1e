/* SPDX-License-Identifier: MIT */
/* Commands that the library runs itself, on a worker. */
#ifndef CLSTREAM_STREAM_WORKER_COMMANDS_H
#define CLSTREAM_STREAM_WORKER_COMMANDS_H

#include "stream/command.h"

/* Runs the head of a FIFO that is in FIFO_ON_WORKER, and goes on while the next head is for a worker too. */
void worker_commands_run(struct stream *stream);

/* The calling thread ends the process. Where it is inside user code of a head, that code never returns: its command ends
 * here, as one that did not run, or goes on behind it if it resumes, and another worker runs what follows. */
void worker_commands_leave(void);

#endif
