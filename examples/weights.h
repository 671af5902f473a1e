/* SPDX-License-Identifier: MIT */
/*
 * The weights of a model, from a file that a script has written for it. The file begins with lines of text,
 *
 *     weights 1
 *     NAME TYPE ROWS COLUMNS OFFSET           for each matrix; TYPE is f32 or u8
 *     end
 *
 * and goes on with bytes, where a matrix begins at its OFFSET, a multiple of its elements' size, row by row. Elements have
 * the byte order of the machine that wrote them. A bad file ends the program with a message.
 */
#ifndef CLSTREAM_EXAMPLES_WEIGHTS_H
#define CLSTREAM_EXAMPLES_WEIGHTS_H

#include <clstream.h>

enum { WEIGHTS_MOST = 32, WEIGHTS_NAME = 32 };

struct weights_entry {
    char name[WEIGHTS_NAME];
    cls_matrix matrix; /* of the buffer below */
};

struct weights {
    const char *path;
    struct weights_entry entries[WEIGHTS_MOST];
    size_t count;
    unsigned char *bytes; /* on the host */
    cls_buffer buffer;    /* the same bytes on the device */
};

/* Reads all and uploads it. `path` is kept. */
void weights_open(struct weights *weights, const char *path);
void weights_close(struct weights *weights);

/* A matrix of f32 by its name. The shape is compared with that of the file. */
cls_matrix weights_matrix(const struct weights *weights, const char *name, size_t rows,
                          size_t columns);

/* The only row of a matrix. */
cls_vector weights_vector(const struct weights *weights, const char *name, size_t count);

/* A row of u8 as text, which ends with a zero; NULL behind the last row. */
const char *weights_text(const struct weights *weights, const char *name, size_t row);

#endif
