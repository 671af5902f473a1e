/* SPDX-License-Identifier: MIT */
/**
 * @file check.h
 * The race checker: finds two accesses to the same bytes, at least one of them a write, that no
 * synchronization orders. It finds them even if they did not collide in this run.
 *
 * CLSTREAM_CHECK=race in the environment, when the first context is created, turns it on for the
 * process. Findings go to stderr, or are appended to the file that CLSTREAM_CHECK_LOG names, after a
 * line that says that the checker is on and before one at exit with the totals. The program can read
 * them with the functions below.
 *
 * Two accesses are ordered by:
 *   - submission to the same stream, in the order of submission;
 *   - an event: work that a stream had when the event was recorded comes before work submitted to
 *     another stream after its cls_stream_wait_event. This is transitive over any number of
 *     streams;
 *   - a timeline: work before the signal comes before work submitted to another stream after its
 *     wait. If the wait is submitted before the signal, commands behind the wait are checked once
 *     the signal is submitted, and not at all while it is missing;
 *   - knowledge of the host: work that the host knows to be done, from synchronizing, a blocking
 *     call, or a query that says so, comes before everything that any thread submits, signals or
 *     declares afterwards;
 *   - a host function or callback: what it submits comes after everything that the function itself
 *     comes after;
 *   - cls_check_release and cls_check_acquire, for order that the program establishes by other
 *     means: a semaphore between a host function and a thread, or a cl_event of its own.
 *
 * That work merely happens to be done orders nothing.
 *
 * **Graphs** (graph.h). The first launch of an executable graph compares its nodes with each
 * other, by the order that the capture recorded: a finding names both by number, label and graph,
 * whether or not they ever run side by side. The first launch after a change (cls_graph_bind,
 * cls_graph_bind_host, cls_graph_set_args, cls_graph_set_enabled, cls_graph_update) compares them
 * again, and reports a race that is still there again. Fused operations are one node, which has the
 * accesses of its kernel and the numbers of the first and the last of them. Copies of another
 * graph's nodes, from its launch in the capture, are nodes as all others. With other work each
 * launch is compared as one command of its stream, which touches what its nodes touch, with the
 * changes that were asked for before it. What host functions, callbacks and foreign calls of a
 * graph declare is an access of the launch, and not compared with its nodes.
 *
 * Which accesses are known: those of the library's own commands exactly, to the byte, host memory
 * included; an _async copy accesses its host memory until it is done. Those of a kernel, if its
 * buffer argument was made with cls_arg_reads, cls_arg_writes or cls_arg_updates. Any other buffer
 * argument may access any byte of the buffer: it reads, and unless the parameter is const, writes.
 * A finding with such an argument is reported as possible. Accesses of plain C code, host functions
 * and foreign code are unknown until the program declares them with the calls below. A declared
 * access is compared with the accesses that the checker still remembers, which are not all that
 * were made. What a thread of the program declares is compared with what was submitted or declared
 * before: a host function that was submitted before and declares the same bytes afterwards is not
 * found.
 *
 * **Maps** (cls_buffer_map_async). A map and its unmap read the bytes if the host only reads them, and
 * write them otherwise. A command that is submitted between the two is reported, in whatever order
 * it runs, if it touches bytes that are mapped for writing, or writes bytes that are mapped for
 * reading.
 *
 * While the checker is off, the calls below check their arguments and do nothing else. Every
 * function may be called from any thread, and from host functions.
 *
 * **Host memory of uploads.** Stores of plain C code are not seen, but their effect is: the checker
 * sums up the source of an upload when it is submitted and again when it has been read, and reports
 * a difference, with the name of the copy. An upload has been read when its copy is done; a pageable
 * copy that the library stages, when its last byte is in the staging memory. Downloads into the
 * memory that were submitted earlier, and host functions, callbacks and foreign calls that the upload
 * comes after, may change it. The finding is a possible one if the upload still waited for the
 * program when it was submitted: for a signal, a cl_event or such a function, before which the
 * program may have made the change on purpose. Then it declares the change with
 * cls_check_host_access. Not seen are: a change that is undone; a change while a function that the
 * upload comes after runs, or after a download into the memory was submitted; changes after
 * cls_event_get_cl, by whose result the program may know that the copy is done; uploads on queues of
 * the program's (cls_stream_wrap), by launches of graphs, and from pinned memory that is a buffer
 * too (cls_host_buffer). A thread that reads the target of a download too early is not seen, unless
 * it declares that access.
 */
#ifndef CLSTREAM_CHECK_H
#define CLSTREAM_CHECK_H

#include <clstream/kernel.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/**
 * Declares an access to host memory, now, by the caller: a thread of the program, or the host
 * function, callback or foreign call that makes this call.
 * @retval CLS_ERROR_INVALID_VALUE a null pointer with a size above 0, or an unknown `access`
 */
CLS_API cls_status cls_check_host_access(const void *memory, size_t bytes, cls_access access);

/**
 * Declares an access to a part of a buffer, as cls_check_host_access does for host memory. Foreign
 * code declares with it what its own commands access.
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_INVALID_VALUE an unknown `access`
 * @retval CLS_ERROR_OUT_OF_RANGE
 */
CLS_API cls_status cls_check_buffer_access(cls_buffer buffer, size_t offset, size_t bytes,
                                           cls_access access);

/**
 * In a host function, callback or foreign call: records under the address `tag` that all work which
 * comes before this function is done, for a later cls_check_acquire of the same address. Elsewhere
 * the call is not needed and does nothing.
 */
CLS_API cls_status cls_check_release(const void *tag);

/**
 * Tells the checker that what was recorded under `tag` by cls_check_release so far is done, from
 * here on.
 */
CLS_API cls_status cls_check_acquire(const void *tag);

/** Totals of the checker. Start with CLS_CHECK_COUNTS_INIT. */
typedef struct cls_check_counts {
    size_t size;       /**< sizeof(cls_check_counts) */
    int on;            /**< nonzero: the checker is on */
    uint64_t commands; /**< commands that were checked */
    uint64_t races;    /**< pairs of commands, or of a command and an access of the host */
    uint64_t possible; /**< such pairs where one access may not be made, or may be in order */
    /**
     * Times that accesses were forgotten unchecked to limit memory. If memory is too short even to
     * remember an order, the checker compares nothing until the streams of that time are gone.
     */
    uint64_t forgotten;
} cls_check_counts;

#define CLS_CHECK_COUNTS_INIT \
    { sizeof(cls_check_counts), 0, 0, 0, 0, 0 }

/**
 * Gets the totals so far.
 * @retval CLS_ERROR_INVALID_VALUE null, or of a wrong size
 */
CLS_API cls_status cls_check_get_counts(cls_check_counts *counts);

/** One finding. Start with CLS_CHECK_FINDING_INIT. */
typedef struct cls_check_finding {
    size_t size;    /**< sizeof(cls_check_finding) */
    int possible;   /**< nonzero: one access is known by its buffer only, or is a change that the
                         upload may wait for */
    char text[768]; /**< both commands with their streams, the bytes, and what would order them */
    int reserved;   /**< 0; later releases may give it a meaning */
} cls_check_finding;

#define CLS_CHECK_FINDING_INIT \
    { sizeof(cls_check_finding), 0, "", 0 }

/**
 * Gets finding `index`, counted from 0, oldest first. The first 256 findings are kept.
 * @retval CLS_ERROR_OUT_OF_RANGE  there is no such finding, or it is not kept
 * @retval CLS_ERROR_INVALID_VALUE null, or of a wrong size
 */
CLS_API cls_status cls_check_get_finding(size_t index, cls_check_finding *finding);

/**
 * Forgets the findings and resets the totals. The checker keeps what it knows of the streams' work.
 */
CLS_API cls_status cls_check_clear(void);

CLS_END_DECLS

#endif
