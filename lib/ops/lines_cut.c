/* SPDX-License-Identifier: MIT */
#include "ops/lines_cut.h"

#include "base/error.h"
#include "ops/map.h"

enum {
    CPU_ITEMS_PER_UNIT = 8, /* so that no core waits long for another */
    LEAST_STEPS = 16,       /* of a part of a line */
    GPU_LEAST_STEPS = 32,   /* of a column: next to these a part is little memory */
    GPU_MOST_PARTS = 8192,  /* of a line, which a group merges */
    GPU_ROW_STEPS = 4,      /* of an item of a team, if there are enough lines */
    ITEM_ELEMENTS = 32768   /* of a CPU's work-item, if there are so many lines */
};

/* Cuts `steps` of all items that work on a line, of which a part has `least`, so that about `wanted` times as many are
 * under way. */
static void cut_steps(size_t steps, size_t least, size_t wanted, struct lines_cut *cut) {
    const size_t most = divide_up(steps, least);
    const size_t parts = most ? clamp(wanted, 1, most) : 1;
    cut->steps = (uint32_t)clamp(divide_up(steps, parts), 1, REDUCTION_MAX_STEPS);
    cut->parts = steps ? (uint32_t)divide_up(steps, cut->steps) : 1;
}

static size_t wanted_items(const struct op_call *call, bool runs) {
    return reduction_units(call->device) * (runs ? CPU_ITEMS_PER_UNIT : REDUCTION_ITEMS_PER_UNIT);
}

/* Lines, or blocks of lines, of `elements` each: more than one of a CPU's item, if there are so many. */
static uint32_t lines_of_item(size_t local, size_t elements, size_t most) {
    return local > 1 || !most ? 1 : (uint32_t)clamp(ITEM_ELEMENTS / (elements + 1), 1, most);
}

struct lines_cut lines_cut_rows(const struct op_call *call, const struct spec *spec, size_t local,
                                const struct lines_size *size) {
    struct lines_cut cut = {.local = local, .team = 1, .each = 1};
    const size_t wanted = wanted_items(call, spec->local == 1);
    const bool are_many = size->count >= wanted / (size->vectors / GPU_ROW_STEPS + 1);
    const size_t each = spec->local > 1 && are_many ? GPU_ROW_STEPS : 1;
    while (cut.team < cut.local && cut.team * each < size->vectors)
        cut.team *= 2;
    cut_steps(divide_up(size->vectors, cut.team), LEAST_STEPS, wanted / (size->count * cut.team),
              &cut);
    cut.each = lines_of_item(local, size->length, size->count / wanted);
    const size_t at_once = cut.local / cut.team * cut.each;
    cut.items = divide_up(size->count, at_once) * cut.parts * cut.local;
    return cut;
}

struct lines_cut lines_cut_across(const struct op_call *call, const struct spec *spec, size_t local,
                                  const struct lines_size *size) {
    struct lines_cut cut = {.local = local, .team = 1, .each = 1};
    const size_t block = (size_t)spec->vector * spec->batch;
    const bool runs = spec->local == 1;
    const size_t wanted = wanted_items(call, runs), parts = wanted / size->blocks;
    cut_steps(size->length, runs ? LEAST_STEPS : GPU_LEAST_STEPS,
              runs ? parts : lesser(parts, GPU_MOST_PARTS), &cut);
    cut.each = lines_of_item(local, size->length * block, size->blocks / wanted);
    cut.items = divide_up(divide_up(size->blocks, cut.each) * cut.parts, cut.local) * cut.local;
    return cut;
}

/* Of a GPU as many items for a line as are of use. */
struct lines_cut lines_cut_finish(const struct op_call *call, size_t count, uint32_t parts,
                                  size_t local) {
    struct lines_cut cut = {.local = local, .parts = parts, .team = 1};
    const size_t wanted = wanted_items(call, local == 1) / count;
    while (cut.team * 2 <= lesser(local, parts) && cut.team < wanted)
        cut.team *= 2;
    cut.items = divide_up(count, local / cut.team) * local;
    return cut;
}

struct op_arg lines_cut_arg(const struct lines_cut *cut) {
    const uint32_t numbers[] = {cut->parts, cut->steps, cut->team, cut->each};
    return op_arg_value(numbers, sizeof numbers);
}

cls_status lines_check_types(const struct op_call *call, const struct op_row *row, size_t length) {
    const cls_dtype in = call->views[0].dtype, result = op_result_dtype(row, in);
    if (!length && (row->result == RESULT_SAME || row->result == RESULT_INDEX))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s of no elements", row->name);
    cls_status status = op_check_dtype(call, in);
    if (!status)
        status = op_check_dtype(call, result);
    return status ? status : map_check_typed(row, "out", call->views[1].dtype, result);
}

cls_status lines_check_rounding(const struct op_call *call, const struct op_row *row) {
    const cls_dtype in = call->views[0].dtype;
    return map_check_rounding(row, in, op_result_dtype(row, in), call->context);
}
