/* SPDX-License-Identifier: MIT */
/*
 * A made-up device, a part of layer.c: with CLS_FAULT_DEVICE=discrete the driver's own looks like a
 * GPU with memory of its own, as seen on an H200. Copies from and to pageable memory block, events are
 * dear to make and to ask, a migration reads its list again when it begins, and there is no shared memory to be
 * had while some is freed. The library's probes find what things cost: it stages copies, lets commands share
 * events and asks about many at once.
 */
#include <pthread.h>
#include <string.h>
#include <time.h>

enum {
    DEVICE_EVENT_NS = 20000,
    DEVICE_QUERY_NS = 300,
    DEVICE_FREE_NS = 500000,
    DEVICE_PINNED = 256,
    DEVICE_SMALL = 64 << 10 /* copies up to here are taken along with the command */
};

/* Nobody's: CLBlast has kernels for the GPUs of some makers that the drivers of the same makers' CPUs do not build. */
static const char DEVICE_VENDOR[] = "a made-up maker";

static bool device_is_discrete; /* set once, at load */

static void device_spend(long ns) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec - start.tv_nsec < ns);
}

/* What is mapped is pinned; copies of it do not block. */
static struct {
    const char *start;
    size_t bytes;
} device_pinned[DEVICE_PINNED];
static pthread_mutex_t device_lock = PTHREAD_MUTEX_INITIALIZER;

/* Puts `to` in the place of the block that begins at `from`; NULL: none. */
static void device_pin(const void *from, const void *to, size_t bytes) {
    pthread_mutex_lock(&device_lock);
    for (int i = 0; i < DEVICE_PINNED; i++)
        if (device_pinned[i].start == from) {
            device_pinned[i].start = to;
            device_pinned[i].bytes = bytes;
            break;
        }
    pthread_mutex_unlock(&device_lock);
}

static cl_bool device_blocks(const void *host, size_t bytes) {
    const char *at = host;
    bool pinned = bytes <= DEVICE_SMALL;
    pthread_mutex_lock(&device_lock);
    for (int i = 0; i < DEVICE_PINNED && !pinned; i++)
        pinned = device_pinned[i].start && at >= device_pinned[i].start &&
                 at < device_pinned[i].start + device_pinned[i].bytes;
    pthread_mutex_unlock(&device_lock);
    return pinned ? CL_FALSE : CL_TRUE;
}
