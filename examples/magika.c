/* SPDX-License-Identifier: MIT */
/*
 * A model that nobody here trained: Magika (Google, Apache license 2.0) tells the type of a file by its bytes.
 *
 *     pip install magika onnx onnxruntime
 *     python3 examples/magika_weights.py magika.weights      reads the model that the package ships
 *     magika magika.weights FILE...                          the likeliest labels of each file, with their scores
 *     magika magika.weights --scores FILE...                 all of them, in lines of file, label and score
 *
 * For a trained model whose layers are known. The forward pass, in classifier.c, is captured once and launched for each
 * file. `magika_weights.py --scores FILE...` prints what onnxruntime says. Without weights the exit status is 77.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "classifier.h"
#include "common.h"

enum {
    BLOCK = 4096, /* bytes read at each end of a file */
    LEAST = 8,    /* bytes that the model needs */
    SHOWN = 3     /* labels */
};

static int is_blank(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

static void read_at(FILE *file, const char *path, long from, unsigned char *bytes, size_t count) {
    if (fseek(file, from, SEEK_SET) || fread(bytes, 1, count, file) != count)
        give_up("%s cannot be read", path);
}

/* The file's first 1,024 bytes behind blanks, and its last ones before blanks. Too few bytes for the model: returns 0. */
static int tokens_of(const char *path, uint32_t *tokens) {
    unsigned char block[BLOCK];
    FILE *file = fopen(path, "rb");
    if (!file)
        give_up("%s: %s", path, strerror(errno));
    if (fseek(file, 0, SEEK_END) || ftell(file) < 0)
        give_up("%s has no end", path);
    const long size = ftell(file);
    const size_t count = size < BLOCK ? (size_t)size : BLOCK, half = TOKENS / 2;
    size_t first = 0, end = count;
    for (size_t i = 0; i < TOKENS; i++)
        tokens[i] = PADDING;
    read_at(file, path, 0, block, count);
    while (first < count && is_blank(block[first]))
        first++;
    for (size_t i = 0; i < half && first + i < count; i++)
        tokens[i] = block[first + i];
    read_at(file, path, size - (long)count, block, count);
    while (end && is_blank(block[end - 1]))
        end--;
    for (size_t i = 1; i <= half && i <= end; i++)
        tokens[TOKENS - i] = block[end - i];
    fclose(file);
    return tokens[LEAST - 1] != PADDING;
}

static void show_all(const struct classifier *c, const char *path) {
    for (size_t i = 0; i < c->labels; i++)
        printf("%s\t%s\t%.9f\n", path, classifier_label(c, i), (double)c->scores[i]);
}

/* The greatest scores; those that were shown become 0. */
static void show(struct classifier *c, const char *path) {
    printf("%s:", path);
    for (int shown = 0; shown < SHOWN; shown++) {
        size_t most = 0;
        for (size_t i = 1; i < c->labels; i++)
            if (c->scores[i] > c->scores[most])
                most = i;
        printf("%s %s %.4f", shown ? "," : "", classifier_label(c, most), (double)c->scores[most]);
        c->scores[most] = 0;
    }
    putchar('\n');
}

/* Returns the milliseconds of the launch; 0: there was none. */
static double classify(struct classifier *c, const char *path, int all) {
    if (!tokens_of(path, c->tokens)) {
        printf("%s: too few bytes for the model\n", path);
        return 0;
    }
    const double start = when_done_us(c->stream);
    must(cls_graph_launch_async(c->forward, c->stream));
    const double us = when_done_us(c->stream) - start;
    if (all)
        show_all(c, path);
    else
        show(c, path);
    return us / 1e3;
}

int main(int argc, char **argv) {
    static struct classifier classifier;
    const int all = option(argc, argv, "--scores") != NULL;
    double ms = 0;
    int files = 0;
    if (argc < 2 || argv[1][0] == '-') {
        fputs("usage: magika WEIGHTS [--scores] FILE...; magika_weights.py writes the weights\n",
              stderr);
        return 77;
    }
    classifier_open(&classifier, argv[1]);
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--scores") != 0) {
            const double took = classify(&classifier, argv[i], all);
            ms += files ? took : 0; /* the first launch compiles kernels */
            files += took > 0;
        }
    if (files > 1 && !all)
        printf("%.2f ms a file, behind the first\n", ms / (files - 1));
    classifier_close(&classifier);
    return 0;
}
