/* SPDX-License-Identifier: MIT */
/* The calls of the made-up device (fault_device.h), over the generated wrappers. */

static cl_int CL_API_CALL device_clGetDeviceInfo(cl_device_id device, cl_device_info what,
                                                 size_t size, void *value, size_t *size_ret) {
    const cl_device_type type = CL_DEVICE_TYPE_GPU;
    const cl_bool unified = CL_FALSE;
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

/* As NVIDIA's, which gives nothing for the address of shared memory that was freed by the callback that a
 * buffer on top of it has ended. */
static _Thread_local bool device_in_destructor;
static _Atomic bool device_freed_inside;

struct device_destructor {
    void(CL_CALLBACK *run)(cl_mem memory, void *arg);
    void *arg;
};

static void CL_CALLBACK device_destruct(cl_mem memory, void *arg) {
    struct device_destructor destructor = *(struct device_destructor *)arg;
    free(arg);
    device_in_destructor = true;
    destructor.run(memory, destructor.arg);
    device_in_destructor = false;
}

static cl_int CL_API_CALL device_clSetMemObjectDestructorCallback(
    cl_mem memory, void(CL_CALLBACK *run)(cl_mem memory, void *arg), void *arg) {
    struct device_destructor *destructor = malloc(sizeof *destructor);
    if (!destructor)
        return CL_OUT_OF_HOST_MEMORY;
    *destructor = (struct device_destructor){run, arg};
    cl_int code = wrap_clSetMemObjectDestructorCallback(memory, device_destruct, destructor);
    if (code)
        free(destructor);
    return code;
}

static void CL_API_CALL device_clSVMFree(cl_context context, void *host) {
    if (device_in_destructor)
        atomic_store(&device_freed_inside, true);
    wrap_clSVMFree(context, host);
}

static void *CL_API_CALL device_clSVMAlloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                                           cl_uint alignment) {
    if (atomic_exchange(&device_freed_inside, false))
        return NULL;
    return wrap_clSVMAlloc(context, flags, bytes, alignment);
}

static void device_override(cl_icd_dispatch *table) {
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
