/* SPDX-License-Identifier: MIT */
/*
 * Devices over all platforms. The list is made once a process and never changes or goes away, so a
 * struct device pointer is good forever.
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
    unsigned cl_version; /* 120, 200, 210, 300: the lower of the device's and the platform's */
    bool out_of_order;   /* accepted by the queue properties */
    bool priority_hints; /* cl_khr_priority_hints */
    size_t max_local[3]; /* of a group, by dimension; SIZE_MAX: any, as far as the kernel goes */
    bool shares_coarsely, shares_finely; /* shared virtual memory for buffers */
    unsigned quirks;                     /* enum quirk bits in force */
    uint64_t key;                        /* xxHash of `identity` */
    char *identity; /* everything that names platform, device, driver version and, for a CPU,
                                its instruction set; one line each */
    struct device_state *state; /* lazily made things: the capability record */
};

/* The list; an empty one is a success. */
cls_status device_list(struct device *const **devices, size_t *count);

/* "cpu", "gpu", "accelerator" or "other". */
const char *device_type_name(cls_device_type type);

/* As cls_device_find. */
cls_status device_find(const char *spec, struct device **out);

/* The entry for a cl_device_id, sub-devices included: an entry outside the list is made for those
 * on first sight, with the index of the device that they are a part of. */
cls_status device_of_id(cl_device_id id, struct device **out);

#endif
