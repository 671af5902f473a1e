/* SPDX-License-Identifier: MIT */
/*
 * Driver programs (cl_program): built once per key across threads, cached in memory per cl_context, and on disk
 * across processes. The disk key is platform, device, driver, source, options and library version. A cache
 * file is checksummed before the driver sees it, written by atomic rename, and rebuilt on any doubt.
 */
#ifndef CLSTREAM_DRIVER_PROGRAM_H
#define CLSTREAM_DRIVER_PROGRAM_H

#include "driver/cache_blob.h"
#include "driver/device.h"

struct program_spec {
    const char *name;    /* stands for the file in the compiler's messages */
    const char *source;  /* NUL-terminated */
    const char *options; /* may be NULL */
};

/* Builds (or loads from the disk cache) one program; the caller releases it with program_release.
 * CLS_ERROR_BUILD_FAILED puts the compiler's log into the thread's detail. */
cls_status program_build(struct device *device, cl_context context, const struct program_spec *spec,
                         cl_program *out);
void program_release(cl_program program);

/* The binary of a built program, which the caller frees. CLS_ERROR_UNSUPPORTED: the driver gives none. */
cls_status program_get_binary(const struct device *device, cl_program program,
                              struct cache_bytes *out);

/* Builds a program from a whole and unaltered binary. CLS_ERROR_UNSUPPORTED: the driver refuses it. */
cls_status program_build_binary(const struct device *device, cl_context context,
                                struct cache_bytes binary, const char *options, cl_program *out);

/* Builds a program from an intermediate language. CLS_ERROR_UNSUPPORTED: the device takes none. */
cls_status program_build_il(const struct device *device, cl_context context, struct cache_bytes il,
                            const struct program_spec *spec, cl_program *out);

/* Checks the user's program, and retains it. */
cls_status program_adopt(const struct device *device, cl_context context, cl_program program);

/* A new cl_kernel; CLS_ERROR_NOT_FOUND when the program has none of that name. */
cls_status program_create_kernel(cl_program program, const char *name, cl_kernel *out);

/* Memory cache of one cl_context. */
struct program_cache;

cls_status program_cache_create(struct device *device, cl_context context,
                                struct program_cache **out);
void program_cache_destroy(struct program_cache *cache);

/* The program for a spec, built on the first call for its key; concurrent callers of one key build
 * it once and the others wait. Borrowed: it lives as long as the cache. A failure is not
 * remembered. */
cls_status program_cache_get(struct program_cache *cache, const struct program_spec *spec,
                             cl_program *out);

#endif
