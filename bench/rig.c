/* SPDX-License-Identifier: MIT */
/* Opens the device, and makes streams, queues, memory and kernels for both sides. */
#include "rig.h"

#include <string.h>

#include "support.h"

const char bench_kernels[] =
    "kernel void nothing(global uint *p, uint v) { }\n"
    "#ifdef __IMAGE_SUPPORT__\n"
    "kernel void nothing_of_image(read_only image2d_t p, uint v) { }\n"
    "#endif\n"
    "kernel void advance(global uint *p, uint v) { p[0] += v; }\n"
    "kernel void spin(global uint *p, uint v) {\n"
    "    uint x = get_global_id(0) + p[0];\n"
    "    for (uint i = 0; i < v; i++)\n"
    "        for (uint j = 0; j < 256; j++) {\n"
    "            x ^= x << 13;\n"
    "            x ^= x >> 17;\n"
    "            x ^= x << 5;\n"
    "        }\n"
    "    p[1 + get_global_id(0)] = x;\n"
    "}\n"
    "kernel void work(global float4 *x, uint rounds) {\n"
    "    float4 y = x[get_global_id(0)];\n"
    "    for (uint i = 0; i < rounds; i++) y = y * 0.999f + 0.5f;\n"
    "    x[get_global_id(0)] = y;\n"
    "}\n"
    /* As the one that the prepared batch of bench/batch has, by hand for 16 elements. */
    "kernel void scaled_sum(global const float *a, ulong a_offset,\n"
    "                       global const float *b, ulong b_offset, float c,\n"
    "                       global float *out, ulong out_offset, ulong count) {\n"
    "    const float16 x = vload16(0, a + a_offset);\n"
    "    const float16 y = (x <= 0 ? (float16)0 : x) * c + vload16(0, b + b_offset);\n"
    "    vstore16(y, 0, out + out_offset);\n"
    "}\n";

static enum vendor vendor_of(const cls_device_info *info) {
    if (strstr(info->platform, "Portable Computing Language"))
        return VENDOR_POCL;
    if (strstr(info->platform, "NVIDIA"))
        return VENDOR_NVIDIA;
    if (strstr(info->platform, "Intel") && info->type == CLS_DEVICE_CPU)
        return VENDOR_INTEL_CPU;
    return VENDOR_OTHER;
}

void rig_open(struct rig *rig) {
    *rig = (struct rig){.info = CLS_DEVICE_INFO_INIT};
    CLS(cls_context_create(NULL, &rig->context));
    CLS(cls_context_get_device(rig->context, &rig->index));
    CLS(cls_device_get_info(rig->index, &rig->info));
    CLS(cls_context_get_cl(rig->context, &rig->cl, &rig->device));
    rig->vendor = vendor_of(&rig->info);
    rig->out_of_order = rig_capability(rig, "out_of_order") != 0;
}

void rig_close(struct rig *rig) { CLS(cls_context_destroy(rig->context)); }

bool rig_is_cpu(const struct rig *rig) { return rig->info.type == CLS_DEVICE_CPU; }

double rig_bar(const struct rig *rig, double cpu, double nvidia) {
    if (rig->vendor == VENDOR_NVIDIA)
        return nvidia;
    return rig->vendor == VENDOR_OTHER ? 0 : cpu;
}

double rig_capability(const struct rig *rig, const char *name) {
    cls_capability figure;
    for (size_t i = 0; cls_device_get_capability(rig->index, i, &figure) == CLS_SUCCESS; i++)
        if (strcmp(figure.name, name) == 0)
            return figure.value;
    die("no capability named %s", name);
}

cl_command_queue rig_queue(const struct rig *rig, bool out_of_order) {
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(
        rig->cl, rig->device, out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, &code);
    check_cl(code, "clCreateCommandQueue");
    return queue;
}

cl_mem rig_memory(const struct rig *rig, size_t bytes) {
    cl_int code;
    cl_mem memory = clCreateBuffer(rig->cl, CL_MEM_READ_WRITE, bytes, NULL, &code);
    check_cl(code, "clCreateBuffer");
    return memory;
}

cl_mem rig_mem_of(cls_buffer buffer) {
    cl_mem memory;
    CLS(cls_buffer_get_cl(buffer, &memory));
    return memory;
}

cls_stream rig_stream(const struct rig *rig, cls_order order) {
    cls_stream_config config = CLS_STREAM_CONFIG_INIT;
    cls_stream stream;
    config.order = order;
    CLS(cls_stream_create(rig->context, &config, &stream));
    return stream;
}

cl_kernel rig_raw_kernel(const struct rig *rig, const char *name) {
    const char *source = bench_kernels;
    cl_int code;
    cl_program program = clCreateProgramWithSource(rig->cl, 1, &source, NULL, &code);
    check_cl(code, "clCreateProgramWithSource");
    CL(clBuildProgram(program, 1, &rig->device, "", NULL, NULL));
    cl_kernel kernel = clCreateKernel(program, name, &code);
    check_cl(code, "clCreateKernel");
    CL(clReleaseProgram(program));
    return kernel;
}

cls_kernel rig_kernel(const struct rig *rig, const char *name) {
    cls_program program;
    cls_kernel kernel;
    CLS(cls_program_from_source(rig->context, bench_kernels, "bench", NULL, &program));
    CLS(cls_kernel_create(program, name, &kernel));
    CLS(cls_program_destroy(program));
    return kernel;
}
