/* SPDX-License-Identifier: MIT */
/*
 * The first k elements in the order, and the n-th (clstream/sort.h), by radix select. Digits of the element with the number
 * that is looked for are found from the top: a pass counts the digits of the elements that agree with it so far, and one
 * work-item picks the digit that its number falls into. A last pass moves the elements before it, and those equal to it,
 * which are then sorted. The host learns nothing.
 */
#include <clstream/sort.h>

#include "base/error.h"
#include "memory/buffer.h"
#include "ops/sort_call.h"

/* What is looked for: an element by its number, and then the elements from window[0] up to window[1] of the order, of
 * which those before it may be in any order. */
struct element_search {
    struct sort_input input;
    struct sort_cut cut;
    uint64_t number, window[2];
    struct buffer *scratch;
    size_t counts_at;
};

static cls_status search_digit(const struct element_search *search, unsigned shift, unsigned width,
                               const struct sort_place *keys) {
    const unsigned top = search->input.end;
    const struct sort_pass pass = {.input = &search->input,
                                   .cut = &search->cut,
                                   .kind = SORT_PICKS,
                                   .shift = shift,
                                   .width = width,
                                   .higher = sort_ones(top) & ~sort_ones(shift + width),
                                   .scratch = search->scratch,
                                   .counts_at = search->counts_at};
    cls_status status = sort_pass_count(&pass, keys);
    if (!status)
        status = sort_pass_offsets(&pass);
    return status ? status : sort_pass_pick(&pass, search->number, shift + width == top);
}

/* Finds the element. */
static cls_status search_find(const struct element_search *search, const struct sort_place *keys) {
    const struct sort_digits digits = sort_digits_of(&search->input, search->cut.way, false);
    const unsigned begin = search->input.begin;
    cls_status status = CLS_SUCCESS;
    unsigned end = search->input.end;
    for (unsigned i = digits.passes; i-- && !status;) {
        const unsigned shift = begin + i * digits.width;
        status = search_digit(search, shift, end - shift, keys);
        end = shift;
    }
    return status;
}

static cls_status search_collect(const struct element_search *search,
                                 const struct sort_move *move) {
    const unsigned begin = search->input.begin, end = search->input.end;
    const struct sort_pass pass = {.input = &search->input,
                                   .cut = &search->cut,
                                   .kind = SORT_COLLECTS,
                                   .higher = sort_ones(end) & ~sort_ones(begin),
                                   .scratch = search->scratch,
                                   .counts_at = search->counts_at,
                                   .window = {search->window[0], search->window[1]}};
    cls_status status = search_find(search, &move->keys);
    if (!status)
        status = sort_pass_count(&pass, &move->keys);
    if (!status)
        status = sort_pass_offsets(&pass);
    return status ? status : sort_pass_scatter(&pass, move);
}

/* --- top k --- */

/* Those k elements lie in temporary memory, with their numbers if these are wanted. */
struct top {
    struct element_search search;
    struct sort_job job; /* sorts them */
    size_t k, keys_at, values_at, job_at, bytes;
};

static cls_status top_plan(struct sort_call *call, struct top *top) {
    const struct sort_values sizes = sort_call_values(call);
    const struct sort_values collected = {sizes.in, sizes.in};
    const size_t key_size = cls_dtype_size(call->given[ROLE_KEYS].array.dtype);
    top->search.input = sort_call_input(call);
    top->search.number = top->k - 1;
    top->search.window[1] = top->k;
    top->job.input = top->search.input;
    top->job.input.count = top->k;
    top->job.move.keys_out = sort_call_place(call, ROLE_KEYS_OUT);
    top->job.move.values_out = sort_call_place(call, ROLE_VALUES_OUT);
    top->job.move.sizes = sizes;
    cls_status status = sort_cut_of(&top->search.input, &collected, &top->search.cut);
    if (!status)
        status = sort_job_plan(&top->job);
    if (status)
        return status;
    top->keys_at = sort_part(sort_counts_bytes(&top->search.input, &top->search.cut));
    top->values_at = top->keys_at + sort_part(top->k * key_size);
    top->job_at = top->values_at + sort_part(top->k * sizes.in);
    top->bytes = top->job_at + top->job.plan.bytes;
    return CLS_SUCCESS;
}

static cls_status top_submit(struct sort_call *call, size_t k) {
    struct top top = {.k = k};
    struct buffer *scratch;
    if (!k)
        return op_check_stream(&call->op);
    cls_status status = top_plan(call, &top);
    if (!status)
        status = op_scratch(&call->op, top.bytes, &scratch);
    if (status)
        return status;
    const struct sort_values sizes = top.job.move.sizes;
    struct sort_move move = {
        .keys = sort_call_place(call, ROLE_KEYS),
        .keys_out = sort_place_of(scratch, top.keys_at, 1, k, cls_dtype_size(top.job.input.key)),
        .sizes = {sizes.in, sizes.in}};
    if (sizes.in)
        move.values_out = sort_place_of(scratch, top.values_at, 1, k, sizes.in);
    top.search.scratch = scratch;
    top.job.move.keys = move.keys_out;
    top.job.move.values = move.values_out;
    status = search_collect(&top.search, &move);
    return status ? status : sort_job_submit(&top.job, scratch, top.job_at);
}

static cls_status top_add(struct sort_call *call, const cls_array *in, const cls_array *values,
                          const cls_array *indices) {
    cls_status status = sort_call_add_array(call, ROLE_KEYS, in);
    if (!status && !values->buffer && !indices->buffer)
        return error_set(CLS_ERROR_INVALID_VALUE, "top_k: neither values nor indices");
    if (!status && values->buffer)
        status = sort_call_add_array(call, ROLE_KEYS_OUT, values);
    if (!status && indices->buffer)
        status = sort_call_add_array(call, ROLE_VALUES_OUT, indices);
    return status;
}

/* k is the number of elements of the outputs that there are. */
static cls_status top_check(const struct sort_call *call, size_t *k) {
    const size_t *count = call->count;
    *k = count[call->has[ROLE_KEYS_OUT] ? ROLE_KEYS_OUT : ROLE_VALUES_OUT];
    if (*k > count[ROLE_KEYS] || (call->has[ROLE_VALUES_OUT] && count[ROLE_VALUES_OUT] != *k))
        return error_set(CLS_ERROR_SIZE_MISMATCH,
                         "top_k: %zu values and %zu indices of %zu elements", count[ROLE_KEYS_OUT],
                         count[ROLE_VALUES_OUT], count[ROLE_KEYS]);
    return CLS_SUCCESS;
}

static cls_status top_k(const cls_array *in, const cls_array *values, const cls_array *indices,
                        const cls_sort_config *config, cls_stream stream, bool blocking) {
    struct sort_call call = {.name = "top_k", .not_in_place = true};
    size_t k;
    cls_status status = top_add(&call, in, values, indices);
    if (!status)
        status = sort_call_begin(&call, config, stream, blocking);
    if (status)
        return status;
    status = top_check(&call, &k);
    if (!status)
        status = top_submit(&call, k);
    return op_end(&call.op, status, blocking);
}

cls_status cls_top_k(cls_array in, cls_array values, cls_array indices,
                     const cls_sort_config *config, cls_stream stream) {
    return top_k(&in, &values, &indices, config, stream, true);
}

cls_status cls_top_k_async(cls_array in, cls_array values, cls_array indices,
                           const cls_sort_config *config, cls_stream stream) {
    return top_k(&in, &values, &indices, config, stream, false);
}

/* --- the n-th element --- */

static cls_status nth_submit(struct sort_call *call, size_t n) {
    struct element_search search = {
        .input = sort_call_input(call), .number = n, .window = {n, n + 1}};
    const struct sort_move move = {.keys = sort_call_place(call, ROLE_KEYS),
                                   .keys_out = sort_call_place(call, ROLE_KEYS_OUT)};
    cls_status status = sort_cut_of(&search.input, &move.sizes, &search.cut);
    if (!status)
        status =
            op_scratch(&call->op, sort_counts_bytes(&search.input, &search.cut), &search.scratch);
    return status ? status : search_collect(&search, &move);
}

static cls_status nth_check(const struct sort_call *call, size_t n) {
    if (call->count[ROLE_KEYS_OUT] != 1)
        return error_set(CLS_ERROR_SIZE_MISMATCH, "nth_element: an output of %zu elements",
                         call->count[ROLE_KEYS_OUT]);
    if (n >= call->count[ROLE_KEYS])
        return error_set(CLS_ERROR_OUT_OF_RANGE, "nth_element: element %zu of %zu", n,
                         call->count[ROLE_KEYS]);
    return CLS_SUCCESS;
}

static cls_status nth_element(const cls_array *in, size_t n, const cls_array *out,
                              const cls_sort_config *config, cls_stream stream, bool blocking) {
    struct sort_call call = {.name = "nth_element", .not_in_place = true};
    cls_status status = sort_call_add_array(&call, ROLE_KEYS, in);
    if (!status)
        status = sort_call_add_array(&call, ROLE_KEYS_OUT, out);
    if (!status)
        status = sort_call_begin(&call, config, stream, blocking);
    if (status)
        return status;
    status = nth_check(&call, n);
    if (!status)
        status = nth_submit(&call, n);
    return op_end(&call.op, status, blocking);
}

cls_status cls_nth_element(cls_array in, size_t n, cls_array out, const cls_sort_config *config,
                           cls_stream stream) {
    return nth_element(&in, n, &out, config, stream, true);
}

cls_status cls_nth_element_async(cls_array in, size_t n, cls_array out,
                                 const cls_sort_config *config, cls_stream stream) {
    return nth_element(&in, n, &out, config, stream, false);
}
