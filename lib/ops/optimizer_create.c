/* SPDX-License-Identifier: MIT */
/* Making optimizers: their options, parameters and memory (clstream/optimizer.h). */
#include <math.h>
#include <stdlib.h>

#include <clstream/buffer.h>
#include <clstream/cast.h>

#include "base/error.h"
#include "base/process.h"
#include "base/sized.h"
#include "base/types.h"
#include "driver/caps.h"
#include "memory/buffer.h"
#include "ops/optimizer.h"
#include "stream/abandoned.h"
#include "stream/wait.h"

static void memory_free(struct optimizer_memory *memory) {
    if (memory->handle)
        buffer_destroy_owned(memory->handle);
}

static void optimizer_finalize(struct object *object) {
    struct optimizer *optimizer = (struct optimizer *)(void *)object;
    memory_free(&optimizer->master);
    memory_free(&optimizer->second);
    memory_free(&optimizer->first);
    memory_free(&optimizer->partials);
    memory_free(&optimizer->table);
    memory_free(&optimizer->state);
    free(optimizer->extents);
    free(optimizer->launches);
    free(optimizer->places);
    free(optimizer->order);
    for (size_t i = 0; optimizer->parameters && i < optimizer->n; i++)
        if (optimizer->parameters[i].buffer)
            buffer_put(optimizer->parameters[i].buffer);
    free(optimizer->parameters);
}

struct object_pool optimizer_pool =
    OBJECT_POOL_LOCKED(11, sizeof(struct optimizer), "optimizer", optimizer_finalize);

/* --- options --- */

cls_status optimizer_check_rate(double rate) {
    if (rate >= 0 && isfinite((float)rate))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_INVALID_VALUE, "optimizer: a rate of %g", rate);
}

static cls_status check_option(const char *name, double value, bool is_good) {
    return is_good ? CLS_SUCCESS
                   : error_set(CLS_ERROR_INVALID_VALUE, "optimizer: %s is %g", name, value);
}

static bool is_size(double value) { return value >= 0 && isfinite((float)value); }

static bool is_beta(double value) { return value >= 0 && value < 1; }

static cls_status check_options(const cls_optimizer_config *config) {
    if (config->kind != CLS_SGD && config->kind != CLS_ADAMW)
        return error_set(CLS_ERROR_INVALID_VALUE, "optimizer: %d is no cls_optimizer_kind",
                         (int)config->kind);
    const struct {
        const char *name;
        double value;
        bool is_good;
    } options[] = {
        {"max_norm", config->max_norm, config->max_norm >= 0},
        {"decay", config->decay, is_size(config->decay)},
        {"momentum", config->momentum, is_size(config->momentum)},
        {"dampening", config->dampening, config->dampening >= 0 && config->dampening <= 1},
        {"beta1", config->beta1, is_beta(config->beta1)},
        {"beta2", config->beta2, is_beta(config->beta2)},
        {"epsilon", config->epsilon, is_size(config->epsilon)}};
    cls_status status = optimizer_check_rate(config->rate);
    for (size_t i = 0; i < sizeof options / sizeof *options && !status; i++)
        status = check_option(options[i].name, options[i].value, options[i].is_good);
    if (!status && config->nesterov && (config->momentum == 0 || config->dampening != 0))
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "optimizer: Nesterov's momentum without momentum, or with dampening");
    return status;
}

static cls_status read_options(const cls_optimizer_config *given, cls_optimizer_config *config) {
    *config = (cls_optimizer_config)CLS_OPTIMIZER_CONFIG_INIT;
    const cls_status status = SIZED_IN(cls_optimizer_config, config, given);
    return status ? status : check_options(config);
}

static void fill_numbers(const cls_optimizer_config *config, struct optimizer_numbers *numbers) {
    const bool is_adamw = config->kind == CLS_ADAMW;
    double *n = numbers->doubles;
    n[NUMBER_RATE] = config->rate;
    n[NUMBER_DECAY] = config->decay;
    n[NUMBER_BETA1] = is_adamw ? config->beta1 : config->momentum;
    n[NUMBER_REST1] = 1 - (is_adamw ? config->beta1 : config->dampening);
    n[NUMBER_BETA2] = config->beta2;
    n[NUMBER_REST2] = 1 - config->beta2;
    n[NUMBER_EPSILON] = config->epsilon;
    n[NUMBER_BIAS1] = is_adamw ? 1 - config->beta1 : 1;
    n[NUMBER_BIAS2] = is_adamw ? 1 - config->beta2 : 1;
    n[NUMBER_MAX_NORM] = config->max_norm;
    n[NUMBER_NESTEROV] = config->nesterov != 0;
    for (unsigned i = 0; i < NUMBERS; i++)
        numbers->singles[i] = (float)n[i];
}

/* --- parameters --- */

static cls_status check_parameter_type(const struct op_call *call, cls_dtype dtype) {
    if (!type_row(dtype)->is_float)
        return error_set(CLS_ERROR_TYPE_MISMATCH, "optimizer: a parameter of %s",
                         cls_dtype_name(dtype));
    return op_check_dtype(call, dtype);
}

static cls_status take_parameters(struct optimizer *optimizer, const struct op_call *call,
                                  const cls_array *parameters, size_t n) {
    enum { OWN = 6 }; /* the memory of the optimizer */
    optimizer->n = n;
    optimizer->parameters = calloc(n, sizeof *optimizer->parameters);
    if (n < SIZE_MAX - OWN)
        optimizer->extents = calloc(n + OWN, sizeof *optimizer->extents);
    if (!optimizer->parameters || !optimizer->extents)
        return error_no_memory("for an optimizer of %zu parameters", n);
    cls_status status = CLS_SUCCESS;
    for (size_t i = 0; i < n && !status; i++) {
        struct op_view *view = &optimizer->parameters[i];
        status = op_view_get(call, &parameters[i], view);
        if (!status)
            status = check_parameter_type(call, view->dtype);
        if (!status && view->count)
            optimizer->extents[optimizer->n_extents++] = optimizer_extent_of(view);
        optimizer->has_doubles = optimizer->has_doubles || (!status && view->dtype == CLS_F64);
    }
    if (!status && !caps_trusts(call->caps, TRUST_ROUNDING))
        status = trust_refuse(call->device, TRUST_ROUNDING);
    return status ? status : optimizer_sort_extents(optimizer);
}

/* --- memory --- */

static cls_status memory_make(struct optimizer_memory *memory, cls_context context) {
    if (!memory->bytes)
        return CLS_SUCCESS;
    cls_status status =
        buffer_create_owned(context, memory->bytes, "an optimizer", &memory->handle);
    if (status)
        return status;
    status = buffer_find(memory->handle, &memory->buffer);
    if (!status)
        buffer_put(memory->buffer); /* its handle is the optimizer's */
    return status;
}

/* Gradients may not lie there. */
static void add_own_extent(struct optimizer *optimizer, const struct optimizer_memory *memory) {
    if (!memory->bytes)
        return;
    const struct op_view all = {memory->buffer, CLS_U8, 0, memory->bytes, 0};
    optimizer->extents[optimizer->n_extents++] = optimizer_extent_of(&all);
}

static cls_status make_memories(struct optimizer *optimizer, cls_context context) {
    struct optimizer_memory *const all[] = {&optimizer->table, &optimizer->partials,
                                            &optimizer->first, &optimizer->second,
                                            &optimizer->master};
    cls_status status = CLS_SUCCESS;
    for (size_t i = 0; i < sizeof all / sizeof *all && !status; i++) {
        status = memory_make(all[i], context);
        if (!status)
            add_own_extent(optimizer, all[i]);
    }
    add_own_extent(optimizer, &optimizer->state);
    return status ? status : optimizer_sort_extents(optimizer);
}

static cls_status fill_zero(const struct optimizer_memory *memory) {
    const uint32_t zero = 0;
    return memory->bytes
               ? cls_fill_async(memory->handle, 0, memory->bytes, &zero, sizeof zero, NULL)
               : CLS_SUCCESS;
}

static cls_array view_array(const struct op_view *view) {
    return cls_array_at(object_handle(&view->buffer->object), view->dtype, view->offset,
                        view->count);
}

static cls_status fill_master(const struct optimizer *optimizer) {
    cls_status status = fill_zero(&optimizer->master);
    for (size_t i = 0; i < optimizer->n && !status && optimizer->master.bytes; i++) {
        const struct op_view *parameter = &optimizer->parameters[i];
        const size_t first = optimizer->places[i] / sizeof(float);
        if (cls_dtype_size(parameter->dtype) != 2 || !parameter->count)
            continue;
        status = cls_cast_async(
            view_array(parameter),
            cls_array_at(optimizer->master.handle, CLS_F32, first, parameter->count), NULL);
    }
    return status;
}

static cls_status upload_table(const struct optimizer *optimizer, const struct device *device) {
    if (!optimizer->table.bytes)
        return CLS_SUCCESS;
    uint64_t(*rows)[4] = calloc(1, optimizer->table.bytes);
    if (!rows)
        return error_no_memory("for an optimizer's table");
    optimizer_table(optimizer, rows, device);
    const cls_status status =
        cls_copy_h2d(optimizer->table.handle, 0, rows, optimizer->table.bytes, NULL);
    if (!abandoned_defer(rows, optimizer->table.bytes, free, rows))
        free(rows);
    return status;
}

/* On the context's default stream, whose last copy waits for all of it. */
static cls_status fill_memory(const struct optimizer *optimizer, const struct device *device) {
    struct optimizer_numbers numbers = {.steps = 0};
    cls_status status = fill_zero(&optimizer->first);
    if (!status)
        status = fill_zero(&optimizer->second);
    if (!status)
        status = fill_master(optimizer);
    if (!status)
        status = upload_table(optimizer, device);
    fill_numbers(&optimizer->config, &numbers);
    return status ? status
                  : cls_copy_h2d(optimizer->state.handle, 0, &numbers, sizeof numbers, NULL);
}

/* --- the object --- */

static cls_status optimizer_build(struct optimizer *optimizer, cls_context context,
                                  const cls_array *parameters, size_t n) {
    struct op_call call;
    optimizer->state.bytes = sizeof(struct optimizer_numbers);
    cls_status status = memory_make(&optimizer->state, context);
    if (status)
        return status;
    const cls_array state = cls_array_of(optimizer->state.handle, CLS_U8, optimizer->state.bytes);
    const cls_array *const views[] = {&state};
    status = op_begin(&call, NULL, views, 1, true);
    if (status)
        return status;
    status = take_parameters(optimizer, &call, parameters, n);
    if (!status)
        status = optimizer_plan(optimizer, call.device);
    if (!status)
        status = make_memories(optimizer, context);
    if (!status)
        status = fill_memory(optimizer, call.device);
    return op_end(&call, status, false);
}

cls_status cls_optimizer_create(cls_context context, const cls_optimizer_config *given,
                                const cls_array *parameters, size_t n, cls_optimizer *out) {
    cls_optimizer_config config;
    if (!out || !parameters || !n)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_optimizer_create: %s",
                         out ? "no parameters" : "out is null");
    cls_status status = read_options(given, &config);
    if (!status)
        status = process_enter();
    if (!status)
        status = check_may_block();
    if (status)
        return status;
    struct optimizer *optimizer = object_create(&optimizer_pool);
    if (!optimizer)
        return object_none(&optimizer_pool, "an optimizer");
    optimizer->config = config;
    status = optimizer_build(optimizer, context, parameters, n);
    if (status)
        object_release(&optimizer->object);
    else
        *out = object_handle(&optimizer->object);
    return status;
}

cls_status cls_optimizer_destroy(cls_optimizer handle) {
    return object_destroy(&optimizer_pool, handle) ? CLS_SUCCESS
                                                   : object_invalid(&optimizer_pool, handle);
}
