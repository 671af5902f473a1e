/* SPDX-License-Identifier: MIT */
/* Queries the driver for one device and makes its entry. Private to device.c. */
#ifndef CLSTREAM_DRIVER_DEVICE_QUERY_H
#define CLSTREAM_DRIVER_DEVICE_QUERY_H

#include "driver/device.h"

/* Asks the driver for everything that an entry holds. On success `*reason` is NULL and `*out` is
 * set, or the device cannot be used, `*reason` (a static string) says why, and `*out` is
 * untouched. */
cls_status device_query(cl_platform_id platform, cl_device_id id, struct device **out,
                        const char **reason);

void device_free(struct device *device);

#endif
