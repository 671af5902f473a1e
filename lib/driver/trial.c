/* SPDX-License-Identifier: MIT */
/* The buffers of the trials, and the trials of transfers, copies and fills. */
#include "driver/trial.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_UNIT = 512, UNITS = 6 };

/* --- the buffers --- */

static bool open_memory(struct trial *trial, unsigned i) {
    cl_int code;
    trial->wanted[i] = malloc(trial->bytes);
    trial->memory[i] =
        clCreateBuffer(trial->probe->context, CL_MEM_READ_WRITE, trial->bytes, NULL, &code);
    if (code != CL_SUCCESS)
        trial->memory[i] = NULL;
    return trial->wanted[i] && trial->memory[i];
}

bool trial_open(struct trial *trial, struct probe *probe) {
    const size_t align = probe->device->info.base_align;
    *trial = (struct trial){.probe = probe};
    trial->unit = (LEAST_UNIT + align - 1) / align * align;
    trial->bytes = UNITS * trial->unit;
    trial->read = malloc(trial->bytes);
    return trial->read && open_memory(trial, 0) && open_memory(trial, 1);
}

void trial_close(struct trial *trial) {
    for (unsigned i = 0; i < 2; i++) {
        if (trial->memory[i] && !trial->probe->stuck)
            clReleaseMemObject(trial->memory[i]);
        probe_free(trial->probe, trial->wanted[i]);
    }
    probe_free(trial->probe, trial->read);
}

void trial_seed(struct trial *trial, uint32_t seed, unsigned which) {
    trial->draws = ((uint64_t)seed << 8 | which) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    trial_draw(trial, 1);
}

/* xorshift64*, whose upper half has no pattern. */
size_t trial_draw(struct trial *trial, size_t n) {
    uint64_t x = trial->draws;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    trial->draws = x;
    return (size_t)((x * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % n;
}

bool trial_did(struct trial *trial, cl_int code) { return probe_did(trial->probe, code); }

bool trial_done(struct trial *trial, cl_int code, cl_event event) {
    if (!trial_did(trial, code))
        return false;
    return probe_finish(trial->probe, trial->probe->queues[0], event);
}

bool trial_write(struct trial *trial, cl_mem memory, size_t offset, size_t bytes,
                 const void *from) {
    cl_event event = NULL;
    const cl_int code = clEnqueueWriteBuffer(trial->probe->queues[0], memory, CL_FALSE, offset,
                                             bytes, from, 0, NULL, &event);
    return trial_done(trial, code, event);
}

bool trial_read(struct trial *trial, cl_mem memory, size_t offset, size_t bytes, void *to) {
    cl_event event = NULL;
    const cl_int code = clEnqueueReadBuffer(trial->probe->queues[0], memory, CL_FALSE, offset,
                                            bytes, to, 0, NULL, &event);
    return trial_done(trial, code, event);
}

bool trial_reset(struct trial *trial, unsigned salt) {
    for (unsigned i = 0; i < 2; i++)
        for (size_t at = 0; at < trial->bytes; at++)
            trial->wanted[i][at] = (unsigned char)(at * 7 + at / 251 + 101 * i + salt);
    return trial_write(trial, trial->memory[0], 0, trial->bytes, trial->wanted[0]) &&
           trial_write(trial, trial->memory[1], 0, trial->bytes, trial->wanted[1]);
}

bool trial_compare(struct trial *trial) {
    for (unsigned i = 0; i < 2; i++) {
        memset(trial->read, 0, trial->bytes);
        if (!trial_read(trial, trial->memory[i], 0, trial->bytes, trial->read) ||
            memcmp(trial->read, trial->wanted[i], trial->bytes) != 0)
            return false;
    }
    return true;
}

cl_mem trial_part(struct trial *trial, unsigned which, size_t at) {
    const cl_buffer_region region = {at * trial->unit, trial->unit};
    cl_int code;
    cl_mem part =
        clCreateSubBuffer(trial->memory[which], 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    return trial_did(trial, code) ? part : NULL;
}

/* A sub-buffer is one unit long. */
bool trial_with_parts(struct trial *trial, bool (*use)(struct trial *, const struct trial_place *,
                                                       const struct trial_place *)) {
    struct trial_place to = {trial_part(trial, 0, 1), 0, trial->unit, trial->unit};
    struct trial_place from = {trial_part(trial, 1, 3), 1, 3 * trial->unit, trial->unit};
    const bool right = to.memory && from.memory && use(trial, &to, &from);
    if (trial->probe->stuck)
        return false;
    if (to.memory)
        clReleaseMemObject(to.memory);
    if (from.memory)
        clReleaseMemObject(from.memory);
    return right;
}

/* --- bytes in a row --- */

enum { SPANS = 10, LONGEST = 150 };

/* The i-th offset or size, below `n`: an odd one, or a multiple of 2, 4, 8 or 16. */
static size_t draw_number(struct trial *trial, unsigned i, size_t n) {
    const size_t step = (size_t)1 << i % 5;
    return step == 1 ? trial_draw(trial, n / 2) * 2 + 1 : trial_draw(trial, n / step) * step;
}

static size_t draw_size(struct trial *trial, unsigned i) {
    const size_t size = draw_number(trial, i, LONGEST);
    return size ? size : 16;
}

static size_t draw_offset(struct trial *trial, unsigned i, const struct trial_place *place,
                          size_t size) {
    return draw_number(trial, i, place->bytes - size);
}

/* The host's bytes are those that are expected. */
static bool try_writes(struct trial *trial, const struct trial_place *to) {
    for (unsigned i = 0; i < SPANS; i++) {
        const size_t bytes = draw_size(trial, i + i / 5), at = draw_offset(trial, i, to, bytes);
        unsigned char *wanted = trial->wanted[to->which] + to->origin + at;
        for (size_t j = 0; j < bytes; j++)
            wanted[j] ^= 0xa5;
        if (!trial_write(trial, to->memory, at, bytes, wanted))
            return false;
    }
    return true;
}

/* Between reads that each leave one byte on either side of theirs alone. */
static bool try_reads(struct trial *trial, const struct trial_place *from) {
    for (unsigned i = 0; i < SPANS; i++) {
        const size_t bytes = draw_size(trial, i + i / 5), at = draw_offset(trial, i, from, bytes);
        const unsigned char *wanted = trial->wanted[from->which] + from->origin + at;
        unsigned char *to = trial->read;
        memset(to, 0x3c, bytes + 2);
        if (!trial_read(trial, from->memory, at, bytes, to + 1) || to[0] != 0x3c ||
            to[bytes + 1] != 0x3c || memcmp(to + 1, wanted, bytes) != 0)
            return false;
    }
    return true;
}

static bool try_copy(struct trial *trial, const struct trial_place *to, size_t to_at,
                     const struct trial_place *from, size_t from_at, size_t bytes) {
    if (!trial_did(trial, clEnqueueCopyBuffer(trial->probe->queues[0], from->memory, to->memory,
                                              from_at, to_at, bytes, 0, NULL, NULL)))
        return false;
    memcpy(trial->wanted[to->which] + to->origin + to_at,
           trial->wanted[from->which] + from->origin + from_at, bytes);
    return true;
}

/* Every third at the same offset on both sides. */
static bool try_copies(struct trial *trial, const struct trial_place *to,
                       const struct trial_place *from) {
    bool done = true;
    for (unsigned i = 0; i < 2 * SPANS && done; i++) {
        const size_t bytes = draw_size(trial, i + i / 5);
        const size_t from_at = draw_offset(trial, i, from, bytes);
        const size_t drawn = draw_offset(trial, i / 2, to, bytes);
        done = try_copy(trial, to, i % 3 ? drawn : from_at, from, from_at, bytes);
    }
    return done;
}

/* From one half of a buffer to the other. */
static bool try_copies_within(struct trial *trial, const struct trial_place *place) {
    const size_t half = place->bytes / 2;
    const struct trial_place low = {place->memory, place->which, place->origin, half};
    bool done = true;
    for (unsigned i = 0; i < SPANS && done; i++) {
        const size_t bytes = draw_size(trial, i + i / 5);
        const size_t down = draw_offset(trial, i, &low, bytes);
        const size_t up = half + draw_offset(trial, i / 2, &low, bytes);
        done = try_copy(trial, place, i % 2 ? up : down, place, i % 2 ? down : up, bytes);
    }
    return done;
}

/* Of each width first at an odd multiple of it, and then at any. */
static bool try_fills(struct trial *trial, const struct trial_place *to) {
    enum { WIDTHS = 5 };
    unsigned char pattern[1 << (WIDTHS - 1)];
    for (unsigned i = 0; i < 2 * WIDTHS; i++) {
        const size_t width = (size_t)1 << i % WIDTHS, bytes = width * (1 + trial_draw(trial, 9));
        const size_t first = trial_draw(trial, (to->bytes - bytes) / width / 2) * 2;
        const size_t offset = width * (i < WIDTHS ? first + 1 : first + trial_draw(trial, 2));
        unsigned char *wanted = trial->wanted[to->which] + to->origin + offset;
        for (size_t j = 0; j < width; j++)
            pattern[j] = (unsigned char)trial_draw(trial, 256);
        if (!trial_did(trial, clEnqueueFillBuffer(trial->probe->queues[0], to->memory, pattern,
                                                  width, offset, bytes, 0, NULL, NULL)))
            return false;
        for (size_t j = 0; j < bytes; j++)
            wanted[j] = pattern[j % width];
    }
    return true;
}

bool trial_of_transfers(struct trial *trial) {
    const struct trial_place place = trial_whole(trial, 0);
    return trial_reset(trial, 1) && try_writes(trial, &place) && try_reads(trial, &place) &&
           trial_compare(trial);
}

bool trial_of_odd_copies(struct trial *trial) {
    const struct trial_place to = trial_whole(trial, 0), from = trial_whole(trial, 1);
    const bool done =
        trial_reset(trial, 2) && try_copies(trial, &to, &from) && try_copies_within(trial, &to);
    return trial_compare(trial) && done;
}

bool trial_of_odd_fills(struct trial *trial) {
    const struct trial_place place = trial_whole(trial, 0);
    const bool done = trial_reset(trial, 3) && try_fills(trial, &place);
    return trial_compare(trial) && done;
}

/* --- sub-buffers --- */

static bool try_parts(struct trial *trial, const struct trial_place *to,
                      const struct trial_place *from) {
    const bool done = try_copies(trial, to, from) && try_fills(trial, to) &&
                      try_writes(trial, from) && try_reads(trial, from);
    return trial_compare(trial) && done;
}

bool trial_of_sub_buffer_copies(struct trial *trial) {
    return trial_reset(trial, 6) && trial_with_parts(trial, try_parts);
}
