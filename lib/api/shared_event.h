/* SPDX-License-Identifier: MIT */
/*
 * Events that processes share: their records, which are commands that a worker runs, and waits for them. The latest record
 * is that of any process, when a call begins.
 */
#ifndef CLSTREAM_API_SHARED_EVENT_H
#define CLSTREAM_API_SHARED_EVENT_H

#include <stdint.h>

#include <clstream/status.h>

struct event;
struct stream;

cls_status shared_event_record(struct event *event, struct stream *stream);

/* Has later work of the stream wait for the latest record. */
cls_status shared_event_wait(struct event *event, struct stream *stream);

/* The outcome of the latest record, or CLS_NOT_READY. */
cls_status shared_event_query(struct event *event);

/* Waits for the latest record until `deadline` (clock_now_ns, or WAIT_FOREVER). */
cls_status shared_event_await(struct event *event, uint64_t deadline);

#endif
