/* SPDX-License-Identifier: MIT */
/* cls_blas_warmup: calls every routine once through the public functions, so that CLBlast has compiled its
 * kernels. */
#include <clstream/buffer.h>
#include <clstream/context.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "ops/blas.h"
#include "stream/wait.h"

enum { SMALL = 64 };

/* Whether there are operations on vectors alone, once a product may have found CLBlast wrong. */
static bool has_vectors(cls_context context, cls_dtype dtype) {
    cls_blas_tuning tuning = CLS_BLAS_TUNING_INIT;
    size_t device;
    return !cls_context_get_device(context, &device) &&
           !cls_blas_get_tuning(device, dtype, &tuning) && !tuning.refused;
}

static cls_status small_calls(cls_context context, cls_buffer memory, cls_dtype dtype,
                              cls_stream stream) {
    const size_t half = SMALL * SMALL;
    const cls_matrix a = cls_matrix_of(memory, dtype, SMALL / 2, SMALL / 2);
    const cls_matrix c = cls_matrix_at(memory, dtype, half, SMALL / 2, SMALL / 2);
    const cls_vector x = {memory, dtype, 1, SMALL / 2, 2};
    const cls_vector y = cls_vector_from(cls_array_at(memory, dtype, half, SMALL / 2));
    cls_gemm_config two = CLS_GEMM_CONFIG_INIT;
    two.batches = 2;
    cls_status status = cls_gemm(a, a, c, NULL, stream);
    if (!status)
        status = cls_gemm_async(a, a, c, &two, stream);
    if (!status)
        status = cls_gemv_async(a, x, y, NULL, stream);
    if (!status && !blas_is_narrow(dtype))
        status = cls_axpby_async(cls_factor_of(1), x, cls_factor_of(1), y, stream);
    if (!blas_available() || blas_is_narrow(dtype) || !has_vectors(context, dtype))
        return status;
    if (!status)
        status = cls_axpy_async(1, x, y, stream);
    if (!status)
        status = cls_scal_async(1, x, stream);
    if (!status)
        status = cls_scal_async(0, x, stream);
    if (!status)
        status = cls_blas_dot_async(x, x, cls_array_at(memory, dtype, half, 1), stream);
    if (!status)
        status = cls_nrm2_async(x, cls_array_at(memory, dtype, half, 1), stream);
    if (!status)
        status = cls_asum_async(x, cls_array_at(memory, dtype, half, 1), stream);
    if (!status)
        status = cls_amax_async(x, cls_array_at(memory, CLS_U32, 2 * half, 1), stream);
    return status;
}

/* Multiplies with each input as it is and transposed, which may take other kernels, and once more, to warm up also the path
 * of a second call, which finds in place what the first one made. */
static cls_status products(cls_buffer memory, cls_dtype dtype, const size_t shape[3],
                           cls_stream stream) {
    const size_t m = shape[0], n = shape[1], k = shape[2];
    const cls_matrix c = cls_matrix_at(memory, dtype, m * k + k * n, m, n);
    cls_status status = CLS_SUCCESS;
    for (int i = 0; i < 5 && !status; i++) {
        cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
        config.transpose_a = i & 1;
        config.transpose_b = i >> 1 & 1;
        const cls_matrix a = cls_matrix_of(memory, dtype, i & 1 ? k : m, i & 1 ? m : k);
        const cls_matrix b = cls_matrix_at(memory, dtype, m * k, i & 2 ? n : k, i & 2 ? k : n);
        status = i ? cls_gemm_async(a, b, c, &config, stream) : cls_gemm(a, b, c, &config, stream);
    }
    return status;
}

static cls_status elements(const size_t shape[3], size_t *out) {
    const size_t m = shape[0], n = shape[1], k = shape[2];
    size_t mk, kn, mn, sum;
    if (__builtin_mul_overflow(m, k, &mk) || __builtin_mul_overflow(k, n, &kn) ||
        __builtin_mul_overflow(m, n, &mn) || __builtin_add_overflow(mk, kn, &sum) ||
        __builtin_add_overflow(sum, mn, &sum) || sum > SIZE_MAX / sizeof(double))
        return error_set(CLS_ERROR_OUT_OF_RANGE, "cls_blas_warmup: the shape overflows");
    *out = sum > 3 * SMALL * SMALL ? sum : 3 * SMALL * SMALL;
    return CLS_SUCCESS;
}

static cls_status context_of(cls_stream stream, cls_context *out) {
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    cls_status status = cls_stream_get_info(stream, &info);
    if (!status)
        *out = info.context;
    return status;
}

cls_status cls_blas_warmup(cls_dtype dtype, size_t m, size_t n, size_t k, cls_stream stream) {
    const size_t shape[3] = {m, n, k};
    size_t count = 0;
    cls_context context;
    cls_buffer memory;
    if ((m || n || k) && !(m && n && k))
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "cls_blas_warmup: m, n and k are %zu, %zu and %zu: all or none must be 0",
                         m, n, k);
    cls_status status = check_may_block();
    if (!status)
        status = elements(shape, &count);
    if (!status)
        status = context_of(stream, &context);
    if (!status)
        status = cls_buffer_create(context, count * sizeof(double), &memory);
    if (status)
        return status;
    status = small_calls(context, memory, dtype, stream);
    if (!status && m)
        status = products(memory, dtype, shape, stream);
    if (!status)
        status = cls_stream_synchronize(stream);
    cls_buffer_destroy(memory);
    return status;
}
