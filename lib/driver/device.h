/* SPDX-License-Identifier: MIT */
/*
 * The OpenCL devices of all platforms. The list is made once per process and never changes or goes away, so
 * a struct device pointer stays valid.
 */
#ifndef CLSTREAM_DRIVER_DEVICE_H
#define CLSTREAM_DRIVER_DEVICE_H

#include <stdbool.h>

#include <clstream/device.h>

#include "driver/cl.h"

struct caps;

struct device {
    size_t index;
    cl_platform_id platform;
    cl_device_id id;
    cls_device_info info;
    char platform_version[128];
    unsigned cl_version;   /* 120, 200, 210, 300: the lower of the device's and the platform's */
    bool out_of_order;     /* the device's queue properties allow out-of-order queues */
    bool priority_hints;   /* cl_khr_priority_hints */
    bool limits_registers; /* cl_nv_compiler_options: -cl-nv-maxrregcount */
    bool imports_fds;      /* cl_khr_external_memory_opaque_fd, and the device has a UUID */
    bool odd_groups; /* the last groups of a launch may be smaller, in programs that allow it */
    unsigned
        vector_bytes; /* of a vector register, by the driver's word; 0: it has none, or tells none */
    char *extensions;    /* as info.extensions; owned */
    size_t most_items;   /* that one dimension counts: the largest size_t of its kernels */
    size_t max_local[3]; /* most work-items of a group, by dimension; SIZE_MAX: no limit */
    bool shares_coarsely, shares_finely; /* shared virtual memory for buffers */
    unsigned compute_capability;         /* of NVIDIA's devices: 90 for 9.0; 0: of another vendor */
    unsigned quirks;                     /* enum quirk bits in force */
    uint64_t key;                        /* xxHash of `identity` */
    char *identity; /* everything that names platform, device, driver version and, for a CPU,
                                its instruction set; one line each */
    struct device_state *state; /* made on first use: the capability record */
};

/* Whether the device computes on the host's cores: a host thread that spins takes one from it. */
static inline bool device_uses_host_cores(const struct device *device) {
    return device->info.type == CLS_DEVICE_CPU;
}

/* Whether clSetKernelArgSVMPointer may be called. */
static inline bool device_takes_pointers(const struct device *device) {
    return device->shares_coarsely || device->shares_finely;
}

/* The list of devices; an empty list is a success. */
cls_status device_list(struct device *const **devices, size_t *count);

/* "cpu", "gpu", "accelerator" or "other". */
const char *device_type_name(cls_device_type type);

/* As cls_device_find. */
cls_status device_find(const char *spec, struct device **out);

/* The entry for a cl_device_id. A sub-device gets an entry outside the list at its first use, with
 * the index of the device that it is a part of. */
cls_status device_of_id(cl_device_id id, struct device **out);

/* Whether a list of names with blanks between them has a name. */
bool device_list_has(const char *list, const char *name);

/* The most work-items of a group in one dimension, as the device states; a kernel may allow less. */
static inline size_t device_max_line(const struct device *device) {
    const size_t group = device->info.max_work_group, line = device->max_local[0];
    return group < line ? group : line;
}

#endif
