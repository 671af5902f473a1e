/* SPDX-License-Identifier: MIT */
/* On a shared machine a CPU driver's threads may find their cores taken: this tells. */
#ifndef CLSTREAM_BENCH_CORES_H
#define CLSTREAM_BENCH_CORES_H

/* What two host threads do against one, just now: near 2 when two cores are free. Takes milliseconds. */
double two_threads(void);

/* Waits until two cores are free, at most `*patience` seconds, which are used up. What two threads do
 * then. */
double await_cores(double *patience);

/* Keeps the calling thread busy for so long. The first call takes some milliseconds more. */
void spend_ns(unsigned ns);

#endif
