/* SPDX-License-Identifier: MIT */
/*
 * Memory of NVIDIA's devices, which the OpenCL contexts of all devices with a link to it import. libcuda makes it: that
 * library comes with the OpenCL driver and is loaded at first use. No CUDA context is made, and nothing of libcuda's is
 * held but the descriptor. The functions and their types are those of the CUDA driver API, version 10.2 and later.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "driver/exporter.h"
#include "driver/status.h"
#include "system/libraries.h"
#include "system/pages.h"

/* cl_khr_external_memory_opaque_fd, which headers have since 2021. */
#ifndef CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR
#define CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR 0x2060
#endif

/* --- the part of libcuda's interface that is used --- */

enum {
    CU_INVALID_VALUE = 1,
    CU_OUT_OF_MEMORY = 2,
    CU_PINNED = 1,
    CU_DEVICE = 1,
    CU_FILE_DESCRIPTOR = 1,
    CU_MINIMUM = 0
};

struct cu_properties { /* CUmemAllocationProp */
    int type, handle_types;
    int location_type, location;
    void *windows;
    unsigned char flags[8];
};
_Static_assert(sizeof(struct cu_properties) == 24 + sizeof(void *),
               "CUmemAllocationProp has padding here");

typedef unsigned long long cu_memory; /* CUmemGenericAllocationHandle */

static struct {
    int (*init)(unsigned flags);
    int (*count)(int *count);
    int (*device)(int *device, int ordinal);
    int (*uuid)(unsigned char uuid[16], int device);
    int (*granularity)(size_t *bytes, const struct cu_properties *properties, int option);
    int (*create)(cu_memory *memory, size_t bytes, const struct cu_properties *properties,
                  unsigned long long flags);
    int (*export)(int *fd, cu_memory memory, int type, unsigned long long flags);
    int (*import)(cu_memory *memory, void *fd, int type);
    int (*release)(cu_memory memory);
} cuda;

static pthread_once_t loaded = PTHREAD_ONCE_INIT;
static const char *missing; /* why libcuda cannot be used; NULL: it can */

static void load(void) {
    static const struct {
        const char *name;
        void *to;
    } symbols[] = {{"cuInit", &cuda.init},
                   {"cuDeviceGetCount", &cuda.count},
                   {"cuDeviceGet", &cuda.device},
                   {"cuDeviceGetUuid", &cuda.uuid},
                   {"cuMemGetAllocationGranularity", &cuda.granularity},
                   {"cuMemCreate", &cuda.create},
                   {"cuMemExportToShareableHandle", &cuda.export},
                   {"cuMemImportFromShareableHandle", &cuda.import},
                   {"cuMemRelease", &cuda.release}};
    void *library = library_open("libcuda.so.1");
    missing = library ? NULL : "there is no libcuda.so.1";
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols && !missing; i++) {
        void *symbol = library_find(library, symbols[i].name);
        missing = symbol ? NULL : "libcuda is older than CUDA 10.2";
        memcpy(symbols[i].to, &symbol, sizeof symbol);
    }
    if (!missing && cuda.init(0))
        missing = "cuInit failed";
}

static cls_status cuda_status(int code, const char *call) {
    if (code == CU_OUT_OF_MEMORY)
        return error_set(CLS_ERROR_OUT_OF_DEVICE_MEMORY, "shareable memory: %s: out of memory",
                         call);
    return code ? error_set(CLS_ERROR_DRIVER, "shareable memory: %s: CUDA error %d", call, code)
                : CLS_SUCCESS;
}

/* --- making --- */

static cls_status is_ordinal(const struct device *device, int ordinal, bool *is) {
    unsigned char uuid[sizeof device->info.uuid];
    int found;
    cls_status status = cuda_status(cuda.device(&found, ordinal), "cuDeviceGet");
    if (!status)
        status = cuda_status(cuda.uuid(uuid, found), "cuDeviceGetUuid");
    *is = !status && !memcmp(uuid, device->info.uuid, sizeof uuid);
    return status;
}

static cls_status find_ordinal(const struct device *device, int *out) {
    int count = 0;
    bool found = false;
    pthread_once(&loaded, load);
    if (missing)
        return error_set(CLS_ERROR_UNSUPPORTED, "shareable memory: %s", missing);
    cls_status status = cuda_status(cuda.count(&count), "cuDeviceGetCount");
    for (int i = 0; i < count && !status && !found; i++) {
        status = is_ordinal(device, i, &found);
        *out = i;
    }
    return status || found
               ? status
               : error_set(CLS_ERROR_UNSUPPORTED, "shareable memory: libcuda has no device %s",
                           device->info.name);
}

static cls_status create(size_t bytes, const struct cu_properties *properties, int *fd) {
    size_t unit = 1;
    cu_memory memory;
    cls_status status = cuda_status(cuda.granularity(&unit, properties, CU_MINIMUM),
                                    "cuMemGetAllocationGranularity");
    if (status)
        return status;
    status =
        bytes > SIZE_MAX - unit
            ? cuda_status(CU_OUT_OF_MEMORY, "cuMemCreate")
            : cuda_status(cuda.create(&memory, (bytes + unit - 1) / unit * unit, properties, 0),
                          "cuMemCreate");
    if (status)
        return status;
    status =
        cuda_status(cuda.export(fd, memory, CU_FILE_DESCRIPTOR, 0), "cuMemExportToShareableHandle");
    cuda.release(memory); /* the descriptor keeps it */
    return status;
}

static cls_status make_memory(struct shareable *shareable, const struct device *device) {
    struct cu_properties properties = {
        .type = CU_PINNED, .handle_types = CU_FILE_DESCRIPTOR, .location_type = CU_DEVICE};
    if (!device->imports_fds)
        return error_set(CLS_ERROR_UNSUPPORTED, "shareable memory: %s imports no descriptors",
                         device->info.name);
    cls_status status = find_ordinal(device, &properties.location);
    if (!status)
        status = create(shareable->bytes, &properties, &shareable->fd);
    if (!status)
        descriptor_keep_private(shareable->fd);
    return status;
}

/* libcuda tells whether it is memory at all; the driver, when it is imported, whether it is large enough. */
static cls_status open_memory(struct shareable *shareable, int fd) {
    cu_memory memory;
    pthread_once(&loaded, load);
    if (missing)
        return exporter_foreign(fd);
    const int code = cuda.import(&memory, (void *)(intptr_t)fd, CU_FILE_DESCRIPTOR);
    if (code)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "%d is no descriptor of cls_buffer_export: "
                         "cuMemImportFromShareableHandle: CUDA error %d",
                         fd, code);
    cuda.release(memory);
    return exporter_duplicate(fd, &shareable->fd);
}

static bool is_memory(const struct shareable *shareable, int fd) {
    return descriptor_is_same(shareable->fd, fd);
}

static void unmake_memory(struct shareable *shareable) { descriptor_close(shareable->fd); }

/* --- buffers --- */

typedef cl_mem(CL_API_CALL *create_fn)(cl_context context, const cl_mem_properties *properties,
                                       cl_mem_flags flags, size_t bytes, void *host, cl_int *code);

/* A loader older than OpenCL 3.0 lacks it. */
static create_fn find_create(void) {
    create_fn function;
    void *symbol = library_find(NULL, "clCreateBufferWithProperties");
    memcpy(&function, &symbol, sizeof function);
    return function;
}

/* The driver lets CUDA's codes through, which are positive: this one where more bytes are asked for than there are. */
static cls_status import_status(int code, size_t bytes) {
    if (code == CU_INVALID_VALUE)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "the exported buffer has fewer than %zu bytes",
                         bytes);
    return driver_status(code, "clCreateBufferWithProperties of a device's memory");
}

/* The buffer takes the descriptor over. */
static cls_status import_memory(const struct shareable *shareable, const struct device *device,
                                cl_context context, cl_mem *out) {
    const create_fn create_buffer = find_create();
    cl_int code;
    int fd;
    if (!device->imports_fds || !create_buffer)
        return error_set(CLS_ERROR_UNSUPPORTED, "shareable memory: %s imports no descriptors",
                         device->info.name);
    cls_status status = exporter_duplicate(shareable->fd, &fd);
    if (status)
        return status;
    const cl_mem_properties properties[] = {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
                                            (cl_mem_properties)fd, 0};
    cl_mem memory =
        create_buffer(context, properties, CL_MEM_READ_WRITE, shareable->bytes, NULL, &code);
    if (code == CL_SUCCESS)
        *out = memory;
    else
        descriptor_close(fd);
    return import_status(code, shareable->bytes);
}

const struct exporter exporter_cuda = {CLS_SHARE_DIRECT_LINK, make_memory,  open_memory, is_memory,
                                       import_memory,         unmake_memory};
