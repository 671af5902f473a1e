/* SPDX-License-Identifier: MIT */
#include "tune.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct family {
    unsigned count, fixed; /* values, of which the first are never changed */
    uint32_t flags;        /* a bit for each value that is 0 or 1 */
    const char *names[TUNE_VALUES];
    unsigned rows;
    int table[12][TUNE_VALUES];
};

static const struct family families[] = {
    [TUNE_INDIRECT] = {16,
                       2,
                       0xf << 10 | 1,
                       {"GEMMK", "KREG", "KWG", "KWI", "MDIMA", "MDIMC", "MWG", "NDIMB", "NDIMC",
                        "NWG", "SA", "SB", "STRM", "STRN", "VWM", "VWN"},
                       12,
                       {{0, 1, 16, 2, 16, 16, 64, 16, 16, 64, 1, 1, 0, 0, 4, 4},
                        {0, 1, 32, 2, 8, 8, 64, 8, 8, 64, 0, 0, 0, 0, 4, 4},
                        {0, 1, 16, 2, 16, 16, 128, 16, 16, 128, 1, 1, 0, 0, 4, 4},
                        {0, 1, 16, 2, 4, 4, 32, 4, 4, 32, 0, 0, 0, 0, 8, 8},
                        {0, 1, 32, 2, 16, 16, 128, 8, 8, 64, 1, 1, 0, 0, 4, 4},
                        {0, 1, 16, 2, 8, 8, 64, 8, 8, 32, 0, 0, 0, 0, 8, 4},
                        {0, 1, 16, 2, 16, 16, 128, 16, 16, 64, 1, 1, 0, 0, 8, 4},
                        {0, 1, 32, 2, 16, 16, 64, 16, 16, 64, 1, 1, 1, 1, 2, 2},
                        {0, 1, 16, 2, 32, 32, 128, 32, 8, 64, 1, 1, 0, 0, 4, 2},
                        {0, 1, 16, 2, 8, 8, 32, 8, 8, 32, 1, 1, 0, 0, 4, 4},
                        {0, 1, 32, 2, 16, 16, 32, 8, 8, 32, 1, 1, 0, 0, 2, 4},
                        {0, 1, 16, 2, 2, 2, 16, 2, 2, 16, 0, 0, 0, 0, 8, 8}}},
    [TUNE_DIRECT] = {10,
                     0,
                     3 << 5,
                     {"KWID", "MDIMAD", "MDIMCD", "NDIMBD", "NDIMCD", "PADA", "PADB", "VWMD",
                      "VWND", "WGD"},
                     7,
                     {{2, 8, 8, 8, 8, 1, 1, 4, 4, 32},
                      {2, 16, 16, 16, 16, 1, 1, 2, 2, 32},
                      {8, 16, 16, 16, 16, 1, 1, 4, 4, 64},
                      {2, 4, 4, 4, 4, 0, 0, 4, 4, 16},
                      {8, 8, 8, 8, 8, 1, 1, 2, 2, 16},
                      {2, 8, 16, 8, 8, 1, 1, 2, 4, 32},
                      {2, 16, 16, 8, 8, 1, 1, 4, 4, 64}}},
};

static unsigned draw(unsigned below) {
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 20) % below);
}

/* A neighbour has one to four other values, each twice or half of what it was. */
static void change(const struct family *family, int *values) {
    for (unsigned left = 1 + draw(4); left; left--) {
        const unsigned i = family->fixed + draw(family->count - family->fixed);
        if (family->flags >> i & 1)
            values[i] = !values[i];
        else
            values[i] = draw(2) ? values[i] * 2 : values[i] > 1 ? values[i] / 2 : 1;
    }
}

void tune_set_draw(enum tune_kernel kernel, unsigned i, const struct tune_set *best,
                   struct tune_set *out) {
    const struct family *family = &families[kernel];
    struct tune_set set = {.own = false};
    if (i < family->rows || best->own)
        memcpy(set.values, family->table[i < family->rows ? i : draw(family->rows)],
               sizeof set.values);
    else
        set = *best;
    if (i >= family->rows)
        change(family, set.values);
    *out = set;
}

void tune_set_print(enum tune_kernel kernel, const struct tune_set *set, char *text, size_t size) {
    const struct family *family = &families[kernel];
    for (unsigned i = 0; i < family->count && !set->own; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, size - used, " %s=%d", family->names[i], set->values[i]);
    }
}
