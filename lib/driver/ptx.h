/* SPDX-License-Identifier: MIT */
/*
 * Instructions that NVIDIA's OpenCL compiler does not have. A source with a line
 *
 *     //@target sm_90a
 *
 * holds them as comments in its assembler text: asm volatile("//@wgmma.fence.sync.aligned;"). The compiler, which knows the
 * registers of a comment's operands, keeps it; in the PTX that it returns as the program's binary the instructions then
 * take the places of the comments, and the target that of the compiler's own; the driver assembles that. Whether a
 * kernel does what it should is for a trial of its values to tell.
 */
#ifndef CLSTREAM_DRIVER_PTX_H
#define CLSTREAM_DRIVER_PTX_H

#include "driver/device.h"

/* The target that a source asks for, as in its line, of `*length` bytes; NULL: none. */
const char *ptx_target(const char *source, size_t *length);

/* Makes a program with the instructions of `built`'s comments, for a target. CLS_ERROR_UNSUPPORTED, with the reason, where
 * the driver's binary is no PTX of the target's family, or it does not take the new one. In the device's serial section. */
cls_status ptx_substitute(const struct device *device, cl_context context, cl_program built,
                          const char *target, size_t length, const char *options, cl_program *out);

/* The text with the target in place of its own, and without the marks of comments; NULL: it is no PTX for a device of the
 * target's family, has nothing to substitute, or there is no memory. The caller frees it. */
char *ptx_edit(const char *text, const char *target, size_t length);

#endif
