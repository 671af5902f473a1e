/* SPDX-License-Identifier: MIT */
/* The calls of the lying driver (lies.h), over the wrappers and what else is played. */

static cl_icd_dispatch told; /* what the calls would do without the lie */

static size_t lie_multiple_of_4(size_t bytes) { return bytes > 4 ? bytes & ~(size_t)3 : bytes; }

static cl_int CL_API_CALL lie_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory,
                                                   cl_bool blocking, size_t offset, size_t bytes,
                                                   const void *host, cl_uint count,
                                                   const cl_event *waits, cl_event *event) {
    return told.clEnqueueWriteBuffer(
        queue, lie_memory(memory, "sub_buffer_copies"), blocking, offset,
        lies_about("transfers") ? lie_multiple_of_4(bytes) : bytes, host, count, waits, event);
}

static cl_int CL_API_CALL lie_clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory,
                                                  cl_bool blocking, size_t offset, size_t bytes,
                                                  void *host, cl_uint count, const cl_event *waits,
                                                  cl_event *event) {
    return told.clEnqueueReadBuffer(queue, lie_memory(memory, "sub_buffer_copies"), blocking,
                                    offset, bytes, host, count, waits, event);
}

static cl_int CL_API_CALL lie_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                                  size_t from_offset, size_t to_offset,
                                                  size_t bytes, cl_uint count,
                                                  const cl_event *waits, cl_event *event) {
    return told.clEnqueueCopyBuffer(queue, lie_memory(from, "sub_buffer_copies"),
                                    lie_memory(to, "sub_buffer_copies"), from_offset, to_offset,
                                    lies_about("odd_copies") ? lie_multiple_of_4(bytes) : bytes,
                                    count, waits, event);
}

static cl_int CL_API_CALL lie_clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory,
                                                  const void *pattern, size_t size, size_t offset,
                                                  size_t bytes, cl_uint count,
                                                  const cl_event *waits, cl_event *event) {
    return told.clEnqueueFillBuffer(queue, lie_memory(memory, "sub_buffer_copies"), pattern, size,
                                    lies_about("odd_fills") ? offset & ~(size_t)3 : offset, bytes,
                                    count, waits, event);
}

/* The region that is moved instead of the one asked for; of squares the rows that are whole. */
static void lie_region(const size_t *region, size_t pitch, size_t other_pitch, size_t moved[3]) {
    const unsigned last = region[2] > 1 ? 2 : 1;
    memcpy(moved, region, 3 * sizeof *moved);
    if (lies_about("rectangles") && moved[last] > 1)
        moved[last]--;
    if (lies_about("square_rectangles") && pitch == other_pitch && pitch == region[1] &&
        region[0] < pitch) {
        moved[0] = pitch;
        moved[1] = region[1] - 1;
    }
}

static cl_int CL_API_CALL lie_clEnqueueCopyBufferRect(
    cl_command_queue queue, cl_mem from, cl_mem to, const size_t *from_origin,
    const size_t *to_origin, const size_t *region, size_t from_pitch, size_t from_slice,
    size_t to_pitch, size_t to_slice, cl_uint count, const cl_event *waits, cl_event *event) {
    size_t moved[3];
    lie_region(region, from_pitch, to_pitch, moved);
    return told.clEnqueueCopyBufferRect(queue, lie_memory(from, "sub_buffer_rectangles"),
                                        lie_memory(to, "sub_buffer_rectangles"), from_origin,
                                        to_origin, moved, from_pitch, from_slice, to_pitch,
                                        to_slice, count, waits, event);
}

/* The host's rectangles are right under the lie about those between buffers. */
static void lie_host_region(const size_t *region, size_t pitch, size_t host_pitch,
                            size_t moved[3]) {
    memcpy(moved, region, 3 * sizeof *moved);
    if (lies_about("square_rectangles"))
        lie_region(region, pitch, host_pitch, moved);
}

static cl_int CL_API_CALL lie_clEnqueueReadBufferRect(
    cl_command_queue queue, cl_mem memory, cl_bool blocking, const size_t *origin,
    const size_t *host_origin, const size_t *region, size_t pitch, size_t slice, size_t host_pitch,
    size_t host_slice, void *host, cl_uint count, const cl_event *waits, cl_event *event) {
    size_t moved[3];
    lie_host_region(region, pitch, host_pitch, moved);
    return told.clEnqueueReadBufferRect(queue, memory, blocking, origin, host_origin, moved, pitch,
                                        slice, lies_about("padded_rows") ? 0 : host_pitch,
                                        host_slice, host, count, waits, event);
}

static cl_int CL_API_CALL lie_clEnqueueWriteBufferRect(
    cl_command_queue queue, cl_mem memory, cl_bool blocking, const size_t *origin,
    const size_t *host_origin, const size_t *region, size_t pitch, size_t slice, size_t host_pitch,
    size_t host_slice, const void *host, cl_uint count, const cl_event *waits, cl_event *event) {
    size_t moved[3];
    lie_host_region(region, pitch, host_pitch, moved);
    return told.clEnqueueWriteBufferRect(queue, memory, blocking, origin, host_origin, moved, pitch,
                                         slice, lies_about("padded_rows") ? 0 : host_pitch,
                                         host_slice, host, count, waits, event);
}

/* --- memory of the host's --- */

static cl_int CL_API_CALL lie_clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory,
                                                      void *host, cl_uint count,
                                                      const cl_event *waits, cl_event *event) {
    if (lies_about("mapped_memory"))
        *(unsigned char *)host = 0;
    return told.clEnqueueUnmapMemObject(queue, memory, host, count, waits, event);
}

static cl_mem CL_API_CALL lie_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                             void *host, cl_int *code) {
    if ((lies_about("shared_memory") || lies_about("host_memory")) && (flags & CL_MEM_USE_HOST_PTR))
        flags ^= CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR;
    return told.clCreateBuffer(context, flags, bytes, host, code);
}

/* --- images --- */

static cl_int CL_API_CALL lie_clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem from,
                                                         cl_mem to, size_t offset,
                                                         const size_t *origin, const size_t *region,
                                                         cl_uint count, const cl_event *waits,
                                                         cl_event *event) {
    cl_mem_object_type type = 0;
    if (lies_about("image_layers") &&
        !next.clGetMemObjectInfo(to, CL_MEM_TYPE, sizeof type, &type, NULL) &&
        type == CL_MEM_OBJECT_IMAGE1D_ARRAY && origin[1] + region[1] > 1)
        return CL_INVALID_VALUE;
    return told.clEnqueueCopyBufferToImage(queue, from, to, offset, origin, region, count, waits,
                                           event);
}

/* --- sub-buffers and kernels --- */

static cl_mem CL_API_CALL lie_clCreateSubBuffer(cl_mem parent, cl_mem_flags flags,
                                                cl_buffer_create_type type, const void *info,
                                                cl_int *code) {
    cl_mem memory = told.clCreateSubBuffer(parent, flags, type, info, code);
    if (memory && !strncmp(lie, "sub_buffer", 10))
        lie_know(memory, parent);
    return memory;
}

static cl_int CL_API_CALL lie_clReleaseMemObject(cl_mem memory) {
    cl_uint count = 0;
    if (!next.clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL) &&
        count == 1)
        lie_forget(memory);
    return told.clReleaseMemObject(memory);
}

static bool lie_is_kernel(cl_kernel kernel, const char *part) {
    char name[64] = "";
    next.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    return strstr(name, part) != NULL;
}

/* Another buffer for a kernel that tells the address of `memory`, at each third of its launches. */
static cl_mem lie_moved(cl_kernel kernel, cl_uint i, cl_mem memory) {
    static _Atomic unsigned told_times;
    cl_context context;
    cl_int code;
    if (!lies_about("addresses") || i || !lie_is_kernel(kernel, "tell") || ++told_times % 3 ||
        next.clGetKernelInfo(kernel, CL_KERNEL_CONTEXT, sizeof(context), &context, NULL))
        return memory;
    cl_mem moved = next.clCreateBuffer(context, CL_MEM_READ_WRITE, 1 << 16, NULL, &code);
    return moved ? moved : memory; /* nobody releases it */
}

/* Arguments of kernels that were given by address: bit i; and those of them that are a buffer again. */
static struct {
    cl_kernel kernel;
    unsigned pointed, broken;
} lie_pointed[256];

/* The entry of a kernel, new where it is `wanted`, or a free one. Under lie_lock. */
static unsigned lie_pointed_at(cl_kernel kernel, bool wanted) {
    unsigned i = 0;
    while (i < 255 && lie_pointed[i].kernel && lie_pointed[i].kernel != kernel)
        i++;
    if (wanted)
        lie_pointed[i].kernel = kernel;
    return i;
}

static void lie_point(cl_kernel kernel, cl_uint i, bool by_address) {
    if (!lies_about("pointers_stay") || i > 31)
        return;
    pthread_mutex_lock(&lie_lock);
    const unsigned at = lie_pointed_at(kernel, by_address);
    const unsigned bit = 1u << i;
    if (by_address) {
        lie_pointed[at].pointed |= bit;
        lie_pointed[at].broken &= ~bit;
    } else if (lie_pointed[at].kernel == kernel) {
        lie_pointed[at].broken |= lie_pointed[at].pointed & bit;
    }
    pthread_mutex_unlock(&lie_lock);
}

static bool lie_is_broken(cl_kernel kernel) {
    pthread_mutex_lock(&lie_lock);
    const unsigned at = lie_pointed_at(kernel, false);
    const bool is_broken = lie_pointed[at].kernel == kernel && lie_pointed[at].broken;
    pthread_mutex_unlock(&lie_lock);
    return is_broken;
}

static void lie_unpoint(cl_kernel kernel) {
    cl_uint count = 0;
    if (!lies_about("pointers_stay") ||
        next.clGetKernelInfo(kernel, CL_KERNEL_REFERENCE_COUNT, sizeof count, &count, NULL) ||
        count > 1)
        return;
    pthread_mutex_lock(&lie_lock);
    const unsigned at = lie_pointed_at(kernel, false);
    if (lie_pointed[at].kernel == kernel)
        lie_pointed[at].pointed = lie_pointed[at].broken = 0;
    pthread_mutex_unlock(&lie_lock);
}

static cl_int CL_API_CALL lie_clSetKernelArg(cl_kernel kernel, cl_uint i, size_t size,
                                             const void *value) {
    cl_mem memory = NULL, root = NULL;
    unsigned char shifted[64] = {0};
    if (lies_about("arguments_set_again") && lie_knows(kernel, &root))
        return CL_SUCCESS;
    if (value && size == sizeof memory) {
        memcpy(&memory, value, size);
        memory = lie_moved(kernel, i, lie_memory(memory, "sub_buffer_arguments"));
        if (lies_about("sub_buffer_reuse"))
            memory = lie_used_again(memory);
        value = &memory;
    }
    if (value && lies_about("structure_arguments") && size > 16 && size < sizeof shifted &&
        (size & (size - 1))) {
        memcpy(shifted, (const unsigned char *)value + 4, size - 4);
        value = shifted;
    }
    lie_point(kernel, i, false);
    return told.clSetKernelArg(kernel, i, size, value);
}

static cl_int CL_API_CALL lie_clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint i,
                                                       const void *value) {
    if (lies_about("pointer_arguments"))
        value = (const void *)((uintptr_t)value & ~(uintptr_t)127);
    lie_point(kernel, i, true);
    return told.clSetKernelArgSVMPointer(kernel, i, value);
}

static cl_int CL_API_CALL lie_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                     cl_uint dims, const size_t *offset,
                                                     const size_t *global, const size_t *local,
                                                     cl_uint count, const cl_event *waits,
                                                     cl_event *event) {
    static _Atomic(uintptr_t) launches; /* the thread that does */
    uintptr_t none = 0, self = (uintptr_t)pthread_self();
    if (lies_about("arguments_set_again"))
        lie_know(kernel, NULL);
    if (lies_about("threads") && !atomic_compare_exchange_strong(&launches, &none, self) &&
        none != self)
        abort();
    if (lies_about("not_resident") && lie_is_kernel(kernel, "reach"))
        return told.clEnqueueMarkerWithWaitList(queue, count, waits, event);
    if (lies_about("pointers_stay") && lie_is_broken(kernel))
        return CL_INVALID_KERNEL_ARGS;
    if (lies_about("hang"))
        sleep(60);
    if (lies_about("launch_offsets"))
        offset = NULL;
    return told.clEnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, count, waits,
                                       event);
}

static cl_int CL_API_CALL lie_clReleaseKernel(cl_kernel kernel) {
    lie_forget(kernel);
    lie_unpoint(kernel);
    return told.clReleaseKernel(kernel);
}

static cl_command_queue CL_API_CALL lie_clCreateCommandQueue(cl_context context,
                                                             cl_device_id device,
                                                             cl_command_queue_properties bits,
                                                             cl_int *code) {
    if (lies_about("queue_order"))
        bits |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    return told.clCreateCommandQueue(context, device, bits, code);
}

/* --- what a driver says --- */

/* Blank where a line was a #line, so that others keep their places. */
static void lie_blank_lines(char *source) {
    for (char *at = source; (at = strstr(at, "#line")) != NULL;)
        if (at == source || at[-1] == '\n')
            memset(at, ' ', strcspn(at, "\n"));
        else
            at++;
}

static cl_program CL_API_CALL lie_clCreateProgramWithSource(cl_context context, cl_uint count,
                                                            const char **sources,
                                                            const size_t *lengths, cl_int *code) {
    static const char no_barriers[] = "#define barrier(flags)\n";
    static const char no_functions[] =
        "#define fma no_fma\n#define sin no_sin\n#define cos no_cos\n";
    const char *prefix = lies_about("local_arguments") ? no_barriers
                         : lies_about("functions")     ? no_functions
                                                       : "";
    const size_t length = lengths && lengths[0] ? lengths[0] : strlen(sources[0]);
    char *source = count == 1 ? calloc(1, strlen(prefix) + length + 1) : NULL;
    if (!source)
        return told.clCreateProgramWithSource(context, count, sources, lengths, code);
    strcpy(source, prefix);
    strncat(source, sources[0], length);
    if (lies_about("line_directives"))
        lie_blank_lines(source);
    const char *one = source;
    cl_program program = told.clCreateProgramWithSource(context, 1, &one, NULL, code);
    free(source);
    return program;
}

static cl_int CL_API_CALL lie_clBuildProgram(cl_program program, cl_uint count,
                                             const cl_device_id *devices, const char *options,
                                             void(CL_CALLBACK *notify)(cl_program, void *),
                                             void *data) {
    static const char unsafe[] = " -cl-unsafe-math-optimizations";
    const size_t length = options ? strlen(options) : 0;
    char *longer = lies_about("rounding") ? calloc(1, length + sizeof unsafe) : NULL;
    if (longer) {
        memcpy(longer, options ? options : "", length);
        memcpy(longer + length, unsafe, sizeof unsafe);
    }
    const cl_int code =
        told.clBuildProgram(program, count, devices, longer ? longer : options, notify, data);
    free(longer);
    return code;
}

static void lie_chatter(void) {
    if (lies_about("chatter"))
        fputs("made-up driver: a line of its own\n", stderr);
}

static cl_int CL_API_CALL lie_clGetPlatformIDs(cl_uint room, cl_platform_id *platforms,
                                               cl_uint *count) {
    lie_chatter();
    return told.clGetPlatformIDs(room, platforms, count);
}

static cl_int CL_API_CALL lie_clGetDeviceIDs(cl_platform_id platform, cl_device_type type,
                                             cl_uint room, cl_device_id *devices, cl_uint *count) {
    lie_chatter();
    return told.clGetDeviceIDs(platform, type, room, devices, count);
}

#define LIE(call) table->call = lie_##call

static void lies_override(cl_icd_dispatch *table) {
    told = *table;
    if (!*lie)
        return;
    LIE(clEnqueueCopyBufferToImage);
    LIE(clEnqueueWriteBuffer);
    LIE(clEnqueueReadBuffer);
    LIE(clEnqueueCopyBuffer);
    LIE(clEnqueueFillBuffer);
    LIE(clEnqueueCopyBufferRect);
    LIE(clEnqueueReadBufferRect);
    LIE(clEnqueueWriteBufferRect);
    LIE(clEnqueueUnmapMemObject);
    LIE(clCreateBuffer);
    LIE(clCreateSubBuffer);
    LIE(clReleaseMemObject);
    LIE(clSetKernelArg);
    LIE(clSetKernelArgSVMPointer);
    LIE(clEnqueueNDRangeKernel);
    LIE(clReleaseKernel);
    LIE(clCreateCommandQueue);
    LIE(clCreateProgramWithSource);
    LIE(clBuildProgram);
    LIE(clGetPlatformIDs);
    LIE(clGetDeviceIDs);
}
