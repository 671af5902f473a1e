/* SPDX-License-Identifier: MIT */
#include "driver/ptx.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "driver/status.h"

#define MARK "//@"
#define SOURCE_TARGET "\n//@target "
#define PTX_TARGET ".target "

static size_t word_length(const char *text) {
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    return n;
}

const char *ptx_target(const char *source, size_t *length) {
    const char *line = strstr(source, SOURCE_TARGET);
    if (!line)
        return NULL;
    line += strlen(SOURCE_TARGET);
    *length = word_length(line);
    return *length ? line : NULL;
}

/* Appends what lies from `from` up to `to`. */
static char *append(char *out, const char *from, const char *to) {
    memcpy(out, from, (size_t)(to - from));
    return out + (to - from);
}

/* sm_90 is of the family of sm_90a. */
static bool is_family(const char *own, size_t own_length, const char *target, size_t length) {
    return own_length + 1 == length && !strncmp(own, target, own_length);
}

char *ptx_edit(const char *text, const char *target, size_t length) {
    const char *own = strstr(text, PTX_TARGET), *mark = strstr(text, MARK);
    if (!own || !mark)
        return NULL;
    own += strlen(PTX_TARGET);
    const char *rest = own + word_length(own);
    if (!is_family(own, (size_t)(rest - own), target, length))
        return NULL;
    char *edited = malloc(strlen(text) + length + 1);
    if (!edited)
        return NULL;
    char *out = append(append(edited, text, own), target, target + length);
    for (; (mark = strstr(rest, MARK)) != NULL; rest = mark + strlen(MARK))
        out = append(out, rest, mark);
    append(out, rest, rest + strlen(rest) + 1);
    return edited;
}

/* The binary as text, or NULL. */
static char *text_of(cl_program program) {
    size_t size = 0;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_SUCCESS)
        return NULL;
    char *text = calloc(1, size + 1);
    unsigned char *to = (unsigned char *)text;
    if (text &&
        clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, NULL) != CL_SUCCESS) {
        free(text);
        text = NULL;
    }
    return text;
}

static cls_status refuse(const struct device *device, const char *target, size_t length,
                         cl_int code, const char *reason) {
    return error_set_code(CLS_ERROR_UNSUPPORTED, code, "%s: no instructions of %.*s, since %s",
                          device->info.name, (int)length, target, reason);
}

static cls_status load(const struct device *device, cl_context context, const char *text,
                       const char *target, size_t length, const char *options, cl_program *out) {
    const unsigned char *bytes = (const unsigned char *)text;
    const size_t size = strlen(text) + 1;
    cl_int status = CL_SUCCESS, code;
    cl_program program =
        clCreateProgramWithBinary(context, 1, &device->id, &size, &bytes, &status, &code);
    if (code != CL_SUCCESS || status != CL_SUCCESS) {
        if (code == CL_SUCCESS)
            clReleaseProgram(program);
        return refuse(device, target, length, code ? code : status, "the driver takes no PTX");
    }
    code = clBuildProgram(program, 1, &device->id, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        clReleaseProgram(program);
        return refuse(device, target, length, code, "the driver does not assemble them");
    }
    *out = program;
    return CLS_SUCCESS;
}

cls_status ptx_substitute(const struct device *device, cl_context context, cl_program built,
                          const char *target, size_t length, const char *options, cl_program *out) {
    char *text = text_of(built);
    char *edited = text ? ptx_edit(text, target, length) : NULL;
    free(text);
    if (!edited)
        return refuse(device, target, length, CL_SUCCESS,
                      "the driver's binaries are no PTX with a place for them");
    cls_status status = load(device, context, edited, target, length, options, out);
    free(edited);
    return status;
}
