/* SPDX-License-Identifier: MIT */
/* What both sides of a comparison share: one device, one cl_context, the same kernels. */
#ifndef CLSTREAM_BENCH_RIG_H
#define CLSTREAM_BENCH_RIG_H

#include <clstream.h>
#include <clstream/opencl.h>

#include <stdbool.h>

/* Drivers that bars are stated for. */
enum vendor { VENDOR_OTHER, VENDOR_POCL, VENDOR_INTEL_CPU, VENDOR_NVIDIA };

struct rig {
    cls_context context;
    size_t index;
    cls_device_info info;
    enum vendor vendor;
    cl_context cl;
    cl_device_id device;
    bool out_of_order; /* the driver has such queues */
};

/* Opens the device that CLSTREAM_DEVICE names. */
void rig_open(struct rig *rig);
void rig_close(struct rig *rig);

bool rig_is_cpu(const struct rig *rig);

/* The bar for the CPU drivers, or that for NVIDIA's; 0 elsewhere: nothing is promised there. */
double rig_bar(const struct rig *rig, double cpu, double nvidia);

/* A figure of the capability record. */
double rig_capability(const struct rig *rig, const char *name);

cl_command_queue rig_queue(const struct rig *rig, bool out_of_order);
cl_mem rig_memory(const struct rig *rig, size_t bytes);
cl_mem rig_mem_of(cls_buffer buffer);

cls_stream rig_stream(const struct rig *rig, cls_order order);

/* A kernel of bench_kernels, once for each side. */
cl_kernel rig_raw_kernel(const struct rig *rig, const char *name);
cls_kernel rig_kernel(const struct rig *rig, const char *name);

extern const char bench_kernels[];

#endif
