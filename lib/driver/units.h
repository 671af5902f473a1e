/* SPDX-License-Identifier: MIT */
/*
 * What the matrix units of a device are good for: tried when it could matter for the first time, which takes a compiler
 * seconds, and kept as the capability record is.
 */
#ifndef CLSTREAM_DRIVER_UNITS_H
#define CLSTREAM_DRIVER_UNITS_H

#include "driver/device.h"

struct units {
    bool mma;       /* products by cl/mma.cl were right */
    bool wgmma;     /* the same of cl/wgmma.cl */
    bool split_f32; /* by one of them those of split f32 took less time than without */
};

/* Other threads wait while the first call tries. A trial that fails says no. */
const struct units *device_units(struct device *device);

/* The members as figures that follow those of the capability record. */
enum { UNITS_FIGURES = 3 };
cls_capability units_figure(const struct units *units, size_t i);

#endif
