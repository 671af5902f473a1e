/* SPDX-License-Identifier: MIT */
/*
 * What a kernel's parameters take, read once when the kernel is made, and the check of a launch's arguments against it.
 * All that the driver does not tell counts as fitting.
 */
#ifndef CLSTREAM_COMMAND_PARAMETERS_H
#define CLSTREAM_COMMAND_PARAMETERS_H

#include <clstream/kernel.h>

#include "driver/kernel.h"

struct image;
struct kernel;
struct kernel_slot;

struct parameter {
    unsigned char kind;   /* enum parameter_kind */
    unsigned char type;   /* cls_arg_type of a scalar; CLS_ARG_ANY: not known, or no scalar */
    unsigned char image;  /* cls_image_kind; 0: not known */
    unsigned char access; /* cls_access of an image; 0: not known */
    size_t size;          /* of a value; 0: not known */
};

/* Makes the array of `kernel->parameters`, whose other members are set. */
cls_status parameters_read(struct kernel *kernel, cl_kernel instance);

/* Whether argument `i` suits its parameter. CLS_ERROR_INVALID_VALUE names kernel, parameter, and what is wanted and given;
 * nothing has changed. */
cls_status parameter_check(const struct kernel_slot *slot, unsigned i, const cls_arg *arg);

/* Whether the image suits its parameter, as parameter_check. */
cls_status parameter_check_image(const struct kernel_slot *slot, unsigned i,
                                 const struct image *image);

/* Replaces the message of a driver that refused argument `i`. */
cls_status parameter_refused(const struct kernel_slot *slot, unsigned i, const cls_arg *arg,
                             int code);

#endif
