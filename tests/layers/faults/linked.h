/* SPDX-License-Identifier: MIT */
/*
 * A made-up device, a part of layer.c: with CLS_FAULT_DEVICE=linked the driver's own has a UUID and imports descriptors of
 * the memory that libcuda.c makes, in any context, as NVIDIA's does: a length beyond the memory's units, and any other
 * descriptor, is refused with a code of CUDA's.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcuda.h"

enum { LINKED_TOO_LONG = 1, LINKED_FOREIGN = 999, LINKED_OPAQUE_FD = 0x2060 };

static bool device_is_linked, links_are_uneven; /* set once, at load */

/* The parts, in the order in which they were first asked about. */
static struct {
    pthread_mutex_t lock;
    cl_device_id ids[LIBCUDA_DEVICES - LIBCUDA_WHOLE - 1];
} linked_parts = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The number of a device in libcuda. */
static int linked_number(cl_device_id device) {
    enum { MOST = sizeof linked_parts.ids / sizeof linked_parts.ids[0] };
    cl_device_id parent = NULL;
    int i = 0;
    if (next.clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) ||
        !parent)
        return LIBCUDA_WHOLE;
    pthread_mutex_lock(&linked_parts.lock);
    while (i < MOST - 1 && linked_parts.ids[i] && linked_parts.ids[i] != device)
        i++;
    linked_parts.ids[i] = device;
    pthread_mutex_unlock(&linked_parts.lock);
    return LIBCUDA_WHOLE + 1 + i;
}

static cl_int CL_API_CALL linked_clGetDeviceInfo(cl_device_id device, cl_device_info what,
                                                 size_t size, void *value, size_t *size_ret) {
    static const char added[] = " cl_khr_external_memory_opaque_fd";
    char text[8192];
    size_t used = 0;
    if (what == CL_DEVICE_UUID_KHR) {
        unsigned char uuid[16];
        libcuda_uuid(linked_number(device), uuid);
        return layer_answer(uuid, sizeof uuid, size, value, size_ret);
    }
    if (what != CL_DEVICE_EXTENSIONS)
        return wrap_clGetDeviceInfo(device, what, size, value, size_ret);
    cl_int code = wrap_clGetDeviceInfo(device, what, sizeof text - sizeof added, text, &used);
    if (code)
        return code;
    strcpy(text + strlen(text), added);
    return layer_answer(text, strlen(text) + 1, size, value, size_ret);
}

struct linked_memory {
    void *pages;
    size_t bytes;
    int fd;
};

/* The descriptor is the buffer's from its creation to its end. */
static void CL_CALLBACK linked_end(cl_mem memory, void *arg) {
    struct linked_memory *linked = arg;
    (void)memory;
    munmap(linked->pages, linked->bytes);
    close(linked->fd);
    free(linked);
}

static cl_mem linked_refuse(cl_int *code, cl_int with) {
    *code = with;
    return NULL;
}

/* The newest contexts of parts: PoCL says that such a one is of the whole device. */
static struct {
    unsigned n;
    struct {
        cl_context id;
        int number;
    } of[16];
} linked_contexts; /* under the lock of linked_parts */

static cl_context CL_API_CALL linked_clCreateContext(
    const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *arg,
    cl_int *code) {
    cl_context context = wrap_clCreateContext(properties, n, devices, notify, arg, code);
    const int number = context ? linked_number(devices[0]) : LIBCUDA_WHOLE;
    pthread_mutex_lock(&linked_parts.lock);
    linked_contexts.of[linked_contexts.n % 16].id = context;
    linked_contexts.of[linked_contexts.n++ % 16].number = number;
    pthread_mutex_unlock(&linked_parts.lock);
    return context;
}

static int linked_number_of(cl_context context) {
    int number = LIBCUDA_WHOLE;
    pthread_mutex_lock(&linked_parts.lock);
    for (unsigned i = linked_contexts.n; i-- > 0 && linked_contexts.n - i <= 16;)
        if (linked_contexts.of[i % 16].id == context) {
            number = linked_contexts.of[i % 16].number;
            break;
        }
    pthread_mutex_unlock(&linked_parts.lock);
    return number;
}

static bool linked_reaches(cl_context context, int owner) {
    const int number = linked_number_of(context);
    return !links_are_uneven || number == owner || number == LIBCUDA_WHOLE ||
           owner == LIBCUDA_WHOLE;
}

static cl_mem linked_import(cl_context context, int fd, size_t bytes, cl_int *code) {
    struct stat facts;
    const int owner = libcuda_owner(fd);
    if (!owner || !linked_reaches(context, owner) || fstat(fd, &facts))
        return linked_refuse(code, LINKED_FOREIGN);
    if (bytes > (size_t)facts.st_size)
        return linked_refuse(code, LINKED_TOO_LONG);
    struct linked_memory *linked = malloc(sizeof *linked);
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!linked || pages == MAP_FAILED) {
        free(linked);
        return linked_refuse(code, CL_OUT_OF_HOST_MEMORY);
    }
    *linked = (struct linked_memory){pages, bytes, fd};
    cl_mem memory =
        next.clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, pages, code);
    if (*code) {
        munmap(pages, bytes);
        free(linked);
    } else {
        next.clSetMemObjectDestructorCallback(memory, linked_end, linked);
    }
    return memory;
}

static cl_mem CL_API_CALL linked_create(cl_context context, const cl_mem_properties *properties,
                                        cl_mem_flags flags, size_t bytes, void *host,
                                        cl_int *code) {
    (void)flags;
    (void)host;
    if (!properties || properties[0] != LINKED_OPAQUE_FD)
        return linked_refuse(code, CL_INVALID_PROPERTY);
    return linked_import(context, (int)properties[1], bytes, code);
}

static void linked_override(cl_icd_dispatch *table) {
    if (!device_is_linked)
        return;
    table->clGetDeviceInfo = linked_clGetDeviceInfo;
    table->clCreateContext = linked_clCreateContext;
    next.clCreateBufferWithProperties =
        linked_create; /* below the wrapper, which counts and fails */
}
