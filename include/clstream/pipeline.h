/* SPDX-License-Identifier: MIT */
/**
 * @file pipeline.h
 * Pipelines: named stages that pass named buffers on. Each stage has its own stream, so successive
 * iterations overlap. The pipeline keeps several copies of each buffer. It makes a stage's stream
 * wait for the data that the stage reads, and for earlier readers of the copies that it writes. The
 * host does not wait.
 *
 * **Host memory.** Since the host does not wait, nothing guards host memory that the work of a stage
 * reads or writes: it is in use until the iteration's work is done. To use it again for a later
 * iteration, record an event behind the work in the stage's function, and wait for it
 * (cls_event_synchronize) before touching the memory; cls_pipeline_synchronize waits for all
 * iterations. The values of kernel arguments are copied, up to CLS_ARG_VALUE_BYTES each.
 *
 * Statuses common to all calls: CLS_ERROR_INVALID_HANDLE, CLS_ERROR_CONTEXT_DESTROYED. Every
 * function may be called from any thread, but only one thread at a time may submit iterations.
 */
#ifndef CLSTREAM_PIPELINE_H
#define CLSTREAM_PIPELINE_H

#include <clstream/kernel.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Stages, and the buffers between them. */
typedef struct cls_pipeline_handle *cls_pipeline;

/** Limits of a pipeline. */
enum {
    CLS_PIPELINE_MAX_STAGES = 32,       /**< stages */
    CLS_PIPELINE_MAX_BUFFERS = 64,      /**< buffers, including the caller's */
    CLS_PIPELINE_MAX_DEPTH = 16,        /**< copies of a buffer */
    CLS_PIPELINE_MAX_STAGE_BUFFERS = 16 /**< inputs of a stage; its outputs; its args */
};

/** Options of cls_pipeline_create. Start with CLS_PIPELINE_CONFIG_INIT. */
typedef struct cls_pipeline_config {
    size_t size;    /**< sizeof(cls_pipeline_config) */
    unsigned depth; /**< copies of each of the pipeline's buffers; 0: 2 */
    int untimed;    /**< nonzero: takes no times; profiled queues are slower on some drivers */
} cls_pipeline_config;

#define CLS_PIPELINE_CONFIG_INIT \
    { sizeof(cls_pipeline_config), 0, 0 }

/** Creates a pipeline without stages. NULL `config`: the defaults. The caller destroys it. */
CLS_API cls_status cls_pipeline_create(cls_context context, const cls_pipeline_config *config,
                                       cls_pipeline *out);

/**
 * Destroys a pipeline with its buffers and streams, and returns at once. Submitted work still
 * completes.
 */
CLS_API cls_status cls_pipeline_destroy(cls_pipeline pipeline);

/**
 * How stages use a buffer, besides passing data from a stage to a later stage of the same
 * iteration. A feedback buffer with one copy must be read before a stage writes it.
 */
typedef enum cls_pipeline_buffer_kind {
    CLS_PIPELINE_INTERNAL = 0, /**< no other use */
    CLS_PIPELINE_EXTERNAL = 1, /**< stages may read it although no stage writes it */
    CLS_PIPELINE_FEEDBACK = 2  /**< a stage reads what the previous iteration wrote */
} cls_pipeline_buffer_kind;

/**
 * Adds a named buffer. If `buffer` is NULL, the pipeline allocates `depth` copies of `bytes` bytes,
 * with undefined contents. Otherwise it uses the caller's buffer for all iterations, and ignores
 * `bytes`.
 * @retval CLS_ERROR_INVALID_VALUE the name is null, too long (63 bytes) or already used, or the
 *                                 kind is unknown
 * @retval CLS_ERROR_INVALID_STATE an iteration was already executed
 * @retval CLS_ERROR_LIMIT         CLS_PIPELINE_MAX_BUFFERS is reached
 */
CLS_API cls_status cls_pipeline_add_buffer(cls_pipeline pipeline, const char *name, size_t bytes,
                                           cls_buffer buffer, cls_pipeline_buffer_kind kind);

/**
 * Gets the copy of a buffer that an iteration uses, to fill it or to read it. The pipeline keeps
 * its ownership. It does not order the caller's accesses: fill a copy before the first iteration that
 * uses it is submitted, with a call that waits, and read it after cls_pipeline_synchronize; or submit
 * the access in a stage's function.
 * @retval CLS_ERROR_NOT_FOUND there is no such buffer
 */
CLS_API cls_status cls_pipeline_get_buffer(cls_pipeline pipeline, const char *name,
                                           uint64_t iteration, cls_buffer *out);

/** The arguments of one call of a stage's function. */
typedef struct cls_stage_run {
    cls_stream stream;         /**< stream to submit to */
    uint64_t iteration;        /**< number of the iteration, from 0 */
    const cls_buffer *inputs;  /**< in the order of the stage's names */
    const cls_buffer *outputs; /**< in the order of the stage's names */
    unsigned n_inputs;         /**< number of `inputs` */
    unsigned n_outputs;        /**< number of `outputs` */
    cls_launch launch;         /**< `launch` of the stage */
} cls_stage_run;

/**
 * Submits a stage's work to its stream. Any status but CLS_SUCCESS ends the iteration, which
 * returns it.
 */
typedef cls_status (*cls_stage_fn)(const cls_stage_run *run, void *arg);

/**
 * A stage. Start with CLS_STAGE_INIT. Names and arrays are copied. A buffer that is both an input
 * and an output is worked on in place, except feedback with several copies: its input is the copy
 * of the previous iteration, its output that of this one.
 */
typedef struct cls_stage {
    size_t size;                /**< sizeof(cls_stage) */
    const char *name;           /**< at most 63 bytes */
    const char *const *inputs;  /**< names of the buffers that it reads */
    unsigned n_inputs;          /**< number of `inputs` */
    const char *const *outputs; /**< names of the buffers that it writes */
    unsigned n_outputs;         /**< number of `outputs` */
    cls_stage_fn fn;            /**< submits the stage's work; NULL: `kernel` is launched */
    void *arg;                  /**< for `fn` */
    cls_kernel kernel;          /**< if fn is NULL: launched with the inputs, the outputs, and
                                     args; keep it as long as the pipeline */
    cls_launch launch;          /**< shape of the kernel's launch */
    const cls_arg *args;        /**< longer values than CLS_ARG_VALUE_BYTES must live
                                     as long as the pipeline */
    unsigned n_args;            /**< number of `args` */
    cls_stream stream;          /**< NULL: the pipeline creates one */
} cls_stage;

#define CLS_STAGE_INIT                                                                            \
    {                                                                                             \
        sizeof(cls_stage), 0, 0, 0, 0, 0, 0, 0, 0, {1, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0, 0}, 0, \
            0, 0                                                                                  \
    }

/**
 * Adds a stage after the stages added before.
 * @retval CLS_ERROR_INVALID_VALUE the name is null or already used, fn and kernel are both missing,
 *                                 an array is null, a size is wrong, or an array has more than
 *                                 CLS_PIPELINE_MAX_STAGE_BUFFERS elements
 * @retval CLS_ERROR_NOT_FOUND     it names a buffer that was not added
 * @retval CLS_ERROR_WRONG_CONTEXT the stream belongs to another context
 * @retval CLS_ERROR_INVALID_STATE an iteration was already executed
 * @retval CLS_ERROR_LIMIT         CLS_PIPELINE_MAX_STAGES is reached
 */
CLS_API cls_status cls_pipeline_add_stage(cls_pipeline pipeline, const cls_stage *stage);

/**
 * Sets the order of the stages. `names` must list every stage once.
 * @retval CLS_ERROR_INVALID_VALUE `names` is null, or does not list every stage once
 * @retval CLS_ERROR_NOT_FOUND     there is no such stage
 * @retval CLS_ERROR_INVALID_STATE an iteration was already executed. Or a stage reads a buffer that
 *                                 no earlier stage writes and that is neither external nor
 *                                 feedback, or a feedback buffer of one copy that an earlier stage
 *                                 writes; the detail names the stage
 * @retval CLS_ERROR_DEADLOCK      stages read each other's outputs; the detail names the cycle
 */
CLS_API cls_status cls_pipeline_set_order(cls_pipeline pipeline, const char *const *names,
                                          unsigned n_names);

/**
 * Submits one iteration of all stages and returns. Without cls_pipeline_set_order the stages run in
 * the order in which they were added, with the same checks.
 * @retval CLS_ERROR_INVALID_STATE there is no stage, another thread is submitting an iteration or
 *                                 resetting the pipeline, or the stream of a stage is captured
 * @return also the status of a stage's function, or the error of a poisoned stream
 */
CLS_API cls_status cls_pipeline_execute_iteration(cls_pipeline pipeline);

/**
 * Waits for all iterations.
 * @return the first error of a stage's stream
 */
CLS_API cls_status cls_pipeline_synchronize(cls_pipeline pipeline);

/**
 * Statistics of a pipeline, over the time from the first to the last iteration that is done and
 * timed. Start with CLS_PIPELINE_STATISTICS_INIT. Iterations in between that were not timed, or
 * that a stage refused, count as iterations; their working and waiting times are unknown and left
 * out.
 */
typedef struct cls_pipeline_statistics {
    size_t size;         /**< sizeof(cls_pipeline_statistics) */
    uint64_t iterations; /**< iterations submitted */
    uint64_t timed;      /**< iterations done and timed; more than 64 in flight are not timed */
    double average_ms;   /**< time from the first start to the last end, per iteration */
    double per_second;   /**< iterations per second of that time */
    double utilisation;  /**< fraction of that time, 0 to 1, in which some stage was working */
    char bottleneck[64]; /**< the stage that works longest; "" without times */
} cls_pipeline_statistics;

#define CLS_PIPELINE_STATISTICS_INIT \
    { sizeof(cls_pipeline_statistics), 0, 0, 0, 0, 0, "" }

/** Gets the statistics of the pipeline. */
CLS_API cls_status cls_pipeline_get_statistics(cls_pipeline pipeline, cls_pipeline_statistics *out);

/** Statistics of one stage. Start with CLS_STAGE_STATISTICS_INIT. */
typedef struct cls_stage_statistics {
    size_t size;       /**< sizeof(cls_stage_statistics) */
    uint64_t runs;     /**< runs that are done and timed */
    double average_ms; /**< working time of one run */
    double busy_ms;    /**< working time of all runs */
    double wait_ms;    /**< time between its runs, in total, waiting for other stages */
} cls_stage_statistics;

#define CLS_STAGE_STATISTICS_INIT \
    { sizeof(cls_stage_statistics), 0, 0, 0, 0 }

/**
 * Gets the statistics of a stage.
 * @retval CLS_ERROR_NOT_FOUND there is no such stage
 */
CLS_API cls_status cls_pipeline_get_stage_statistics(cls_pipeline pipeline, const char *stage,
                                                     cls_stage_statistics *out);

/**
 * Waits for all iterations, resets the pipeline's own streams (cls_stream_reset), clears the
 * statistics, and starts again at iteration 0. Stages, buffers and order are kept, and more can be
 * added.
 * @retval CLS_ERROR_INVALID_STATE  a thread is submitting an iteration or resetting the pipeline
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
CLS_API cls_status cls_pipeline_reset(cls_pipeline pipeline);

/* --- a list of functions --- */

/** Submits the work of one step for input number `input` to the step's stream. */
typedef cls_status (*cls_step_fn)(cls_stream stream, uint64_t input, void *arg);

/** One step of cls_pipeline_run. */
typedef struct cls_step {
    cls_step_fn fn;    /**< submits the work for one input */
    cls_stream stream; /**< NULL: the default stream of the default context */
    void *arg;         /**< for `fn` */
} cls_step;

/**
 * Runs the inputs 0 to n_inputs - 1 through the steps. For each input, a step runs after the step
 * before it; steps on different streams overlap for successive inputs. If steps share memory
 * between inputs, on the device or the host, their functions must order those accesses themselves.
 * Waits for all work.
 * @retval CLS_ERROR_INVALID_VALUE `steps` is null, there is no step, or a function is null
 * @return the first error of a function, which ends the run, or of a stream
 */
CLS_API cls_status cls_pipeline_run(const cls_step *steps, unsigned n_steps, uint64_t n_inputs);

/**
 * Like cls_pipeline_run; only submits. Host memory of the steps is in use until their streams are done.
 */
CLS_API cls_status cls_pipeline_run_async(const cls_step *steps, unsigned n_steps,
                                          uint64_t n_inputs);

CLS_END_DECLS

#endif
