/* SPDX-License-Identifier: MIT */
/**
 * @file mpi.h
 * Collectives between processes as commands of streams, on MPI. They are in a library of their own,
 * libclstream-mpi (pkg-config: clstream-mpi), and clstream.h does not include this header.
 *
 * A communicator (cls_mpi_comm) joins the ranks of an MPI_Comm, each with one context. A collective
 * takes its place in a stream: it starts after the stream's earlier work and ends before its later
 * work. The forms that end in `_async` only submit; the others have completed on return.
 *
 * Data goes through a ring of chunks of host memory: a download from the device, MPI, an upload to
 * the device. The three overlap, of one collective and of those that follow each other. Collectives
 * of one communicator run in the order in which they were submitted, whatever their streams, so all
 * ranks must submit the same ones in the same order. Sends run in one order too, and so do receives;
 * they do not wait for collectives. To overlap collectives with computation, submit them to streams
 * of their own.
 *
 * **Hosts.** The ranks of a host (MPI_COMM_TYPE_SHARED) keep the chunks of collectives in memory that they
 * share. They combine their chunks there first; then each part of a piece has one rank of the host that
 * exchanges it with the other hosts. So a host sends and receives an array once, however many ranks it has.
 * Where the processes cannot share memory (Linux has it, for processes of one user in one PID namespace), and
 * with `host_ranks` = 1, every rank is a host of its own.
 *
 * **Results.** A reduction combines the elements of a host's ranks in the order of the ranks, and the results
 * of hosts in the order of their lowest ranks: with two ranks on each of two hosts (r0 + r1) + (r2 + r3). So
 * results are the same on every rank and in every run of the same placement, whatever the sizes of chunks.
 * With `host_ranks` = 1 they do not depend on the placement either. Integers wrap around. Minimum and maximum
 * of NaN are those of the MPI's MPI_MIN and MPI_MAX. All ranks must have the same byte order.
 *
 * **Threads.** Each communicator has one thread, which makes all of its MPI calls and sleeps between
 * polls. The program must have initialized MPI with MPI_THREAD_MULTIPLE. Every function may be called
 * from any thread, but creation and destruction are collective, and calls on several threads need an
 * order of their own that is the same on all ranks.
 *
 * **Failure.** A communicator fails as a whole, on all ranks: when MPI reports an error, when a rank
 * dies or cannot be reached for `peer_timeout_ns`, when the work before a collective fails on one
 * rank, when the ranks' calls do not fit together, and by cls_mpi_comm_abort. Every collective that
 * is not complete then fails with CLS_ERROR_COMMAND_FAILED and poisons its stream; the detail names
 * the rank, the operation and its number, and the reason. Later calls return the same error. Nothing
 * waits for a rank that is gone. To go on with all ranks, reset the streams, destroy the communicator and
 * create another one; to go on without a rank that died, cls_mpi_comm_shrink. Many launchers end all ranks
 * when one dies, before a program can go on; Open MPI 4 does not with --enable-recovery, nor Open MPI 5 with
 * --with-ft ulfm.
 *
 * **Stalls.** Ranks that call in different orders wait for each other. Different operations and types
 * never exchange data. CLSTREAM_CHECK=mpi compares number, operation, type, count and root of each collective
 * between the ranks; a difference fails the communicator, and the detail names both sides. Without it a wait of
 * `stall_ns` is reported on stderr, once for each operation, with what each rank is at, and
 * cls_context_explain has the same.
 *
 * **C++.** This header leaves out MPI's C++ bindings, which the MPI standard has removed and which some MPIs have in
 * a library of their own. A program that uses them includes <mpi.h> first.
 *
 * Statuses common to all: CLS_ERROR_INVALID_HANDLE (a communicator, buffer or stream),
 * CLS_ERROR_INVALID_VALUE (a null pointer, an unknown constant, a wrong size field),
 * CLS_ERROR_COMMAND_FAILED (the communicator has failed), CLS_ERROR_OUT_OF_MEMORY,
 * CLS_ERROR_CONTEXT_DESTROYED. Collectives also return:
 * @retval CLS_ERROR_OUT_OF_RANGE   an array is past the end of its buffer, or its size overflows
 * @retval CLS_ERROR_TYPE_MISMATCH  the arrays have different types
 * @retval CLS_ERROR_SIZE_MISMATCH  the arrays' counts do not fit together
 * @retval CLS_ERROR_OVERLAP        input and output overlap without being the same array
 * @retval CLS_ERROR_WRONG_CONTEXT  a buffer or the stream is not of the communicator's context
 * @retval CLS_ERROR_INVALID_STATE  the stream is captured (graph.h); the capture stays as it is
 * @retval CLS_ERROR_WOULD_DEADLOCK a form without `_async`, inside a host function or callback
 * @return also the statuses of submissions (stream.h). After the error of a poisoned stream the communicator has
 *         failed, because the other ranks wait for this one. After any other error nothing has changed.
 */
#ifndef CLSTREAM_MPI_H
#define CLSTREAM_MPI_H

/** @cond MPI's own C++ bindings are not in its C library. */
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
/** @endcond */
#include <mpi.h>

#include <clstream/device_group.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** The ranks of an MPI_Comm, each with one context. */
typedef struct cls_mpi_comm_handle *cls_mpi_comm;
/** Gradients in buffers that are summed over the ranks while others are still being computed. */
typedef struct cls_mpi_buckets_handle *cls_mpi_buckets;

/** How elements of several ranks become one. */
typedef enum cls_mpi_op {
    CLS_MPI_SUM = 0,     /**< sum; "Results" above has the order */
    CLS_MPI_PRODUCT = 1, /**< product, in the same order */
    CLS_MPI_MIN = 2,     /**< smallest element */
    CLS_MPI_MAX = 3      /**< largest element */
} cls_mpi_op;

/** The host memory of a rank's own rings. Memory that a host's ranks share is pageable. */
typedef enum cls_mpi_memory {
    CLS_MPI_MEMORY_AUTO =
        0, /**< pinned, unless the trial at creation finds that MPI cannot use it */
    CLS_MPI_MEMORY_PINNED = 1, /**< of cls_host_alloc */
    CLS_MPI_MEMORY_PLAIN =
        2 /**< pageable; copies go through the library's staging memory as well */
} cls_mpi_memory;

/** Options of cls_mpi_comm_create. All ranks pass the same. Start with CLS_MPI_COMM_CONFIG_INIT. */
typedef struct cls_mpi_comm_config {
    size_t size;        /**< sizeof(cls_mpi_comm_config) */
    const char *name;   /**< copied, at most 31 bytes kept, for reports; NULL: "communicator N" */
    size_t chunk_bytes; /**< size of a chunk, 4 KiB to 256 MiB; 0: 2 MiB */
    unsigned chunks; /**< chunks of a ring, 2 to 8; 0: 8. A ring takes twice chunks x chunk_bytes */
    cls_mpi_memory memory; /**< memory of the rings */
    uint64_t
        stall_ns; /**< time after which a wait for other ranks is reported; 0: 10 s; CLS_FOREVER: never */
    uint64_t
        peer_timeout_ns; /**< time after which a rank that sends nothing counts as gone; at least 1 s; 0: 30 s;
                                   CLS_FOREVER: never. A process stopped by a debugger sends nothing */
    unsigned
        host_ranks; /**< most ranks that share memory: a host with more counts as several; 0: all of
                              a host; 1: none share */
    int reserved;   /**< 0; later releases may give it a meaning */
} cls_mpi_comm_config;

#define CLS_MPI_COMM_CONFIG_INIT \
    { sizeof(cls_mpi_comm_config), 0, 0, 0, CLS_MPI_MEMORY_AUTO, 0, 0, 0, 0 }

/** State of a communicator. Start with CLS_MPI_COMM_INFO_INIT. */
typedef struct cls_mpi_comm_info {
    size_t size;           /**< sizeof(cls_mpi_comm_info) */
    char name[32];         /**< as created */
    int rank;              /**< this process's rank, from 0 */
    int ranks;             /**< number of ranks */
    cls_context context;   /**< as created */
    cls_mpi_memory memory; /**< of its own rings: CLS_MPI_MEMORY_PINNED or CLS_MPI_MEMORY_PLAIN */
    uint64_t submitted;    /**< collectives submitted, which are numbered from 1 */
    uint64_t completed;    /**< collectives whose exchange with the other ranks is done */
    uint64_t sent_bytes;   /**< bytes that this rank has passed to MPI to send */
    cls_status
        status; /**< CLS_SUCCESS, or CLS_ERROR_COMMAND_FAILED once the communicator has failed */
    char failure[256]; /**< the reason; empty unless it has failed */
    int hosts;         /**< number of hosts */
    int host;       /**< this rank's host; hosts count from 0, in the order of their lowest ranks */
    int host_ranks; /**< ranks of this rank's host, which share memory; 1: it shares none */
} cls_mpi_comm_info;

#define CLS_MPI_COMM_INFO_INIT                                                                    \
    {                                                                                             \
        sizeof(cls_mpi_comm_info), "", 0, 0, 0, CLS_MPI_MEMORY_AUTO, 0, 0, 0, CLS_SUCCESS, "", 0, \
            0, 0                                                                                  \
    }

/**
 * Creates a communicator; collective over `mpi`, which is duplicated and stays the caller's. NULL
 * `context`: the default context. NULL `config`: the defaults. The caller destroys the communicator.
 * If creation fails on one rank it fails on all.
 * @retval CLS_ERROR_INVALID_VALUE `out` is null, `mpi` is MPI_COMM_NULL or an intercommunicator, or options are out
 *                                 of range or differ between ranks
 * @retval CLS_ERROR_INVALID_STATE MPI is not initialized, is finalized, or was initialized with less than
 *                                 MPI_THREAD_MULTIPLE
 * @retval CLS_ERROR_LIMIT         256 communicators and sets of buckets exist
 * @retval CLS_ERROR_COMMAND_FAILED an MPI call failed, or another rank could not create its part
 * @return also the statuses of cls_stream_create and cls_host_alloc
 */
CLS_API cls_status cls_mpi_comm_create(MPI_Comm mpi, cls_context context,
                                       const cls_mpi_comm_config *config, cls_mpi_comm *out);

/**
 * Destroys a communicator: waits for what was submitted and until all ranks destroy it. If the
 * communicator has failed, it waits for nobody, at most a second; its two communicators of MPI, and memory
 * that MPI may still write to, then stay allocated. MPI_Finalize fails what is still pending on
 * communicators that were not destroyed, and ends their threads.
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function or callback
 * @return CLS_ERROR_COMMAND_FAILED if the communicator failed while it waited; it is destroyed all the same
 */
CLS_API cls_status cls_mpi_comm_destroy(cls_mpi_comm comm);

/** Gets the state of the communicator. */
CLS_API cls_status cls_mpi_comm_get_info(cls_mpi_comm comm, cls_mpi_comm_info *info);

/**
 * Fails the communicator on all ranks, and returns at once. `message` is part of the detail that
 * every rank gets; at most 63 bytes are kept. On a failed communicator the call does nothing.
 */
CLS_API cls_status cls_mpi_comm_abort(cls_mpi_comm comm, const char *message);

/**
 * Creates a communicator of the ranks that are left of a failed one, with its context and options;
 * collective over these ranks, which keep their order. Reset the streams that have failed before you use
 * them again. The failed communicator stays, and is destroyed as any other. If another rank dies
 * meanwhile, the call fails, and can be repeated.
 *
 * It needs an MPI that goes on without a rank (User Level Failure Mitigation, MPIX_Comm_shrink): Open MPI 5,
 * under `mpiexec --with-ft ulfm`. MPICH 4.0 declares these functions, but ends the process when they are
 * called, so it counts as an MPI without.
 * @retval CLS_ERROR_INVALID_STATE  `comm` has not failed
 * @retval CLS_ERROR_UNSUPPORTED    the MPI cannot do it; the detail has the reason
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function or callback
 * @return also the statuses of cls_mpi_comm_create
 */
CLS_API cls_status cls_mpi_comm_shrink(cls_mpi_comm comm, cls_mpi_comm *out);

/**
 * Combines the ranks' arrays `in`, element by element, and gives every rank the result in `out`. The
 * two may be the same array. A host sends and receives about twice the size of an array, whatever
 * the number of hosts. NULL `stream`: the default stream of the communicator's context, here and
 * below.
 */
CLS_API cls_status cls_mpi_allreduce_async(cls_mpi_comm comm, cls_mpi_op op, cls_array in,
                                           cls_array out, cls_stream stream);
/** Like cls_mpi_allreduce_async, and waits for it. */
CLS_API cls_status cls_mpi_allreduce(cls_mpi_comm comm, cls_mpi_op op, cls_array in, cls_array out,
                                     cls_stream stream);

/**
 * Combines the ranks' arrays `in`, of `ranks` blocks of out.count elements, and gives block i of the
 * result to rank i, in `out`.
 * @retval CLS_ERROR_OVERLAP `in` and `out` share bytes, except that `out` may be this rank's block of `in`
 */
CLS_API cls_status cls_mpi_reduce_scatter_async(cls_mpi_comm comm, cls_mpi_op op, cls_array in,
                                                cls_array out, cls_stream stream);
/** Like cls_mpi_reduce_scatter_async, and waits for it. */
CLS_API cls_status cls_mpi_reduce_scatter(cls_mpi_comm comm, cls_mpi_op op, cls_array in,
                                          cls_array out, cls_stream stream);

/**
 * Gives every rank the arrays `in` of all ranks, one behind the other in the order of the ranks, in
 * `out`, of `ranks` times in.count elements.
 * @retval CLS_ERROR_OVERLAP `in` and `out` share bytes, except that `in` may be this rank's block of `out`
 */
CLS_API cls_status cls_mpi_allgather_async(cls_mpi_comm comm, cls_array in, cls_array out,
                                           cls_stream stream);
/** Like cls_mpi_allgather_async, and waits for it. */
CLS_API cls_status cls_mpi_allgather(cls_mpi_comm comm, cls_array in, cls_array out,
                                     cls_stream stream);

/**
 * Copies the array of rank `root` to the arrays of all other ranks.
 * @retval CLS_ERROR_OUT_OF_RANGE also: there is no such rank
 */
CLS_API cls_status cls_mpi_bcast_async(cls_mpi_comm comm, cls_array array, int root,
                                       cls_stream stream);
/** Like cls_mpi_bcast_async, and waits for it. */
CLS_API cls_status cls_mpi_bcast(cls_mpi_comm comm, cls_array array, int root, cls_stream stream);

/**
 * Later work of the stream starts once the earlier work of the other ranks' streams, on which they
 * call this, is done.
 */
CLS_API cls_status cls_mpi_barrier_async(cls_mpi_comm comm, cls_stream stream);
/** Like cls_mpi_barrier_async, and waits for it. */
CLS_API cls_status cls_mpi_barrier(cls_mpi_comm comm, cls_stream stream);

/**
 * Sends an array to rank `to`, which receives it with cls_mpi_recv. Messages between two ranks arrive
 * in the order in which they were sent. Later work of the stream starts once the array has been
 * passed to MPI, which for large arrays is when it is being received. All sends of a communicator go
 * in one order, and so do its receives: a rank that sends first and then receives, while the other
 * does the same, does not block.
 * @retval CLS_ERROR_OUT_OF_RANGE also: there is no such rank, or it is the caller's
 */
CLS_API cls_status cls_mpi_send_async(cls_mpi_comm comm, cls_array array, int to,
                                      cls_stream stream);
/** Like cls_mpi_send_async, and waits for it. */
CLS_API cls_status cls_mpi_send(cls_mpi_comm comm, cls_array array, int to, cls_stream stream);

/**
 * Receives an array from rank `from`. A message of another size fails the communicator; one of another type is not
 * received, and the wait for it is reported ("Stalls" above). Statuses as for cls_mpi_send_async.
 */
CLS_API cls_status cls_mpi_recv_async(cls_mpi_comm comm, cls_array array, int from,
                                      cls_stream stream);
/** Like cls_mpi_recv_async, and waits for it. */
CLS_API cls_status cls_mpi_recv(cls_mpi_comm comm, cls_array array, int from, cls_stream stream);

/**
 * All-reduce over all devices of all ranks: arrays[i] is of device i of `group`, whose first context
 * is the communicator's, and the arrays of all devices and ranks have one type and count. The sum of
 * a rank's arrays (cls_device_group_all_reduce_async) is added to those of the other ranks, and every
 * array becomes the result. It takes place in the order of the group's `compute` streams.
 * @retval CLS_ERROR_WRONG_CONTEXT also: the communicator has another context than the first device
 * @return also the statuses of cls_device_group_all_reduce_async
 */
CLS_API cls_status cls_mpi_group_allreduce_async(cls_mpi_comm comm, cls_device_group group,
                                                 const cls_array *arrays);

/** Options of cls_mpi_buckets_create. Start with CLS_MPI_BUCKETS_CONFIG_INIT. */
typedef struct cls_mpi_buckets_config {
    size_t size;         /**< sizeof(cls_mpi_buckets_config) */
    size_t bucket_bytes; /**< most bytes in a bucket of several gradients; 0: 25 MiB */
} cls_mpi_buckets_config;

#define CLS_MPI_BUCKETS_CONFIG_INIT \
    { sizeof(cls_mpi_buckets_config), 0 }

/**
 * Creates buckets for `n` gradients of counts[i] elements each, in the order in which they are
 * computed: the last layer's first. Consecutive gradients share a bucket of at most bucket_bytes,
 * which is one buffer; a larger gradient has a bucket of its own. Collective over the communicator,
 * which must outlive the buckets; the ranks' layouts are compared. NULL `config`: the defaults.
 *
 * A step of training: kernels write the gradients of a bucket to its arrays, cls_mpi_buckets_ready
 * starts its sum over the ranks while kernels go on with the next one, and the optimiser's stream
 * calls cls_mpi_buckets_wait.
 * @retval CLS_ERROR_INVALID_VALUE  a pointer is null, `n` or a count is 0, the type is unknown, or the ranks have
 *                                  different layouts
 * @retval CLS_ERROR_OUT_OF_RANGE   a size overflows
 * @retval CLS_ERROR_LIMIT          256 communicators and sets of buckets exist
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function or callback
 * @return also the statuses of cls_buffer_create and cls_mpi_allreduce
 */
CLS_API cls_status cls_mpi_buckets_create(cls_mpi_comm comm, cls_dtype dtype, const size_t *counts,
                                          size_t n, const cls_mpi_buckets_config *config,
                                          cls_mpi_buckets *out);

/** Destroys the buckets and their buffers, and returns at once. Pending work still completes. */
CLS_API cls_status cls_mpi_buckets_destroy(cls_mpi_buckets buckets);

/** Gets the number of buckets. */
CLS_API cls_status cls_mpi_buckets_get_count(cls_mpi_buckets buckets, size_t *count);

/**
 * Gets the array of gradient `i`, and the number of its bucket; either may be NULL. The buffer
 * belongs to the buckets; do not destroy it.
 * @retval CLS_ERROR_OUT_OF_RANGE there is no such gradient
 */
CLS_API cls_status cls_mpi_buckets_get_gradient(cls_mpi_buckets buckets, size_t i, cls_array *array,
                                                size_t *bucket);

/**
 * Starts the sum of a bucket over the ranks, behind the work that `stream` has so far; the stream
 * does not wait for it. Each step makes all buckets ready, in their order.
 * @retval CLS_ERROR_OUT_OF_RANGE  there is no such bucket
 * @retval CLS_ERROR_INVALID_STATE it is another bucket's turn
 * @return also the statuses of cls_mpi_allreduce_async
 */
CLS_API cls_status cls_mpi_buckets_ready(cls_mpi_buckets buckets, size_t bucket, cls_stream stream);

/**
 * Makes later work of the stream wait for the sums of all buckets, and begins the next step.
 * @retval CLS_ERROR_INVALID_STATE a bucket was not made ready
 */
CLS_API cls_status cls_mpi_buckets_wait(cls_mpi_buckets buckets, cls_stream stream);

CLS_END_DECLS

#endif
