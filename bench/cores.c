/* SPDX-License-Identifier: MIT */
/* Counts on one and on two threads to find out how many cores are free. */
#include "cores.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "support.h"

enum { COUNT = 2 * 1000 * 1000, TRIES = 3 };
static const double FREE = 1.8, PAUSE = 0.2;

static void count_to(unsigned long end) {
    volatile unsigned long counter = 0;
    while (counter < end)
        counter = counter + 1;
}

static void *count_up(void *unused) {
    count_to(COUNT);
    return unused;
}

/* The least of a few tries: an interrupted one would make two threads look better. */
static double one_thread(void) {
    double least = 0;
    for (int i = 0; i < TRIES; i++) {
        const double start = now_seconds();
        count_up(NULL);
        const double time = now_seconds() - start;
        least = i == 0 || time < least ? time : least;
    }
    return least;
}

double two_threads(void) {
    const double one = one_thread();
    pthread_t other;
    const double start = now_seconds();
    if (pthread_create(&other, NULL, count_up, NULL))
        die("no thread");
    count_up(NULL);
    pthread_join(other, NULL);
    return 2 * one / (now_seconds() - start);
}

double await_cores(double *patience) {
    const double start = now_seconds();
    double gain = two_threads();
    while (gain < FREE && now_seconds() - start < *patience) {
        const struct timespec pause = {0, (long)(PAUSE * 1e9)};
        nanosleep(&pause, NULL);
        gain = two_threads();
    }
    *patience -= now_seconds() - start;
    return gain;
}

/* Counts, because such times are shorter than reading a clock takes. */
void spend_ns(unsigned ns) {
    static double steps_per_ns;
    if (!steps_per_ns)
        steps_per_ns = COUNT / (1e9 * one_thread());
    count_to((unsigned long)(ns * steps_per_ns));
}
