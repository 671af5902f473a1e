/* SPDX-License-Identifier: MIT */
/*
 * How a stream's oldest commands stand: asked of the driver, one by one or many at once, and given up where it
 * does not say. All under the stream's lock.
 */
#ifndef CLSTREAM_STREAM_FLIGHT_STATE_H
#define CLSTREAM_STREAM_FLIGHT_STATE_H

#include <stdbool.h>

#include "stream/flight.h"

struct stream;

/* The first flight from the oldest on that has an event or is lost, or count. */
unsigned flights_telling(const struct flights *flights);

/* How the oldest flight that has an event stands; positive while pending. Where asking is dear, the others
 * are asked about in batches. */
cl_int flight_look(struct stream *stream, struct flight *flight);

/* How many flights are the older half of them where the driver is done with it, or may be. Where it is not, which its
 * newest tells: those that are known to be done. Where asking is dear it is asked about at once, and may be less. */
unsigned flights_older_half(struct stream *stream);

/* The driver gives the newest flights no event, so that nothing is to be known of them: the next poll fails
 * them. */
void flights_lose(struct stream *stream, cl_int code);

#endif
