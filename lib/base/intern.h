/* SPDX-License-Identifier: MIT */
/* Names that outlive the object they came from: a failure is reported by its kernel's name after the kernel is
 * gone. */
#ifndef CLSTREAM_BASE_INTERN_H
#define CLSTREAM_BASE_INTERN_H

/* The copy of the string that lives as long as the process; equal strings have one copy. Cut to 63 bytes. NULL
 * without memory. After 16,384 names, new ones share a name that says so. */
const char *intern(const char *string);

#endif
