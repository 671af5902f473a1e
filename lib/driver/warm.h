/* SPDX-License-Identifier: MIT */
/* Runs one trivial kernel, for drivers that complete their own set-up only with the first kernel. */
#ifndef CLSTREAM_DRIVER_WARM_H
#define CLSTREAM_DRIVER_WARM_H

#include "driver/device.h"

/* Runs a kernel of no effect on a context of the device, and waits for it. */
cls_status device_warm(struct device *device, cl_context context);

#endif
