/* SPDX-License-Identifier: MIT */
#include "command/parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rare.h"
#include "base/text.h"
#include "command/kernel.h"
#include "command/kernel_slots.h"
#include "driver/program.h"
#include "memory/image.h"
#include "stream/context.h"

enum { NAME_ROOM = 96 };

/* --- what the driver tells --- */

static const struct scalar {
    const char *name;
    size_t size;
    cls_arg_type type;
} scalars[] = {
    {"char", 1, CLS_ARG_INTEGER},   {"uchar", 1, CLS_ARG_INTEGER}, {"short", 2, CLS_ARG_INTEGER},
    {"ushort", 2, CLS_ARG_INTEGER}, {"int", 4, CLS_ARG_INTEGER},   {"uint", 4, CLS_ARG_INTEGER},
    {"long", 8, CLS_ARG_INTEGER},   {"ulong", 8, CLS_ARG_INTEGER}, {"half", 2, CLS_ARG_FLOAT},
    {"float", 4, CLS_ARG_FLOAT},    {"double", 8, CLS_ARG_FLOAT},
};

/* The length of a vector's type from what follows its element's name: 3 takes as much as 4. 0: another type. */
static size_t vector_length(const char *rest) {
    static const struct {
        const char *text;
        size_t length;
    } lengths[] = {{"", 1}, {"2", 2}, {"3", 4}, {"4", 4}, {"8", 8}, {"16", 16}};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (!strcmp(rest, lengths[i].text))
            return lengths[i].length;
    return 0;
}

/* False for a type of the program's own. */
static bool is_built_in(const char *name, struct parameter *out) {
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        const size_t length = strlen(scalars[i].name);
        const size_t n = strncmp(name, scalars[i].name, length) ? 0 : vector_length(name + length);
        if (!n)
            continue;
        out->size = n * scalars[i].size;
        out->type = n == 1 ? scalars[i].type : CLS_ARG_ANY;
        return true;
    }
    return false;
}

/* --- sizes of the program's own types --- */

/* Some drivers leave out the blank. */
static void append_type(struct text *text, const char *name) {
    static const char *const words[] = {"struct", "union", "enum"};
    size_t word = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strncmp(name, words[i], strlen(words[i])))
            word = strlen(words[i]);
    text_printf(text, "%.*s%s%s", (int)word, name, word && name[word] != ' ' ? " " : "",
                name + word);
}

/* Asks the compiler for the size of a type, as the group size of a kernel that is appended to the program: nothing runs.
 * 0 where that does not build. */
static size_t size_of(const struct kernel *kernel, const char *type) {
    const struct program *program = kernel->program;
    const struct device *device = kernel->context->device;
    struct text source = {0};
    cl_program cl;
    cl_kernel sizes;
    size_t group[3] = {0, 0, 0};
    text_printf(&source, "%s\n#line 1 \"size of an argument\"\n", program->source);
    text_printf(&source, "kernel __attribute__((reqd_work_group_size(sizeof(");
    append_type(&source, type);
    text_printf(&source, "), 1, 1))) void cls_size_of_argument(global uchar *unused) {}\n");
    const struct program_spec spec = {program->name, source.bytes, program->options};
    if (!source.failed &&
        !program_build(kernel->context->device, kernel->context->cl, &spec, &cl)) {
        if (!program_create_kernel(cl, "cls_size_of_argument", &sizes)) {
            if (kernel_compiled_group(device, sizes, group))
                group[0] = 0;
            kernel_release(device, sizes);
        }
        program_release(cl);
    }
    free(source.bytes);
    return group[0];
}

/* Drivers that compare sizes themselves do it better; PoCL takes any for a type of the program's own. */
static void find_size(const struct kernel *kernel, cl_kernel instance, unsigned i, const char *type,
                      struct parameter *out) {
    struct detail held;
    if (!kernel->program || !kernel->program->source ||
        !kernel_takes_any_size(kernel->context->device, instance, i))
        return;
    error_save(&held);
    out->size = size_of(kernel, type);
    error_restore(&held, CLS_SUCCESS);
}

static void read_image(const struct device *device, cl_kernel instance, unsigned i,
                       struct parameter *out) {
    cls_image_kind kind;
    cls_access access;
    kernel_image_parameter(device, instance, i, &kind, &access);
    out->image = (unsigned char)kind;
    out->access = (unsigned char)access;
}

cls_status parameters_read(struct kernel *kernel, cl_kernel instance) {
    const struct device *device = kernel->context->device;
    kernel->parameters = calloc(kernel->n_parameters + 1, sizeof *kernel->parameters);
    if (!kernel->parameters)
        return error_no_memory("for a kernel");
    for (unsigned i = 0; i < kernel->n_parameters; i++) {
        struct parameter *parameter = &kernel->parameters[i];
        char type[NAME_ROOM];
        parameter->kind = (unsigned char)kernel_parameter(device, instance, i);
        if (parameter->kind == PARAMETER_IMAGE)
            read_image(device, instance, i, parameter);
        if (parameter->kind != PARAMETER_VALUE ||
            !kernel_parameter_text(device, instance, i, CL_KERNEL_ARG_TYPE_NAME, type, NAME_ROOM) ||
            is_built_in(type, parameter))
            continue;
        if (!caps_trusts(kernel->context->caps, TRUST_STRUCTURE_ARGUMENTS))
            return trust_refuse(device, TRUST_STRUCTURE_ARGUMENTS);
        find_size(kernel, instance, i, type, parameter);
    }
    return CLS_SUCCESS;
}

/* --- the check --- */

static const enum parameter_kind parameter_of[] = {
    [CLS_ARG_BUFFER] = PARAMETER_BUFFER, [CLS_ARG_VALUE] = PARAMETER_VALUE,
    [CLS_ARG_LOCAL] = PARAMETER_LOCAL,   [CLS_ARG_BUFFER_PART] = PARAMETER_BUFFER,
    [CLS_ARG_IMAGE] = PARAMETER_IMAGE,   [CLS_ARG_SAMPLER] = PARAMETER_SAMPLER,
    [CLS_ARG_ADDRESS] = PARAMETER_VALUE,
};

/* "argument 1 (int n)"; without the declaration where the driver does not tell it. */
static void name_parameter(const struct kernel_slot *slot, unsigned i, struct text *text) {
    const struct device *device = slot->kernel->context->device;
    char type[NAME_ROOM], name[NAME_ROOM];
    text_printf(text, "'%s': argument %u", slot->kernel->label, i);
    if (kernel_parameter_text(device, slot->instance, i, CL_KERNEL_ARG_TYPE_NAME, type,
                              NAME_ROOM) &&
        kernel_parameter_text(device, slot->instance, i, CL_KERNEL_ARG_NAME, name, NAME_ROOM))
        text_printf(text, " (%s %s)", type, name);
}

static void name_given(const cls_arg *arg, struct text *text) {
    static const char *const types[] = {"a value", "an integer", "a floating-point number"};
    static const char *const kinds[] = {[CLS_ARG_BUFFER] = "a buffer",
                                        [CLS_ARG_LOCAL] = "__local memory",
                                        [CLS_ARG_BUFFER_PART] = "a part of a buffer",
                                        [CLS_ARG_IMAGE] = "an image",
                                        [CLS_ARG_SAMPLER] = "a sampler",
                                        [CLS_ARG_ADDRESS] = "an address of 8 bytes"};
    if (arg->kind == CLS_ARG_VALUE)
        text_printf(text, "%s of %zu bytes", types[arg->type], arg->size);
    else
        text_printf(text, "%s", kinds[arg->kind]);
}

/* "'f': argument 1 (int n) WANTED; GIVEN was given". */
COLD static cls_status refuse(const struct kernel_slot *slot, unsigned i, const cls_arg *arg,
                              const char *wanted, int code) {
    struct text text = {0};
    name_parameter(slot, i, &text);
    text_printf(&text, " %s; ", wanted);
    name_given(arg, &text);
    error_set_code(CLS_ERROR_INVALID_VALUE, code, "%s was given",
                   text.failed ? "another argument" : text.bytes);
    free(text.bytes);
    return CLS_ERROR_INVALID_VALUE;
}

COLD static cls_status refuse_value(const struct kernel_slot *slot, unsigned i,
                                    const cls_arg *arg) {
    const struct parameter *parameter = &slot->kernel->parameters[i];
    static const char *const types[] = {"a value", "an integer", "a floating-point number"};
    char wanted[64];
    snprintf(wanted, sizeof wanted, "takes %s of %zu bytes", types[parameter->type],
             parameter->size);
    return refuse(slot, i, arg, wanted, 0);
}

COLD static cls_status malformed(const struct kernel_slot *slot, unsigned i, const char *what) {
    return error_set(CLS_ERROR_INVALID_VALUE, "'%s': argument %u %s", slot->kernel->label, i, what);
}

static cls_status check_form(const struct kernel_slot *slot, unsigned i, const cls_arg *arg) {
    if (RARELY((unsigned)arg->kind > CLS_ARG_ADDRESS))
        return malformed(slot, i, "is of an unknown kind; make it with cls_arg_*");
    if (RARELY((unsigned)arg->access > CLS_ACCESS_READ_WRITE))
        return malformed(slot, i, "has an unknown cls_access");
    if (RARELY((unsigned)arg->type > CLS_ARG_FLOAT))
        return malformed(slot, i, "has an unknown cls_arg_type");
    return CLS_SUCCESS;
}

static cls_status check_value(const struct kernel_slot *slot, unsigned i, const cls_arg *arg) {
    const struct parameter *parameter = &slot->kernel->parameters[i];
    if (RARELY(arg->size > sizeof arg->u.bytes && !arg->u.pointer))
        return malformed(slot, i, "is a null pointer to a value");
    const bool other_type = arg->type && parameter->type && arg->type != parameter->type;
    if (RARELY(other_type || (parameter->size && arg->size != parameter->size)))
        return refuse_value(slot, i, arg);
    return CLS_SUCCESS;
}

cls_status parameter_check(const struct kernel_slot *slot, unsigned i, const cls_arg *arg) {
    static const char *const wanted[] = {"",
                                         "takes a buffer",
                                         "takes a value",
                                         "takes __local memory",
                                         "takes an image",
                                         "takes a sampler",
                                         "is a pipe, which cannot be passed"};
    const enum parameter_kind has = (enum parameter_kind)slot->kernel->parameters[i].kind;
    cls_status status = check_form(slot, i, arg);
    if (RARELY(status))
        return status;
    if (RARELY(has != PARAMETER_UNKNOWN && has != parameter_of[arg->kind]))
        return refuse(slot, i, arg, wanted[has], 0);
    if (arg_is_memory(arg->kind))
        return CLS_SUCCESS;
    if (RARELY(!arg->size))
        return malformed(slot, i,
                         arg->kind == CLS_ARG_LOCAL
                             ? "is 0 bytes of __local memory, which OpenCL does not allow"
                             : "is a value of 0 bytes, or at a null address");
    return arg->kind == CLS_ARG_VALUE || arg->kind == CLS_ARG_ADDRESS ? check_value(slot, i, arg)
                                                                      : CLS_SUCCESS;
}

/* By the constants of cls_access. */
static const char *const accesses[] = {"", "read_only", "write_only", "read_write"};

COLD static cls_status refuse_image(const struct kernel_slot *slot, unsigned i, const char *wanted,
                                    const char *given) {
    return error_set(CLS_ERROR_INVALID_VALUE, "'%s': argument %u is %s; an image for %s was given",
                     slot->kernel->label, i, wanted, given);
}

/* An image that kernels only read may not be written, and the other way round. */
cls_status parameter_check_image(const struct kernel_slot *slot, unsigned i,
                                 const struct image *image) {
    const struct parameter *parameter = &slot->kernel->parameters[i];
    const cls_image_kind kind = image->shape.kind;
    const cls_access access = image->shape.access;
    if (RARELY(parameter->image && parameter->image != kind))
        return refuse_image(slot, i, kernel_image_type((cls_image_kind)parameter->image),
                            kernel_image_type(kind));
    if (RARELY(parameter->access & ~access))
        return refuse_image(slot, i, accesses[parameter->access], accesses[access]);
    return CLS_SUCCESS;
}

cls_status parameter_refused(const struct kernel_slot *slot, unsigned i, const cls_arg *arg,
                             int code) {
    return refuse(slot, i, arg,
                  arg->kind == CLS_ARG_IMAGE || arg->kind == CLS_ARG_SAMPLER
                      ? "takes another one"
                      : "is of another size to the driver",
                  code);
}
