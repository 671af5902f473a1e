/* SPDX-License-Identifier: MIT */
/*
 * CLBlast's standing on a device, for each type: the parameters of its kernels, and the verdict on its products with
 * them. The disk cache keeps it by device, driver and version of CLBlast; a record that is malformed, or
 * whose parameters the device cannot run, is as if there were none.
 */
#ifndef CLSTREAM_DRIVER_BLAS_STANDING_H
#define CLSTREAM_DRIVER_BLAS_STANDING_H

#include <clstream/blas.h>

#include "driver/trust.h"

/* A part of the device's state. All zero at first. */
struct blas_standing {
    _Atomic bool loaded;  /* from the cache, or set since */
    _Atomic bool applied; /* CLBlast has been told the parameters */
    _Atomic bool tried;   /* in this process */
    _Atomic int verdict;  /* enum trial_verdict; read without the lock */
    bool recorded;        /* the record on disk, or that there is none, says the same */
    cls_blas_tuning tuning;
};

/* That of a device and a type, of which only the atomic members are read outside. */
struct blas_standing *blas_standing_of(const struct device *device, bool f64);

/* Loads it first, if that has not been done. */
enum trial_verdict blas_standing_verdict(const struct device *device, bool f64);
void blas_standing_tuning(const struct device *device, bool f64, cls_blas_tuning *out);

/* Replaces it, and with `keep` the record on disk. False: parameters that blas_parameters_parse refuses. */
bool blas_standing_set(const struct device *device, bool f64, const cls_blas_tuning *tuning,
                       bool keep);

/* Tells CLBlast the parameters of both types, where it has not been told yet. No other thread may be in the first call of
 * the process meanwhile. */
void blas_standing_apply(const struct device *device);

/* Notes whether products were right, and keeps the verdict. Parameters that make wrong ones are kept no longer: the
 * next process has CLBlast's own. */
void blas_standing_judge(const struct device *device, bool f64, enum trial_verdict verdict);

#endif
