/* SPDX-License-Identifier: MIT */
/* The calls of the made-up device (device.h), over the generated wrappers. */

static cl_int CL_API_CALL device_clGetDeviceInfo(cl_device_id device, cl_device_info what,
                                                 size_t size, void *value, size_t *size_ret) {
    const cl_device_type type = CL_DEVICE_TYPE_GPU;
    const cl_bool unified = CL_FALSE;
    if (what == CL_DEVICE_VENDOR)
        return layer_answer(DEVICE_VENDOR, sizeof DEVICE_VENDOR, size, value, size_ret);
    cl_int code = wrap_clGetDeviceInfo(device, what, size, value, size_ret);
    if (!code && value && what == CL_DEVICE_TYPE)
        memcpy(value, &type, sizeof type);
    if (!code && value && what == CL_DEVICE_HOST_UNIFIED_MEMORY)
        memcpy(value, &unified, sizeof unified);
    return code;
}

static cl_int CL_API_CALL device_clGetEventInfo(cl_event event, cl_event_info name, size_t size,
                                                void *value, size_t *size_ret) {
    device_spend(DEVICE_QUERY_NS);
    return late_clGetEventInfo(event, name, size, value, size_ret);
}

static void *CL_API_CALL device_clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory,
                                                   cl_bool blocking, cl_map_flags flags,
                                                   size_t offset, size_t bytes, cl_uint count,
                                                   const cl_event *waits, cl_event *event,
                                                   cl_int *code) {
    void *host = wrap_clEnqueueMapBuffer(queue, memory, blocking, flags, offset, bytes, count,
                                         waits, event, code);
    if (host)
        device_pin(NULL, host, bytes);
    return host;
}

static cl_int CL_API_CALL device_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory,
                                                         void *host, cl_uint count,
                                                         const cl_event *waits, cl_event *event) {
    device_pin(host, NULL, 0);
    return wrap_clEnqueueUnmapMemObject(queue, memory, host, count, waits, event);
}

static cl_int CL_API_CALL device_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory,
                                                      cl_bool blocking, size_t offset, size_t bytes,
                                                      const void *host, cl_uint count,
                                                      const cl_event *waits, cl_event *event) {
    return wrap_clEnqueueWriteBuffer(queue, memory, blocking || device_blocks(host, bytes), offset,
                                     bytes, host, count, waits, event);
}

static cl_int CL_API_CALL device_clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory,
                                                     cl_bool blocking, size_t offset, size_t bytes,
                                                     void *host, cl_uint count,
                                                     const cl_event *waits, cl_event *event) {
    return wrap_clEnqueueReadBuffer(queue, memory, blocking || device_blocks(host, bytes), offset,
                                    bytes, host, count, waits, event);
}

/* As NVIDIA's, which reads the list when the migration begins. */
static cl_int CL_API_CALL device_clEnqueueMigrateMemObjects(cl_command_queue queue, cl_uint n,
                                                            const cl_mem *list,
                                                            cl_mem_migration_flags flags,
                                                            cl_uint count, const cl_event *waits,
                                                            cl_event *event) {
    cl_int code = wrap_clEnqueueMigrateMemObjects(queue, n, list, flags, count, waits, event);
    if (!code)
        hold_list(queue, list);
    return code;
}

/* As NVIDIA's, which tells of the end of a buffer on a thread of its own, and has no shared memory to give
 * while another thread frees some. */
static _Atomic unsigned device_freeing;

struct device_destructor {
    void(CL_CALLBACK *run)(cl_mem memory, void *arg);
    void *arg;
    cl_mem memory; /* only its address */
    cl_context context;
};

static void *device_tell(void *arg) {
    struct device_destructor destructor = *(struct device_destructor *)arg;
    free(arg);
    destructor.run(destructor.memory, destructor.arg);
    next.clReleaseContext(destructor.context);
    return NULL;
}

static void CL_CALLBACK device_destruct(cl_mem memory, void *arg) {
    struct device_destructor *destructor = arg;
    pthread_t thread;
    destructor->memory = memory;
    if (pthread_create(&thread, NULL, device_tell, destructor))
        device_tell(destructor);
    else
        pthread_detach(thread);
}

static cl_int CL_API_CALL device_clSetMemObjectDestructorCallback(
    cl_mem memory, void(CL_CALLBACK *run)(cl_mem memory, void *arg), void *arg) {
    struct device_destructor *destructor = malloc(sizeof *destructor);
    if (!destructor)
        return CL_OUT_OF_HOST_MEMORY;
    *destructor = (struct device_destructor){run, arg, NULL, NULL};
    next.clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof(cl_context), &destructor->context, NULL);
    cl_int code = wrap_clSetMemObjectDestructorCallback(memory, device_destruct, destructor);
    if (code)
        free(destructor);
    else
        next.clRetainContext(destructor->context);
    return code;
}

static void CL_API_CALL device_clSVMFree(cl_context context, void *host) {
    atomic_fetch_add(&device_freeing, 1);
    device_spend(DEVICE_FREE_NS);
    wrap_clSVMFree(context, host);
    atomic_fetch_sub(&device_freeing, 1);
}

static void *CL_API_CALL device_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                                           cl_uint alignment) {
    device_spend(DEVICE_FREE_NS);
    if (atomic_load(&device_freeing))
        return NULL;
    return wrap_clSVMAlloc(context, flags, bytes, alignment);
}

static __typeof__(next.clEnqueueCopyBufferRect) device_next_copy_rect;

/* Row by row where the driver beneath, which goes by another name, may be one that ends the process when it copies a
 * rectangle of a sub-buffer (QUIRK_PART_RECT_CRASHES). */
static cl_int CL_API_CALL device_copy_rows(cl_command_queue queue, cl_mem from, cl_mem to,
                                           const size_t *from_origin, const size_t *to_origin,
                                           const size_t *region, size_t from_pitch,
                                           size_t from_slice, size_t to_pitch, size_t to_slice,
                                           cl_uint count, const cl_event *waits, cl_event *event) {
    if (!device_is_discrete && !getenv("CLS_FAULT_PLATFORM"))
        return device_next_copy_rect(queue, from, to, from_origin, to_origin, region, from_pitch,
                                     from_slice, to_pitch, to_slice, count, waits, event);
    const size_t n_rows = region[1] * region[2];
    cl_event *rows = malloc(n_rows * sizeof *rows);
    cl_int code = rows ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    cl_uint n = 0;
    for (; n < n_rows && !code; n += !code) {
        const size_t slice = n / region[1], row = n % region[1];
        const size_t at = from_origin[0] + (from_origin[1] + row) * from_pitch +
                          (from_origin[2] + slice) * from_slice;
        const size_t to_at =
            to_origin[0] + (to_origin[1] + row) * to_pitch + (to_origin[2] + slice) * to_slice;
        code =
            next.clEnqueueCopyBuffer(queue, from, to, at, to_at, region[0], count, waits, &rows[n]);
    }
    if (!code)
        code = next.clEnqueueMarkerWithWaitList(queue, n, rows, event);
    for (cl_uint i = 0; i < n; i++)
        next.clReleaseEvent(rows[i]);
    free(rows);
    return code;
}

static void device_override(cl_icd_dispatch *table) {
    device_next_copy_rect = next.clEnqueueCopyBufferRect;
    next.clEnqueueCopyBufferRect = device_copy_rows;
    if (!device_is_discrete)
        return;
    table->clGetDeviceInfo = device_clGetDeviceInfo;
    table->clGetEventInfo = device_clGetEventInfo;
    table->clEnqueueMapBuffer = device_clEnqueueMapBuffer;
    table->clEnqueueUnmapMemObject = device_clEnqueueUnmapMemObject;
    table->clEnqueueMigrateMemObjects = device_clEnqueueMigrateMemObjects;
    table->clEnqueueWriteBuffer = device_clEnqueueWriteBuffer;
    table->clEnqueueReadBuffer = device_clEnqueueReadBuffer;
    table->clSetMemObjectDestructorCallback = device_clSetMemObjectDestructorCallback;
    table->clSVMFree = device_clSVMFree;
    table->clSVMAlloc = device_clSVMAlloc;
}
