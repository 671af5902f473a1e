/* SPDX-License-Identifier: MIT */
/* Trials of memory that host and device use in turns, or at once. */
#include "driver/trial.h"

#include <stdint.h>
#include <stdlib.h>

enum { BYTES = 200, TO_DEVICE = 0x21, TO_HOST = 0x42, AT_ONCE = 0x63 };

/* --- steps --- */

static unsigned char *map(struct trial *trial, cl_mem memory) {
    cl_event event = NULL;
    cl_int code;
    unsigned char *host =
        clEnqueueMapBuffer(trial->probe->queues[0], memory, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0,
                           trial->unit, 0, NULL, &event, &code);
    return trial_done(trial, code, event) ? host : NULL;
}

static bool unmap(struct trial *trial, cl_mem memory, void *host) {
    cl_event event = NULL;
    const cl_int code =
        clEnqueueUnmapMemObject(trial->probe->queues[0], memory, host, 0, NULL, &event);
    return trial_done(trial, code, event);
}

/* The host writes, and a kernel reads into the trial's first buffer. */
static void write_as_host(struct trial *trial, unsigned char *host) {
    for (unsigned i = 0; i < BYTES; i++) {
        host[i] = (unsigned char)(3 * i + 1);
        trial->wanted[0][i] = host[i] ^ TO_DEVICE;
    }
}

static bool read_as_device(struct trial *trial, cl_mem memory) {
    return trial_change(trial, memory, trial->memory[0], BYTES, TO_DEVICE) && trial_compare(trial);
}

/* A kernel writes, and the host reads. */
static bool write_as_device(struct trial *trial, cl_mem memory, cl_uint value) {
    return trial_change(trial, trial->memory[1], memory, BYTES, value);
}

static bool read_as_host(const struct trial *trial, const unsigned char *host, cl_uint value) {
    for (unsigned i = 0; i < BYTES; i++)
        if (host[i] != (unsigned char)(trial->wanted[1][i] ^ value))
            return false;
    return true;
}

/* The address of a mapping stays the same: `host`, where that is not NULL. `at_once`: on a CPU kernels and host use mapped
 * memory at once (memory/host_buffer.c). */
static bool use_mapped(struct trial *trial, cl_mem memory, unsigned char *host, bool at_once) {
    unsigned char *first = map(trial, memory), *again;
    if (!first || (host && first != host))
        return false;
    write_as_host(trial, first);
    if (!unmap(trial, memory, first) || !read_as_device(trial, memory) ||
        !write_as_device(trial, memory, TO_HOST) || (again = map(trial, memory)) == NULL)
        return false;
    bool right = again == first && read_as_host(trial, again, TO_HOST);
    if (right && at_once && trial->probe->device->info.type == CLS_DEVICE_CPU)
        right = write_as_device(trial, memory, AT_ONCE) && read_as_host(trial, again, AT_ONCE);
    return unmap(trial, memory, again) && right;
}

/* --- the trials --- */

bool trial_of_mapped_memory(struct trial *trial) {
    cl_int code;
    cl_mem memory = clCreateBuffer(trial->probe->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                   trial->unit, NULL, &code);
    const bool right =
        trial_did(trial, code) && trial_reset(trial, 14) && use_mapped(trial, memory, NULL, true);
    if (code == CL_SUCCESS && !trial->probe->stuck)
        clReleaseMemObject(memory);
    return right;
}

/* On devices with the host's memory; others are never asked. */
bool trial_of_host_memory(struct trial *trial) {
    const struct device *device = trial->probe->device;
    const size_t align = device->info.base_align;
    cl_int code;
    if (!device->info.unified_memory)
        return true;
    char *block = malloc(trial->unit + align);
    if (!block)
        return trial_did(trial, CL_OUT_OF_HOST_MEMORY);
    unsigned char *host = (unsigned char *)block + (-(uintptr_t)block & (align - 1));
    cl_mem memory = clCreateBuffer(trial->probe->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                   trial->unit, host, &code);
    const bool right =
        trial_did(trial, code) && trial_reset(trial, 17) && use_mapped(trial, memory, host, true);
    if (trial->probe->stuck) /* the driver may use it for good */
        return false;
    if (code == CL_SUCCESS)
        clReleaseMemObject(memory);
    free(block);
    return right;
}

static bool use_coarse(struct trial *trial, cl_mem memory, unsigned char *host) {
    return use_mapped(trial, memory, host, false);
}

static bool use_fine(struct trial *trial, cl_mem memory, unsigned char *host) {
    write_as_host(trial, host);
    return read_as_device(trial, memory) && write_as_device(trial, memory, TO_HOST) &&
           read_as_host(trial, host, TO_HOST);
}

/* A buffer on top of shared virtual memory, as in driver/shared.c. */
static bool use_shared(struct trial *trial, bool fine) {
    const cl_svm_mem_flags flags = CL_MEM_READ_WRITE | (fine ? CL_MEM_SVM_FINE_GRAIN_BUFFER : 0);
    cl_context context = trial->probe->context;
    cl_int code;
    void *host = clSVMAlloc(context, flags, trial->unit, 0);
    if (!host)
        return trial_did(trial, CL_OUT_OF_RESOURCES);
    cl_mem memory =
        clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, trial->unit, host, &code);
    const bool right = trial_did(trial, code) && trial_reset(trial, 15) &&
                       (fine ? use_fine : use_coarse)(trial, memory, host);
    if (trial->probe->stuck)
        return false;
    if (code == CL_SUCCESS)
        clReleaseMemObject(memory);
    clSVMFree(context, host);
    return right;
}

bool trial_of_shared_memory(struct trial *trial) {
    const struct device *device = trial->probe->device;
    return (!device->shares_coarsely || use_shared(trial, false)) &&
           (!device->shares_finely || use_shared(trial, true));
}
