/* SPDX-License-Identifier: MIT */
/* How many cores are free: on a shared machine a CPU driver's threads may find theirs taken. */
#ifndef CLSTREAM_BENCH_CORES_H
#define CLSTREAM_BENCH_CORES_H

/* The speed-up of two host threads, just now: near 2 when two cores are free. Takes milliseconds. */
double two_threads(void);

/* Waits until two cores are free, at most `*patience` seconds, and takes what it waited off that. Returns the last
 * speed-up. */
double await_cores(double *patience);

/* Keeps the calling thread busy for so long. The first call takes some milliseconds more. */
void spend_ns(unsigned ns);

#endif
