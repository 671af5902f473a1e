/* SPDX-License-Identifier: MIT */
#include "driver/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rare.h"
#include "base/text.h"
#include "driver/build_log.h"
#include "driver/cache_claim.h"
#include "driver/program_binary.h"
#include "driver/program_disk.h"
#include "driver/ptx.h"
#include "driver/serial.h"
#include "driver/source_include.h"
#include "driver/status.h"

/* The line directive gives the compiler's messages the file's name. */
static void append_source(struct text *text, const struct program_spec *spec) {
    const char *at = spec->source;
    at += strspn(at, " \t\r\n");
    if (strncmp(at, "#line", 5) != 0)
        append_line_directive(text, 1, spec->name ? spec->name : "source.cl");
    text_append(text, spec->source, strlen(spec->source));
}

static char *build_log(cl_program program, cl_device_id id) {
    size_t size = 0;
    if (clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS)
        return NULL;
    char *log = calloc(1, size + 1);
    if (log &&
        clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size, log, NULL) != CL_SUCCESS) {
        free(log);
        log = NULL;
    }
    return log;
}

static cls_status report_build(const struct device *device, const struct program_spec *spec,
                               const char *source, cl_program program, cl_int code) {
    cls_status status = status_of_cl(code);
    if (status != CLS_ERROR_BUILD_FAILED)
        return driver_status(code, "clBuildProgram");
    char *raw = build_log(program, device->id);
    char *log = raw && *raw ? build_log_located(raw, source) : NULL;
    const char *options = spec->options ? spec->options : "";
    error_set_code(status, code, "building %s with \"%s\" on %s failed: %s\n%s",
                   spec->name ? spec->name : "source.cl", options, device->info.name,
                   cl_code_name(code), log ? log : "(the compiler left no log)");
    free(log);
    free(raw);
    return status;
}

static cls_status build_source(const struct device *device, cl_context context,
                               const struct program_spec *spec, const char *source,
                               cl_program *out) {
    cl_int code;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    if (code != CL_SUCCESS)
        return driver_status(code, "clCreateProgramWithSource");
    code = clBuildProgram(program, 1, &device->id, spec->options ? spec->options : "", NULL, NULL);
    if (code != CL_SUCCESS) {
        cls_status status = report_build(device, spec, source, program, code);
        clReleaseProgram(program);
        return status;
    }
    *out = program;
    return CLS_SUCCESS;
}

/* With the instructions of a source that asks for a target of its own. */
static cls_status build(const struct device *device, cl_context context,
                        const struct program_spec *spec, const char *source, cl_program *out) {
    size_t length;
    const char *target = ptx_target(source, &length);
    cl_program built;
    cls_status status = build_source(device, context, spec, source, &built);
    if (status || !target) {
        if (!status)
            *out = built;
        return status;
    }
    status = ptx_substitute(device, context, built, target, length,
                            spec->options ? spec->options : "", out);
    clReleaseProgram(built);
    return status;
}

/* Binaries of some drivers (Intel) no longer know how parameters are passed. False when the program has a
 * kernel with parameters and tells nothing of them. */
static bool tells_parameters(cl_program program) {
    cl_uint count = 0, n = 0;
    cl_kernel_arg_address_qualifier space;
    bool tells = true, looked = false;
    if (clCreateKernelsInProgram(program, 0, NULL, &count) != CL_SUCCESS)
        return false;
    cl_kernel *kernels = malloc((count + 1) * sizeof *kernels);
    if (!kernels ||
        (count && clCreateKernelsInProgram(program, count, kernels, NULL) != CL_SUCCESS)) {
        free(kernels);
        return false;
    }
    for (cl_uint i = 0; i < count; i++) {
        if (!looked &&
            clGetKernelInfo(kernels[i], CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL) == CL_SUCCESS &&
            n) {
            looked = true;
            tells = clGetKernelArgInfo(kernels[i], 0, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof space,
                                       &space, NULL) == CL_SUCCESS;
        }
        clReleaseKernel(kernels[i]);
    }
    free(kernels);
    return tells;
}

/* Rejects a cached program that lost the argument information which its options ask to keep. */
static bool keeps_promise(cl_program program, const struct program_spec *spec) {
    bool asked = spec->options && strstr(spec->options, "-cl-kernel-arg-info");
    return !asked || tells_parameters(program);
}

/* Loads a program from the disk. Sets `*cached` to false if it is of no use, as it would be if stored again. */
static cl_program load(const struct device *device, cl_context context,
                       const struct program_spec *spec, struct cache_bytes key, bool *cached) {
    cl_program program =
        program_disk_load(device, context, key, spec->options ? spec->options : "");
    if (!program || keeps_promise(program, spec))
        return program;
    clReleaseProgram(program);
    *cached = false;
    return NULL;
}

static cls_status load_or_build(const struct device *device, cl_context context,
                                const struct program_spec *spec, const char *source,
                                cl_program *out) {
    struct text material = {0};
    bool cached = program_disk_key(device, spec, source, &material);
    struct cache_bytes key = {material.bytes, material.length};
    struct cache_claim claim = {.lock = FILE_UNLOCKED};
    cls_status status = CLS_SUCCESS;
    cl_program program = NULL;
    if (cached)
        program = load(device, context, spec, key, &cached);
    if (!program && cached && cache_claim_begin(CACHE_PROGRAM, key, &claim))
        program = load(device, context, spec, key, &cached);
    if (!program) {
        status = build(device, context, spec, source, &program);
        if (!status && cached)
            program_disk_store(device, program, key);
    }
    cache_claim_end(&claim);
    free(material.bytes);
    if (!status)
        *out = program;
    return status;
}

cls_status program_build(struct device *device, cl_context context, const struct program_spec *spec,
                         cl_program *out) {
    struct text source = {0};
    append_source(&source, spec);
    if (source.failed) {
        free(source.bytes);
        return error_no_memory("for a program");
    }
    cls_status status = CLS_ERROR_SHUTDOWN;
    if (driver_begin(device)) {
        status = load_or_build(device, context, spec, source.bytes, out);
        driver_end(device);
    } else {
        driver_gone();
    }
    free(source.bytes);
    return status;
}

void program_release(cl_program program) {
    if (!driver_begin(NULL))
        return;
    clReleaseProgram(program);
    driver_end(NULL);
}

cls_status program_get_binary(const struct device *device, cl_program program,
                              struct cache_bytes *out) {
    if (!driver_begin(device))
        return driver_gone();
    *out = program_to_binary(device, program);
    driver_end(device);
    if (!out->bytes)
        return error_set(CLS_ERROR_UNSUPPORTED, "%s gives no binary of the program",
                         device->info.name);
    return CLS_SUCCESS;
}

cls_status program_build_binary(const struct device *device, cl_context context,
                                struct cache_bytes binary, const char *options, cl_program *out) {
    if (!driver_begin(device))
        return driver_gone();
    const cl_int code = program_from_binary(device, context, binary, options, out);
    driver_end(device);
    if (code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES)
        return driver_status(code, "clCreateProgramWithBinary");
    if (code != CL_SUCCESS)
        return error_set_code(CLS_ERROR_UNSUPPORTED, code, "%s refuses the binary: %s",
                              device->info.name, cl_code_name(code));
    return CLS_SUCCESS;
}

static cls_status build_il(const struct device *device, cl_context context, struct cache_bytes il,
                           const struct program_spec *spec, cl_program *out) {
    char versions[IL_ROOM];
    device_il_versions(device, versions);
    if (!*versions)
        return error_set(CLS_ERROR_UNSUPPORTED, "%s takes no intermediate language",
                         device->info.name);
    cl_program program;
    const cl_int code = program_from_il(device, context, il, spec->options, &program);
    cls_status status = CLS_SUCCESS;
    if (code == CL_INVALID_VALUE)
        status = error_set_code(CLS_ERROR_BUILD_FAILED, code, "%s refuses %s; it takes %s",
                                device->info.name, spec->name, versions);
    else if (code != CL_SUCCESS)
        status = report_build(device, spec, "", program, code);
    if (!status)
        *out = program;
    else if (program)
        clReleaseProgram(program);
    return status;
}

cls_status program_build_il(const struct device *device, cl_context context, struct cache_bytes il,
                            const struct program_spec *spec, cl_program *out) {
    if (!driver_begin(device))
        return driver_gone();
    cls_status status = build_il(device, context, il, spec, out);
    driver_end(device);
    return status;
}

/* The context of a program that the driver does not know is none. */
static cls_status check_own(const struct device *device, cl_context context, cl_program program) {
    cl_context own = NULL;
    cl_build_status built = CL_BUILD_NONE;
    cl_int code = clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof own, &own, NULL);
    if (code != CL_SUCCESS)
        return driver_status(code, "clGetProgramInfo(CL_PROGRAM_CONTEXT)");
    if (own != context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "the program is of another cl_context");
    code = clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_STATUS, sizeof built, &built,
                                 NULL);
    if (code != CL_SUCCESS || built != CL_BUILD_SUCCESS)
        return error_set_code(CLS_ERROR_INVALID_STATE, code, "the program is not built for %s",
                              device->info.name);
    return CLS_SUCCESS;
}

cls_status program_adopt(const struct device *device, cl_context context, cl_program program) {
    if (!driver_begin(device))
        return driver_gone();
    cls_status status = check_own(device, context, program);
    if (!status)
        status = driver_status(clRetainProgram(program), "clRetainProgram");
    driver_end(device);
    return status;
}

/* "f;g" as "f g"; false where the driver does not tell. */
static bool list_kernels(cl_program program, char *text, size_t room) {
    if (clGetProgramInfo(program, CL_PROGRAM_KERNEL_NAMES, room, text, NULL) != CL_SUCCESS)
        return false;
    for (char *at = text; (at = strchr(at, ';')) != NULL; at++)
        *at = ' ';
    return *text != '\0';
}

COLD static cls_status no_kernel(cl_program program, const char *name) {
    char names[1024];
    driver_enter(NULL);
    const bool listed = list_kernels(program, names, sizeof names);
    driver_leave(NULL);
    return error_set_code(CLS_ERROR_NOT_FOUND, CL_INVALID_KERNEL_NAME,
                          "the program has no kernel \"%s\"%s%s", name,
                          listed ? "; its kernels: " : "", listed ? names : "");
}

cls_status program_create_kernel(cl_program program, const char *name, cl_kernel *out) {
    cl_int code;
    if (!driver_begin(NULL))
        return driver_gone();
    cl_kernel kernel = clCreateKernel(program, name, &code);
    driver_end(NULL);
    if (code == CL_INVALID_KERNEL_NAME)
        return no_kernel(program, name);
    if (code != CL_SUCCESS)
        return driver_status(code, "clCreateKernel");
    *out = kernel;
    return CLS_SUCCESS;
}
