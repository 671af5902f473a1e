/* SPDX-License-Identifier: MIT */
/**
 * @file fft.h
 * Discrete Fourier transforms (FFT) on a stream, by kernels that VkFFT generates.
 *
 * A plan is made once for a shape and used for any number of transforms, by any threads and streams
 * at once. It has two sides: the signal, which a forward transform reads and an inverse one writes, and
 * the spectrum. With lengths n0, n1, ..., and all indices counted from 0, the forward transform is
 *
 *     spectrum[k0, k1, ...] = sum over j0, j1, ... of
 *         signal[j0, j1, ...] exp(-2 pi i (j0 k0 / n0 + j1 k1 / n1 + ...))
 *
 * The inverse has a plus sign in the exponent. With `normalize` its results are divided by the product
 * of the lengths, so that it undoes the forward transform, as NumPy's does; without, they are those of
 * cuFFT and FFTW.
 *
 * The last length is that of neighbours in memory. A complex number is two neighbouring elements, the
 * real part first. CLS_FFT_COMPLEX has complex numbers on both sides. CLS_FFT_REAL has a real signal. Its
 * spectrum is symmetric, spectrum[-k] = conj(spectrum[k]), so of the last dimension only the first
 * n / 2 + 1 numbers are in memory. An inverse real transform of numbers that lack the symmetry, as by an
 * imaginary part of spectrum[0], has an unspecified result.
 *
 * Memory. Views are arrays of the plan's type that begin at an even element and have the count that
 * cls_fft_plan_get_info tells: from the first element to the last. Input and output may be the same
 * memory if they begin at the same byte and so do their rows, planes and transforms; otherwise they
 * may not overlap. The input stays as it was, unless it is the output too. Elements that the layout
 * leaves out stay too. Temporary memory comes from the stream's pool.
 *
 * Commands. A transform is one launch or several; commands of other threads on the same stream may lie
 * between them. Transforms are captured into graphs, and checked for races, as operations are. They
 * compile nothing: that is done with the plan, which takes from some tens of milliseconds to seconds.
 * The disk cache keeps the kernels, and plans of one context share those that are the same.
 *
 * Trial. Before a plan is handed out, it transforms a few impulses at random places, and the results
 * are compared with the sums above. Where they are wrong the plan is refused. The trial takes memory for
 * a signal and a spectrum; plans of more than 2^28 bytes in both are not tried.
 *
 * Accuracy. The error of a transform is bounded in the norm (Higham, "Accuracy and Stability of
 * Numerical Algorithms", 2nd edition, theorem 24.2). Let N be the product of the lengths, and eps
 * 2^-24 or 2^-53: then the root of the sum of squared errors is at most c eps log2(2 N) times that of
 * the squared results. c is 8; or 24 where a length has a prime factor above 13, for which Bluestein's
 * algorithm takes three longer transforms, and for f32 on GPUs of NVIDIA and AMD, where VkFFT's kernels
 * use the device's own sine. The same transform of the same bytes on one device always gives the same
 * bits.
 *
 * Limits, which are VkFFT's. Lengths are at least 2. There is no f16 on OpenCL. A real transform whose
 * rows are too long for the device's local memory takes an even last length. A large prime factor is
 * refused where Bluestein's longer transform is too long. A view ends below element 2^32.
 *
 * Every function may be called from any thread.
 */
#ifndef CLSTREAM_FFT_H
#define CLSTREAM_FFT_H

#include <clstream/types.h>

CLS_BEGIN_DECLS

/** A plan: a transform of one shape, with its kernels. */
typedef struct cls_fft_plan_handle *cls_fft_plan;

/** Kinds of transforms. */
typedef enum cls_fft_kind {
    CLS_FFT_COMPLEX = 0, /**< of complex numbers to complex numbers */
    CLS_FFT_REAL = 1     /**< of real numbers to half of a symmetric spectrum, and back */
} cls_fft_kind;

/** Directions of a transform. */
typedef enum cls_fft_direction {
    CLS_FFT_FORWARD = 1, /**< from the signal to the spectrum */
    CLS_FFT_INVERSE = 2, /**< from the spectrum to the signal */
    CLS_FFT_BOTH = 3     /**< of plans only: either */
} cls_fft_direction;

/**
 * Where the numbers of a signal or a spectrum lie, counted in numbers: of the type for a real signal, else pairs.
 * Number (i0, i1, i2) of transform b is number i0 * strides[0] + i1 * strides[1] + i2 * strides[2] + b * distance.
 */
typedef struct cls_fft_layout {
    size_t strides
        [3]; /**< from one index to the next, by dimension; 0: dense, rows right behind each other */
    size_t distance; /**< from one transform of a batch to the next; 0: right behind it */
} cls_fft_layout;

/** A plan's options. Start with CLS_FFT_CONFIG_INIT and set the lengths. */
typedef struct cls_fft_config {
    size_t size;       /**< sizeof(cls_fft_config) */
    cls_fft_kind kind; /**< complex or real */
    cls_dtype
        dtype; /**< of the real numbers and of the parts of complex ones: CLS_F32 or CLS_F64 */
    cls_fft_direction directions; /**< what the plan is for; one direction compiles half as much */
    unsigned dims;                /**< 1 to 3 */
    size_t lengths[3];            /**< of the signal; the first `dims` count, each at least 2 */
    size_t batches;               /**< transforms in one call; at least 1 */
    cls_fft_layout
        signal; /**< the last stride in use must be 1 or 0; others at least what they step over */
    cls_fft_layout
        spectrum; /**< the same of the spectrum, whose last length is n / 2 + 1 with CLS_FFT_REAL */
    int normalize; /**< nonzero: an inverse transform is divided by the product of the lengths */
    int reserved;  /**< 0; later releases may give it a meaning */
} cls_fft_config;

#define CLS_FFT_CONFIG_INIT                                                              \
    {                                                                                    \
        sizeof(cls_fft_config), CLS_FFT_COMPLEX, CLS_F32, CLS_FFT_BOTH, 1, {1, 1, 1}, 1, \
            {{0, 0, 0}, 0}, {{0, 0, 0}, 0}, 0, 0                                         \
    }

/** Returns nonzero if this build has VkFFT. Without it cls_fft_plan_create is CLS_ERROR_UNSUPPORTED. */
CLS_API int cls_fft_available(void);

/**
 * Makes a plan: generates, compiles and tries its kernels, and uploads their tables on the context's default stream, which
 * it waits for. The caller destroys it. `config` is copied.
 * @param context the context of the arrays and streams that it is for
 * @param config  the options
 * @param out     receives the plan
 * @retval CLS_ERROR_INVALID_VALUE `config` or `out` is null, or an option is out of its range: an unknown kind or
 *                                 direction, 0 or more than 3 dimensions, a length or a number of batches of 0, a stride that
 *                                 is too small
 * @retval CLS_ERROR_TYPE_MISMATCH the type is an integer
 * @retval CLS_ERROR_UNSUPPORTED   a build without VkFFT, f16 or bf16, f64 on a device without it, a shape that VkFFT
 *                                 refuses or whose kernels do not build, or a device on which they are wrong
 * @retval CLS_ERROR_OUT_OF_RANGE  more numbers than VkFFT's indices reach
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_OUT_OF_MEMORY
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY
 * @retval CLS_ERROR_LIMIT          there are too many plans
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 * @return also the error of the default stream
 */
CLS_API cls_status cls_fft_plan_create(cls_context context, const cls_fft_config *config,
                                       cls_fft_plan *out);

/** Destroys a plan and returns at once. Submitted transforms, and graphs with transforms, keep what they need. */
CLS_API cls_status cls_fft_plan_destroy(cls_fft_plan plan);

/** What a plan is and takes. Start with CLS_FFT_PLAN_INFO_INIT. */
typedef struct cls_fft_plan_info {
    size_t size;                  /**< sizeof(cls_fft_plan_info), set by the caller */
    cls_fft_kind kind;            /**< complex or real */
    cls_dtype dtype;              /**< of the views */
    cls_fft_direction directions; /**< what it was made for */
    unsigned dims;                /**< 1 to 3 */
    size_t lengths[3];            /**< of the signal; 1 beyond `dims` */
    size_t batches;               /**< transforms in one call */
    cls_fft_layout signal;        /**< with the strides and the distance that are in force */
    cls_fft_layout spectrum;      /**< the same of the spectrum */
    size_t signal_count;          /**< elements of a signal's view */
    size_t spectrum_count;        /**< elements of a spectrum's view */
    size_t temporary_bytes[2];    /**< temporary memory of a forward and of an inverse transform */
    size_t table_bytes;           /**< device memory of the plan's own */
    unsigned launches[2];         /**< of a forward and of an inverse transform; 0: not planned */
    int normalize;                /**< whether inverse transforms are normalized */
    int reserved;                 /**< 0; later releases may give it a meaning */
} cls_fft_plan_info;

#define CLS_FFT_PLAN_INFO_INIT                                                              \
    {                                                                                       \
        sizeof(cls_fft_plan_info), CLS_FFT_COMPLEX, CLS_F32, CLS_FFT_BOTH, 0, {0, 0, 0}, 0, \
            {{0, 0, 0}, 0}, {{0, 0, 0}, 0}, 0, 0, {0, 0}, 0, {0, 0}, 0, 0                   \
    }

/**
 * Tells what a plan is and takes.
 * @param plan the plan
 * @param info receives the answer
 * @retval CLS_ERROR_INVALID_VALUE `info` is null or has no known size
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 */
CLS_API cls_status cls_fft_plan_get_info(cls_fft_plan plan, cls_fft_plan_info *info);

/**
 * Transforms `in` to `out`. Waits.
 * @param plan      the plan
 * @param in        the signal if forward, else the spectrum
 * @param out       the other
 * @param direction CLS_FFT_FORWARD or CLS_FFT_INVERSE
 * @param stream    the stream; NULL: the default stream of the plan's context
 * @retval CLS_ERROR_INVALID_HANDLE
 * @retval CLS_ERROR_CONTEXT_DESTROYED
 * @retval CLS_ERROR_WRONG_CONTEXT plan, arrays and stream belong to different contexts
 * @retval CLS_ERROR_TYPE_MISMATCH a view is not of the plan's type
 * @retval CLS_ERROR_SIZE_MISMATCH a view has another count than the plan's
 * @retval CLS_ERROR_INVALID_VALUE the direction is unknown or was not planned, or a view begins at an odd element
 * @retval CLS_ERROR_OUT_OF_RANGE  past the end of a buffer, or a view that ends beyond element 2^32
 * @retval CLS_ERROR_OVERLAP       the views overlap without being the same memory, or the plan's layouts do not allow it
 * @retval CLS_ERROR_WOULD_DEADLOCK inside a host function
 * @return also the statuses of submissions (stream.h), and the stream's error
 */
CLS_API cls_status cls_fft(cls_fft_plan plan, cls_array in, cls_array out,
                           cls_fft_direction direction, cls_stream stream);
/** Like cls_fft; only submits. */
CLS_API cls_status cls_fft_async(cls_fft_plan plan, cls_array in, cls_array out,
                                 cls_fft_direction direction, cls_stream stream);

CLS_END_DECLS

#endif
