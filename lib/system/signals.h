/* SPDX-License-Identifier: MIT */
#ifndef CLSTREAM_SYSTEM_SIGNALS_H
#define CLSTREAM_SYSTEM_SIGNALS_H

#include <stdbool.h>

/*
 * Has `write` called, on a thread of its own, when a signal is about to end the process; the signal ends it afterwards.
 * Only signals whose disposition is the default one: those that the program ignores or handles stay with it, also from
 * later on. `is_fault`: a thread of the program has stopped at any place, with any locks. The process then ends after
 * some seconds if `write` does not return. Forked children end as without this. False without memory for the thread.
 * On Windows: Ctrl-C and Ctrl-Break, the console or the session that closes, and faults.
 */
bool system_at_signal(void (*write)(bool is_fault));

#endif
