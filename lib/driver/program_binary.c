/* SPDX-License-Identifier: MIT */
#include "driver/program_binary.h"

#include <stdlib.h>

cl_int program_from_binary(const struct device *device, cl_context context,
                           struct cache_bytes binary, const char *options, cl_program *out) {
    cl_int code, state = CL_SUCCESS;
    const unsigned char *bytes = binary.bytes;
    cl_program program =
        clCreateProgramWithBinary(context, 1, &device->id, &binary.size, &bytes, &state, &code);
    if (code != CL_SUCCESS)
        return code;
    code = state ? state : clBuildProgram(program, 1, &device->id, options, NULL, NULL);
    if (code != CL_SUCCESS)
        clReleaseProgram(program);
    else
        *out = program;
    return code;
}

void device_il_versions(const struct device *device, char text[IL_ROOM]) {
    if (device->cl_version < 210 ||
        clGetDeviceInfo(device->id, CL_DEVICE_IL_VERSION, IL_ROOM, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
}

cl_int program_from_il(const struct device *device, cl_context context, struct cache_bytes il,
                       const char *options, cl_program *out) {
    cl_int code;
    cl_program program = clCreateProgramWithIL(context, il.bytes, il.size, &code);
    if (code == CL_SUCCESS)
        code = clBuildProgram(program, 1, &device->id, options, NULL, NULL);
    *out = program;
    return code;
}

/* A program of several devices has a binary for each, in an order of its own. */
struct binary_list {
    cl_uint count;
    cl_uint which; /* our device's place */
    cl_device_id *ids;
    size_t *sizes;
    unsigned char **binaries;
};

static void free_listing(struct binary_list *list) {
    free(list->ids);
    free(list->sizes);
    free(list->binaries);
}

static bool ask(cl_program program, cl_program_info what, size_t size, void *to) {
    return clGetProgramInfo(program, what, size, to, NULL) == CL_SUCCESS;
}

static bool list_devices(cl_program program, cl_device_id id, struct binary_list *list) {
    if (!ask(program, CL_PROGRAM_NUM_DEVICES, sizeof list->count, &list->count) || !list->count)
        return false;
    list->ids = calloc(list->count, sizeof *list->ids);
    list->sizes = calloc(list->count, sizeof *list->sizes);
    list->binaries = calloc(list->count, sizeof *list->binaries);
    if (!list->ids || !list->sizes || !list->binaries ||
        !ask(program, CL_PROGRAM_DEVICES, list->count * sizeof *list->ids, list->ids) ||
        !ask(program, CL_PROGRAM_BINARY_SIZES, list->count * sizeof *list->sizes, list->sizes))
        return false;
    while (list->which < list->count && list->ids[list->which] != id)
        list->which++;
    return list->which < list->count && list->sizes[list->which] > 0;
}

struct cache_bytes program_to_binary(const struct device *device, cl_program program) {
    struct binary_list list = {0};
    struct cache_bytes binary = {NULL, 0};
    unsigned char *bytes = NULL;
    if (list_devices(program, device->id, &list))
        bytes = list.binaries[list.which] = malloc(list.sizes[list.which]);
    if (bytes &&
        ask(program, CL_PROGRAM_BINARIES, list.count * sizeof *list.binaries, list.binaries))
        binary = (struct cache_bytes){bytes, list.sizes[list.which]};
    else
        free(bytes);
    free_listing(&list);
    return binary;
}
