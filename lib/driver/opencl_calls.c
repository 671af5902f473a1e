/* SPDX-License-Identifier: MIT */
#include "driver/cl.h"

#ifdef CLS_OPENCL_DLOPEN
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "driver/loader.h"

/* --- calls above OpenCL 1.2, where the loader lacks them: each fails as one that the device lacks --- */

static cl_command_queue CL_API_CALL no_queue(cl_context context, cl_device_id device,
                                             const cl_queue_properties *properties, cl_int *code) {
    (void)context;
    (void)device;
    (void)properties;
    if (code)
        *code = CL_INVALID_OPERATION;
    return NULL;
}

static cl_program CL_API_CALL no_program(cl_context context, const void *il, size_t bytes,
                                         cl_int *code) {
    (void)context;
    (void)il;
    (void)bytes;
    if (code)
        *code = CL_INVALID_OPERATION;
    return NULL;
}

static cl_int CL_API_CALL no_timer(cl_device_id device, cl_ulong *on_device, cl_ulong *on_host) {
    (void)device;
    (void)on_device;
    (void)on_host;
    return CL_INVALID_OPERATION;
}

static void *CL_API_CALL no_svm(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                                cl_uint alignment) {
    (void)context;
    (void)flags;
    (void)bytes;
    (void)alignment;
    return NULL;
}

static void CL_API_CALL free_no_svm(cl_context context, void *memory) {
    (void)context;
    (void)memory;
}

static cl_int CL_API_CALL no_svm_pointer(cl_kernel kernel, cl_uint index, const void *value) {
    (void)kernel;
    (void)index;
    (void)value;
    return CL_INVALID_OPERATION;
}

/* --- the table --- */

struct opencl_calls opencl_calls = {
    .clCreateCommandQueueWithProperties_call = no_queue,
    .clCreateProgramWithIL_call = no_program,
    .clGetDeviceAndHostTimer_call = no_timer,
    .clSVMAlloc_call = no_svm,
    .clSVMFree_call = free_no_svm,
    .clSetKernelArgSVMPointer_call = no_svm_pointer,
};

static bool is_complete;
static unsigned version;

static void *open_loader(void) {
#ifdef CLS_OPENCL_LIBRARY
    return library_open(CLS_OPENCL_LIBRARY);
#else
    void *loader = NULL;
    for (const char *const *name = library_opencl_names; *name && !loader; name++)
        loader = library_open(*name);
    return loader;
#endif
}

/* The loader stays: drivers call back until the process ends. */
static void load_opencl(void) {
    static const struct {
        const char *name;
        size_t offset;
    } rows[] = {
#define OPENCL_ROW(name) {#name, offsetof(struct opencl_calls, name##_call)},
        OPENCL_CALLS(OPENCL_ROW)
#undef OPENCL_ROW
    };
    static void *const none;
    void *loader = open_loader();
    is_complete = loader;
    version = loader ? loader_version_in(loader) : 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && loader; i++) {
        char *member = (char *)&opencl_calls + rows[i].offset;
        void *symbol = library_find(loader, rows[i].name);
        if (symbol)
            memcpy(member, &symbol, sizeof symbol);
        else if (!memcmp(member, &none, sizeof none))
            is_complete = false;
    }
}

cl_int opencl_get_platform_ids(cl_uint room, cl_platform_id *platforms, cl_uint *count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_opencl);
    return is_complete ? opencl_calls.clGetPlatformIDs_call(room, platforms, count)
                       : CL_PLATFORM_NOT_FOUND_KHR;
}

/* Asked for a device, which the first clGetPlatformIDs has found. */
unsigned loader_version(void) { return version; }
#endif
