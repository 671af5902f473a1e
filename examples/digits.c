/* SPDX-License-Identifier: MIT */
#include "digits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"
#include "network.h"

/* The bytes of an array of bytes, behind the header of version 1 of NumPy's format. */
static unsigned char *read_bytes(const char *folder, const char *name, size_t *count) {
    char path[512];
    unsigned char header[10];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        give_up("%s: %s; train --data FOLDER says where it is", path, strerror(errno));
    if (fread(header, sizeof header, 1, file) != 1 || memcmp(header, "\x93NUMPY\x01", 7) != 0)
        give_up("%s is no .npy file of version 1", path);
    const long start = 10 + header[8] + 256 * header[9];
    fseek(file, 0, SEEK_END);
    *count = (size_t)(ftell(file) - start);
    unsigned char *bytes = allocate(*count);
    fseek(file, start, SEEK_SET);
    if (fread(bytes, 1, *count, file) != *count)
        give_up("%s cannot be read", path);
    fclose(file);
    return bytes;
}

void shuffle(unsigned *numbers, size_t count, unsigned seed) {
    for (size_t i = count; i > 1; i--) {
        seed = seed * 1664525u + 1013904223u;
        const size_t k = (seed >> 8) % i;
        const unsigned kept = numbers[i - 1];
        numbers[i - 1] = numbers[k];
        numbers[k] = kept;
    }
}

void digits_open(struct digits *digits, const char *folder, unsigned seed) {
    size_t pixels;
    digits->pixels = read_bytes(folder, "digits.npy", &pixels);
    digits->labels = read_bytes(folder, "digits_labels.npy", &digits->count);
    if (pixels != digits->count * PIXELS)
        give_up("%zu pixels for %zu labels", pixels, digits->count);
    digits->order = allocate(digits->count * sizeof *digits->order);
    for (size_t i = 0; i < digits->count; i++)
        digits->order[i] = (unsigned)i;
    shuffle(digits->order, digits->count, seed);
    digits->train = digits->count - digits->count / 5;
}

void digits_close(struct digits *digits) {
    free(digits->pixels);
    free(digits->labels);
    free(digits->order);
}

void digits_row(const struct digits *digits, size_t image, float *inputs, float *targets) {
    const unsigned at = digits->order[image];
    for (size_t i = 0; i < PIXELS; i++)
        inputs[i] = (float)digits->pixels[at * PIXELS + i] / 16;
    inputs[PIXELS] = 1;
    for (int i = 0; i < CLASSES; i++)
        targets[i] = digits->labels[at] == i;
}
