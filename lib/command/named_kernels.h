/* SPDX-License-Identifier: MIT */
/* The kernels that the user registered in a context under a name (cls_kernel_register). */
#ifndef CLSTREAM_COMMAND_NAMED_KERNELS_H
#define CLSTREAM_COMMAND_NAMED_KERNELS_H

struct context;
struct kernel;

/* Finds the kernel registered under a name, retained, or NULL. */
struct kernel *named_kernel_find(struct context *context, const char *name);

/* Removes all names. Called when the context is destroyed: registered kernels would keep it alive. */
void named_kernels_clear(struct context *context);

#endif
