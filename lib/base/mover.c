/* SPDX-License-Identifier: MIT */
#include "base/mover.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include <utlist.h>

#include "base/thread.h"
#include "system/clocks.h"
#include "system/conditions.h"
#include "system/threads.h"

enum {
    MOST_PARTS = 4, /* memory is busy with four cores */
    /* Bytes; waking a thread takes longer than copying less. */
    LEAST_PART = 512 * 1024,
    PART_ALIGNMENT = 64
};

static const uint64_t IDLE_NS = 5 * CLOCK_SECOND;

/* Lies on its caller's stack, and in the list until its last part is taken. */
struct move {
    const struct row_copy *rows;
    size_t bytes, part_bytes;
    unsigned parts, taken, finished;
    struct move *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t came, ended;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct move *moves;
static unsigned threads, most_threads;
static bool stop;

static void begin(void) {
    bool made = condition_init(&came) && condition_init(&ended);
    const unsigned cores = system_cores();
    if (made)
        most_threads = (cores < MOST_PARTS ? cores : MOST_PARTS) - 1;
}

/* Copies the bytes [from, to) of the rows, counted as if they lay packed. */
static void copy_span(const struct row_copy *rows, size_t from, size_t to) {
    size_t row = from / rows->width, column = from % rows->width;
    while (from < to) {
        size_t bytes = rows->width - column;
        if (bytes > to - from)
            bytes = to - from;
        memcpy(rows->to + row * rows->to_pitch + column,
               rows->from + row * rows->from_pitch + column, bytes);
        from += bytes;
        column = 0;
        row++;
    }
}

/* Called with the lock, which it drops while it copies one part. */
static void do_part(struct move *move) {
    size_t from = move->taken++ * move->part_bytes;
    size_t to = from + move->part_bytes < move->bytes ? from + move->part_bytes : move->bytes;
    if (move->taken == move->parts)
        LL_DELETE(moves, move);
    pthread_mutex_unlock(&lock);
    copy_span(move->rows, from, to);
    pthread_mutex_lock(&lock);
    if (++move->finished == move->parts)
        pthread_cond_broadcast(&ended);
}

static void *help(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    bool idle = false;
    while (!stop && !idle) {
        if (moves)
            do_part(moves);
        else
            idle = !condition_wait(&came, &lock, clock_now_ns() + IDLE_NS) && !moves;
    }
    threads--;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Called with the lock: starts the threads that the move could use, or as many as can be had. */
static void add_threads(unsigned wanted) {
    while (threads < wanted && threads < most_threads && !stop) {
        if (thread_start(NULL, "cls-mover", help, NULL))
            return;
        threads++;
    }
}

static void move_together(struct move *move) {
    pthread_mutex_lock(&lock);
    add_threads(move->parts - 1);
    LL_PREPEND(moves, move);
    pthread_cond_broadcast(&came);
    while (move->taken < move->parts)
        do_part(move);
    while (move->finished < move->parts)
        pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
}

void move_rows(const struct row_copy *rows) {
    pthread_once(&once, begin);
    size_t bytes = rows->width * rows->height, parts = bytes / LEAST_PART;
    if (parts > most_threads + 1)
        parts = most_threads + 1;
    if (parts < 2) {
        if (bytes)
            copy_span(rows, 0, bytes);
        return;
    }
    size_t part_bytes = (bytes / parts + PART_ALIGNMENT) / PART_ALIGNMENT * PART_ALIGNMENT;
    struct move move = {.rows = rows,
                        .bytes = bytes,
                        .part_bytes = part_bytes,
                        .parts = (unsigned)((bytes + part_bytes - 1) / part_bytes)};
    move_together(&move);
}

void movers_stop(uint64_t deadline) {
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    stop = true;
    pthread_cond_broadcast(&came);
    while (threads && condition_wait(&ended, &lock, deadline))
        continue;
    pthread_mutex_unlock(&lock);
}
