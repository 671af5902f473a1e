/* SPDX-License-Identifier: MIT */
/*
 * Images from disk: loaders read picture files (PGM) while the device makes negatives of those before, and
 * the results are written as files. The pictures are made first, of nothing but their number.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "example.h"

enum { SIDE = 64, PIXELS = SIDE * SIDE };

struct album {
    char folder[PATH_MAX];
    unsigned n;
};

static void path_of(const struct album *album, const char *kind, uint64_t i, char *path,
                    size_t size) {
    snprintf(path, size, "%s/%s-%u.pgm", album->folder, kind, (unsigned)i);
}

static bool write_picture(const char *path, const unsigned char *pixels) {
    FILE *file = fopen(path, "wb");
    if (!file)
        return false;
    fprintf(file, "P5\n%d %d\n255\n", SIDE, SIDE);
    const bool written = fwrite(pixels, 1, PIXELS, file) == PIXELS;
    return fclose(file) == 0 && written;
}

static bool read_picture(const char *path, unsigned char *pixels) {
    int width = 0, height = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    const bool read = fscanf(file, "P5 %d %d 255", &width, &height) == 2 && fgetc(file) == '\n' &&
                      width == SIDE && height == SIDE && fread(pixels, 1, PIXELS, file) == PIXELS;
    fclose(file);
    return read;
}

static unsigned char pixel_of(uint64_t picture, size_t i) {
    return (unsigned char)((picture * 7 + i) % 256);
}

static cls_status load(void *arg, uint64_t index, void *memory, size_t capacity, size_t *bytes) {
    const struct album *album = arg;
    char path[PATH_MAX + 32];
    if (index >= album->n)
        return CLS_SUCCESS;
    path_of(album, "in", index, path, sizeof path);
    *bytes = capacity;
    return read_picture(path, memory) ? CLS_SUCCESS : CLS_ERROR_IO;
}

static void make_pictures(const struct album *album) {
    unsigned char pixels[PIXELS];
    char path[PATH_MAX + 32];
    for (unsigned i = 0; i < album->n; i++) {
        for (size_t k = 0; k < PIXELS; k++)
            pixels[k] = pixel_of(i, k);
        path_of(album, "in", i, path, sizeof path);
        if (!write_picture(path, pixels))
            give_up("%s cannot be written", path);
    }
}

/* out = 255 - in */
static void negate(cls_buffer in, cls_array white, cls_array out, cls_stream stream) {
    MUST(cls_binary_async(CLS_BINARY_SUB, white, cls_array_of(in, CLS_U8, PIXELS), out, stream));
}

static void check_and_remove(const struct album *album) {
    unsigned char pixels[PIXELS];
    char path[PATH_MAX + 32];
    for (unsigned i = 0; i < album->n; i++) {
        path_of(album, "out", i, path, sizeof path);
        if (!read_picture(path, pixels))
            give_up("%s cannot be read", path);
        for (size_t k = 0; k < PIXELS; k++)
            if (pixels[k] != 255 - pixel_of(i, k))
                give_up("%s: pixel %zu is %u", path, k, pixels[k]);
        remove(path);
        path_of(album, "in", i, path, sizeof path);
        remove(path);
    }
    rmdir(album->folder);
}

int main(int argc, char **argv) {
    struct album album = {.n = is_quick(argc, argv) ? 8 : 200};
    unsigned char pixels[PIXELS];
    const unsigned char full = 255;
    cls_prefetcher pictures;
    cls_prefetched picture;
    cls_buffer white, result;
    cls_stream stream;
    char path[PATH_MAX + 32];
    const char *where = getenv("TMPDIR");
    snprintf(album.folder, sizeof album.folder, "%s/clstream-XXXXXX", where ? where : "/tmp");
    if (!mkdtemp(album.folder))
        give_up("%s: no folder for the pictures", album.folder);
    make_pictures(&album);
    MUST(cls_stream_create(NULL, NULL, &stream));
    MUST(cls_buffer_create(NULL, PIXELS, &white));
    MUST(cls_buffer_create(NULL, PIXELS, &result));
    MUST(cls_fill_async(white, 0, PIXELS, &full, 1, stream));
    MUST(cls_prefetcher_create(NULL, PIXELS, load, &album, NULL, &pictures));
    for (;;) {
        MUST(cls_prefetcher_next(pictures, stream, &picture));
        if (!picture.bytes)
            break;
        negate(picture.buffer, cls_array_of(white, CLS_U8, PIXELS),
               cls_array_of(result, CLS_U8, PIXELS), stream);
        MUST(cls_prefetcher_release(pictures, &picture, stream));
        MUST(cls_copy_d2h(pixels, result, 0, PIXELS, stream));
        path_of(&album, "out", picture.index, path, sizeof path);
        if (!write_picture(path, pixels))
            give_up("%s cannot be written", path);
    }
    check_and_remove(&album);
    printf("%u pictures\n", album.n);
    MUST(cls_prefetcher_destroy(pictures));
    MUST(cls_buffer_destroy(white));
    MUST(cls_buffer_destroy(result));
    MUST(cls_stream_destroy(stream));
    return 0;
}
