/* SPDX-License-Identifier: MIT */
#include "driver/memory.h"

#include <stdlib.h>

#include "base/error.h"
#include "driver/grids.h"
#include "driver/parts.h"
#include "driver/serial.h"
#include "driver/status.h"

cls_status context_open(const struct device *device, cl_context *out) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)device->platform, 0};
    cl_int code;
    if (!driver_begin(device))
        return driver_gone();
    cl_context context = clCreateContext(properties, 1, &device->id, NULL, NULL, &code);
    driver_end(device);
    cls_status status = driver_status(code, "clCreateContext");
    if (!status)
        *out = context;
    return status;
}

/* PoCL lists the parent in place of a sub-device. */
static bool has_device(cl_context context, cl_device_id id, cls_status *status) {
    size_t bytes = 0;
    bool found = false;
    cl_device_id parent = NULL;
    if (clGetDeviceInfo(id, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) != CL_SUCCESS)
        parent = NULL;
    *status = driver_status(clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &bytes),
                            "clGetContextInfo");
    if (*status)
        return false;
    cl_device_id *ids = malloc(bytes + sizeof *ids);
    if (!ids) {
        *status = error_no_memory("for a list of devices");
        return false;
    }
    *status = driver_status(clGetContextInfo(context, CL_CONTEXT_DEVICES, bytes, ids, NULL),
                            "clGetContextInfo");
    for (size_t i = 0; !*status && i < bytes / sizeof *ids; i++)
        found = found || ids[i] == id || (parent && ids[i] == parent);
    free(ids);
    return found;
}

cls_status context_adopt(cl_context context, const struct device *device) {
    cls_status status;
    bool found = has_device(context, device->id, &status);
    if (status)
        return status;
    if (!found)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "%s is no device of the cl_context",
                         device->info.name);
    return driver_status(clRetainContext(context), "clRetainContext");
}

void context_close(const struct device *device, cl_context context) {
    if (!driver_begin(device))
        return;
    if (device->quirks & QUIRK_UNLIKE_GRIDS_ABORT)
        grids_forget_done();
    clReleaseContext(context);
    driver_end(device);
}

cls_status memory_create(const struct device *device, cl_context context, size_t bytes,
                         cl_mem *out) {
    cl_int code;
    if (!driver_begin(device))
        return driver_gone();
    cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
    driver_end(device);
    cls_status status = driver_status(code, "clCreateBuffer");
    if (!status)
        *out = memory;
    return status;
}

static bool orders_releases(const struct device *device) {
    return (device->quirks & QUIRK_PART_RELEASE_CRASHES) != 0;
}

cls_status memory_create_part(const struct device *device, cl_mem parent, size_t offset,
                              size_t bytes, cl_mem *out) {
    const cl_buffer_region region = {offset, bytes};
    cl_int code;
    if (!driver_begin(device))
        return driver_gone();
    cl_mem memory =
        orders_releases(device)
            ? parts_create(parent, &region, &code)
            : clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    driver_end(device);
    cls_status status = driver_status(code, "clCreateSubBuffer");
    if (!status)
        *out = memory;
    return status;
}

static cl_int memory_facts(cl_mem memory, cl_mem_object_type *type, cl_context *context,
                           size_t *bytes) {
    cl_int code = clGetMemObjectInfo(memory, CL_MEM_TYPE, sizeof *type, type, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof *context, context, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof *bytes, bytes, NULL);
    return code;
}

cls_status memory_adopt(const struct device *device, cl_context context, cl_mem memory,
                        size_t *bytes) {
    cl_mem_object_type type;
    cl_context owner;
    size_t size;
    if (!driver_begin(device))
        return driver_gone();
    cl_int code = memory_facts(memory, &type, &owner, &size);
    driver_end(device);
    cls_status status = driver_status(code, "clGetMemObjectInfo");
    if (status)
        return status;
    if (type != CL_MEM_OBJECT_BUFFER)
        return error_set(CLS_ERROR_UNSUPPORTED, "the cl_mem is not a buffer: its type is 0x%x",
                         type);
    if (owner != context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "the cl_mem is of another cl_context");
    status = memory_retain(device, memory);
    if (!status)
        *bytes = size;
    return status;
}

cls_status memory_retain(const struct device *device, cl_mem memory) {
    if (!driver_begin(device))
        return driver_gone();
    const cl_int code = orders_releases(device) ? parts_retain(memory) : clRetainMemObject(memory);
    driver_end(device);
    return driver_status(code, "clRetainMemObject");
}

cl_int memory_find(const struct device *device, cl_mem memory, struct memory_place *out) {
    cl_mem parent = NULL;
    *out = (struct memory_place){.root = memory};
    driver_enter(device);
    const cl_int size_code =
        clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof out->bytes, &out->bytes, NULL);
    cl_int code =
        clGetMemObjectInfo(memory, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL);
    if (code == CL_SUCCESS && parent)
        code = clGetMemObjectInfo(memory, CL_MEM_OFFSET, sizeof out->origin, &out->origin, NULL);
    driver_leave(device);
    if (code == CL_SUCCESS && parent)
        out->root = parent;
    return code ? code : size_code;
}

void memory_release(const struct device *device, cl_mem memory) {
    if (!driver_begin(device))
        return;
    if (orders_releases(device))
        parts_release(memory);
    else
        clReleaseMemObject(memory);
    driver_end(device);
}

/* Makes a buffer and maps it; `host` is NULL for memory of the driver's. */
static cls_status create_mapped(const struct device *device, cl_context context,
                                cl_command_queue queue, cl_mem_flags flags, void *host,
                                struct pinned *out) {
    cl_int code;
    if (!driver_begin(device))
        return driver_gone();
    cl_mem memory =
        clCreateBuffer(context, CL_MEM_READ_WRITE | flags, out->mapped_bytes, host, &code);
    driver_end(device);
    cls_status status = driver_status(code, host ? "clCreateBuffer(CL_MEM_USE_HOST_PTR)"
                                                 : "clCreateBuffer(CL_MEM_ALLOC_HOST_PTR)");
    if (status)
        return status;
    if (!driver_begin(device))
        return driver_gone();
    out->mapped = clEnqueueMapBuffer(queue, memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                     out->mapped_bytes, 0, NULL, NULL, &code);
    driver_end(device);
    status = driver_status(code, "clEnqueueMapBuffer");
    if (status)
        memory_release(device, memory);
    else
        out->memory = memory;
    return status;
}

cls_status pinned_create(const struct device *device, cl_context context, cl_command_queue queue,
                         size_t bytes, size_t align, struct pinned *out) {
    struct pinned made = {.bytes = bytes};
    if (__builtin_add_overflow(bytes, align - 1, &made.mapped_bytes))
        made.mapped_bytes = SIZE_MAX; /* which the driver refuses */
    cls_status status = create_mapped(device, context, queue, CL_MEM_ALLOC_HOST_PTR, NULL, &made);
    if (status)
        return status;
    made.host = (char *)made.mapped + (-(uintptr_t)made.mapped & (align - 1));
    *out = made;
    return CLS_SUCCESS;
}

cls_status pinned_adopt(const struct device *device, cl_context context, cl_command_queue queue,
                        void *host, size_t bytes, struct pinned *out) {
    struct pinned made = {.host = host, .bytes = bytes, .mapped_bytes = bytes, .adopted = true};
    cls_status status = create_mapped(device, context, queue, CL_MEM_USE_HOST_PTR, host, &made);
    if (status)
        return status;
    if (made.mapped != host) {
        pinned_release(device, queue, &made);
        return error_set(CLS_ERROR_UNSUPPORTED, "the driver maps memory at %p elsewhere", host);
    }
    *out = made;
    return CLS_SUCCESS;
}

void pinned_release(const struct device *device, cl_command_queue queue,
                    const struct pinned *pinned) {
    if (!driver_begin(device))
        return;
    if (pinned->mapped &&
        clEnqueueUnmapMemObject(queue, pinned->memory, pinned->mapped, 0, NULL, NULL) == CL_SUCCESS)
        clFlush(queue);
    if (pinned->adopted) /* the unmapping reads and writes it; here or in the buffer's end */
        clFinish(queue);
    clReleaseMemObject(pinned->memory);
    driver_end(device);
}
