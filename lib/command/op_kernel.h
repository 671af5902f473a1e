/* SPDX-License-Identifier: MIT */
/* The library's own kernels of a context, each built on first use and kept. */
#ifndef CLSTREAM_COMMAND_OP_KERNEL_H
#define CLSTREAM_COMMAND_OP_KERNEL_H

#include "command/op.h"

struct op_kernels;

cls_status op_kernel_find(struct context *context, const struct op_kernel_spec *spec,
                          struct kernel **out);
/* Makes a kernel of generated source, which the caller releases before the context. The program is built once for each
 * text and kept with the context. */
cls_status op_kernel_generate(struct context *context, const char *text,
                              const struct op_kernel_spec *spec, struct kernel **out);
void op_kernels_free(struct op_kernels *kernels);

#endif
