/* SPDX-License-Identifier: MIT */
/* Asks a device for the address of a buffer: a kernel stores the pointer that it is given (cl/address.cl). */
#ifndef CLSTREAM_DRIVER_TELL_ADDRESS_H
#define CLSTREAM_DRIVER_TELL_ADDRESS_H

#include "driver/device.h"

/* Runs `kernel`, which nobody else uses, on an in-order queue without work of the user's, and waits for it. `told` has room
 * for 8 bytes. Each call has the same grid, so that launches of two threads may overlap on every driver (driver/grids.h). */
cls_status tell_address(const struct device *device, cl_command_queue queue, cl_kernel kernel,
                        cl_mem memory, cl_mem told, uint64_t *out);

#endif
