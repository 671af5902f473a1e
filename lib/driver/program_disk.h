/* SPDX-License-Identifier: MIT */
/* Loading and storing program binaries in the disk cache. Private to program.c. The caller holds the device's serial
 * section (driver/serial.h). */
#ifndef CLSTREAM_DRIVER_PROGRAM_DISK_H
#define CLSTREAM_DRIVER_PROGRAM_DISK_H

#include "base/text.h"
#include "driver/cache_blob.h"
#include "driver/program.h"

/* The key's material: platform, device, driver, library version, options and source. False: not to
 * be cached, because the source or the options name other files, programs of this device are not kept (or without
 * memory). The caller
 * frees `key->bytes` either way. */
bool program_disk_key(const struct device *device, const struct program_spec *spec,
                      const char *source, struct text *key);

/* A built program from the cache, or NULL. */
cl_program program_disk_load(const struct device *device, cl_context context,
                             struct cache_bytes key, const char *options);

void program_disk_store(const struct device *device, cl_program program, struct cache_bytes key);

#endif
