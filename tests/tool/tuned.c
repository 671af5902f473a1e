/* SPDX-License-Identifier: MIT */
/* Keeps parameters of CLBlast's kernels for the default device, as `clstream tune` does. */
#include <stdio.h>
#include <string.h>

#include <clstream.h>

int main(int argc, char **argv) {
    cls_blas_tuning tuning = CLS_BLAS_TUNING_INIT;
    size_t device;
    snprintf(tuning.parameters, sizeof tuning.parameters, "%s", argc > 1 ? argv[1] : "");
    tuning.gain = 1.25;
    cls_status status = cls_device_find(NULL, &device);
    if (!status)
        status = cls_blas_set_tuning(device, CLS_F32, &tuning, 1);
    if (status)
        fprintf(stderr, "%s\n", cls_last_error_detail());
    return status ? 1 : 0;
}
