/* SPDX-License-Identifier: MIT */
/* CLSTREAM_CHECK=leak: at exit, what the program has not destroyed. */
#ifndef CLSTREAM_API_LEAK_H
#define CLSTREAM_API_LEAK_H

/* Reads CLSTREAM_CHECK for all checkers, once, and reports words that it does not know. */
void checks_prepare(void);

#endif
