/* SPDX-License-Identifier: MIT */
/* Converts OpenCL error codes to the library's statuses, and reports failed driver calls. */
#ifndef CLSTREAM_DRIVER_STATUS_H
#define CLSTREAM_DRIVER_STATUS_H

#include <clstream/status.h>

#include "base/rare.h"
#include "driver/cl.h"

/* The status for a code, by table; CLS_ERROR_DRIVER for a code that the table lacks. */
cls_status status_of_cl(cl_int code);

/* The symbolic name of a code, as "CL_OUT_OF_RESOURCES". */
const char *cl_code_name(cl_int code);

/* Reports a failed driver call ("clCreateBuffer") to the thread's detail; returns the status. */
cls_status driver_report(cl_int code, const char *call) COLD;

/* The same, but CL_SUCCESS gives CLS_SUCCESS and reports nothing. */
static inline cls_status driver_status(cl_int code, const char *call) {
    return code == CL_SUCCESS ? CLS_SUCCESS : driver_report(code, call);
}

#endif
