/* SPDX-License-Identifier: MIT */
/* Whether CLBlast's products are right on a device: some versions are wrong on some GPUs, and report success. */
#ifndef CLSTREAM_DRIVER_BLAS_TRIAL_H
#define CLSTREAM_DRIVER_BLAS_TRIAL_H

#include "driver/device.h"
#include "driver/trust.h"

/* Compares products of two sizes with the host's, in a queue of its own of this queue's context. Compiles what products
 * of the type need there, which may take seconds, and waits. TRIAL_UNTRIED: a call failed. */
enum trial_verdict blas_trial(const struct device *device, cl_command_queue queue, bool f64);

#endif
