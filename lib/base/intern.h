/* SPDX-License-Identifier: MIT */
/* Names that outlive the object they came from: a failed command is named after its kernel is gone. */
#ifndef CLSTREAM_BASE_INTERN_H
#define CLSTREAM_BASE_INTERN_H

/* One copy of the string for the life of the process, equal strings giving the same pointer. Cut to 63
 * bytes. NULL without memory. Beyond 16,384 of them new ones share a name that says so. */
const char *intern(const char *string);

#endif
