/* SPDX-License-Identifier: MIT */
#include "base/life.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/setting.h"
#include "system/libraries.h"

_Atomic bool lives_are_kept;

static void prepare(void) {
    atomic_store(&lives_are_kept, setting_lists("CLSTREAM_CHECK", "leak"));
}

void life_prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
}

struct object_life *life_begin(void) {
    static _Atomic uint64_t made;
    struct object_life *life = calloc(1, sizeof *life);
    if (!life)
        return NULL;
    life->number = atomic_fetch_add(&made, 1) + 1;
    life->n_frames = library_call_stack(life->frames, LIFE_FRAMES);
    return life;
}

/* Of "FILE(NAME+OFFSET)": the length of FILE. */
static size_t file_length(const char *place) { return strcspn(place, "("); }

static bool is_same_file(const char *a, const char *b) {
    return file_length(a) == file_length(b) && !strncmp(a, b, file_length(a));
}

void life_append_place(const struct object_life *life, struct text *text) {
    char *first = life->n_frames ? library_place(life->frames[0]) : NULL, *place = NULL;
    for (int i = 1; first && i < life->n_frames && !place; i++) {
        place = library_place(life->frames[i]);
        if (place && is_same_file(place, first)) {
            free(place);
            place = NULL;
        }
    }
    if (place)
        text_append(text, place, strlen(place));
    free(place);
    free(first);
}
