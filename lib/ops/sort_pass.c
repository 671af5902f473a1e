/* SPDX-License-Identifier: MIT */
#include "ops/sort_pass.h"

#include "base/types.h"
#include "driver/caps.h"
#include "driver/quirk.h"
#include "memory/buffer.h"
#include "ops/reduction_cut.h"

enum {
    RUNS_PER_UNIT =
        4, /* tiles of each unit of a CPU, so that other work does not delay a pass much */
    LEAST_RUN = 4096,  /* keys of such a tile, beside which 256 counts do not matter */
    LEAST_GROUP = 32,  /* items of a group, which are at least as many as a digit's values */
    CHOSEN_BYTES = 16, /* struct chosen of cl/sort_key.cl */
    CHOSEN_WORDS = CHOSEN_BYTES / 4,
    VOLTA = 70 /* the compute capability from which on teams of items agree by ballots */
};

static const uint64_t nowhere = UINT64_MAX;

/* --- places --- */

struct sort_place sort_place_of(struct buffer *scratch, size_t offset, size_t rows, size_t count,
                                size_t size) {
    return (struct sort_place){scratch, byte_span_1d(offset, rows * count * size), offset / size,
                               count};
}

struct op_arg sort_place_arg(const struct sort_place *place, bool writes, struct buffer *other) {
    return place->buffer ? op_arg_span(place->buffer, writes, &place->span)
                         : op_arg_part(other, false, 0, 0);
}

struct op_arg sort_length_arg(const struct sort_input *input, struct buffer *other) {
    return input->length ? op_arg_view(input->length, false) : op_arg_part(other, false, 0, 0);
}

uint64_t sort_length_at(const struct sort_input *input) {
    return input->length ? input->length->offset : nowhere;
}

struct op_arg sort_places_arg(const struct sort_place *keys, const struct sort_place *values) {
    const uint64_t numbers[] = {keys->buffer ? keys->at : nowhere, keys->step,
                                values->buffer ? values->at : nowhere, values->step};
    return op_arg_value(numbers, sizeof numbers);
}

uint64_t sort_ones(unsigned bits) { return bits ? UINT64_MAX >> (64 - bits) : 0; }

struct op_arg sort_order_arg(const struct sort_input *input, unsigned shift, unsigned width,
                             uint64_t last) {
    const uint64_t numbers[] = {input->descending ? UINT64_MAX : 0, shift, sort_ones(width), last};
    return op_arg_value(numbers, sizeof numbers);
}

/* --- the cut --- */

enum sort_way sort_way_of(const struct op_call *op) {
    /* A driver that ends loops after 65,535 steps ends runs early. */
    const bool takes_runs = op_takes_runs(op->device) && !(op->device->quirks & QUIRK_SHORT_LOOPS);
    if (takes_runs || !caps_trusts(op->caps, TRUST_LOCAL_ARGUMENTS) ||
        device_max_line(op->device) < LEAST_GROUP)
        return SORT_BY_RUNS;
    return op->device->compute_capability >= VOLTA ? SORT_BY_LANES : SORT_BY_COUNTERS;
}

struct sort_digits sort_digits_of(const struct sort_input *input, enum sort_way way, bool even) {
    const unsigned bits = input->end - input->begin;
    struct sort_digits digits = {(unsigned)divide_up(bits, spec_sort_radix_log(way, SORT_PLAIN)),
                                 0};
    digits.passes += even && digits.passes % 2;
    digits.width = (unsigned)divide_up(bits, digits.passes);
    return digits;
}

cls_status sort_kernel_of(struct op_call *op, const struct sort_kind *kind, struct kernel **out) {
    const struct spec *spec;
    cls_status status = spec_of_sort(kind, &spec);
    return status ? status : op_kernel(op, &spec->kernel, out);
}

/* Whether the kernels of a pass have room for groups so large. */
static cls_status cut_suits(const struct sort_input *input, const struct sort_values *values,
                            const struct sort_cut *cut, bool *suits) {
    static const enum sort_kernel kernels[] = {SORT_COUNT, SORT_OFFSETS, SORT_SCATTER};
    *suits = true;
    for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const struct sort_kind kind = {kernels[i], input->key,     *values,   SORT_PLAIN,
                                       cut->way,   cut->group_log, cut->items};
        struct kernel *kernel;
        cls_status status = sort_kernel_of(input->op, &kind, &kernel);
        if (status)
            return status;
        *suits = *suits && op_max_group(input->op, kernel) >= (size_t)1 << cut->group_log;
    }
    return CLS_SUCCESS;
}

/* The largest groups of a way that the kernels allow. */
static cls_status cut_groups(const struct sort_input *input, const struct sort_values *values,
                             struct sort_cut *cut, bool *suits) {
    const size_t line = device_max_line(input->op->device);
    cls_status status = CLS_SUCCESS;
    *suits = false;
    cut->items = spec_sort_items(cut->way, input->key, values);
    for (unsigned log = spec_sort_most_group_log(cut->way);
         log >= spec_sort_least_group_log(cut->way) && !*suits && !status; log--) {
        cut->group_log = log;
        if ((size_t)1 << log <= line)
            status = cut_suits(input, values, cut, suits);
    }
    cut->tile = (size_t)cut->items << cut->group_log;
    return status;
}

static void cut_runs(const struct sort_input *input, struct sort_cut *cut) {
    const size_t runs = RUNS_PER_UNIT * reduction_units(input->op->device);
    cut->way = SORT_BY_RUNS;
    cut->group_log = 0;
    cut->items = 0;
    cut->tile = divide_up(input->count, divide_up(runs, input->rows));
    if (cut->tile < LEAST_RUN)
        cut->tile = LEAST_RUN;
}

cls_status sort_cut_of(const struct sort_input *input, const struct sort_values *values,
                       struct sort_cut *cut) {
    bool suits = false;
    cls_status status = CLS_SUCCESS;
    cut->way = sort_way_of(input->op);
    if (cut->way == SORT_BY_LANES)
        status = cut_groups(input, values, cut, &suits);
    if (!status && !suits && cut->way != SORT_BY_RUNS) {
        cut->way = SORT_BY_COUNTERS;
        status = cut_groups(input, values, cut, &suits);
    }
    if (status)
        return status;
    if (!suits)
        cut_runs(input, cut);
    cut->tiles = divide_up(input->count, cut->tile);
    return CLS_SUCCESS;
}

/* --- counts: of tiles, then the totals, then what is known of key k --- */

static size_t radix_of(const struct sort_cut *cut) {
    return (size_t)1 << spec_sort_radix_log(cut->way, SORT_PLAIN);
}

static size_t totals_at(const struct sort_input *input, const struct sort_cut *cut) {
    return input->rows * radix_of(cut) * cut->tiles;
}

static size_t chosen_at(const struct sort_input *input, const struct sort_cut *cut) {
    return divide_up(totals_at(input, cut) + input->rows * radix_of(cut), CHOSEN_WORDS);
}

size_t sort_counts_bytes(const struct sort_input *input, const struct sort_cut *cut) {
    return (chosen_at(input, cut) + 1) * CHOSEN_BYTES;
}

static struct op_arg counts_arg(const struct sort_pass *pass, bool writes) {
    return op_arg_part(pass->scratch, writes, pass->counts_at,
                       sort_counts_bytes(pass->input, pass->cut));
}

/* counts_at of the kernels. */
static struct op_arg counts_at_arg(const struct sort_pass *pass) {
    const size_t word = pass->counts_at / sizeof(uint32_t);
    const uint64_t numbers[] = {word, word + totals_at(pass->input, pass->cut),
                                sort_length_at(pass->input),
                                pass->counts_at / CHOSEN_BYTES + chosen_at(pass->input, pass->cut)};
    return op_arg_value(numbers, sizeof numbers);
}

static struct op_arg shape_arg(const struct sort_pass *pass) {
    const uint64_t numbers[] = {pass->input->count, pass->cut->tiles, pass->cut->tile, 0};
    return op_arg_value(numbers, sizeof numbers);
}

static struct op_arg pass_order_arg(const struct sort_pass *pass) {
    return sort_order_arg(pass->input, pass->shift, pass->width, pass->higher);
}

/* --- launches --- */

static cls_status sort_launch(const struct sort_pass *pass, enum sort_kernel which,
                              const struct sort_values *values, const struct op_arg *args,
                              unsigned n_args, size_t groups) {
    const struct sort_cut *cut = pass->cut;
    const struct sort_kind kind = {which,    pass->input->key, *values,   pass->kind,
                                   cut->way, cut->group_log,   cut->items};
    const size_t group = which == SORT_PICK ? 1 : (size_t)1 << cut->group_log;
    struct kernel *kernel;
    cls_status status = sort_kernel_of(pass->input->op, &kind, &kernel);
    return status ? status
                  : op_launch(pass->input->op, kernel, args, n_args, groups * group, group);
}

static const struct sort_values no_values;

cls_status sort_pass_count(const struct sort_pass *pass, const struct sort_place *keys) {
    const struct sort_input *input = pass->input;
    const struct op_arg args[] = {sort_place_arg(keys, false, pass->scratch),
                                  counts_arg(pass, true),
                                  sort_length_arg(input, pass->scratch),
                                  counts_arg(pass, false),
                                  op_arg_pair(keys->at, keys->step),
                                  counts_at_arg(pass),
                                  shape_arg(pass),
                                  pass_order_arg(pass)};
    return sort_launch(pass, SORT_COUNT, &no_values, args, sizeof args / sizeof *args,
                       input->rows * pass->cut->tiles);
}

cls_status sort_pass_offsets(const struct sort_pass *pass) {
    const struct op_arg args[] = {counts_arg(pass, true), counts_at_arg(pass), shape_arg(pass)};
    const size_t rows = pass->input->rows;
    const size_t digits = (size_t)1 << spec_sort_radix_log(pass->cut->way, pass->kind);
    return sort_launch(pass, SORT_OFFSETS, &no_values, args, sizeof args / sizeof *args,
                       pass->cut->way == SORT_BY_RUNS ? rows : rows * digits);
}

cls_status sort_pass_pick(const struct sort_pass *pass, uint64_t k, bool first) {
    const struct op_arg args[] = {counts_arg(pass, false), counts_arg(pass, true),
                                  counts_at_arg(pass), pass_order_arg(pass), op_arg_pair(k, first)};
    return sort_launch(pass, SORT_PICK, &no_values, args, sizeof args / sizeof *args, 1);
}

cls_status sort_pass_scatter(const struct sort_pass *pass, const struct sort_move *move) {
    const struct sort_input *input = pass->input;
    struct buffer *const none = pass->scratch;
    const struct op_arg args[] = {sort_place_arg(&move->keys, false, none),
                                  sort_place_arg(&move->keys_out, true, none),
                                  sort_place_arg(&move->values, false, none),
                                  sort_place_arg(&move->values_out, true, none),
                                  counts_arg(pass, false),
                                  sort_length_arg(input, none),
                                  counts_arg(pass, false),
                                  sort_places_arg(&move->keys, &move->values),
                                  sort_places_arg(&move->keys_out, &move->values_out),
                                  counts_at_arg(pass),
                                  shape_arg(pass),
                                  pass_order_arg(pass),
                                  op_arg_pair(pass->window[0], pass->window[1])};
    return sort_launch(pass, SORT_SCATTER, &move->sizes, args, sizeof args / sizeof *args,
                       input->rows * pass->cut->tiles);
}
