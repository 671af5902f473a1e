/* SPDX-License-Identifier: MIT */
/**
 * @file pipeline.h
 * Pipelines: named stages that hand named buffers on, each on a stream of its own, so that successive
 * iterations overlap. The pipeline keeps several copies of its buffers and makes each stage's stream wait
 * for what it reads and for those who still read what it is to write; the host waits for nothing.
 *
 * Statuses common to all calls: CLS_ERROR_INVALID_HANDLE, CLS_ERROR_CONTEXT_DESTROYED. All calls are safe
 * from any thread, but iterations are submitted by one thread at a time.
 */
#ifndef CLSTREAM_PIPELINE_H
#define CLSTREAM_PIPELINE_H

#include <clstream/kernel.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Stages with the buffers between them. */
typedef struct cls_pipeline_handle *cls_pipeline;

/** What a pipeline may have at most. */
enum {
    CLS_PIPELINE_MAX_STAGES = 32,       /**< stages */
    CLS_PIPELINE_MAX_BUFFERS = 64,      /**< buffers, the caller's among them */
    CLS_PIPELINE_MAX_DEPTH = 16,        /**< copies of a buffer */
    CLS_PIPELINE_MAX_STAGE_BUFFERS = 16 /**< a stage's inputs; its outputs; its args */
};

/** Options of cls_pipeline_create. Start with CLS_PIPELINE_CONFIG_INIT. */
typedef struct cls_pipeline_config {
    size_t size;    /**< sizeof(cls_pipeline_config) */
    unsigned depth; /**< copies of each of the pipeline's buffers; 0: 2 */
    int untimed; /**< nonzero: no times are taken, as profiled queues are slower on some drivers */
} cls_pipeline_config;

#define CLS_PIPELINE_CONFIG_INIT \
    { sizeof(cls_pipeline_config), 0, 0 }

/** Creates a pipeline without stages. `config` may be NULL. */
CLS_API cls_status cls_pipeline_create(cls_context context, const cls_pipeline_config *config,
                                       cls_pipeline *out);

/** Destroys a pipeline with its buffers and streams, and returns at once; what was submitted completes. */
CLS_API cls_status cls_pipeline_destroy(cls_pipeline pipeline);

/** What a buffer is besides what an earlier stage of the iteration writes for a later one. Feedback of one
 * copy is to be read before a stage writes it. */
typedef enum cls_pipeline_buffer_kind {
    CLS_PIPELINE_INTERNAL = 0, /**< nothing besides */
    CLS_PIPELINE_EXTERNAL = 1, /**< stages may read it though none writes it */
    CLS_PIPELINE_FEEDBACK = 2  /**< a stage reads what the iteration before this one wrote */
} cls_pipeline_buffer_kind;

/**
 * Adds a named buffer. With `buffer` NULL it is the pipeline's, of `bytes` bytes and `depth` copies, of
 * undefined contents; else it is the caller's, the same one for all iterations, and `bytes` is ignored.
 * @retval CLS_ERROR_INVALID_VALUE null or too long a name (63 bytes), one that is there, an unknown kind
 * @retval CLS_ERROR_INVALID_STATE an iteration was executed
 * @retval CLS_ERROR_LIMIT         CLS_PIPELINE_MAX_BUFFERS
 */
CLS_API cls_status cls_pipeline_add_buffer(cls_pipeline pipeline, const char *name, size_t bytes,
                                           cls_buffer buffer, cls_pipeline_buffer_kind kind);

/** The copy of a buffer that an iteration uses, for filling it or reading it out. Borrowed.
 * @retval CLS_ERROR_NOT_FOUND no such buffer */
CLS_API cls_status cls_pipeline_get_buffer(cls_pipeline pipeline, const char *name,
                                           uint64_t iteration, cls_buffer *out);

/** What a stage's function is called with. */
typedef struct cls_stage_run {
    cls_stream stream;         /**< to submit to */
    uint64_t iteration;        /**< from 0 */
    const cls_buffer *inputs;  /**< in the order of the stage's names */
    const cls_buffer *outputs; /**< in the order of the stage's names */
    unsigned n_inputs;         /**< of `inputs` */
    unsigned n_outputs;        /**< of `outputs` */
    cls_launch launch;         /**< the stage's */
} cls_stage_run;

/** Submits a stage's work to its stream. What is not CLS_SUCCESS ends the iteration with it. */
typedef cls_status (*cls_stage_fn)(const cls_stage_run *run, void *arg);

/** A stage. Start with CLS_STAGE_INIT. Names and arrays are copied. Feedback of several copies is never worked
 * on in place: as an input it is the copy of the iteration before, as an output that of this one. */
typedef struct cls_stage {
    size_t size;                /**< sizeof(cls_stage) */
    const char *name;           /**< at most 63 bytes */
    const char *const *inputs;  /**< names of buffers; one in both lists is worked on in place */
    unsigned n_inputs;          /**< of `inputs` */
    const char *const *outputs; /**< names of buffers */
    unsigned n_outputs;         /**< of `outputs` */
    cls_stage_fn fn;            /**< submits the stage's work; or NULL: `kernel` */
    void *arg;                  /**< for `fn` */
    cls_kernel
        kernel; /**< when fn is NULL: launched with the inputs, the outputs, and args; must live */
    cls_launch launch;   /**< of the kernel */
    const cls_arg *args; /**< values of more than 16 bytes must live as long as the pipeline */
    unsigned n_args;     /**< of `args` */
    cls_stream stream;   /**< NULL: one of its own */
} cls_stage;

#define CLS_STAGE_INIT \
    { sizeof(cls_stage), 0, 0, 0, 0, 0, 0, 0, 0, {1, {0, 0, 0}, {0, 0, 0}}, 0, 0, 0 }

/**
 * Adds a stage, last in the order.
 * @retval CLS_ERROR_INVALID_VALUE a null or double name, neither fn nor kernel, null arrays, a wrong size, more
 *                                 than CLS_PIPELINE_MAX_STAGE_BUFFERS in one of them
 * @retval CLS_ERROR_NOT_FOUND     a buffer that was not added
 * @retval CLS_ERROR_WRONG_CONTEXT the stream is of another context
 * @retval CLS_ERROR_INVALID_STATE an iteration was executed
 * @retval CLS_ERROR_LIMIT         CLS_PIPELINE_MAX_STAGES
 */
CLS_API cls_status cls_pipeline_add_stage(cls_pipeline pipeline, const cls_stage *stage);

/**
 * Sets the order of the stages, each named once.
 * @retval CLS_ERROR_INVALID_VALUE null, or not every stage once
 * @retval CLS_ERROR_NOT_FOUND     no such stage
 * @retval CLS_ERROR_INVALID_STATE a stage reads what no earlier one writes and what is neither external nor
 *                                 feedback, or feedback of one copy that an earlier one writes; the detail
 *                                 names it. Or an iteration was executed
 * @retval CLS_ERROR_DEADLOCK      stages that read one another's outputs; the detail names the cycle
 */
CLS_API cls_status cls_pipeline_set_order(cls_pipeline pipeline, const char *const *names,
                                          unsigned n_names);

/**
 * Submits one iteration of all stages and returns. Without set_order the stages are in the order in which
 * they were added, checked as there.
 * @retval CLS_ERROR_INVALID_STATE no stage, or another thread is submitting an iteration or resets
 * @return also what a stage's function returned, or what a poisoned stream says
 */
CLS_API cls_status cls_pipeline_execute_iteration(cls_pipeline pipeline);

/** Waits for all iterations. @return the first error of a stage's stream */
CLS_API cls_status cls_pipeline_synchronize(cls_pipeline pipeline);

/** From the first to the last iteration that is done and timed: those between that were not timed, or that a stage
 * refused, count as iterations, but what was at work or waited for meanwhile is not known, and left out. Start
 * with CLS_PIPELINE_STATISTICS_INIT. */
typedef struct cls_pipeline_statistics {
    size_t size;         /**< sizeof(cls_pipeline_statistics) */
    uint64_t iterations; /**< submitted */
    uint64_t timed;      /**< of those: done, with times; more than 64 in flight are not timed */
    double average_ms;   /**< from the first start to the last end, by iteration */
    double per_second;   /**< iterations in that time */
    double utilisation;  /**< share of that time, 0 to 1, in which some stage was at work */
    char bottleneck[64]; /**< the stage that is longest at work; "" without times */
} cls_pipeline_statistics;

#define CLS_PIPELINE_STATISTICS_INIT \
    { sizeof(cls_pipeline_statistics), 0, 0, 0, 0, 0, "" }

/** What the iterations took. */
CLS_API cls_status cls_pipeline_get_statistics(cls_pipeline pipeline, cls_pipeline_statistics *out);

/** Of one stage. Start with CLS_STAGE_STATISTICS_INIT. */
typedef struct cls_stage_statistics {
    size_t size;       /**< sizeof(cls_stage_statistics) */
    uint64_t runs;     /**< that are done and timed */
    double average_ms; /**< at work */
    double busy_ms;    /**< at work, in all */
    double wait_ms;    /**< between its runs, in all: what it waited for others */
} cls_stage_statistics;

#define CLS_STAGE_STATISTICS_INIT \
    { sizeof(cls_stage_statistics), 0, 0, 0, 0 }

/** What a stage's runs took. @retval CLS_ERROR_NOT_FOUND no such stage */
CLS_API cls_status cls_pipeline_get_stage_statistics(cls_pipeline pipeline, const char *stage,
                                                     cls_stage_statistics *out);

/**
 * Waits for all iterations, resets the pipeline's own streams (cls_stream_reset), forgets the statistics
 * and starts again with iteration 0. Stages, buffers and order stay, and may be added to again.
 * @retval CLS_ERROR_INVALID_STATE  a thread is submitting an iteration or resets
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 */
CLS_API cls_status cls_pipeline_reset(cls_pipeline pipeline);

/* --- a list of functions --- */

/** Submits one step for input number `input` to the step's stream. */
typedef cls_status (*cls_step_fn)(cls_stream stream, uint64_t input, void *arg);

/** One step of cls_pipeline_run. */
typedef struct cls_step {
    cls_step_fn fn;    /**< submits one input's work */
    cls_stream stream; /**< NULL: the default stream of the default context */
    void *arg;         /**< for `fn` */
} cls_step;

/**
 * Runs the inputs 0 to n_inputs - 1 through the steps, each behind the step before it for the same input;
 * steps on different streams overlap for successive inputs. Steps that share memory between inputs see to
 * that themselves. Waits for all.
 * @retval CLS_ERROR_INVALID_VALUE null steps, no step, or a null function
 * @return the first error of a function, which ends the run, or of a stream
 */
CLS_API cls_status cls_pipeline_run(const cls_step *steps, unsigned n_steps, uint64_t n_inputs);

/** As cls_pipeline_run; only submits. */
CLS_API cls_status cls_pipeline_run_async(const cls_step *steps, unsigned n_steps,
                                          uint64_t n_inputs);

CLS_END_DECLS

#endif
