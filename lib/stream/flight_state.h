/* SPDX-License-Identifier: MIT */
/*
 * The state of a stream's oldest flights: the driver is asked one by one or in batches, and work that it never starts, or
 * does not answer about, is given up. All under the stream's lock.
 */
#ifndef CLSTREAM_STREAM_FLIGHT_STATE_H
#define CLSTREAM_STREAM_FLIGHT_STATE_H

#include <stdbool.h>

#include "stream/flight.h"

struct stream;

/* The index of the flight that ends the oldest span: it has an event or is lost. `count` where there is none. */
unsigned flights_span_end(const struct flights *flights);

/* Asks about the flight that ends the oldest span; positive while pending. Where asking is dear, the later flights are
 * asked about in batches. */
cl_int flight_ask(struct stream *stream, struct flight *flight);

/* How many flights flights_trim may retire: the older half, if its newest is done or may be, else those known to be done.
 * Where asking is dear, the half is asked about in one batch, and is as many as that covers. */
unsigned flights_older_half(struct stream *stream);

/* The driver refused an event for the newest flights, so nothing can be known of them: the next poll fails them. */
void flights_lose(struct stream *stream, cl_int code);

#endif
