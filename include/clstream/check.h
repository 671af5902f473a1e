/* SPDX-License-Identifier: MIT */
/**
 * @file check.h
 * The race checker: finds two accesses to the same bytes, at least one of them a write, that nothing
 * orders, whether or not they met in this run.
 *
 * CLSTREAM_CHECK=race in the environment of the first context turns it on for the process. Findings go
 * to stderr, or are appended to the file that CLSTREAM_CHECK_LOG names, and can be asked for here.
 *
 * What orders two accesses:
 *   - the order of submission to one stream;
 *   - an event: what its stream held when it was recorded comes before what another stream is given
 *     after its cls_stream_wait_event; and so on from stream to stream;
 *   - a timeline: what its signal comes after comes before what another stream is given after its wait.
 *     Where that is queued before the signal, what is behind it is compared when the signal is submitted;
 *     while it is not, nothing is found there;
 *   - what the host has learned to be done, by synchronizing, a blocking call, or a query that says so:
 *     it comes before whatever any thread submits, signals or declares afterwards;
 *   - a host function or callback: what it submits comes after what it comes after itself;
 *   - cls_check_release and cls_check_acquire, for order that the program makes by other means: a
 *     semaphore between a host function and a thread, a cl_event of its own.
 * That a piece of work happens to be done orders nothing.
 *
 * What is accessed: the library's own commands are known to the byte, host memory included: an _async
 * copy uses its host memory until it is done. A kernel's buffer argument is known when it was made with
 * cls_arg_reads, cls_arg_writes or cls_arg_updates; else it may be any byte of the buffer, read and,
 * unless the parameter is const, written, and what is found with it is said to be possible. What plain C
 * code, a host function or foreign code touches is unknown until it is declared by the calls below; it is
 * compared then with what is still remembered, which is less than all that was submitted since.
 *
 * While the checker is off these calls check their arguments and do nothing. All are safe from any thread,
 * host functions included.
 */
#ifndef CLSTREAM_CHECK_H
#define CLSTREAM_CHECK_H

#include <clstream/kernel.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * Declares that the caller, a thread of the program or the host function, callback or foreign call that
 * it runs in, accesses host memory now.
 * @retval CLS_ERROR_INVALID_VALUE a null pointer with a size above 0, an access that is no cls_access
 */
CLS_API cls_status cls_check_host_access(const void *memory, size_t bytes, cls_access access);

/**
 * The same for a part of a buffer: for foreign code, which hands commands of its own to the driver.
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_INVALID_VALUE an access that is no cls_access
 * @retval CLS_ERROR_OUT_OF_RANGE
 */
CLS_API cls_status cls_check_buffer_access(cls_buffer buffer, size_t offset, size_t bytes,
                                           cls_access access);

/**
 * Inside a host function, callback or foreign call: lets a later cls_check_acquire of the same address
 * know everything that the function comes after. Outside of one, nothing needs to be told.
 */
CLS_API cls_status cls_check_release(const void *tag);

/** What was released under `tag` so far is known to be done from here on. */
CLS_API cls_status cls_check_acquire(const void *tag);

/** What the checker has seen. Start with CLS_CHECK_COUNTS_INIT. */
typedef struct cls_check_counts {
    size_t size;       /**< sizeof(cls_check_counts) */
    int on;            /**< nonzero: the checker runs */
    uint64_t commands; /**< followed */
    uint64_t races;    /**< pairs of commands, or of a command and a declared access */
    uint64_t possible; /**< pairs of which one is known by its buffer only */
    /** Times that accesses were dropped unchecked, to stay within memory. Where an order could not be
     * remembered for want of memory, nothing is compared until the streams of that time are gone. */
    uint64_t forgotten;
} cls_check_counts;

#define CLS_CHECK_COUNTS_INIT \
    { sizeof(cls_check_counts), 0, 0, 0, 0, 0 }

/** What the checker has seen so far. @retval CLS_ERROR_INVALID_VALUE null, or of a wrong size */
CLS_API cls_status cls_check_get_counts(cls_check_counts *counts);

/** One finding. Start with CLS_CHECK_FINDING_INIT. */
typedef struct cls_check_finding {
    size_t size;  /**< sizeof(cls_check_finding) */
    int possible; /**< nonzero: known by the buffer only */
    char
        text[768]; /**< both commands with their streams, the bytes, and the edge that is missing */
} cls_check_finding;

#define CLS_CHECK_FINDING_INIT \
    { sizeof(cls_check_finding), 0, "" }

/**
 * A finding by its number, from 0, oldest first. The first 256 are kept.
 * @retval CLS_ERROR_OUT_OF_RANGE  no such finding is kept
 * @retval CLS_ERROR_INVALID_VALUE null, or of a wrong size
 */
CLS_API cls_status cls_check_get_finding(size_t index, cls_check_finding *finding);

/** Forgets the findings, and starts their counts again. What the streams did is not forgotten. */
CLS_API cls_status cls_check_clear(void);

CLS_END_DECLS

#endif
