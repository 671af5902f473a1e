/* SPDX-License-Identifier: MIT */
/* cls_program: the user's programs, from OpenCL C, binaries, SPIR-V and the user's own OpenCL. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/opencl.h>

#include "base/error.h"
#include "base/text.h"
#include "base/text_file.h"
#include "command/kernel.h"
#include "driver/cache_blob.h"
#include "driver/program.h"
#include "driver/source_include.h"
#include "driver/source_kernels.h"
#include "driver/source_words.h"
#include "stream/context.h"

/* Knowing how parameters are passed lets a wrong argument be refused before a driver crashes on it. */
#define ARG_INFO_OPTION "-cl-kernel-arg-info"

static void program_finalize(struct object *object) {
    struct program *program = (struct program *)(void *)object;
    program_release(program->cl);
    free(program->source);
    free(program->name);
    free(program->options);
    free(program->may_be_cut);
    context_put(program->context);
}

struct object_pool program_pool =
    OBJECT_POOL(5, sizeof(struct program), "program", program_finalize);

bool program_may_be_cut(const struct program *program, const char *function) {
    char name[sizeof((struct kernel *)0)->name + 2];
    snprintf(name, sizeof name, " %s ", function);
    return program->ignores_grid || (program->may_be_cut && strstr(program->may_be_cut, name));
}

/* Takes `cl`, of which it gives up the reference when it fails. */
static cls_status program_new(struct context *context, cl_program cl, const char *name,
                              const char *options, struct program **out) {
    struct program *program = object_create(&program_pool);
    if (!program) {
        program_release(cl);
        return object_none(&program_pool, "a program");
    }
    object_retain(&context->object);
    program->context = context;
    program->cl = cl;
    program->name = strdup(name);
    program->options = strdup(options);
    if (!program->name || !program->options) {
        object_release(&program->object);
        return error_no_memory("for a program");
    }
    *out = program;
    return CLS_SUCCESS;
}

/* --- from OpenCL C --- */

/* NULL: none, or none that is known. */
static char *kernels_without_grid(const struct program_spec *spec) {
    struct text names = {0};
    source_kernels_without_grid(spec->source, spec->options, &names);
    if (!names.failed)
        return names.bytes;
    free(names.bytes);
    return NULL;
}

static cls_status program_of_source(struct context *context, const struct program_spec *spec,
                                    struct program **out) {
    cl_program cl;
    struct program *program;
    cls_status status = program_build(context->device, context->cl, spec, &cl);
    if (!status)
        status = program_new(context, cl, spec->name, spec->options, &program);
    if (status)
        return status;
    program->source = strdup(spec->source);
    if (!program->source) {
        object_release(&program->object);
        return error_no_memory("for a program");
    }
    program->odd_groups = context->device->odd_groups && options_allow_odd_groups(spec->options);
    program->ignores_grid = source_ignores_grid(spec->source, spec->options);
    if (!program->ignores_grid)
        program->may_be_cut = kernels_without_grid(spec);
    *out = program;
    return CLS_SUCCESS;
}

/* Builds with the parameters' kinds kept, and without them where the compiler fails over that: NVIDIA's does
 * for a kernel that has none. */
static cls_status build_user_program(struct context *context, const char *source, const char *name,
                                     const char *options, struct program **out) {
    size_t length = strlen(options) + sizeof ARG_INFO_OPTION + 1;
    char *all = malloc(length);
    if (!all)
        return error_no_memory("for build options");
    snprintf(all, length, "%s %s", ARG_INFO_OPTION, options);
    struct program_spec spec = {name, source, all};
    struct detail held;
    error_save(&held);
    cls_status status = program_of_source(context, &spec, out);
    if (status == CLS_ERROR_BUILD_FAILED) {
        spec.options = options;
        status = program_of_source(context, &spec, out);
    }
    free(all);
    return error_restore(&held, status);
}

static cls_status program_make(cls_context handle, struct source_origin origin, const char *source,
                               const char *options, cls_program *out) {
    struct context *context;
    struct program *program = NULL;
    struct text whole = {0};
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = source_include(origin, source, options, &whole);
    if (!status)
        status = build_user_program(context, whole.bytes, origin.name, options, &program);
    if (!status)
        *out = object_handle(&program->object);
    free(whole.bytes);
    context_put(context);
    return status;
}

cls_status cls_program_from_source(cls_context context, const char *source, const char *name,
                                   const char *options, cls_program *out) {
    if (!source || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_program_from_source: %s is null",
                         source ? "out" : "source");
    return program_make(context, (struct source_origin){name ? name : "source", NULL}, source,
                        options ? options : "", out);
}

cls_status cls_program_load(cls_context context, const char *path, const char *options,
                            cls_program *out) {
    char *source;
    if (!path || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_program_load: %s is null",
                         path ? "out" : "path");
    cls_status status = text_file_read(path, &source);
    if (status)
        return status;
    status = program_make(context, (struct source_origin){path, path}, source,
                          options ? options : "", out);
    if (!status)
        object_note_call(*out, "cls_program_load");
    free(source);
    return status;
}

/* --- other origins --- */

/* Gives out a program that was made in a context; `call` is the public function that made it. */
static cls_status hand_out(struct context *context, cls_status status, struct program *program,
                           const char *call, cls_program *out) {
    if (!status) {
        *out = object_handle(&program->object);
        object_note_call(*out, call);
    }
    context_put(context);
    return status;
}

static bool is_spirv(const void *il, size_t bytes) {
    enum { HEADER_BYTES = 20 };
    uint32_t magic = 0;
    if (bytes >= HEADER_BYTES && bytes % sizeof magic == 0)
        memcpy(&magic, il, sizeof magic);
    return magic == 0x07230203 || magic == 0x03022307;
}

cls_status cls_program_from_il(cls_context handle, const void *il, size_t bytes, const char *name,
                               const char *options, cls_program *out) {
    const struct program_spec spec = {name ? name : "module", NULL, options ? options : ""};
    struct context *context;
    struct program *program = NULL;
    cl_program cl;
    if (!il || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_program_from_il: %s is null",
                         il ? "out" : "il");
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    if (is_spirv(il, bytes))
        status = program_build_il(context->device, context->cl, (struct cache_bytes){il, bytes},
                                  &spec, &cl);
    else
        status = error_set(CLS_ERROR_INVALID_VALUE, "%s: these %zu bytes are no SPIR-V", spec.name,
                           bytes);
    if (!status)
        status = program_new(context, cl, spec.name, spec.options, &program);
    return hand_out(context, status, program, "cls_program_from_il", out);
}

cls_status cls_program_wrap(cls_context handle, cl_program cl, cls_program *out) {
    struct context *context;
    struct program *program = NULL;
    if (!cl || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_program_wrap: %s is null",
                         cl ? "out" : "program");
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = program_adopt(context->device, context->cl, cl);
    if (!status)
        status = program_new(context, cl, "a wrapped program", "", &program);
    return hand_out(context, status, program, "cls_program_wrap", out);
}

cls_status cls_program_get_cl(cls_program handle, cl_program *out) {
    struct program *program = object_acquire(&program_pool, handle);
    if (!program)
        return object_invalid(&program_pool, handle);
    cls_status status = context_check(program->context);
    if (!status && !out)
        status = error_set(CLS_ERROR_INVALID_VALUE, "cls_program_get_cl: out is null");
    if (!status)
        *out = program->cl;
    object_release(&program->object);
    return status;
}

cls_status cls_program_destroy(cls_program handle) {
    return object_destroy(&program_pool, handle) ? CLS_SUCCESS
                                                 : object_invalid(&program_pool, handle);
}

/* --- binaries --- */

/* What a binary is for: a device with its driver. */
static struct cache_bytes made_for(const struct device *device) {
    return (struct cache_bytes){device->identity, strlen(device->identity)};
}

/* What the source told, each with its NUL: flags, kernels that may be cut, name, options. */
static void append_facts(struct text *text, const struct program *program) {
    const char flags[] = {program->odd_groups ? 'o' : '-', program->ignores_grid ? 'c' : '-', '\0'};
    const char *parts[] = {flags, program->may_be_cut ? program->may_be_cut : "", program->name,
                           program->options};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        text_append(text, parts[i], strlen(parts[i]) + 1);
}

static cls_status program_pack(const struct program *program, void **out, size_t *bytes) {
    const struct device *device = program->context->device;
    struct cache_bytes binary;
    struct text text = {0};
    cls_status status = program_get_binary(device, program->cl, &binary);
    if (status)
        return status;
    append_facts(&text, program);
    text_append(&text, binary.bytes, binary.size);
    *out = text.failed ? NULL
                       : cache_blob_pack(CACHE_BINARY, made_for(device),
                                         (struct cache_bytes){text.bytes, text.length}, bytes);
    free(text.bytes);
    free((void *)binary.bytes);
    return *out ? CLS_SUCCESS : error_no_memory("for a program's binary");
}

static cls_status copy_out(const void *packed, size_t bytes, void *binary, size_t room,
                           size_t *out) {
    if (room && room < bytes)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "the binary has %zu bytes, and there is room for %zu", bytes, room);
    if (room)
        memcpy(binary, packed, bytes);
    *out = bytes;
    return CLS_SUCCESS;
}

cls_status cls_program_get_binary(cls_program handle, void *binary, size_t room, size_t *bytes) {
    if (!bytes || (room && !binary))
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_program_get_binary: %s is null",
                         bytes ? "binary" : "bytes");
    struct program *program = object_acquire(&program_pool, handle);
    if (!program)
        return object_invalid(&program_pool, handle);
    void *packed = NULL;
    size_t size;
    cls_status status = context_check(program->context);
    if (!status)
        status = program_pack(program, &packed, &size);
    if (!status)
        status = copy_out(packed, size, binary, room, bytes);
    free(packed);
    object_release(&program->object);
    return status;
}

/* Takes the next part of the text ahead of the driver's bytes; NULL: there is none. */
static const char *next_part(struct cache_bytes *rest) {
    const char *part = rest->bytes;
    const char *end = memchr(part, '\0', rest->size);
    if (!end)
        return NULL;
    rest->size -= (size_t)(end + 1 - part);
    rest->bytes = end + 1;
    return part;
}

static cls_status program_of_binary(struct context *context, struct cache_bytes payload,
                                    struct program **out) {
    const char *flags = next_part(&payload), *may_be_cut = flags ? next_part(&payload) : NULL;
    const char *name = may_be_cut ? next_part(&payload) : NULL;
    const char *options = name ? next_part(&payload) : NULL;
    cl_program cl;
    struct program *program;
    if (!options)
        return error_set(CLS_ERROR_INVALID_VALUE, "the binary is damaged");
    cls_status status = program_build_binary(context->device, context->cl, payload, options, &cl);
    if (!status)
        status = program_new(context, cl, name, options, &program);
    if (status)
        return status;
    program->odd_groups = flags[0] == 'o';
    program->ignores_grid = flags[0] && flags[1] == 'c';
    program->may_be_cut = *may_be_cut ? strdup(may_be_cut) : NULL;
    *out = program;
    return CLS_SUCCESS;
}

static cls_status program_unpack(struct context *context, struct cache_bytes blob,
                                 struct cache_bytes *payload) {
    const struct cache_bytes wanted = made_for(context->device);
    struct cache_bytes key;
    if (!cache_blob_open(blob, CACHE_BINARY, &key, payload))
        return error_set(
            CLS_ERROR_INVALID_VALUE,
            "these are not the bytes of cls_program_get_binary, or some were lost or altered");
    if (key.size != wanted.size || memcmp(key.bytes, wanted.bytes, key.size) != 0)
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "%s: the binary is of another device or version of the driver",
                         context->device->info.name);
    return CLS_SUCCESS;
}

cls_status cls_program_from_binary(cls_context handle, const void *binary, size_t bytes,
                                   cls_program *out) {
    if (!binary || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_program_from_binary: %s is null",
                         binary ? "out" : "binary");
    struct context *context;
    struct program *program = NULL;
    struct cache_bytes payload;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    status = program_unpack(context, (struct cache_bytes){binary, bytes}, &payload);
    if (!status)
        status = program_of_binary(context, payload, &program);
    return hand_out(context, status, program, "cls_program_from_binary", out);
}
