/* SPDX-License-Identifier: MIT */
/* The buffers of the trials, and the trials of transfers, copies, fills and rectangles. */
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

/* A driver that is stuck may still read and write all of it. */
void trial_close(struct trial *trial) {
    if (trial->probe->stuck)
        return;
    for (unsigned i = 0; i < 2; i++) {
        if (trial->memory[i])
            clReleaseMemObject(trial->memory[i]);
        free(trial->wanted[i]);
    }
    free(trial->read);
}

bool trial_did(struct trial *trial, cl_int code) {
    if (trial->code == CL_SUCCESS)
        trial->code = code;
    return code == CL_SUCCESS;
}

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

/* --- bytes in a row --- */

/* A place in a buffer or in a sub-buffer of it. */
struct place {
    cl_mem memory;
    unsigned which; /* of the trial's buffers */
    size_t origin;  /* of the memory in that buffer */
};

static struct place whole(const struct trial *trial, unsigned which) {
    return (struct place){trial->memory[which], which, 0};
}

/* Offsets and sizes that are odd, or even but no multiple of 4. */
static const struct { size_t offset, bytes; } spans[] = {{1, 6}, {3, 61}, {130, 5}, {255, 130}};

enum { SPANS = sizeof spans / sizeof spans[0] };

static bool try_writes(struct trial *trial, const struct place *to) {
    unsigned char *wanted = trial->wanted[to->which] + to->origin;
    for (unsigned i = 0; i < SPANS; i++) {
        unsigned char *at = wanted + spans[i].offset;
        for (size_t j = 0; j < spans[i].bytes; j++)
            at[j] ^= 0xa5;
        if (!trial_write(trial, to->memory, spans[i].offset, spans[i].bytes, at))
            return false;
    }
    return true;
}

/* Between reads that each leave one byte on either side of theirs alone. */
static bool try_reads(struct trial *trial, const struct place *from) {
    const unsigned char *wanted = trial->wanted[from->which] + from->origin;
    for (unsigned i = 0; i < SPANS; i++) {
        unsigned char *to = trial->read;
        const size_t bytes = spans[i].bytes;
        memset(to, 0x3c, bytes + 2);
        if (!trial_read(trial, from->memory, spans[i].offset, bytes, to + 1) || to[0] != 0x3c ||
            to[bytes + 1] != 0x3c || memcmp(to + 1, wanted + spans[i].offset, bytes) != 0)
            return false;
    }
    return true;
}

static bool try_copies(struct trial *trial, const struct place *to, const struct place *from) {
    static const size_t ahead = 2;
    for (unsigned i = 0; i < SPANS; i++) {
        const size_t at = spans[i].offset, bytes = spans[i].bytes;
        cl_event event = NULL;
        const cl_int code = clEnqueueCopyBuffer(trial->probe->queues[0], from->memory, to->memory,
                                                at, at + ahead, bytes, 0, NULL, &event);
        if (!trial_done(trial, code, event))
            return false;
        memcpy(trial->wanted[to->which] + to->origin + at + ahead,
               trial->wanted[from->which] + from->origin + at, bytes);
    }
    return true;
}

static bool try_fills(struct trial *trial, const struct place *to) {
    static const unsigned char pattern[] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                                            0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xf1, 0xf2};
    unsigned char *wanted = trial->wanted[to->which] + to->origin;
    for (size_t size = 1, at = 1; size <= sizeof pattern; size *= 2, at += 64) {
        const size_t offset = (at + size - 1) / size * size, bytes = 3 * size;
        cl_event event = NULL;
        const cl_int code = clEnqueueFillBuffer(trial->probe->queues[0], to->memory, pattern, size,
                                                offset, bytes, 0, NULL, &event);
        if (!trial_done(trial, code, event))
            return false;
        for (size_t i = 0; i < bytes; i++)
            wanted[offset + i] = pattern[i % size];
    }
    return true;
}

bool trial_of_transfers(struct trial *trial) {
    const struct place place = whole(trial, 0);
    return trial_reset(trial, 1) && try_writes(trial, &place) && try_reads(trial, &place) &&
           trial_compare(trial);
}

bool trial_of_odd_copies(struct trial *trial) {
    const struct place to = whole(trial, 0), from = whole(trial, 1);
    return trial_reset(trial, 2) && try_copies(trial, &to, &from) && trial_compare(trial);
}

bool trial_of_odd_fills(struct trial *trial) {
    const struct place place = whole(trial, 0);
    return trial_reset(trial, 3) && try_fills(trial, &place) && trial_compare(trial);
}

/* --- rectangles --- */

/* Rows that are padded on both sides, differently, and slices of which so are. */
enum { WIDTH = 13, HEIGHT = 5, TO_PITCH = 37, FROM_PITCH = 29, TO_OFFSET = 39, FROM_OFFSET = 31 };
enum { DEPTH = 2, TO_SLICE = 6 * TO_PITCH, FROM_SLICE = 7 * FROM_PITCH };

static const size_t regions[][3] = {{WIDTH, HEIGHT, 1}, {WIDTH, HEIGHT, DEPTH}};

#define SLICE(region, slice) ((region)[2] > 1 ? (slice) : 0)

static void expect_rows(unsigned char *to, const unsigned char *from, const size_t *region) {
    for (size_t slice = 0; slice < region[2]; slice++)
        for (size_t row = 0; row < HEIGHT; row++)
            memcpy(to + TO_OFFSET + slice * TO_SLICE + row * TO_PITCH,
                   from + FROM_OFFSET + slice * FROM_SLICE + row * FROM_PITCH, WIDTH);
}

/* Origins are given as the library's own calls give them (driver/queue.c). */
static bool try_region(struct trial *trial, const struct place *to, const struct place *from,
                       const size_t *region) {
    static const size_t to_origin[3] = {TO_OFFSET % TO_PITCH, TO_OFFSET / TO_PITCH, 0};
    static const size_t from_origin[3] = {FROM_OFFSET % FROM_PITCH, FROM_OFFSET / FROM_PITCH, 0};
    cl_event event = NULL;
    const cl_int code = clEnqueueCopyBufferRect(
        trial->probe->queues[0], from->memory, to->memory, from_origin, to_origin, region,
        FROM_PITCH, SLICE(region, FROM_SLICE), TO_PITCH, SLICE(region, TO_SLICE), 0, NULL, &event);
    if (!trial_done(trial, code, event))
        return false;
    expect_rows(trial->wanted[to->which] + to->origin, trial->wanted[from->which] + from->origin,
                region);
    return true;
}

/* In two dimensions and in three. */
static bool try_rectangle(struct trial *trial, unsigned salt, const struct place *to,
                          const struct place *from) {
    for (unsigned i = 0; i < 2; i++)
        if (!trial_reset(trial, salt + i) || !try_region(trial, to, from, regions[i]) ||
            !trial_compare(trial))
            return false;
    return true;
}

bool trial_of_rectangles(struct trial *trial) {
    const struct place to = whole(trial, 0), from = whole(trial, 1);
    return try_rectangle(trial, 4, &to, &from);
}

/* Host memory is the other buffer's expected contents, or a copy of them. */
static bool try_write_rows(struct trial *trial, const size_t *region) {
    static const size_t to_origin[3] = {TO_OFFSET, 0, 0}, none[3] = {0, 0, 0};
    cl_event event = NULL;
    const cl_int code = clEnqueueWriteBufferRect(
        trial->probe->queues[0], trial->memory[0], CL_FALSE, to_origin, none, region, TO_PITCH,
        SLICE(region, TO_SLICE), FROM_PITCH, SLICE(region, FROM_SLICE),
        trial->wanted[1] + FROM_OFFSET, 0, NULL, &event);
    if (!trial_done(trial, code, event))
        return false;
    expect_rows(trial->wanted[0], trial->wanted[1], region);
    return true;
}

/* The place of a byte that is read, in the buffer; or `bytes`: it is not read. */
static size_t read_from(size_t at, const size_t *region, size_t bytes) {
    if (at < TO_OFFSET)
        return bytes;
    const size_t slice = region[2] > 1 ? (at - TO_OFFSET) / TO_SLICE : 0;
    const size_t in_slice = at - TO_OFFSET - slice * TO_SLICE;
    const size_t row = in_slice / TO_PITCH, column = in_slice % TO_PITCH;
    if (slice >= region[2] || row >= HEIGHT || column >= WIDTH)
        return bytes;
    return FROM_OFFSET + slice * FROM_SLICE + row * FROM_PITCH + column;
}

static bool try_read_rows(struct trial *trial, const size_t *region) {
    static const size_t from_origin[3] = {FROM_OFFSET, 0, 0}, none[3] = {0, 0, 0};
    cl_event event = NULL;
    memcpy(trial->read, trial->wanted[1], trial->bytes);
    const cl_int code =
        clEnqueueReadBufferRect(trial->probe->queues[0], trial->memory[0], CL_FALSE, from_origin,
                                none, region, FROM_PITCH, SLICE(region, FROM_SLICE), TO_PITCH,
                                SLICE(region, TO_SLICE), trial->read + TO_OFFSET, 0, NULL, &event);
    if (!trial_done(trial, code, event))
        return false;
    for (size_t at = 0; at < trial->bytes; at++) {
        const size_t from = read_from(at, region, trial->bytes);
        if (trial->read[at] !=
            (from < trial->bytes ? trial->wanted[0][from] : trial->wanted[1][at]))
            return false;
    }
    return true;
}

bool trial_of_padded_rows(struct trial *trial) {
    for (unsigned i = 0; i < 2; i++)
        if (!trial_reset(trial, 5 + i) || !try_write_rows(trial, regions[i]) ||
            !try_read_rows(trial, regions[i]) || !trial_compare(trial))
            return false;
    return true;
}

/* --- sub-buffers --- */

/* A sub-buffer of either buffer, at different origins. */
static bool with_parts(struct trial *trial,
                       bool (*use)(struct trial *, const struct place *, const struct place *)) {
    struct place to = {trial_part(trial, 0, 1), 0, trial->unit};
    struct place from = {trial_part(trial, 1, 3), 1, 3 * trial->unit};
    const bool right = to.memory && from.memory && use(trial, &to, &from);
    if (trial->probe->stuck)
        return false;
    if (to.memory)
        clReleaseMemObject(to.memory);
    if (from.memory)
        clReleaseMemObject(from.memory);
    return right;
}

static bool try_parts(struct trial *trial, const struct place *to, const struct place *from) {
    return try_copies(trial, to, from) && try_fills(trial, to) && try_writes(trial, from) &&
           try_reads(trial, from) && trial_compare(trial);
}

bool trial_of_sub_buffer_copies(struct trial *trial) {
    return trial_reset(trial, 6) && with_parts(trial, try_parts);
}

/* A sub-buffer at one end, at the other, and at both. */
static bool try_part_rectangles(struct trial *trial, const struct place *to,
                                const struct place *from) {
    const struct place whole_to = whole(trial, 0), whole_from = whole(trial, 1);
    return try_rectangle(trial, 7, to, &whole_from) && try_rectangle(trial, 9, &whole_to, from) &&
           try_rectangle(trial, 11, to, from);
}

bool trial_of_sub_buffer_rectangles(struct trial *trial) {
    return with_parts(trial, try_part_rectangles);
}
