/* SPDX-License-Identifier: MIT */
/*
 * The calls of cuBLAS that UnifiedMemoryStreams makes, over the library's own: a stand-in for the test, because the
 * program's host code is tested and the library has no header for cuBLAS.
 */
#ifndef CLSTREAM_TESTS_CUBLAS_V2_H
#define CLSTREAM_TESTS_CUBLAS_V2_H

#include <clstream.h>
#include <clstream/cuda_runtime.h>

typedef enum { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_EXECUTION_FAILED = 13 } cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;
typedef struct cublas_handle {
    cudaStream_t stream;
} * cublasHandle_t;

inline const char *_cudaGetErrorEnum(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS ? "success" : cls_last_error_detail();
}

inline cublasStatus_t cublasCreate(cublasHandle_t *handle) {
    *handle = new cublas_handle();
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

inline cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

/* y = alpha op(a) x + beta y, where `a` has its columns one after the other: the transpose of the library's. */
inline cublasStatus_t cublasDgemv(cublasHandle_t handle, cublasOperation_t op, int rows,
                                  int columns, const double *alpha, const double *a, int ld,
                                  const double *x, int x_step, const double *beta, double *y,
                                  int y_step) {
    cls_gemm_config config = CLS_GEMM_CONFIG_INIT;
    cls_matrix matrix = cls_matrix();
    cls_vector in = cls_vector(), out = cls_vector();
    size_t at = 0, in_at = 0, out_at = 0;
    cls_status status = cls_pointer_get_buffer(a, &matrix.buffer, &at);
    if (status == CLS_SUCCESS)
        status = cls_pointer_get_buffer(x, &in.buffer, &in_at);
    if (status == CLS_SUCCESS)
        status = cls_pointer_get_buffer(y, &out.buffer, &out_at);
    if (status != CLS_SUCCESS)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    matrix.dtype = in.dtype = out.dtype = CLS_F64;
    matrix.offset = at / sizeof *a;
    matrix.rows = size_t(columns);
    matrix.columns = size_t(rows);
    matrix.ld = size_t(ld);
    in.offset = in_at / sizeof *x;
    in.count = size_t(op == CUBLAS_OP_N ? columns : rows);
    in.step = size_t(x_step);
    out.offset = out_at / sizeof *y;
    out.count = size_t(op == CUBLAS_OP_N ? rows : columns);
    out.step = size_t(y_step);
    config.transpose_a = op == CUBLAS_OP_N;
    config.alpha = *alpha;
    config.beta = *beta;
    const cls_arg args[] = {cls_arg_pointer(a), cls_arg_pointer(x), cls_arg_pointer(y)};
    status = cls_cuda_managed_begin(handle->stream, args, 3);
    if (status == CLS_SUCCESS)
        status = cls_cuda_managed_end(handle->stream, args, 3,
                                      cls_gemv_async(matrix, in, out, &config, handle->stream));
    return status == CLS_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

#endif
