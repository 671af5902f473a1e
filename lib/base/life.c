/* SPDX-License-Identifier: MIT */
#include "base/life.h"

#include <config.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_BACKTRACE
#include <execinfo.h>
#endif

#include "base/setting.h"

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
#ifdef HAVE_BACKTRACE
    life->n_frames = backtrace(life->frames, LIFE_FRAMES);
#endif
    return life;
}

#ifdef HAVE_BACKTRACE
/* Of "FILE(NAME+OFFSET) [ADDRESS]": the length of FILE. */
static size_t file_length(const char *frame) { return strcspn(frame, "("); }

static bool is_same_file(const char *a, const char *b) {
    return file_length(a) == file_length(b) && !strncmp(a, b, file_length(a));
}

void life_append_place(const struct object_life *life, struct text *text) {
    char **frames = life->n_frames ? backtrace_symbols(life->frames, life->n_frames) : NULL;
    int i = 1;
    while (frames && i < life->n_frames && is_same_file(frames[i], frames[0]))
        i++;
    if (frames && i < life->n_frames)
        text_printf(text, "%.*s", (int)strcspn(frames[i], " ["), frames[i]);
    free(frames);
}
#else
void life_append_place(const struct object_life *life, struct text *text) {
    (void)life;
    (void)text;
}
#endif
