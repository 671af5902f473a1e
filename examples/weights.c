/* SPDX-License-Identifier: MIT */
#include "weights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

static size_t element_size(cls_dtype dtype) { return dtype == CLS_F32 ? sizeof(float) : 1; }

static size_t bytes_of(const cls_matrix *matrix) {
    return matrix->rows * matrix->columns * element_size(matrix->dtype);
}

/* --- reading --- */

static void parse_entry(struct weights *weights, const char *line) {
    char type[4];
    unsigned rows, columns, offset;
    if (weights->count == WEIGHTS_MOST)
        give_up("%s has more than %d matrices", weights->path, WEIGHTS_MOST);
    struct weights_entry *entry = &weights->entries[weights->count++];
    if (sscanf(line, "%31s %3s %u %u %u", entry->name, type, &rows, &columns, &offset) != 5 ||
        (strcmp(type, "f32") != 0 && strcmp(type, "u8") != 0))
        give_up("%s: no matrix: %s", weights->path, line);
    const cls_dtype dtype = strcmp(type, "f32") != 0 ? CLS_U8 : CLS_F32;
    if (!rows || !columns || columns > SIZE_MAX / sizeof(float) / rows ||
        offset % element_size(dtype))
        give_up("%s: no shape or offset of a matrix: %s", weights->path, line);
    entry->matrix = cls_matrix_at(NULL, dtype, offset / element_size(dtype), rows, columns);
}

static void read_header(struct weights *weights, FILE *file) {
    char line[128] = "";
    if (!fgets(line, sizeof line, file) || strcmp(line, "weights 1\n") != 0)
        give_up("%s is no file of weights, version 1", weights->path);
    while (fgets(line, sizeof line, file) && strcmp(line, "end\n") != 0)
        parse_entry(weights, line);
    if (strcmp(line, "end\n") != 0)
        give_up("%s: the header has no end", weights->path);
}

/* All that is behind the header. */
static size_t read_bytes(struct weights *weights, FILE *file) {
    const long start = ftell(file);
    if (start < 0 || fseek(file, 0, SEEK_END) || ftell(file) <= start)
        give_up("%s has no bytes behind its header", weights->path);
    const size_t count = (size_t)(ftell(file) - start);
    weights->bytes = zeroed(count);
    if (fseek(file, start, SEEK_SET) || fread(weights->bytes, 1, count, file) != count)
        give_up("%s cannot be read", weights->path);
    return count;
}

void weights_open(struct weights *weights, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        give_up("%s: %s", path, strerror(errno));
    *weights = (struct weights){.path = path};
    read_header(weights, file);
    const size_t count = read_bytes(weights, file);
    fclose(file);
    must(cls_buffer_from_host(NULL, weights->bytes, count, &weights->buffer));
    for (size_t i = 0; i < weights->count; i++) {
        cls_matrix *matrix = &weights->entries[i].matrix;
        const size_t start = matrix->offset * element_size(matrix->dtype);
        if (start > count || bytes_of(matrix) > count - start)
            give_up("%s: %s ends behind the file", path, weights->entries[i].name);
        matrix->buffer = weights->buffer;
    }
}

void weights_close(struct weights *weights) {
    must(cls_buffer_destroy(weights->buffer));
    free(weights->bytes);
}

/* --- matrices by name --- */

static cls_matrix find(const struct weights *weights, const char *name, cls_dtype dtype) {
    for (size_t i = 0; i < weights->count; i++) {
        const struct weights_entry *entry = &weights->entries[i];
        if (!strcmp(entry->name, name) && entry->matrix.dtype == dtype)
            return entry->matrix;
    }
    give_up("%s has no %s of this type", weights->path, name);
}

cls_matrix weights_matrix(const struct weights *weights, const char *name, size_t rows,
                          size_t columns) {
    const cls_matrix matrix = find(weights, name, CLS_F32);
    if (matrix.rows != rows || matrix.columns != columns)
        give_up("%s: %s is %zu x %zu, not %zu x %zu", weights->path, name, matrix.rows,
                matrix.columns, rows, columns);
    return matrix;
}

cls_vector weights_vector(const struct weights *weights, const char *name, size_t count) {
    const cls_matrix row = weights_matrix(weights, name, 1, count);
    return cls_vector_from(cls_array_at(row.buffer, row.dtype, row.offset, count));
}

const char *weights_text(const struct weights *weights, const char *name, size_t row) {
    const cls_matrix matrix = find(weights, name, CLS_U8);
    if (row >= matrix.rows)
        return NULL;
    const char *text = (const char *)weights->bytes + matrix.offset + row * matrix.columns;
    if (!memchr(text, 0, matrix.columns))
        give_up("%s: row %zu of %s has no end", weights->path, row, name);
    return text;
}
