/* SPDX-License-Identifier: MIT */
#include "common.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void must(cls_status status) {
    if (status)
        give_up("%s: %s", cls_status_string(status), cls_last_error_detail());
}

void give_up(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _Exit(1);
}

void *zeroed(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory)
        give_up("no memory for %zu bytes", bytes);
    return memory;
}

const char *option(int argc, char **argv, const char *name) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], name))
            return i + 1 < argc ? argv[i + 1] : "";
    return NULL;
}

double when_done_us(cls_stream stream) {
    struct timespec now;
    must(cls_stream_synchronize(stream));
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

cls_buffer filled(size_t count, float value) {
    cls_buffer buffer;
    must(cls_buffer_create(NULL, count * sizeof value, &buffer));
    must(cls_fill(buffer, 0, count * sizeof value, &value, sizeof value, NULL));
    return buffer;
}

enum { PICTURE_WIDTH = 640, PICTURE_HEIGHT = 320, MARGIN = 40 };

void draw_curve(const char *path, const char *title, const float *values, size_t count) {
    FILE *file = fopen(path, "w");
    if (!file)
        give_up("%s cannot be written", path);
    float most = values[0];
    for (size_t i = 1; i < count; i++)
        most = values[i] > most ? values[i] : most;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"gray\"/>\n"
            "<text x=\"%d\" y=\"%d\">%.3g</text><text x=\"%d\" y=\"%d\">0</text>\n"
            "<text x=\"%d\" y=\"%d\">%s</text>\n"
            "<polyline fill=\"none\" stroke=\"steelblue\" stroke-width=\"2\" points=\"",
            PICTURE_WIDTH, PICTURE_HEIGHT, MARGIN, MARGIN, PICTURE_HEIGHT - MARGIN,
            PICTURE_WIDTH - MARGIN / 2, 4, MARGIN + 4, (double)most, MARGIN - 14,
            PICTURE_HEIGHT - MARGIN + 4, MARGIN, PICTURE_HEIGHT - MARGIN / 2, title);
    for (size_t i = 0; i < count; i++) {
        const double x = count > 1 ? (double)i / (double)(count - 1) : 0;
        fprintf(file, "%.1f,%.1f ", MARGIN + x * (PICTURE_WIDTH - MARGIN * 3 / 2.0),
                MARGIN + (1 - (double)(values[i] / most)) * (PICTURE_HEIGHT - 2 * MARGIN));
    }
    fputs("\"/>\n</svg>\n", file);
    if (fclose(file))
        give_up("%s cannot be written", path);
}
