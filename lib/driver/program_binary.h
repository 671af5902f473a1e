/* SPDX-License-Identifier: MIT */
/* A driver's binaries of programs, and programs in an intermediate language. The caller holds the device's serial section (driver/serial.h). */
#ifndef CLSTREAM_DRIVER_PROGRAM_BINARY_H
#define CLSTREAM_DRIVER_PROGRAM_BINARY_H

#include "driver/cache_blob.h"
#include "driver/device.h"

/* Builds a program from its binary. Drivers exist that abort on a damaged one: the caller has a checksum of it. CL_SUCCESS,
 * or the driver's reason. */
cl_int program_from_binary(const struct device *device, cl_context context,
                           struct cache_bytes binary, const char *options, cl_program *out);

/* What a device says of the intermediate languages that it takes, as "SPIR-V_1.2"; empty: none. */
enum { IL_ROOM = 256 };
void device_il_versions(const struct device *device, char text[IL_ROOM]);

/* Builds a program on a device with such a language. `*out` is NULL, or a program that is to be released, where that
 * fails: it has the compiler's log. */
cl_int program_from_il(const struct device *device, cl_context context, struct cache_bytes il,
                       const char *options, cl_program *out);

/* The binary of a built program for a device, which the caller frees; no bytes where the driver gives none, or without
 * memory. */
struct cache_bytes program_to_binary(const struct device *device, cl_program program);

#endif
