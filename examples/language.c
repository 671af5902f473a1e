/* SPDX-License-Identifier: MIT */
#include "language.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

static const uint64_t seed = 5;
static const double TEMPERATURE = 0.6;
static const long LONGEST = 1 << 30;

/* --- reading --- */

void text_open(struct text *text, const char *path) {
    unsigned char number_of[256] = {0};
    FILE *file = fopen(path, "rb");
    if (!file)
        give_up("%s cannot be read; text --data FILE says where it is", path);
    const long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (size < 0 || size >= LONGEST)
        give_up("%s is no file of less than 1 GiB", path);
    text->count = (size_t)size;
    rewind(file);
    text->numbers = zeroed(text->count + 1);
    if (text->count <= CONTEXT || fread(text->numbers, 1, text->count, file) != text->count)
        give_up("%s is too short", path);
    fclose(file);
    for (size_t i = 0; i < text->count; i++)
        number_of[text->numbers[i]] = 1;
    for (int i = 0; i < 256; i++)
        if (number_of[i]) {
            text->names[text->characters] = (char)i;
            number_of[i] = (unsigned char)text->characters++;
        }
    for (size_t i = 0; i < text->count; i++)
        text->numbers[i] = number_of[text->numbers[i]];
}

void text_close(struct text *text) { free(text->numbers); }

cls_status text_load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    const struct text *text = arg;
    uint64_t state = index * 6364136223846793005u + seed;
    uint32_t *tokens = memory, *targets = tokens + ROWS;
    if (index >= text->steps)
        return CLS_SUCCESS; /* `bytes` stays 0: the data ends */
    *bytes = capacity;
    for (size_t i = 0; i < ROWS; i++) {
        if (i % CONTEXT == 0)
            state = state * 6364136223846793005u + 1442695040888963407u;
        const size_t at = (size_t)(state >> 33) % (text->count - CONTEXT) + i % CONTEXT;
        tokens[i] = text->numbers[at];
        targets[i] = text->numbers[at + 1];
    }
    return CLS_SUCCESS;
}

/* --- writing --- */

/* Draws a character by its score; higher temperatures follow the scores less. */
static size_t draw_character(const float *scores, size_t count, uint64_t *state) {
    double shares[256], sum = 0, most = (double)scores[0];
    for (size_t i = 1; i < count; i++)
        most = fmax(most, (double)scores[i]);
    for (size_t i = 0; i < count; i++)
        sum += shares[i] = exp(((double)scores[i] - most) / TEMPERATURE);
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    double left = sum * (double)(*state >> 11) * 0x1p-53;
    for (size_t i = 0; i + 1 < count; i++)
        if ((left -= shares[i]) < 0)
            return i;
    return count - 1;
}

/* The scores behind the last of `used` characters of a window. */
static void scores_behind(struct transformer *net, cls_buffer window, size_t used, cls_buffer wide,
                          float *scores) {
    const size_t count = net->characters;
    transformer_forward(net, (cls_vector){window, CLS_U32, 0, CONTEXT, 1}, 1);
    must(cls_cast_async(cls_array_at(net->scores, CLS_BF16, (used - 1) * count, count),
                        cls_array_of(wide, CLS_F32, count), net->stream));
    must(cls_copy_d2h(scores, wide, 0, count * sizeof *scores, net->stream));
}

/* Goes on from the first characters of the text. Characters behind the last one of a window do not change its scores. */
void text_write(const struct text *text, struct transformer *net, size_t count) {
    uint32_t tokens[CONTEXT] = {0};
    float scores[256];
    uint64_t state = seed;
    size_t used = 0;
    const cls_buffer window = filled(CONTEXT, 0), wide = filled(net->characters, 0);
    for (; used < 10; used++)
        tokens[used] = text->numbers[used];
    for (size_t i = 0; i < count; i++) {
        must(cls_copy_h2d(window, 0, tokens, sizeof tokens, net->stream));
        scores_behind(net, window, used, wide, scores);
        const size_t next = draw_character(scores, text->characters, &state);
        if (used == CONTEXT)
            memmove(tokens, tokens + 1, --used * sizeof *tokens);
        tokens[used++] = (uint32_t)next;
        putchar(text->names[next]);
    }
    putchar('\n');
    must(cls_buffer_destroy(window));
    must(cls_buffer_destroy(wide));
}
