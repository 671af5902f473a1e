/* SPDX-License-Identifier: MIT */
/* Allocation, mapping and freeing of shared virtual memory; only called for devices of OpenCL 2.0 and later. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "driver/memory.h"
#include "driver/serial.h"
#include "driver/status.h"

struct allocation {
    struct allocation *next;
    const struct device *device;
    cl_context context; /* kept by the buffer; retained once the buffer is gone */
    void *host;
    const struct hint *hint;
};

/* svm_lock: NVIDIA's clSVMAlloc returns NULL while another thread is in clSVMFree. `ended`: the callback for a destroyed
 * buffer runs on a thread of the driver's, which must take no lock, and leaves the memory here to be freed. */
static pthread_mutex_t svm_lock = PTHREAD_MUTEX_INITIALIZER; /* around the driver's lock */
static _Atomic(struct allocation *) ended;

static void *svm_alloc(const struct device *device, cl_context context, bool fine, size_t bytes) {
    const cl_svm_mem_flags flags = CL_MEM_READ_WRITE | (fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0);
    pthread_mutex_lock(&svm_lock);
    driver_enter(device);
    void *host = clSVMAlloc(context, flags, bytes, 0);
    driver_leave(device);
    pthread_mutex_unlock(&svm_lock);
    return host;
}

static void svm_free(const struct device *device, cl_context context, void *host) {
    pthread_mutex_lock(&svm_lock);
    driver_enter(device);
    clSVMFree(context, host);
    driver_leave(device);
    pthread_mutex_unlock(&svm_lock);
}

void shared_collect(void) {
    struct allocation *list =
        atomic_load_explicit(&ended, memory_order_relaxed) ? atomic_exchange(&ended, NULL) : NULL;
    while (list) {
        struct allocation *next = list->next;
        svm_free(list->device, list->context, list->host);
        context_close(list->device, list->context);
        free(list);
        list = next;
    }
}

/* The driver is done with the buffer, whatever was said of its commands. */
static void CL_CALLBACK on_end(cl_mem memory, void *user_data) {
    struct allocation *allocation = user_data;
    const struct hint *hint = allocation->hint;
    (void)memory;
    if (clRetainContext(allocation->context) != CL_SUCCESS) {
        clSVMFree(allocation->context, allocation->host);
        free(allocation);
        return;
    }
    allocation->next = atomic_load(&ended);
    while (!atomic_compare_exchange_weak(&ended, &allocation->next, allocation))
        ;
    hint->call(hint->arg);
}

static cls_status allocate(const struct device *device, cl_context context, size_t bytes, bool fine,
                           const struct hint *hint, struct allocation **out) {
    struct allocation *allocation = malloc(sizeof *allocation);
    if (!allocation)
        return error_no_memory("for unified memory");
    void *host = svm_alloc(device, context, fine, bytes);
    if (!host) {
        free(allocation);
        return error_set(CLS_ERROR_OUT_OF_DEVICE_MEMORY, "clSVMAlloc failed to allocate %zu bytes",
                         bytes);
    }
    *allocation = (struct allocation){NULL, device, context, host, hint};
    *out = allocation;
    return CLS_SUCCESS;
}

/* A buffer on top of it, whose end is that of the allocation. */
static cls_status make_buffer(const struct device *device, const struct allocation *allocation,
                              size_t bytes, cl_mem *out) {
    cl_int code;
    driver_enter(device);
    cl_mem memory = clCreateBuffer(allocation->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                   bytes, allocation->host, &code);
    driver_leave(device);
    cls_status status = driver_status(code, "clCreateBuffer(CL_MEM_USE_HOST_PTR)");
    if (status)
        return status;
    driver_enter(device);
    code = clSetMemObjectDestructorCallback(memory, on_end, (void *)(uintptr_t)allocation);
    driver_leave(device);
    status = driver_status(code, "clSetMemObjectDestructorCallback");
    if (status)
        memory_release(device, memory);
    else
        *out = memory;
    return status;
}

cls_status shared_create(const struct device *device, cl_context context, size_t bytes, bool fine,
                         const struct hint *hint, struct shared *out) {
    struct allocation *allocation;
    cl_mem memory;
    shared_collect();
    cls_status status = allocate(device, context, bytes, fine, hint, &allocation);
    if (status)
        return status;
    status = make_buffer(device, allocation, bytes, &memory);
    if (!status) {
        *out = (struct shared){memory, allocation->host, bytes};
        return CLS_SUCCESS;
    }
    svm_free(device, context, allocation->host);
    free(allocation);
    return status;
}

cls_status shared_map_now(const struct device *device, cl_command_queue queue,
                          const struct shared *shared) {
    cl_int code;
    driver_enter(device);
    clEnqueueMapBuffer(queue, shared->memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, shared->bytes,
                       0, NULL, NULL, &code);
    driver_leave(device);
    return driver_status(code, "clEnqueueMapBuffer");
}

void shared_unmap(const struct device *device, cl_command_queue queue,
                  const struct shared *shared) {
    driver_enter(device);
    if (clEnqueueUnmapMemObject(queue, shared->memory, shared->host, 0, NULL, NULL) == CL_SUCCESS)
        clFlush(queue);
    driver_leave(device);
}
