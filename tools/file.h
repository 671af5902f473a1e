/* SPDX-License-Identifier: MIT */
/*
 * The input file of a run, which is read at any position, and its output file, which appears under its name only once
 * it is complete.
 */
#ifndef CLSTREAM_TOOLS_FILE_H
#define CLSTREAM_TOOLS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "failure.h"
#include "npy.h"

struct input {
    const char *path;
    int fd;
    struct npy_array array; /* of a raw file: one dimension, header_bytes 0 */
};

/*
 * Opens an array. `raw` is 0 for a .npy file, or the type of a raw one. The file must be a regular
 * one and hold exactly what its header promises.
 */
bool input_open(struct input *input, const char *path, cls_dtype raw, struct failure *failure);

void input_close(struct input *input);

/* Reads elements [first, first + count). Safe from several threads. */
bool input_read(const struct input *input, uint64_t first, size_t count, void *to,
                struct failure *failure);

struct output {
    const char *path; /* as given */
    char *target;     /* where the name leads: the same, or the end of its symbolic links */
    bool temporary;   /* false for a device, which is written in place */
    int fd;
    struct npy_array array;
};

/* Whether a file of this name is written as .npy. */
bool is_npy_name(const char *path);

/*
 * Opens a temporary file next to `path` (temporary.h: once in a process, before it has other
 * threads) and writes the header when `path` ends in ".npy". `array` gives type and shape; its
 * header_bytes is not read. NULL: it is no array, and written through `fd`, to a pipe too.
 */
bool output_open(struct output *output, const char *path, const struct npy_array *array,
                 struct failure *failure);

/* Writes elements [first, first + count). */
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
