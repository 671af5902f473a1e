/* SPDX-License-Identifier: MIT */
/* The user's own code on a thread of the library: host functions, callbacks, foreign calls. */
#ifndef CLSTREAM_COMMAND_USER_CODE_H
#define CLSTREAM_COMMAND_USER_CODE_H

struct command;
struct stream;

/* Around the user's code of a command, on a worker: blocking calls inside are refused, and the race checker
 * takes what the thread does for the command's. */
void user_code_enter(struct stream *stream, const struct command *command);
void user_code_leave(void);

#endif
