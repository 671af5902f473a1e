/* SPDX-License-Identifier: MIT */
/*
 * The input file of a run, which is read at any position, and its output file, which appears under its name only once
 * it is complete. The name "-" means the standard input and the standard output.
 */
#ifndef CLSTREAM_TOOLS_FILE_H
#define CLSTREAM_TOOLS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "failure.h"
#include "npy.h"

/* Whether the name is "-". */
bool is_standard_stream(const char *path);

/* Whether both names lead to one file that is there. */
bool are_one_file(const char *path, const char *other);

struct input {
    const char *path; /* as given, or "standard input" */
    int fd;
    struct npy_array array; /* of a raw file: one dimension, header_bytes 0 */
};

/*
 * Opens an array. `raw` is 0 for a .npy file, or the type of a raw one. The file must hold exactly what its header
 * promises. What can be read in turn only, such as a pipe, is copied to a temporary file first.
 */
bool input_open(struct input *input, const char *path, cls_dtype raw, struct failure *failure);

/* Once or more often. */
void input_close(struct input *input);

/* Reads elements [first, first + count). Safe from several threads. */
bool input_read(const struct input *input, uint64_t first, size_t count, void *to,
                struct failure *failure);

/* Whether the output of this name is the file that is read, and would be written before all of it is read. */
bool input_is_output(const struct input *input, const char *path);

struct output {
    const char *path; /* as given, or "standard output" */
    char *target;     /* where the name leads: the same, or the end of its symbolic links */
    bool
        temporary; /* false for a pipe, a device or the standard output, which are written in place and in turn */
    int fd;
    struct npy_array array;
};

/* Whether an array of this name is written as .npy; `standard` says it for the standard output. */
bool is_npy_output(const char *path, bool standard);

/*
 * Opens a temporary file next to `path` (temporary.h: once in a process, before it has other threads) and writes the
 * header if `npy` says so. `array` gives type and shape; its header_bytes is not read. NULL: it is no array, and
 * written through output_put. If it is the standard output, what else the process prints there goes to the standard
 * error from here on.
 */
bool output_open(struct output *output, const char *path, const struct npy_array *array, bool npy,
                 struct failure *failure);

/* Writes elements [first, first + count): in turn, if the output is not temporary. */
bool output_write(const struct output *output, uint64_t first, size_t count, const void *from,
                  struct failure *failure);

/* Reads back what output_write wrote. */
bool output_read(const struct output *output, uint64_t first, size_t count, void *to,
                 struct failure *failure);

/* Has the whole of it written through a stream by put(file, arg), and commits it. */
bool output_put(struct output *output, void (*put)(FILE *file, void *arg), void *arg,
                struct failure *failure);

/* Closes the file and moves it to its name. On failure it is abandoned. */
bool output_commit(struct output *output, struct failure *failure);

/* Closes and removes the temporary file. */
void output_abandon(struct output *output);

#endif
