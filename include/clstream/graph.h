/* SPDX-License-Identifier: MIT */
/**
 * @file graph.h
 * Graphs: capture once what streams do, then launch all of it again with one call.
 *
 *     cls_graph graph;
 *     cls_graph_exec exec;
 *     cls_stream_begin_capture(stream, "step");
 *     cls_copy_h2d_async(x, 0, host_x, bytes, stream);  // recorded, not run
 *     cls_kernel_launch_async(kernel, &shape, args, 3, stream);
 *     cls_copy_d2h_async(host_y, y, 0, bytes, stream);
 *     cls_stream_end_capture(stream, &graph);
 *     cls_graph_instantiate(graph, NULL, &exec);
 *     for (int i = 0; i < steps; i++)
 *         cls_graph_launch_async(exec, stream);
 *
 * **Capture.** What is submitted to a captured stream becomes a node of the graph and does not run: launches, copies of
 * all directions and of rectangles, fills, prefetches, typed operations, matrix products, host functions, callbacks,
 * foreign calls, executions of batches whose host arrays are uploaded, and launches of other graphs. A node comes after
 * the nodes that its stream was behind. An event that is recorded on a captured stream stands for its nodes; a stream that
 * waits for it joins the capture (fork), and a wait of a captured stream makes its later nodes come after those of the
 * event (join). So do signals of timelines and waits for their values: a wait comes behind the lowest signal of the
 * capture that reaches the value; no launch changes the timeline. Arguments are recorded by value, buffers and kernels
 * as objects, which the graph keeps alive; host memory must stay valid as long as launches use it. Scratch memory of
 * operations belongs to the graph.
 *
 * **Timed events.** The record of a timed event on a captured stream is a node too, named "event record": each call of
 * cls_graph_launch_async records the event anew. Its time, for cls_event_elapsed, is when the work before the node was
 * done. For queries and waits, those of other streams too, the record stands for the whole launch: it is done when the
 * launch is, and fails with it. A launch that returns an error leaves the event as it was, and so does one without the
 * node (cls_graph_set_enabled). Before the first launch, calls that ask for the event return CLS_ERROR_INVALID_STATE, as
 * for any that was recorded in a capture which has ended. The graph keeps the event alive. cls_graph_update takes over
 * the events of the other graph. A launch makes the queue of its stream a profiled one, as cls_event_record does; where
 * the driver cannot time it, a thread of the library runs the launch, by the host's clock. Let events that only fork and
 * join be untimed: those cost a launch nothing.
 *
 * These calls are refused on a captured stream or event with CLS_ERROR_INVALID_STATE and make the capture invalid:
 * calls that wait (synchronize, wait, blocking forms), queries, a wait for an event that was recorded outside of the
 * capture or in another one (but cls_stream_wait_external_event), a wait for a timeline's value that is not reached and that the capture does not signal,
 * frees of memory that the capture did not allocate, and any library object (coordinator, pipeline, triple buffer,
 * prefetcher ...) that orders the stream's work by other means; the object is as before the call. Prefetches that hand coarse-grained unified memory over (managed.h) are refused with
 * CLS_ERROR_UNSUPPORTED, and the capture is invalid. From then on every submission to its streams returns
 * CLS_ERROR_INVALID_STATE with the reason, until cls_stream_end_capture returns it too. Other streams and captures are not affected. A call that is refused for
 * its arguments is not recorded and leaves the capture as it is. Any thread may submit to a captured stream.
 *
 * cls_malloc_async on a captured stream gives a buffer at once, and cls_free_async takes its handle back. If it is freed
 * before the capture ends, it is for nodes of that capture only, and each executable graph has memory for it: all such
 * buffers lie in one block, laid out as a batch's intermediate values are. Two of them share bytes if all nodes that use
 * one come before all that use the other; a chain needs no more than its widest step. What such a buffer holds is lost
 * between launches. A buffer keeps memory of its own if it is not freed, if a batch uses it, if it is prefetched, or if
 * its cl_mem was asked for (opencl.h). cls_context_get_graph_memory says what the graphs of a context take, and
 * cls_context_trim_graph_memory gives it back until the next launches. cls_context_synchronize waits for the work that was submitted before the captures.
 *
 * In a context with the legacy order (cls_context_default_stream) a captured stream takes no part in that order, and the
 * default stream cannot be captured.
 *
 * cls_stream_reset or cls_stream_destroy of the stream where the capture began ends the capture without a graph. A reset
 * of another one of its streams makes the capture invalid; one that is destroyed stays part of it until its end, as events
 * do that were recorded on it.
 *
 * While launches are profiled, each node is a command of its own, with its name and time. Ranges that were pushed while
 * the capture recorded (cls_range_push) are recorded again in each such launch, on the thread that runs it: from when
 * the first of their nodes could begin until the host has seen the last one done.
 * The race checker (check.h) compares nodes with each other, and launches with other work.
 *
 * **Launches.** A launch is one command of its stream, whatever the graph holds: it comes after the stream's earlier
 * work and before its later work, and events, waits, counters and failures treat it as one. Branches run side by side.
 * Launches of one executable graph keep their order, also on different streams, and where one between them is refused or
 * dropped. Each does what was bound when it was submitted, and keeps the buffers for it. What a capture copies from it (its
 * launch on a captured stream) uses the same memory: copies in one capture keep their order, but launches of the outer
 * graph and of the inner one, or of two outer ones, are for the program to order where the inner one has allocated. If
 * the driver refuses a node, or one fails, later nodes of the launch may have run or not; the launch has failed and the
 * stream is poisoned, with the name of the node where the driver tells it, else with that of the graph. A callback of a
 * failed launch is called with the error.
 *
 * The call of a launch gives the nodes to the driver, which takes some of them 4 us each. With `background` a thread of
 * the library does so, and cls_graph_launch_async returns within a microsecond or two: for a program that has something
 * else to do meanwhile. Such launches count as deferred, and what the driver refuses poisons the stream. Their nodes may
 * come later and at a lower rate: NVIDIA's driver takes a quarter longer for a launch by a second thread.
 *
 * **Fusion.** With `fuse` in the options of cls_graph_instantiate, element-wise operations (cast.h, where.h, unary.h,
 * binary.h) that follow one another become one kernel, as in a batch (batch.h), at most 64 of them. Each must come right
 * after the one before it, with no event that other streams wait for in between; it has as many elements, and reads an
 * array that the others read or write. A written array that overlaps another array without being the same ends the
 * chain, and so does any other command. Operations by the name of a registered kernel, and those that come from the
 * launch of another graph, are not fused. Results are bit for bit those of a batch: those of the operations one by one,
 * but for functions such as exp where a driver has different ones for other widths of vectors. An array is not written
 * if its memory was both allocated and freed in the capture (cls_malloc_async, cls_free_async) and no node outside of
 * the chain uses it; cls_graph_bind does not find such memory. All other arrays are written. Buffers that are bound to
 * a fused chain must not overlap where those that were captured did not: the results would be undefined. Nodes keep
 * their numbers; fused ones can be neither changed nor left out.
 *
 * Every function may be called from any thread. Launches can return the statuses of submissions (stream.h).
 */
#ifndef CLSTREAM_GRAPH_H
#define CLSTREAM_GRAPH_H

#include <stdio.h>

#include <clstream/event.h>
#include <clstream/kernel.h>
#include <clstream/stream.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** What a capture has recorded. It does not change. */
typedef struct cls_graph_handle *cls_graph;

/** A graph that can be launched. */
typedef struct cls_graph_exec_handle *cls_graph_exec;

/** The state of a stream with regard to captures. */
typedef enum cls_capture_state {
    CLS_CAPTURE_NONE = 0,   /**< the stream is not captured */
    CLS_CAPTURE_ACTIVE = 1, /**< submissions are recorded */
    CLS_CAPTURE_INVALID = 2 /**< a call made the capture invalid; submissions are refused */
} cls_capture_state;

/** A stream's capture, from cls_stream_get_capture. Start with CLS_CAPTURE_INFO_INIT. */
typedef struct cls_capture_info {
    size_t size;             /**< sizeof(cls_capture_info) */
    cls_capture_state state; /**< whether the stream is captured */
    int is_origin;           /**< nonzero: the capture began on this stream */
    uint64_t nodes;          /**< recorded so far, of all its streams */
    unsigned streams;        /**< that take part */
    char name[64];           /**< of the capture */
    int reserved;            /**< 0; later releases may give it a meaning */
} cls_capture_info;

#define CLS_CAPTURE_INFO_INIT \
    { sizeof(cls_capture_info), CLS_CAPTURE_NONE, 0, 0, 0, "", 0 }

/**
 * Begins a capture on a stream. `name` is copied, at most 63 bytes are kept; NULL: "graph N", N from 1 to 256 by turns.
 * Work that was submitted before, and waits that are pending, are not part of the capture and not affected.
 * @retval CLS_ERROR_INVALID_STATE the stream is captured already
 * @retval CLS_ERROR_UNSUPPORTED   the stream belongs to another object of the library, or its context keeps CUDA's
 *                                 legacy order (context.h) and the stream is its default stream
 * @return the error of a poisoned stream
 */
CLS_API cls_status cls_stream_begin_capture(cls_stream stream, const char *name);

/**
 * Begins a capture with the nodes of a graph, which does not change: they keep their numbers, and new ones follow. The
 * stream's next node comes after those that no other one of the graph comes after; cls_stream_set_capture_nodes changes
 * that. NULL stream: the default stream of the graph's context. Buffers that the graph's capture allocated and freed belong
 * to those nodes alone, and lie in the new executable graph's block. Ranges and records of timed events are copied too, and
 * operations can be fused as those of the graph. Where an executable graph is launched in both captures, what the stream's
 * dependencies say is the order of its copies.
 * @retval CLS_ERROR_INVALID_STATE the stream is captured already
 * @retval CLS_ERROR_WRONG_CONTEXT the graph is of another context
 * @retval CLS_ERROR_UNSUPPORTED   as of cls_stream_begin_capture
 * @return the error of a poisoned stream
 */
CLS_API cls_status cls_stream_begin_capture_from(cls_stream stream, const char *name,
                                                 cls_graph graph);

/**
 * Ends the capture that began on this stream; its streams are ordinary streams again, whatever is returned. The caller
 * destroys the graph.
 * @retval CLS_ERROR_INVALID_VALUE `out` is null; the capture goes on
 * @retval CLS_ERROR_INVALID_STATE no capture began on this stream, which is no change; or the capture is invalid, or
 *                                 a stream with nodes of its own was not joined: then there is no graph
 */
CLS_API cls_status cls_stream_end_capture(cls_stream stream, cls_graph *out);

/** Says whether a stream is captured, and by which capture. It has no effect on the capture. */
CLS_API cls_status cls_stream_get_capture(cls_stream stream, cls_capture_info *info);

/**
 * Gets the nodes of the capture that the stream's next one comes after:
 * their numbers, which are those of the graph, in rising order. After a submission it is the new node alone. At most
 * `room` numbers are written; `count` is how many there are.
 * @retval CLS_ERROR_INVALID_VALUE `count` is null, or `nodes` with `room` above 0
 * @retval CLS_ERROR_INVALID_STATE the stream is not captured, or its capture is invalid
 */
CLS_API cls_status cls_stream_get_capture_nodes(cls_stream stream, uint64_t *nodes, unsigned room,
                                                unsigned *count);

/**
 * Has the stream's next node come after these nodes alone, in the place of those that cls_stream_get_capture_nodes gives;
 * `count` 0: after none. So one captured stream records any graph, node by node. A node that the stream leaves so, and what
 * that comes after, needs no later node: it is an end of the graph, and counts as joined by the origin. Nodes that another
 * stream has recorded, and that neither it nor the origin has left so, must still be joined. Events that were recorded
 * before stand for what they stood for. A refused call changes nothing, and the capture stays valid.
 * @retval CLS_ERROR_INVALID_VALUE `nodes` is null with `count` above 0
 * @retval CLS_ERROR_OUT_OF_RANGE  the capture has no node of such a number
 * @retval CLS_ERROR_INVALID_STATE the stream is not captured, or its capture is invalid
 */
CLS_API cls_status cls_stream_set_capture_nodes(cls_stream stream, const uint64_t *nodes,
                                                unsigned count);

/** The same beside those that it comes after already. */
CLS_API cls_status cls_stream_add_capture_nodes(cls_stream stream, const uint64_t *nodes,
                                                unsigned count);

/**
 * Like cls_stream_wait_event, but a captured stream may wait for work outside of its capture: each launch then waits for the
 * event's latest record at the time of the launch's call; an event that is not recorded by then makes it wait for nothing. An
 * event whose latest record is in the same capture is a dependency inside it, as by cls_stream_wait_event; a timed one that
 * the capture records after the wait is that of the launch before.
 *
 * All of the launch waits, since it is one command, not only what comes after the wait; the wait is a node, named "event
 * wait", which cls_graph_set_enabled leaves out. The graph keeps the event alive, cls_graph_update takes over that of the
 * other graph, and a launch on a captured stream has the capture wait in its launches. The event may belong to another
 * context. If the awaited work has failed, the launch is refused with its error and its stream is poisoned. Such a launch
 * can also return CLS_ERROR_INVALID_STATE: the event's latest record is in another capture. A launch that is refused may
 * have its stream wait for the events all the same.
 * @return as cls_stream_wait_event; CLS_ERROR_INVALID_STATE for a captured stream only if its capture is invalid
 */
CLS_API cls_status cls_stream_wait_external_event(cls_stream stream, cls_event event);

/** Gets the number of nodes of a graph. They have numbers from 0 on, in the order of their capture. */
CLS_API cls_status cls_graph_get_nodes(cls_graph graph, uint64_t *count);

/** Dependencies that cls_graph_get_node tells of a node. */
#define CLS_GRAPH_NODE_DEPENDENCIES 16

/** A node, from cls_graph_get_node. Start with CLS_GRAPH_NODE_INFO_INIT. */
typedef struct cls_graph_node_info {
    size_t size;             /**< sizeof(cls_graph_node_info) */
    cls_command_kind kind;   /**< of the command */
    char label[64];          /**< of the command, as in profiles and errors */
    uint64_t bytes;          /**< moved by a copy or a fill */
    unsigned stream;         /**< branch that it is planned on, from 0 */
    unsigned n_dependencies; /**< nodes that it waits for, without those that others imply */
    uint64_t dependencies[CLS_GRAPH_NODE_DEPENDENCIES]; /**< their numbers, the first 16 */
} cls_graph_node_info;

#define CLS_GRAPH_NODE_INFO_INIT                                            \
    {                                                                       \
        sizeof(cls_graph_node_info), CLS_COMMAND_KERNEL, "", 0, 0, 0, { 0 } \
    }

/**
 * Gets what is known of a node.
 * @retval CLS_ERROR_OUT_OF_RANGE there is no node of that number
 */
CLS_API cls_status cls_graph_get_node(cls_graph graph, uint64_t number, cls_graph_node_info *info);

/**
 * Writes the graph as Graphviz DOT, and flushes the file. Arrows point from a node to what comes after it.
 * @retval CLS_ERROR_IO
 */
CLS_API cls_status cls_graph_write_dot(cls_graph graph, FILE *file);

/** Destroys a graph and returns at once. What was instantiated from it is not affected. */
CLS_API cls_status cls_graph_destroy(cls_graph graph);

/** A function that is called once nothing of a graph is left. */
typedef void (*cls_graph_destructor)(void *arg);

/**
 * Has `fn(arg)` called once when the graph, all that was instantiated from it or updated with it, captures and graphs
 * that copied it since this call, and their pending launches are gone: then no node uses what the program gave to the
 * capture, such as host memory, which `fn` may free. A thread of the library calls it, some time later, with no lock
 * held; it may call any function of the library. Several destructors of a graph are called in any order, perhaps at the
 * same time. Those that were not called when the process exits are not called.
 * @retval CLS_ERROR_INVALID_VALUE `fn` is null
 */
CLS_API cls_status cls_graph_add_destructor(cls_graph graph, cls_graph_destructor fn, void *arg);

/** Options of cls_graph_instantiate. Start with CLS_GRAPH_CONFIG_INIT. */
typedef struct cls_graph_config {
    size_t size;      /**< sizeof(cls_graph_config) */
    unsigned streams; /**< branches that may run side by side, at most 16; 0: 8 */
    int fuse;         /**< nonzero: chains become kernels, see above */
    int background; /**< nonzero: a thread of the library gives launches to the driver, see above */
    int reserved;   /**< 0; later releases may give it a meaning */
} cls_graph_config;

#define CLS_GRAPH_CONFIG_INIT \
    { sizeof(cls_graph_config), 0, 0, 0, 0 }

/**
 * Makes an executable graph, with kernels of its own whose arguments are set. NULL `config`: the defaults. A graph may
 * be instantiated any number of times. The caller destroys the result.
 * @retval CLS_ERROR_INVALID_VALUE `out` is null, or more than 16 streams
 * @retval CLS_ERROR_INVALID_STATE to be fused: the host owns an array (managed.h)
 * @retval CLS_ERROR_BUILD_FAILED  to be fused: the device's compiler failed; the detail holds its log
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 */
CLS_API cls_status cls_graph_instantiate(cls_graph graph, const cls_graph_config *config,
                                         cls_graph_exec *out);

/** Destroys an executable graph and returns at once. Submitted launches still complete. */
CLS_API cls_status cls_graph_exec_destroy(cls_graph_exec exec);

/**
 * Submits a launch of the graph to a stream. NULL means the default stream of the graph's context. A graph without nodes
 * is a command that does nothing. On a captured stream the nodes are recorded as they are now, and become nodes of that
 * capture.
 * @retval CLS_ERROR_WRONG_CONTEXT the stream is of another context
 * @retval CLS_ERROR_DEADLOCK      the launch would wait for an earlier one, or for an event, that waits for this stream (timeline.h): the detail
 *                                 names the cycle, and nothing is submitted
 */
CLS_API cls_status cls_graph_launch_async(cls_graph_exec exec, cls_stream stream);

/** Like cls_graph_launch_async, and waits for the launch. */
CLS_API cls_status cls_graph_launch(cls_graph_exec exec, cls_stream stream);

/* ---- rebinding: all of it is in effect for the launches submitted after the call, and for none before. A call that returns
 * an error has changed nothing, and none waits for launches. */

/**
 * Has all nodes use another buffer where `buffer` was captured; binding again replaces the last one. `buffer` is the
 * handle that was captured, even if it is destroyed by now. No program is built and no work is waited for, only another
 * thread's call that launches or changes the graph. The executable graph keeps the other buffer. If a node then copies
 * within one buffer, its ranges must not overlap: the launch would fail.
 * Nor may the output of an operation or a product then overlap an input, where it did not when captured: its values
 * would be undefined.
 * @retval CLS_ERROR_NOT_FOUND     no node uses such a buffer
 * @retval CLS_ERROR_OUT_OF_RANGE  the other buffer has fewer bytes than the captured one
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_INVALID_STATE the host owns the other buffer (managed.h)
 */
CLS_API cls_status cls_graph_bind(cls_graph_exec exec, cls_buffer buffer, cls_buffer other);

/**
 * The same for an image: the other one is of the captured one's kind, format, access and size. If a node then copies within
 * one image, or between an image and the buffer whose memory it is, its boxes must not overlap: the launch would fail.
 * @retval CLS_ERROR_NOT_FOUND     no node uses such an image
 * @retval CLS_ERROR_INVALID_VALUE the other image differs in one of these
 * @retval CLS_ERROR_WRONG_CONTEXT
 */
CLS_API cls_status cls_graph_bind_image(cls_graph_exec exec, cls_image image, cls_image other);

/**
 * The same for host memory: copies that were captured with memory that begins at `pointer` use `other`, which must be
 * as large, and valid as long as launches use it. cls_host_free waits for the launches that use the memory which it frees.
 * @retval CLS_ERROR_INVALID_VALUE a pointer is null
 * @retval CLS_ERROR_NOT_FOUND     no copy was captured with memory that begins there
 */
CLS_API cls_status cls_graph_bind_host(cls_graph_exec exec, const void *pointer, void *other);

/**
 * Replaces the work-items and arguments of a launch of one of the program's kernels, which are checked as by
 * cls_kernel_launch_async; the kernel stays. From then on cls_graph_bind finds the node by the buffers given here.
 * @retval CLS_ERROR_OUT_OF_RANGE   there is no node of that number
 * @retval CLS_ERROR_INVALID_VALUE  the node is no such launch, or there would be no work-items
 * @retval CLS_ERROR_INVALID_HANDLE also for a kernel that is destroyed by now
 * @retval CLS_ERROR_UNSUPPORTED    the node is fused with others
 */
CLS_API cls_status cls_graph_set_args(cls_graph_exec exec, uint64_t node, const cls_launch *launch,
                                      const cls_arg *args, unsigned n_args);

/**
 * The same with another kernel, of any program of the context. From then on cls_graph_set_args sets the arguments of that
 * kernel. The executable graph keeps it.
 * @retval CLS_ERROR_OUT_OF_RANGE   there is no node of that number
 * @retval CLS_ERROR_INVALID_VALUE  the node is no launch of a kernel of the program's, or there would be no work-items
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_WRONG_CONTEXT  the kernel is of another context
 * @retval CLS_ERROR_UNSUPPORTED    the node is fused with others
 */
CLS_API cls_status cls_graph_set_kernel(cls_graph_exec exec, uint64_t node, cls_kernel kernel,
                                        const cls_launch *launch, const cls_arg *args,
                                        unsigned n_args);

/**
 * Leaves a node out (`enabled` 0), or takes it in again. What comes after it still waits for what comes before it.
 * @retval CLS_ERROR_OUT_OF_RANGE there is no node of that number
 * @retval CLS_ERROR_UNSUPPORTED  the node is fused with others
 */
CLS_API cls_status cls_graph_set_enabled(cls_graph_exec exec, uint64_t node, int enabled);

/**
 * Takes over all arguments, sizes, kernels, buffers and host memory of another graph of the same shape, as of a capture of
 * the same code. All former rebinding is gone, and all nodes are enabled. The shape is the number of nodes, the
 * dependencies and the kinds of commands. A launch of a kernel may become a launch of any other: of another kernel of the
 * program's, of another program, or of a typed operation or a product that is a launch too. A product that is
 * a call of CLBlast stays one. Where operations are fused, those of the other graph are fused too, for which kernels may be
 * built: the same nodes must share kernels, whatever they compute.
 * @retval CLS_ERROR_INVALID_VALUE the shape is another one. The detail names the first difference, and nothing has
 *                                 changed; cls_graph_compare tells it as numbers
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_INVALID_STATE to be fused: the host owns an array (managed.h)
 * @retval CLS_ERROR_BUILD_FAILED  to be fused: the device's compiler failed; the detail holds its log
 */
CLS_API cls_status cls_graph_update(cls_graph_exec exec, cls_graph graph);

/** In what another graph differs first. */
typedef enum cls_graph_difference_kind {
    CLS_GRAPH_SAME_SHAPE = 0,    /**< in nothing that keeps cls_graph_update from taking it over */
    CLS_GRAPH_OTHER_NODES = 1,   /**< in the number of nodes: the numbers are those */
    CLS_GRAPH_OTHER_COMMAND = 2, /**< the node is another command: cls_command_kind of both */
    CLS_GRAPH_OTHER_DEPENDENCIES =
        3, /**< the node's: the latest that only one has, and the other's in its
                                           place; UINT64_MAX: it has no further one */
    CLS_GRAPH_OTHER_FUSION =
        4 /**< the node shares a kernel in one only; else UINT64_MAX, and nodes share it with
                                    others. The numbers are those of fused kernels */
} cls_graph_difference_kind;

/** The first difference of another graph, from cls_graph_compare. Start with CLS_GRAPH_DIFFERENCE_INIT. */
typedef struct cls_graph_difference {
    size_t size;                    /**< sizeof(cls_graph_difference) */
    cls_graph_difference_kind kind; /**< what differs */
    uint64_t node;                  /**< number of the node; UINT64_MAX: none in particular */
    uint64_t own;                   /**< what the executable graph has, by `kind` */
    uint64_t other;                 /**< what the other graph has */
} cls_graph_difference;

#define CLS_GRAPH_DIFFERENCE_INIT \
    { sizeof(cls_graph_difference), CLS_GRAPH_SAME_SHAPE, UINT64_MAX, 0, 0 }

/**
 * Says whether cls_graph_update would take over the other graph, and if not, what differs first. A difference is no
 * error. Nothing changes; where operations are fused, kernels may be built.
 * @retval CLS_ERROR_WRONG_CONTEXT
 * @retval CLS_ERROR_INVALID_STATE to be fused: the host owns an array (managed.h)
 * @retval CLS_ERROR_BUILD_FAILED  to be fused: the device's compiler failed; the detail holds its log
 */
CLS_API cls_status cls_graph_compare(cls_graph_exec exec, cls_graph graph,
                                     cls_graph_difference *difference);

/** What an executable graph is. Start with CLS_GRAPH_STATISTICS_INIT. */
typedef struct cls_graph_statistics {
    size_t size;      /**< sizeof(cls_graph_statistics) */
    uint64_t nodes;   /**< commands of one launch */
    uint64_t edges;   /**< dependencies between them, without those that others imply */
    unsigned streams; /**< branches that run side by side */
    int one_command; /**< nonzero: a launch gives all of its nodes to the driver at once, except while kernels of matrix
                            products are still to be compiled; 0: some node is for a thread of the library, as host
                            functions are, and launches run on one */
    uint64_t launches;      /**< submitted so far */
    uint64_t fused_nodes;   /**< nodes of the graph that share kernels (cls_graph_config.fuse) */
    uint64_t fused_kernels; /**< kernels that they share */
    uint64_t arena_bytes;   /**< device memory for buffers that the capture allocates and frees */
    uint64_t
        arena_least_bytes; /**< most of it in use at once, by one node after the other: the lower limit of
                                     `arena_bytes` */
} cls_graph_statistics;

#define CLS_GRAPH_STATISTICS_INIT \
    { sizeof(cls_graph_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Gets the statistics of an executable graph. */
CLS_API cls_status cls_graph_get_statistics(cls_graph_exec exec, cls_graph_statistics *statistics);

/**
 * Device memory of the executable graphs of a context, for buffers that their captures allocate and free. Start with
 * CLS_GRAPH_MEMORY_INIT.
 */
typedef struct cls_graph_memory {
    size_t size;        /**< sizeof(cls_graph_memory) */
    uint64_t used;      /**< bytes taken from the driver now */
    uint64_t used_high; /**< highest `used` since cls_context_reset_graph_memory_peak */
} cls_graph_memory;

#define CLS_GRAPH_MEMORY_INIT \
    { sizeof(cls_graph_memory), 0, 0 }

/** Gets how much memory the graphs of a context take. NULL: the default context. */
CLS_API cls_status cls_context_get_graph_memory(cls_context context, cls_graph_memory *memory);

/** Sets `used_high` to what is used now. */
CLS_API cls_status cls_context_reset_graph_memory_peak(cls_context context);

/**
 * Gives the memory of all executable graphs of a context back to the driver that have no pending launch. The next launch
 * of each takes it again, as long as an allocation takes, and can return CLS_ERROR_OUT_OF_DEVICE_MEMORY. What graphs
 * have copied (a launch on a captured stream) goes with the last of them.
 */
CLS_API cls_status cls_context_trim_graph_memory(cls_context context);

CLS_END_DECLS

#endif
