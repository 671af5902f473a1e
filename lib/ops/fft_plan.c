/* SPDX-License-Identifier: MIT */
/* Making plans of transforms: recipes, kernels, tables (clstream/fft.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/buffer.h>
#include <clstream/context.h>

#include "base/error.h"
#include "base/process.h"
#include "base/sized.h"
#include "command/kernel.h"
#include "command/op_kernel.h"
#include "driver/caps.h"
#include "memory/buffer.h"
#include "ops/fft.h"
#include "stream/abandoned.h"
#include "stream/context.h"
#include "stream/wait.h"

static void table_free(struct fft_table *table) {
    if (table->handle)
        buffer_destroy_owned(table->handle);
    *table = (struct fft_table){NULL, NULL};
}

static void recipe_free(void *recipe) { fft_recipe_free(recipe); }

/* The upload of a table that failed, the last one, may be abandoned work: that still reads from the recipe. */
static void recipe_drop(struct fft_recipe *recipe) {
    for (const struct fft_step *s = recipe ? recipe->steps : NULL; s; s = s->next)
        if (s->to && abandoned_defer(s->data, s->bytes, recipe_free, recipe))
            return;
    fft_recipe_free(recipe);
}

static void way_free(struct fft_way *way) {
    for (unsigned i = 0; way->recipe && way->tables && i < way->recipe->n_memories; i++)
        table_free(&way->tables[i]);
    for (unsigned i = 0; way->recipe && way->kernels && i < way->recipe->n_kernels; i++)
        if (way->kernels[i])
            object_release(&way->kernels[i]->object);
    free(way->tables);
    free(way->kernels);
    recipe_drop(way->recipe);
}

static void fft_plan_finalize(struct object *object) {
    struct fft_plan *plan = (struct fft_plan *)(void *)object;
    for (int i = FFT_WAYS - 1; i >= 0; i--)
        way_free(&plan->ways[i]);
    if (plan->context)
        context_put(plan->context);
}

struct object_pool fft_plan_pool =
    OBJECT_POOL(0, sizeof(struct fft_plan), "FFT plan", fft_plan_finalize);

/* --- kernels --- */

/* VkFFT's kernels fix their groups, and a compiler that cannot have such groups does not build them. The size that it
 * states of others is not asked for: Mesa's states 32 for all. */
static cls_status check_group(const struct fft_step *step, const struct kernel *kernel) {
    const size_t *local = step->local, group = local[0] * local[1] * local[2];
    if (kernel->has_group || group <= kernel->max_group)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_UNSUPPORTED,
                     "VkFFT's kernel is for groups of %zu work-items; the compiled one allows %zu",
                     group, kernel->max_group);
}

/* A compiler that cannot build VkFFT's source makes its device one without transforms. */
static cls_status build_failed(void) {
    char words[512];
    snprintf(words, sizeof words, "%s", cls_last_error_detail());
    return error_set(CLS_ERROR_UNSUPPORTED, "VkFFT's kernels do not build: %s", words);
}

static cls_status make_kernels(struct fft_plan *plan, struct fft_way *way) {
    char label[64];
    snprintf(label, sizeof label, "fft_%s", cls_dtype_name(plan->config.dtype));
    way->kernels = calloc(way->recipe->n_kernels + 1, sizeof(struct kernel *));
    if (!way->kernels)
        return error_no_memory("for an FFT plan");
    cls_status status = CLS_SUCCESS;
    for (const struct fft_kernel *k = way->recipe->kernels; k && !status; k = k->next) {
        const struct op_kernel_spec spec = {"fft.cl", k->entry, NULL, label};
        status = op_kernel_generate(plan->context, k->text, &spec, &way->kernels[k->number]);
    }
    for (const struct fft_step *s = way->recipe->steps; s && !status; s = s->next)
        if (s->kernel)
            status = check_group(s, way->kernels[s->kernel->number]);
    return status == CLS_ERROR_BUILD_FAILED ? build_failed() : status;
}

/* --- tables --- */

static bool fft_uses(const struct fft_way *way, const struct fft_memory *memory, bool prepares) {
    for (const struct fft_step *step = way->recipe->steps; step; step = step->next)
        for (unsigned i = 0; i < step->n_args && step->prepares == prepares; i++)
            if (step->args[i].memory == memory)
                return true;
    return false;
}

static cls_status make_table(struct fft_way *way, const struct fft_memory *memory,
                             cls_context context) {
    struct fft_table *table = &way->tables[memory->number];
    cls_status status = buffer_create_owned(context, memory->bytes, "an FFT plan", &table->handle);
    if (!status)
        status = buffer_find(table->handle, &table->buffer);
    if (!status)
        buffer_put(table->buffer); /* its handle is the plan's */
    way->table_bytes += memory->bytes;
    return status;
}

static cls_status make_tables(struct fft_way *way, cls_context context) {
    way->tables = calloc(way->recipe->n_memories + 1, sizeof *way->tables);
    if (!way->tables)
        return error_no_memory("for an FFT plan");
    cls_status status = CLS_SUCCESS;
    for (const struct fft_memory *m = way->recipe->memories; m && !status; m = m->next)
        if (fft_uses(way, m, false) || fft_uses(way, m, true))
            status = make_table(way, m, context);
    return status;
}

static cls_status prepare_step(struct fft_way *way, const struct fft_step *step) {
    struct op_call call;
    if (step->to)
        return way->tables[step->to->number].handle
                   ? cls_copy_h2d(way->tables[step->to->number].handle, 0, step->data, step->bytes,
                                  NULL)
                   : CLS_SUCCESS;
    const struct fft_memory *first = step->args[0].memory;
    const cls_array view = cls_array_of(way->tables[first->number].handle, CLS_U8, first->bytes);
    const cls_array *const views[] = {&view};
    cls_status status = op_begin(&call, NULL, views, 1, true);
    return status ? status : op_end(&call, fft_prepare(way, step, &call), true);
}

/* On the context's default stream, which the last step waits for. */
static cls_status fft_prepare_tables(struct fft_way *way) {
    cls_status status = CLS_SUCCESS;
    for (const struct fft_step *s = way->recipe->steps; s && s->prepares && !status; s = s->next)
        status = prepare_step(way, s);
    for (const struct fft_memory *m = way->recipe->memories; m && !status; m = m->next)
        if (way->tables[m->number].handle && !fft_uses(way, m, false)) {
            table_free(&way->tables[m->number]);
            way->table_bytes -= m->bytes;
        }
    return status;
}

/* --- the object --- */

static cls_status make_recipe(const struct fft_plan *plan, bool inverse, struct fft_way *way) {
    const struct fft_side *in = &plan->sides[inverse ? FFT_SPECTRUM : FFT_SIGNAL],
                          *out = &plan->sides[inverse ? FFT_SIGNAL : FFT_SPECTRUM];
    struct fft_problem problem = {.f64 = plan->config.dtype == CLS_F64,
                                  .real = plan->config.kind == CLS_FFT_REAL,
                                  .inverse = inverse,
                                  .normalize = plan->config.normalize != 0,
                                  .dims = plan->config.dims,
                                  .batches = plan->config.batches};
    memcpy(problem.lengths, plan->sides[FFT_SIGNAL].lengths, sizeof problem.lengths);
    memcpy(problem.in, in->strides, sizeof problem.in);
    memcpy(problem.out, out->strides, sizeof problem.out);
    cls_status status = fft_recipe_make(plan->context->device, &problem, &way->recipe);
    if (status)
        return status;
    const struct fft_memory *places = way->recipe->places;
    for (unsigned i = 0; i < 2; i++)
        way->scratch_bytes[i] =
            fft_uses(way, &places[FFT_WORK + i], false) ? places[FFT_WORK + i].bytes : 0;
    return CLS_SUCCESS;
}

static cls_status make_way(struct fft_plan *plan, bool inverse, cls_context context) {
    struct fft_way *way = &plan->ways[inverse ? FFT_INVERSE : FFT_FORWARD];
    cls_status status = make_recipe(plan, inverse, way);
    if (!status)
        status = make_kernels(plan, way);
    if (!status)
        status = make_tables(way, context);
    if (!status)
        status = fft_prepare_tables(way);
    return status ? status : fft_try(plan, context, inverse ? CLS_FFT_INVERSE : CLS_FFT_FORWARD);
}

static cls_status plan_build(struct fft_plan *plan, cls_context context) {
    cls_status status = context_get(context, &plan->context);
    if (status) {
        plan->context = NULL;
        return status;
    }
    if (plan->config.dtype == CLS_F64 && !plan->context->caps->fp64)
        return error_set(CLS_ERROR_UNSUPPORTED, "%s has no double precision: no f64",
                         plan->context->device->info.name);
    if (plan->config.directions & CLS_FFT_FORWARD)
        status = make_way(plan, false, context);
    if (!status && plan->config.directions & CLS_FFT_INVERSE)
        status = make_way(plan, true, context);
    return status;
}

cls_status cls_fft_plan_create(cls_context context, const cls_fft_config *config,
                               cls_fft_plan *out) {
    if (!config || !out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_fft_plan_create: %s is null",
                         config ? "out" : "config");
    cls_status status = process_enter();
    if (!status)
        status = check_may_block();
    if (status)
        return status;
    struct fft_plan *plan = object_create(&fft_plan_pool);
    if (!plan)
        return object_none(&fft_plan_pool, "an FFT plan");
    status = fft_read_config(config, plan);
    if (!status)
        status = plan_build(plan, context);
    if (status)
        object_release(&plan->object);
    else
        *out = object_handle(&plan->object);
    return status;
}

cls_status cls_fft_plan_destroy(cls_fft_plan handle) {
    return object_destroy(&fft_plan_pool, handle) ? CLS_SUCCESS
                                                  : object_invalid(&fft_plan_pool, handle);
}

static void fft_describe(const struct fft_plan *plan, cls_fft_plan_info *info) {
    const cls_fft_config *config = &plan->config;
    info->kind = config->kind;
    info->dtype = config->dtype;
    info->directions = config->directions;
    info->dims = config->dims;
    for (unsigned i = 0; i < 3; i++)
        info->lengths[i] = i < config->dims ? config->lengths[i] : 1;
    info->batches = config->batches;
    info->signal = config->signal;
    info->spectrum = config->spectrum;
    info->normalize = config->normalize != 0;
    info->signal_count = plan->sides[FFT_SIGNAL].count;
    info->spectrum_count = plan->sides[FFT_SPECTRUM].count;
    for (unsigned i = 0; i < FFT_WAYS; i++) {
        const struct fft_way *way = &plan->ways[i];
        info->temporary_bytes[i] = way->scratch_bytes[0] + way->scratch_bytes[1];
        info->table_bytes += way->table_bytes;
        info->launches[i] = way->recipe ? way->recipe->n_launches : 0;
    }
}

cls_status cls_fft_plan_get_info(cls_fft_plan handle, cls_fft_plan_info *out) {
    cls_fft_plan_info info = CLS_FFT_PLAN_INFO_INIT;
    cls_status status = SIZED_CHECK(cls_fft_plan_info, out);
    if (status)
        return status;
    struct fft_plan *plan = object_acquire(&fft_plan_pool, handle);
    if (!plan)
        return object_invalid(&fft_plan_pool, handle);
    status = context_check(plan->context);
    fft_describe(plan, &info);
    object_release(&plan->object);
    if (!status)
        SIZED_OUT(cls_fft_plan_info, out, &info);
    return status;
}

int cls_fft_available(void) { return fft_available(); }
