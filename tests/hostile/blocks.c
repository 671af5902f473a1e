/* SPDX-License-Identifier: MIT */
/* Kinds of arguments of the pipeline layer's calls: places, computes, stages, steps and loaders. */
#include <string.h>

#include "../support/nothing.h"
#include "hostile.h"

cls_load_fn hostile_load(void) { return load_nothing; }

/* --- where a copy goes --- */

static union value good_place(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return (union value){.place = cls_place_buffer(stock.handles[BUFFER].live)};
}

static void bad_place(const struct arg *arg, unsigned slot, struct bad_list *list) {
    const struct handles *buffers = &stock.handles[BUFFER], *rings = &stock.handles[TRIPLE_BUFFER];
    union value value = good_place(arg, slot);
    cls_place *place = &value.place;
    const size_t offsets[] = {BUFFER_BYTES, SIZE_MAX, SIZE_MAX - COPY_BYTES + 1};
    const struct {
        cls_buffer buffer;
        cls_triple_buffer slots;
        cls_status status;
    } bad[] = {
        {NULL, NULL, CLS_ERROR_INVALID_HANDLE},
        {buffers->stale, NULL, CLS_ERROR_INVALID_HANDLE},
        {stock.handles[STREAM].live, NULL, CLS_ERROR_INVALID_HANDLE},
        {NULL, rings->stale, CLS_ERROR_INVALID_HANDLE},
        {NULL, buffers->live, CLS_ERROR_INVALID_HANDLE},
        {buffers->orphan, NULL, CLS_ERROR_CONTEXT_DESTROYED},
        {NULL, rings->orphan, CLS_ERROR_CONTEXT_DESTROYED},
        {buffers->foreign, NULL, CLS_ERROR_WRONG_CONTEXT},
        {NULL, rings->foreign, CLS_ERROR_WRONG_CONTEXT},
    };
    for (size_t i = 0; i < COUNT_OF(offsets); i++) {
        place->offset = offsets[i];
        add_bad(list, "an offset past the end", CLS_ERROR_OUT_OF_RANGE, value);
    }
    place->offset = 0;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        place->buffer = bad[i].buffer;
        place->slots = bad[i].slots;
        add_bad(list, "a bad place", bad[i].status, value);
        /* A slot that was not uploaded cannot be downloaded, in whatever context. */
        if (bad[i].status == CLS_ERROR_WRONG_CONTEXT)
            list->bad[list->n - 1].or_else = CLS_ERROR_INVALID_STATE;
    }
}

/* --- what to compute, stages and steps: null, of a wrong size, and incomplete --- */

static void bad_structs(struct bad_list *list, const void *longer, const void *empty) {
    add_bad(list, "null", CLS_ERROR_INVALID_VALUE, of_pointer(NULL));
    add_bad(list, "of a wrong size", CLS_ERROR_INVALID_VALUE, of_pointer(longer));
    add_bad(list, "incomplete", CLS_ERROR_INVALID_VALUE, of_pointer(empty));
}

static const cls_compute good_computing = {.size = sizeof(cls_compute), .fn = compute_nothing};

static union value good_compute(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_pointer(&good_computing);
}

static void bad_compute(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const cls_compute large = {.size = sizeof large + sizeof(size_t), .fn = compute_nothing};
    static const cls_compute empty = CLS_COMPUTE_INIT;
    (void)arg;
    (void)slot;
    bad_structs(list, &large, &empty);
}

static union value good_stage(const struct arg *arg, unsigned slot) {
    static const cls_stage stage = {.size = sizeof stage, .name = "a stage", .fn = stage_nothing};
    (void)arg;
    (void)slot;
    return of_pointer(&stage);
}

static void bad_stage(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const cls_stage large = {
        .size = sizeof large + sizeof(size_t), .name = "b", .fn = stage_nothing};
    static const cls_stage empty = CLS_STAGE_INIT;
    static const char *const lost = "lost";
    static const cls_stage nowhere = {
        .size = sizeof nowhere, .name = "c", .fn = stage_nothing, .inputs = &lost, .n_inputs = 1};
    (void)arg;
    (void)slot;
    bad_structs(list, &large, &empty);
    add_bad(list, "of a lost buffer", CLS_ERROR_NOT_FOUND, of_pointer(&nowhere));
}

static cls_buffered_step step_with(void *slots, const cls_compute *compute) {
    static unsigned char memory[COPY_BYTES];
    return (cls_buffered_step){.size = sizeof(cls_buffered_step),
                               .slots = slots,
                               .in = memory,
                               .out = memory,
                               .in_bytes = COPY_BYTES,
                               .out_bytes = COPY_BYTES,
                               .compute = compute};
}

static union value good_step(const struct arg *arg, unsigned slot) {
    static cls_buffered_step step;
    (void)arg;
    (void)slot;
    step = step_with(stock.ring, &good_computing);
    return of_pointer(&step);
}

static void bad_step(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const cls_buffered_step empty = CLS_BUFFERED_STEP_INIT,
                                   large = {.size = sizeof large + sizeof(size_t)};
    static cls_buffered_step stale, orphan, foreign, idle;
    (void)arg;
    (void)slot;
    stale = step_with(stock.handles[TRIPLE_BUFFER].stale, &good_computing);
    orphan = step_with(stock.handles[TRIPLE_BUFFER].orphan, &good_computing);
    foreign = step_with(stock.handles[TRIPLE_BUFFER].live, &good_computing);
    idle = step_with(stock.ring, NULL);
    bad_structs(list, &large, &empty);
    add_bad(list, "a stale ring", CLS_ERROR_INVALID_HANDLE, of_pointer(&stale));
    add_bad(list, "an orphaned ring", CLS_ERROR_CONTEXT_DESTROYED, of_pointer(&orphan));
    add_bad(list, "another context's ring", CLS_ERROR_WRONG_CONTEXT, of_pointer(&foreign));
    add_bad(list, "nothing to do", CLS_ERROR_INVALID_VALUE, of_pointer(&idle));
}

/* --- groups of devices: of one --- */

static union value good_range(const struct arg *arg, unsigned slot) {
    (void)slot;
    return (union value){
        .range = {0, has_flag(arg, "from") ? stock.from : stock.handles[BUFFER].live, 0}};
}

static void bad_range(const struct arg *arg, unsigned slot, struct bad_list *list) {
    union value value = good_range(arg, slot);
    const size_t offsets[] = {BUFFER_BYTES, SIZE_MAX, SIZE_MAX - COPY_BYTES + 1};
    value.range.device = 1;
    add_bad(list, "no such device", CLS_ERROR_OUT_OF_RANGE, value);
    value.range.device = 0;
    for (size_t i = 0; i < COUNT_OF(offsets); i++) {
        value.range.offset = offsets[i];
        add_bad(list, "an offset past the end", CLS_ERROR_OUT_OF_RANGE, value);
    }
    value.range.offset = 0;
    value.range.buffer = stock.handles[BUFFER].stale;
    add_bad(list, "a stale buffer", CLS_ERROR_INVALID_HANDLE, value);
    value.range.buffer = stock.handles[BUFFER].foreign;
    add_bad(list, "another context's buffer", CLS_ERROR_WRONG_CONTEXT, value);
}

/* One for each device of a group, which has one. */
static union value good_contexts(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_pointer(&stock.handles[CONTEXT].foreign);
}

static union value good_buffers(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return of_pointer(&stock.handles[BUFFER].live);
}

static union value good_arrays(const struct arg *arg, unsigned slot) {
    static cls_array array;
    (void)arg;
    (void)slot;
    array = cls_array_of(stock.handles[BUFFER].live, CLS_F32, VIEW_COUNT);
    return of_pointer(&array);
}

static union value good_count(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return (union value){.count = 1};
}

static void bad_count(const struct arg *arg, unsigned slot, struct bad_list *list) {
    (void)arg;
    (void)slot;
    add_bad(list, "none", CLS_ERROR_INVALID_VALUE, (union value){.count = 0});
    add_bad(list, "too many", CLS_ERROR_INVALID_VALUE, (union value){.count = 1000});
}

/* --- functions --- */

static union value good_load(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return (union value){.function = (void (*)(void))load_nothing};
}

const struct kind block_kinds[] = {
    {"buffered_step", good_step, bad_step, NULL},
    {"compute", good_compute, bad_compute, NULL},
    {"load_fn", good_load, bad_pointer, NULL},
    {"place", good_place, bad_place, NULL},
    {"stage", good_stage, bad_stage, NULL},
    {"range", good_range, bad_range, NULL},
    {"contexts", good_contexts, bad_pointer, NULL},
    {"buffers", good_buffers, bad_pointer, NULL},
    {"arrays", good_arrays, bad_pointer, NULL},
    {"few", good_count, bad_count, NULL},
    {NULL, NULL, NULL, NULL},
};
