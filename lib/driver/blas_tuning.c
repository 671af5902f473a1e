/* SPDX-License-Identifier: MIT */
/* cls_blas_get_tuning and cls_blas_set_tuning. */
#include <string.h>

#include "base/error.h"
#include "base/sized.h"
#include "driver/blas.h"
#include "driver/blas_standing.h"

static cls_status check_dtype(const char *call, cls_dtype dtype) {
    if (!cls_dtype_size(dtype))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: %d is no cls_dtype", call, (int)dtype);
    if (dtype != CLS_F32 && dtype != CLS_F64)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "%s does not support %s", call,
                         cls_dtype_name(dtype));
    return CLS_SUCCESS;
}

static cls_status find_device(const char *call, size_t index, cls_dtype dtype,
                              struct device **out) {
    struct device *const *devices;
    size_t count;
    cls_status status = device_list(&devices, &count);
    if (!status)
        status = check_dtype(call, dtype);
    if (status)
        return status;
    if (index >= count)
        return error_set(CLS_ERROR_NO_DEVICE, "%s: no device %zu; there are %zu", call, index,
                         count);
    if (!blas_available())
        return blas_missing();
    if (dtype == CLS_F64 && !devices[index]->info.has_fp64)
        return error_set(CLS_ERROR_UNSUPPORTED, "%s: the device has no f64", call);
    *out = devices[index];
    return CLS_SUCCESS;
}

cls_status cls_blas_get_tuning(size_t index, cls_dtype dtype, cls_blas_tuning *out) {
    struct device *device;
    cls_blas_tuning own;
    cls_status status = SIZED_CHECK(cls_blas_tuning, out);
    if (!status)
        status = find_device("cls_blas_get_tuning", index, dtype, &device);
    if (status)
        return status;
    blas_get_tuning(device, dtype == CLS_F64, &own);
    SIZED_OUT(cls_blas_tuning, out, &own);
    return CLS_SUCCESS;
}

cls_status cls_blas_set_tuning(size_t index, cls_dtype dtype, const cls_blas_tuning *tuning,
                               int keep) {
    static const char call[] = "cls_blas_set_tuning";
    cls_blas_tuning own = CLS_BLAS_TUNING_INIT;
    struct device *device;
    cls_status status = SIZED_IN(cls_blas_tuning, &own, tuning);
    if (!status)
        status = find_device(call, index, dtype, &device);
    if (status)
        return status;
    if (!memchr(own.parameters, '\0', sizeof own.parameters) ||
        !blas_set_tuning(device, dtype == CLS_F64, &own, keep != 0))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: no parameters for this device: %.*s", call,
                         (int)sizeof own.parameters, own.parameters);
    return CLS_SUCCESS;
}
