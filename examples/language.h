/* SPDX-License-Identifier: MIT */
/* What text.c has to do with a text besides its network: its characters as numbers, batches of it, and writing more. */
#ifndef CLSTREAM_EXAMPLES_LANGUAGE_H
#define CLSTREAM_EXAMPLES_LANGUAGE_H

#include "transformer.h"

enum { BATCH = 16, ROWS = BATCH * CONTEXT };

struct text {
    size_t count;
    unsigned char *numbers; /* of each character, from 0 */
    size_t characters;      /* different ones */
    char names[256];
    size_t steps; /* batches, before the data ends */
};

/* Ends the program if the file cannot be read, or is too short. */
void text_open(struct text *text, const char *path);
void text_close(struct text *text);

/* Of a struct text: the characters of a batch of windows, and then those behind each, as uint32_t; called on threads of the
 * prefetcher. */
cls_status text_load(void *text, uint64_t index, void *memory, size_t capacity, size_t *bytes);

/* Prints characters that the network draws, beginning behind the first ones of the text. Waits. */
void text_write(const struct text *text, struct transformer *net, size_t count);

#endif
