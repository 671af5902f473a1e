/* SPDX-License-Identifier: MIT */
/*
 * OpenCL as this library sees it: 3.0 headers, and nothing above 1.2 called without asking the
 * device's version. Only files of lib/driver may call cl* functions; the rest handles the types as
 * tokens.
 */
#ifndef CLSTREAM_DRIVER_CL_H
#define CLSTREAM_DRIVER_CL_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>

#ifdef CLS_OPENCL_DLOPEN
#include "driver/opencl_calls.h"
#endif

#endif
