/* SPDX-License-Identifier: MIT */
/* The user's own code on a thread of the library: host functions, callbacks, foreign calls. */
#ifndef CLSTREAM_COMMAND_USER_CODE_H
#define CLSTREAM_COMMAND_USER_CODE_H

#include <clstream/stream.h>

struct command;
struct stream;

/* Called before and after a command's user code, on a worker: in between, blocking calls are refused, and the race
 * checker counts the thread's accesses as the command's. Returns the message of cls_host_function_fail, valid until the
 * thread's next user code; NULL if it was not called. */
void user_code_enter(struct stream *stream, const struct command *command);
const char *user_code_leave(void);

/* As cls_stream_add_callback, for an `arg` that lasts for one call, which launches of a graph would repeat: a captured
 * stream is CLS_ERROR_INVALID_STATE, and its capture invalid. */
cls_status stream_add_callback_once(struct stream *stream, cls_stream_callback fn, void *arg);

#endif
