/* SPDX-License-Identifier: MIT */
/*
 * The records of an event that processes share. They are numbered from 1 in the order in which they are made, whichever
 * process makes them, and their outcomes are kept in a page of shared memory, which needs no lock. While a record is pending
 * its process holds a lock of the number in the page's file, which the system takes back when the process ends.
 *
 * Any process that has the page may write nonsense into it: what is read there is compared and never used as a place.
 */
#ifndef CLSTREAM_STREAM_EVENT_RECORDS_H
#define CLSTREAM_STREAM_EVENT_RECORDS_H

#include <stdint.h>

#include <clstream/status.h>

struct event_records;

enum record_outcome {
    RECORD_DONE,
    RECORD_FAILED,
    RECORD_VOID,    /* its call failed: the record before it counts. Never told */
    RECORD_PENDING, /* not kept in the page, as what follows */
    RECORD_LOST     /* its process has ended before */
};

cls_status event_records_make(struct event_records **out);
void event_records_free(struct event_records *records);

/* A descriptor of the page, for the caller to close, and the records that one of another process names. */
cls_status event_records_export(const struct event_records *records, int *fd);
cls_status event_records_open(int fd, struct event_records **out);

/* The number of the latest record; 0: there is none. */
uint64_t event_records_latest(const struct event_records *records);

/* Makes a record, which is pending until event_records_end. */
cls_status event_records_begin(struct event_records *records, uint64_t *number);

/* RECORD_DONE, RECORD_FAILED or RECORD_VOID. Only the first outcome of a record counts. */
void event_records_end(struct event_records *records, uint64_t number, enum record_outcome outcome);

/* The outcome of the record that was the latest then; RECORD_DONE for number 0. */
enum record_outcome event_records_outcome(const struct event_records *records, uint64_t latest);

#endif
