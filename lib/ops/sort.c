/* SPDX-License-Identifier: MIT */
/* Sorts of arrays and of the rows of matrices (clstream/sort.h). */
#include <clstream/sort.h>

#include "base/error.h"
#include "memory/buffer.h"
#include "ops/sort_call.h"

/* Every operand has the shape of the keys. */
static cls_status sort_check_shapes(const struct sort_call *call) {
    for (unsigned role = ROLE_KEYS_OUT; role < ROLE_LENGTH; role++)
        if (call->has[role] && (call->rows[role] != call->rows[ROLE_KEYS] ||
                                call->count[role] != call->count[ROLE_KEYS]))
            return error_set(CLS_ERROR_SIZE_MISMATCH,
                             "%s: an operand of %zu x %zu elements for %zu x %zu keys", call->name,
                             call->rows[role], call->count[role], call->rows[ROLE_KEYS],
                             call->count[ROLE_KEYS]);
    return CLS_SUCCESS;
}

static cls_status sort_submit(struct sort_call *call) {
    struct sort_job job = {
        .input = sort_call_input(call),
        .move = {.keys = sort_call_place(call, ROLE_KEYS),
                 .keys_out = sort_call_place(call, ROLE_KEYS_OUT),
                 .values = sort_call_place(call, ROLE_VALUES),
                 .values_out = sort_call_place(call, ROLE_VALUES_OUT),
                 .sizes = sort_call_values(call)},
        .in_place = sort_call_in_place(call),
    };
    struct buffer *scratch = NULL;
    if (!job.input.rows || !job.input.count)
        return op_check_stream(&call->op);
    cls_status status = sort_job_plan(&job);
    if (!status && job.plan.bytes)
        status = op_scratch(&call->op, job.plan.bytes, &scratch);
    return status ? status : sort_job_submit(&job, scratch, 0);
}

/* `operands` by their roles; NULL: there is no such operand. */
static cls_status sort_matrices(const char *name, const cls_matrix *const operands[ROLE_LENGTH],
                                const cls_sort_config *config, cls_stream stream, bool blocking) {
    struct sort_call call = {.name = name};
    cls_status status = CLS_SUCCESS;
    for (unsigned role = 0; role < ROLE_LENGTH && !status; role++)
        if (operands[role])
            status = sort_call_add_matrix(&call, role, operands[role]);
    if (!status)
        status = sort_call_begin(&call, config, stream, blocking);
    if (status)
        return status;
    status = sort_check_shapes(&call);
    if (!status)
        status = sort_submit(&call);
    return op_end(&call.op, status, blocking);
}

static cls_status sort_arrays(const char *name, const cls_array *const arrays[ROLE_LENGTH],
                              const cls_sort_config *config, cls_stream stream, bool blocking) {
    cls_matrix rows[ROLE_LENGTH];
    const cls_matrix *operands[ROLE_LENGTH] = {0};
    for (unsigned role = 0; role < ROLE_LENGTH; role++)
        if (arrays[role]) {
            rows[role] = sort_row_of(arrays[role]);
            operands[role] = &rows[role];
        }
    return sort_matrices(name, operands, config, stream, blocking);
}

/* --- calls --- */

static cls_status sort_keys(const cls_array *in, const cls_array *out,
                            const cls_sort_config *config, cls_stream stream, bool blocking) {
    const cls_array *const arrays[ROLE_LENGTH] = {in, out};
    return sort_arrays("sort", arrays, config, stream, blocking);
}

cls_status cls_sort(cls_array in, cls_array out, const cls_sort_config *config, cls_stream stream) {
    return sort_keys(&in, &out, config, stream, true);
}

cls_status cls_sort_async(cls_array in, cls_array out, const cls_sort_config *config,
                          cls_stream stream) {
    return sort_keys(&in, &out, config, stream, false);
}

cls_status cls_sort_pairs(cls_array keys_in, cls_array keys_out, cls_array values_in,
                          cls_array values_out, const cls_sort_config *config, cls_stream stream) {
    const cls_array *const arrays[ROLE_LENGTH] = {&keys_in, &keys_out, &values_in, &values_out};
    return sort_arrays("sort_pairs", arrays, config, stream, true);
}

cls_status cls_sort_pairs_async(cls_array keys_in, cls_array keys_out, cls_array values_in,
                                cls_array values_out, const cls_sort_config *config,
                                cls_stream stream) {
    const cls_array *const arrays[ROLE_LENGTH] = {&keys_in, &keys_out, &values_in, &values_out};
    return sort_arrays("sort_pairs", arrays, config, stream, false);
}

static cls_status argsort(const cls_array *keys, const cls_array *indices,
                          const cls_sort_config *config, cls_stream stream, bool blocking) {
    const cls_array *const arrays[ROLE_LENGTH] = {[ROLE_KEYS] = keys, [ROLE_VALUES_OUT] = indices};
    return sort_arrays("argsort", arrays, config, stream, blocking);
}

cls_status cls_argsort(cls_array keys, cls_array indices, const cls_sort_config *config,
                       cls_stream stream) {
    return argsort(&keys, &indices, config, stream, true);
}

cls_status cls_argsort_async(cls_array keys, cls_array indices, const cls_sort_config *config,
                             cls_stream stream) {
    return argsort(&keys, &indices, config, stream, false);
}

static cls_status sort_rows(const cls_matrix *in, const cls_matrix *out,
                            const cls_sort_config *config, cls_stream stream, bool blocking) {
    const cls_matrix *const operands[ROLE_LENGTH] = {in, out};
    return sort_matrices("sort_rows", operands, config, stream, blocking);
}

cls_status cls_sort_rows(cls_matrix in, cls_matrix out, const cls_sort_config *config,
                         cls_stream stream) {
    return sort_rows(&in, &out, config, stream, true);
}

cls_status cls_sort_rows_async(cls_matrix in, cls_matrix out, const cls_sort_config *config,
                               cls_stream stream) {
    return sort_rows(&in, &out, config, stream, false);
}

static cls_status argsort_rows(const cls_matrix *keys, const cls_matrix *indices,
                               const cls_sort_config *config, cls_stream stream, bool blocking) {
    const cls_matrix *const operands[ROLE_LENGTH] = {
        [ROLE_KEYS] = keys, [ROLE_VALUES_OUT] = indices};
    return sort_matrices("argsort_rows", operands, config, stream, blocking);
}

cls_status cls_argsort_rows(cls_matrix keys, cls_matrix indices, const cls_sort_config *config,
                            cls_stream stream) {
    return argsort_rows(&keys, &indices, config, stream, true);
}

cls_status cls_argsort_rows_async(cls_matrix keys, cls_matrix indices,
                                  const cls_sort_config *config, cls_stream stream) {
    return argsort_rows(&keys, &indices, config, stream, false);
}
