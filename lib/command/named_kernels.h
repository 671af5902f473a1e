/* SPDX-License-Identifier: MIT */
/* Kernels that the user registered in a context under a name. */
#ifndef CLSTREAM_COMMAND_NAMED_KERNELS_H
#define CLSTREAM_COMMAND_NAMED_KERNELS_H

struct context;
struct kernel;

/* The kernel of a name, retained, or NULL. */
struct kernel *named_kernel_find(struct context *context, const char *name);

/* Takes all names away; the context is being destroyed, and kernels keep their context alive. */
void named_kernels_clear(struct context *context);

#endif
