/* SPDX-License-Identifier: MIT */
/*
 * The temporary file of the process, one at a time, which does not outlive it: signals that end the
 * process, crashes among them, remove it first.
 */
#ifndef CLSTREAM_TOOLS_TEMPORARY_H
#define CLSTREAM_TOOLS_TEMPORARY_H

/* Where files of no other place go: $TMPDIR, or /tmp. */
const char *temporary_folder(void);

/* Creates a file next to `target`, open for reading and writing. One after another, and the first before
 * the process has other threads: a signal that they take in the meantime would leave the file behind.
 * Returns its name, which stays valid, or NULL with errno set. */
const char *temporary_create(const char *target, int *fd);

/* Gives the file its final name. Returns -1 with errno set, and the file is still temporary. */
int temporary_rename(const char *target);

/* Removes the file, unless it has got its final name. */
void temporary_remove(void);

#endif
