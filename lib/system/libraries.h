/* SPDX-License-Identifier: MIT */
/* Shared libraries that are loaded, and the code in them. */
#ifndef CLSTREAM_SYSTEM_LIBRARIES_H
#define CLSTREAM_SYSTEM_LIBRARIES_H

/* Loads it for the rest of the process; NULL: there is none. */
void *library_open(const char *name);

/* The names of the OpenCL loader, by preference; NULL: the end. */
extern const char *const library_opencl_names[];

/* A function of the library, or of the loader of OpenCL (NULL); NULL: it has none of this name. The caller copies it into a
 * pointer to a function. */
void *library_find(void *library, const char *function);

/* The file that has the code at an address, as the program was linked to it; the caller frees it. NULL: it is unknown. */
char *library_of(const void *address);

/* The calls on the thread's stack, innermost first; returns how many, 0 where the system does not tell. */
int library_call_stack(void **frames, int most);

/* Where one of them is: "FILE(NAME+OFFSET)", or "FILE(+OFFSET)"; the caller frees it. NULL: it is unknown. */
char *library_place(void *frame);

#endif
