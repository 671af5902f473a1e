/* SPDX-License-Identifier: MIT */
/*
 * Another made-up device, a part of layer.c: CLS_FAULT_DEVICE=least allows no more than a driver has to,
 * and keeps to that: short sides of work-groups, small buffers, sub-buffers at pages only, few queues, and no
 * queue that is both out-of-order and profiled.
 */
enum {
    LEAST_LINE = 16, /* work-items of a group in the first dimension, and in the second */
    LEAST_DEPTH = 4, /* in the third */
    LEAST_BYTES = 1 << 20,
    LEAST_ALIGN = 4096,
    LEAST_QUEUES = 6
};

static bool device_is_least; /* set once, at load */

static const size_t least_sides[3] = {LEAST_LINE, LEAST_LINE, LEAST_DEPTH};

static cl_int CL_API_CALL least_clGetDeviceInfo(cl_device_id device, cl_device_info what,
                                                size_t size, void *value, size_t *size_ret) {
    const cl_ulong bytes = LEAST_BYTES;
    const cl_uint align_bits = LEAST_ALIGN * 8;
    switch (what) {
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return layer_answer(least_sides, sizeof least_sides, size, value, size_ret);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return layer_answer(&bytes, sizeof bytes, size, value, size_ret);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        return layer_answer(&align_bits, sizeof align_bits, size, value, size_ret);
    default:
        return wrap_clGetDeviceInfo(device, what, size, value, size_ret);
    }
}

static cl_int CL_API_CALL least_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                       cl_uint dims, const size_t *offset,
                                                       const size_t *global, const size_t *local,
                                                       cl_uint count, const cl_event *waits,
                                                       cl_event *event) {
    for (cl_uint i = 0; local && i < dims; i++)
        if (local[i] > least_sides[i])
            return CL_INVALID_WORK_ITEM_SIZE;
    return wrap_clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, count, waits,
                                       event);
}

static void *least_refuse(cl_int *code, cl_int with) {
    if (code)
        *code = with;
    return NULL;
}

static cl_mem CL_API_CALL least_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                               void *host, cl_int *code) {
    if (bytes > LEAST_BYTES)
        return least_refuse(code, CL_INVALID_BUFFER_SIZE);
    return wrap_clCreateBuffer(context, flags, bytes, host, code);
}

static cl_mem CL_API_CALL least_clCreateSubBuffer(cl_mem parent, cl_mem_flags flags,
                                                  cl_buffer_create_type type, const void *info,
                                                  cl_int *code) {
    if (((const cl_buffer_region *)info)->origin % LEAST_ALIGN)
        return least_refuse(code, CL_MISALIGNED_SUB_BUFFER_OFFSET);
    return wrap_clCreateSubBuffer(parent, flags, type, info, code);
}

static cl_command_queue CL_API_CALL least_clCreateCommandQueue(cl_context context,
                                                               cl_device_id device,
                                                               cl_command_queue_properties bits,
                                                               cl_int *code) {
    if ((bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) && (bits & CL_QUEUE_PROFILING_ENABLE))
        return least_refuse(code, CL_INVALID_QUEUE_PROPERTIES);
    if (atomic_load(&live[OBJECT_QUEUE]) >= LEAST_QUEUES)
        return least_refuse(code, CL_OUT_OF_RESOURCES);
    return wrap_clCreateCommandQueue(context, device, bits, code);
}

static void least_override(cl_icd_dispatch *table) {
    if (!device_is_least)
        return;
    table->clGetDeviceInfo = least_clGetDeviceInfo;
    table->clEnqueueNDRangeKernel = least_clEnqueueNDRangeKernel;
    table->clCreateBuffer = least_clCreateBuffer;
    table->clCreateSubBuffer = least_clCreateSubBuffer;
    table->clCreateCommandQueue = least_clCreateCommandQueue;
}
