/* SPDX-License-Identifier: MIT */
/**
 * @file optimizer.h
 * Optimizers of training on a stream: SGD with momentum, and AdamW, with clipping by the global norm of the gradients.
 *
 * An optimizer has a list of parameters, which are arrays of f32, f64, f16 or bf16 in any buffers of one context. A step
 * takes the list of their gradients, in the same order, and changes every parameter. With r the rate, t the number of the
 * step from 1 on, w an element of a parameter and g that of its gradient, times the factor of the clipping:
 *
 * | kind                 | step                                                                               |
 * |----------------------|------------------------------------------------------------------------------------|
 * | SGD                  | w = w - r (g + decay w)                                                            |
 * | SGD with momentum    | d = g + decay w; m = momentum m + (1 - dampening) d, in step 1 m = d; w = w - r m  |
 * | the same, Nesterov's | d and m as before, without dampening; w = w - r (d + momentum m)                   |
 * | AdamW                | m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; w = w - r (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + decay w) |
 *
 * m and v are the moments, which begin as 0.
 *
 * SGD is that of PyTorch (Sutskever, Martens, Dahl, Hinton: "On the importance of initialization and momentum in deep
 * learning", ICML 2013, with the rate outside of the momentum). AdamW is algorithm 2 of Loshchilov and Hutter,
 * "Decoupled weight decay regularization", ICLR 2019, with the rate as factor of the decay as in PyTorch; the correction
 * of the bias is that of Kingma and Ba, "Adam", ICLR 2015. The factor of the clipping is min(1, max_norm / (norm + 1e-6)),
 * where the norm is that of all elements of all gradients together (Pascanu, Mikolov, Bengio: "On the difficulty of
 * training recurrent neural networks", ICML 2013), as PyTorch's clip_grad_norm_ has it. The gradients are only read.
 *
 * **NaN and infinity.** A norm that is infinite makes the factor 0: finite elements of the gradients count as 0, infinite
 * ones as NaN. A norm that is NaN makes the factor NaN, and with it every parameter and moment. Nothing is left out by
 * itself: a program that scales its losses looks at the norm before it goes on.
 *
 * **Types.** The moments of f64 are f64, all others f32. f32 and f64 are calculated in their type. f16 and bf16 have
 * master weights of f32: a step reads the gradient as f32, changes the master weight in f32, and writes it to the
 * parameter rounded once, to nearest with ties to even. A program that writes such a parameter by itself writes its
 * master weights too (cls_optimizer_get_array). A gradient has the type of its parameter.
 *
 * **Accuracy.** Each operation of the step is rounded once, but for square root and division, which have the errors of
 * the device's OpenCL; 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t) have an error of at most 12 ULP at any t. Elements do
 * not depend on each other: one of a long list has the same bits as in a list of its own, but for the factor of the
 * clipping. The squares of a gradient are added up in f32, of f64 in f64, and the rounding errors of the sums are kept, so
 * that the norm has an error of at most 4 ULP of f32, or of f64 if all gradients are f64. Elements of 2^64 or more, whose
 * squares f32 does not hold, make the norm infinite. It is the same from run to run on one device.
 *
 * **Launches.** A step is one launch for up to 32 parameters of one type that are not empty, and a small one before that
 * which counts the step; clipping takes another one for each 32.
 *
 * **Order.** All that a step needs lies in device memory: the count of steps and the rate too. So a captured step counts by
 * itself in each launch of its graph, and cls_optimizer_set_rate_async before a launch of the graph changes the rate. This
 * memory, the parameters and the gradients are memory like that of a buffer: commands on several streams are ordered by
 * events or the like, and the race checker (check.h) finds those that are not. After a failure of the stream an
 * unknown part of a step may have been done: parameters and state are to be set again.
 *
 * **Ownership.** The optimizer keeps the memory of its parameters until it is destroyed, also if the program destroys their
 * buffers. A submitted step keeps all that it uses.
 *
 * **Threads.** Every function may be called from any thread. Steps that several threads submit to one stream do not mix.
 *
 * The common rules and statuses are those of cast.h: views, NULL streams, `_async` forms, zero elements. The calls can
 * also return
 * @retval CLS_ERROR_INVALID_HANDLE also of the optimizer
 * @retval CLS_ERROR_WRONG_CONTEXT  also if optimizer, arrays and stream belong to different contexts
 */
#ifndef CLSTREAM_OPTIMIZER_H
#define CLSTREAM_OPTIMIZER_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** An optimizer. */
typedef struct cls_optimizer_handle *cls_optimizer;

/** The kinds of optimizers. */
typedef enum cls_optimizer_kind {
    CLS_SGD = 1,  /**< stochastic gradient descent */
    CLS_ADAMW = 2 /**< Adam with decoupled weight decay; with `decay` 0, Adam */
} cls_optimizer_kind;

/** Options of cls_optimizer_create. Start with CLS_OPTIMIZER_CONFIG_INIT; NULL means the same. */
typedef struct cls_optimizer_config {
    size_t size;             /**< sizeof(cls_optimizer_config) */
    cls_optimizer_kind kind; /**< the kind */
    int nesterov;            /**< nonzero: Nesterov's momentum, of SGD */
    double rate;             /**< the learning rate, which may change; at least 0 */
    double decay;            /**< the weight decay; at least 0 */
    double max_norm;         /**< the norm that gradients are clipped to; 0: they are not; infinity:
                                  they are not, and the norm is found */
    double momentum;         /**< of SGD; at least 0; 0: there is none */
    double dampening;        /**< of the momentum, from 0 to 1; Nesterov's has none */
    double beta1;            /**< of AdamW, from 0 to below 1 */
    double beta2;            /**< of AdamW, from 0 to below 1 */
    double epsilon;          /**< of AdamW; at least 0 */
} cls_optimizer_config;

#define CLS_OPTIMIZER_CONFIG_INIT \
    { sizeof(cls_optimizer_config), CLS_ADAMW, 0, 1e-3, 0, 0, 0, 0, 0.9, 0.999, 1e-8 }

/**
 * Creates an optimizer with moments of 0, no step taken, and master weights that are those of the parameters. It reads
 * these and writes its state on the context's default stream, and waits. The views are copied.
 * The n arrays, at least one, may not overlap; empty ones take part in nothing.
 * @retval CLS_ERROR_INVALID_VALUE  `out` or `parameters` is null, n is 0, or an option is out of its range or, but for
 *                                  max_norm, infinite as f32
 * @retval CLS_ERROR_TYPE_MISMATCH  a parameter is no float
 * @retval CLS_ERROR_OVERLAP        parameters share bytes
 * @retval CLS_ERROR_UNSUPPORTED    f64 on a device without it; a device whose floats round wrongly
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY also if moments or master weights pass what the device allows in one buffer
 * @retval CLS_ERROR_LIMIT          there are too many optimizers
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 * @return also the error of the default stream
 */
CLS_API cls_status cls_optimizer_create(cls_context context, const cls_optimizer_config *config,
                                        const cls_array *parameters, size_t n, cls_optimizer *out);

/** Destroys an optimizer and returns at once. Submitted steps, and graphs with steps, keep their memory. */
CLS_API cls_status cls_optimizer_destroy(cls_optimizer optimizer);

/**
 * Changes the parameters by a step. Waits.
 * There are as many gradients as parameters, each of its parameter's type and count; they share no bytes with a parameter
 * or with the optimizer's own memory.
 * @retval CLS_ERROR_INVALID_VALUE `gradients` is null
 * @retval CLS_ERROR_SIZE_MISMATCH n is not the number of parameters, or a gradient has another count than its parameter
 * @retval CLS_ERROR_TYPE_MISMATCH a gradient has another type than its parameter
 * @retval CLS_ERROR_OVERLAP       a gradient shares bytes with a parameter or the optimizer
 */
CLS_API cls_status cls_optimizer_step(cls_optimizer optimizer, const cls_array *gradients, size_t n,
                                      cls_stream stream);
/** Like cls_optimizer_step; only submits. The views are copied. */
CLS_API cls_status cls_optimizer_step_async(cls_optimizer optimizer, const cls_array *gradients,
                                            size_t n, cls_stream stream);

/**
 * Sets the rate for later steps, also those of graphs that are launched later.
 * @retval CLS_ERROR_INVALID_VALUE the rate is below 0, NaN or infinite, also as f32
 */
CLS_API cls_status cls_optimizer_set_rate(cls_optimizer optimizer, double rate, cls_stream stream);
/** Like cls_optimizer_set_rate; only submits. */
CLS_API cls_status cls_optimizer_set_rate_async(cls_optimizer optimizer, double rate,
                                                cls_stream stream);

/** What an optimizer counts, beside its arrays. */
typedef struct cls_optimizer_state {
    uint64_t steps; /**< the steps taken */
    double rate;    /**< the rate of the next step */
    double norm;    /**< of the last step's gradients, before they were clipped; 0: there is none */
} cls_optimizer_state;

/**
 * Gets the state as it is after the stream's work so far, and waits.
 * @retval CLS_ERROR_INVALID_VALUE `state` is null
 */
CLS_API cls_status cls_optimizer_get_state(cls_optimizer optimizer, cls_optimizer_state *state,
                                           cls_stream stream);

/**
 * Sets the count of steps and the rate, as those of a checkpoint; `norm` is ignored. The call copies `state`.
 * @retval CLS_ERROR_INVALID_VALUE `state` is null, or its rate is below 0, NaN or infinite, also as f32
 */
CLS_API cls_status cls_optimizer_set_state(cls_optimizer optimizer,
                                           const cls_optimizer_state *state, cls_stream stream);
/** Like cls_optimizer_set_state; only submits. */
CLS_API cls_status cls_optimizer_set_state_async(cls_optimizer optimizer,
                                                 const cls_optimizer_state *state,
                                                 cls_stream stream);

/** The arrays of an optimizer's state. */
typedef enum cls_optimizer_array {
    CLS_OPTIMIZER_FIRST_MOMENT = 1,  /**< m: of AdamW, and of SGD with momentum */
    CLS_OPTIMIZER_SECOND_MOMENT = 2, /**< v, of AdamW */
    CLS_OPTIMIZER_MASTER = 3,        /**< the master weights of a parameter of f16 or bf16 */
    CLS_OPTIMIZER_NORM =
        4 /**< one element, of the optimizer: the norm of the last step's gradients, of f64
                                          if a parameter is */
} cls_optimizer_array;

/**
 * Gets the array of a parameter's state, which has the parameter's count, for commands that read or write it. Its buffer
 * is the optimizer's and lasts until the optimizer is destroyed; it is not to be destroyed.
 * The index of the parameter is ignored for CLS_OPTIMIZER_NORM.
 * @retval CLS_ERROR_INVALID_VALUE `out` is null, or `which` is no cls_optimizer_array
 * @retval CLS_ERROR_OUT_OF_RANGE  there is no such parameter
 * @retval CLS_ERROR_NOT_FOUND     the parameter has no such array, or is empty
 */
CLS_API cls_status cls_optimizer_get_array(cls_optimizer optimizer, cls_optimizer_array which,
                                           size_t parameter, cls_array *out);

CLS_END_DECLS

#endif
