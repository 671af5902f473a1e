/* SPDX-License-Identifier: MIT */
/*
 * For a system whose loader of OpenCL may be older than the headers, and which refuses programs that name a function it
 * lacks: what OpenCL 1.2 does not have is looked up when it is first called. Devices count as no newer than the loader, so
 * a missing function is not called.
 */
#ifndef CLS_OPENCL_DLOPEN
#include <string.h>

#include "driver/cl.h"
#include "driver/loader.h"
#include "system/libraries.h"

unsigned loader_version(void) { return loader_version_in(NULL); }

/* Defines a function that calls the loader's own of this name, or else returns `otherwise`. Two threads may look it up. */
#define LATE_CALL(type, name, parameters, arguments, otherwise)  \
    type CL_API_CALL name parameters {                           \
        static void *_Atomic known;                              \
        type(CL_API_CALL *call) parameters;                      \
        void *found = known ? known : library_find(NULL, #name); \
        known = found;                                           \
        memcpy(&call, &found, sizeof call);                      \
        return call ? call arguments : otherwise;                \
    }

/* As `otherwise` for a function that creates something. */
static void *no_object(cl_int *code) {
    if (code)
        *code = CL_INVALID_OPERATION;
    return NULL;
}

LATE_CALL(void *, clSVMAlloc,
          (cl_context context, cl_svm_mem_flags flags, size_t bytes, cl_uint alignment),
          (context, flags, bytes, alignment), NULL)

LATE_CALL(cl_int, clSetKernelArgSVMPointer, (cl_kernel kernel, cl_uint i, const void *address),
          (kernel, i, address), CL_INVALID_OPERATION)

LATE_CALL(cl_command_queue, clCreateCommandQueueWithProperties,
          (cl_context context, cl_device_id device, const cl_queue_properties *properties,
           cl_int *code),
          (context, device, properties, code), no_object(code))

LATE_CALL(cl_program, clCreateProgramWithIL,
          (cl_context context, const void *il, size_t bytes, cl_int *code),
          (context, il, bytes, code), no_object(code))

LATE_CALL(cl_int, clGetDeviceAndHostTimer,
          (cl_device_id device, cl_ulong *on_device, cl_ulong *on_host),
          (device, on_device, on_host), CL_INVALID_OPERATION)

void CL_API_CALL clSVMFree(cl_context context, void *memory) {
    void(CL_API_CALL * call)(cl_context context, void *memory);
    void *found = library_find(NULL, "clSVMFree");
    memcpy(&call, &found, sizeof call);
    if (call)
        call(context, memory);
}
#endif
