/* SPDX-License-Identifier: MIT */
#include "ops/sort_job.h"

#include "base/types.h"
#include "ops/reduction_cut.h"

enum {
    ROW_ITEMS_PER_UNIT = 4, /* rows of a CPU's unit, from which on each goes to an item */
    SHORT_ROW = 16384       /* keys that an item of a CPU sorts in less time than launches take */
};

/* --- the plan --- */

/* The way of rows that a group has room for: groups of lanes are large, so short rows go to others. */
static bool row_group(const struct sort_job *job, struct sort_cut *cut) {
    const struct sort_values *sizes = &job->move.sizes;
    const size_t short_row = (size_t)spec_sort_items(SORT_BY_COUNTERS, job->input.key, sizes)
                             << spec_sort_most_group_log(SORT_BY_COUNTERS);
    if (cut->way == SORT_BY_LANES && job->input.count <= short_row)
        cut->way = SORT_BY_COUNTERS;
    cut->items = spec_sort_items(cut->way, job->input.key, sizes);
    cut->group_log = spec_sort_least_group_log(cut->way);
    while (cut->group_log < spec_sort_most_group_log(cut->way) &&
           (size_t)cut->items << cut->group_log < job->input.count)
        cut->group_log++;
    cut->tile = (size_t)cut->items << cut->group_log;
    return cut->tile >= job->input.count;
}

static struct sort_kind row_kind(const struct sort_job *job, const struct sort_cut *cut) {
    return (struct sort_kind){SORT_ROWS, job->input.key, job->move.sizes, SORT_PLAIN,
                              cut->way,  cut->group_log, cut->items};
}

/* Whether rows can be sorted in one launch, and how. */
static cls_status plan_rows(const struct sort_job *job, struct sort_cut *cut, bool *suits) {
    const struct sort_input *input = &job->input;
    struct kernel *kernel;
    cut->way = sort_way_of(input->op);
    cut->tiles = 1;
    if (cut->way == SORT_BY_RUNS) {
        cut->tile = input->count;
        cut->group_log = cut->items = 0;
        *suits = input->count <= SHORT_ROW ||
                 input->rows >= ROW_ITEMS_PER_UNIT * reduction_units(input->op->device);
        return CLS_SUCCESS;
    }
    *suits = row_group(job, cut);
    if (!*suits)
        return CLS_SUCCESS;
    const struct sort_kind kind = row_kind(job, cut);
    cls_status status = sort_kernel_of(input->op, &kind, &kernel);
    *suits = !status && op_max_group(input->op, kernel) >= (size_t)1 << cut->group_log;
    return status;
}

static size_t add_part(struct sort_plan *plan, bool wanted, size_t bytes) {
    const size_t at = plan->bytes;
    plan->bytes += wanted ? sort_part(bytes) : 0;
    return at;
}

/* The last pass goes to the output, the one before it to the first room, and so on by turns. The output is the second
 * room where it can be. */
static void plan_rooms(struct sort_job *job) {
    struct sort_plan *plan = &job->plan;
    const struct sort_values *sizes = &job->move.sizes;
    const bool needs[2] = {plan->digits.passes > 1, plan->digits.passes > 2};
    const bool by_item = plan->by_rows; /* takes both rooms */
    const size_t elements = job->input.rows * job->input.count;
    const bool second_keys = by_item || !job->move.keys_out.buffer;
    const bool second_values = by_item || sizes->in != sizes->out;
    plan->bytes = 0;
    for (unsigned i = 0; i < 2; i++) {
        plan->rooms[i][0] = add_part(plan, needs[i] && (i == 0 || second_keys),
                                     elements * cls_dtype_size(job->input.key));
        plan->rooms[i][1] = add_part(plan, needs[i] && sizes->in && (i == 0 || second_values),
                                     elements * sizes->in);
    }
    plan->counts = add_part(plan, !plan->by_rows, sort_counts_bytes(&job->input, &plan->cut));
}

cls_status sort_job_plan(struct sort_job *job) {
    struct sort_plan *plan = &job->plan;
    cls_status status = plan_rows(job, &plan->cut, &plan->by_rows);
    if (!status && !plan->by_rows)
        status = sort_cut_of(&job->input, &job->move.sizes, &plan->cut);
    if (status)
        return status;
    const bool by_group = plan->by_rows && plan->cut.way != SORT_BY_RUNS;
    plan->digits = sort_digits_of(&job->input, plan->cut.way, job->in_place && !by_group);
    if (by_group)
        plan->bytes = 0;
    else
        plan_rooms(job);
    return CLS_SUCCESS;
}

/* --- all passes in one launch --- */

static struct sort_place room(const struct sort_job *job, struct buffer *scratch, size_t at,
                              unsigned which, bool values) {
    const size_t size = values ? job->move.sizes.in : cls_dtype_size(job->input.key);
    return sort_place_of(scratch, at + job->plan.rooms[which][values], job->input.rows,
                         job->input.count, size);
}

static struct op_arg rooms_arg(const struct sort_place rooms[2][2], bool has_values) {
    const uint64_t numbers[] = {rooms[0][0].at, rooms[1][0].at, has_values ? rooms[0][1].at : 0,
                                has_values ? rooms[1][1].at : 0};
    return op_arg_value(numbers, sizeof numbers);
}

static cls_status sort_submit_rows(const struct sort_job *job, struct buffer *scratch, size_t at) {
    const struct sort_plan *plan = &job->plan;
    const struct sort_move *move = &job->move;
    const struct sort_input *input = &job->input;
    const unsigned width = plan->digits.width, passes = plan->digits.passes;
    const unsigned last = input->end - input->begin - (passes - 1) * width;
    const uint64_t shape[] = {input->count, sort_length_at(input), 0, passes};
    struct buffer *const none = move->keys.buffer;
    struct sort_place rooms[2][2] = {0};
    for (unsigned i = 0; i < 4 && plan->bytes; i++)
        if (i % 2 == 0 || move->sizes.in)
            rooms[i / 2][i % 2] = room(job, scratch, at, i / 2, i % 2);
    const struct op_arg temporary =
        plan->bytes ? op_arg_part(scratch, true, at, plan->bytes) : op_arg_part(none, false, 0, 0);
    const struct op_arg args[] = {sort_place_arg(&move->keys, false, none),
                                  sort_place_arg(&move->keys_out, true, none),
                                  sort_place_arg(&move->values, false, none),
                                  sort_place_arg(&move->values_out, true, none),
                                  temporary,
                                  temporary,
                                  sort_length_arg(input, none),
                                  sort_places_arg(&move->keys, &move->values),
                                  sort_places_arg(&move->keys_out, &move->values_out),
                                  rooms_arg(rooms, move->sizes.in),
                                  op_arg_value(shape, sizeof shape),
                                  sort_order_arg(input, input->begin, width, sort_ones(last))};
    const struct sort_kind kind = row_kind(job, &plan->cut);
    const size_t group = (size_t)1 << plan->cut.group_log;
    struct kernel *kernel;
    cls_status status = sort_kernel_of(input->op, &kind, &kernel);
    return status ? status
                  : op_launch(input->op, kernel, args, sizeof args / sizeof *args,
                              input->rows * group, group);
}

/* --- passes --- */

/* Where a pass writes keys or values: the last one to the output, those before it to the rooms by turns. */
static struct sort_place destination(const struct sort_job *job, struct buffer *scratch, size_t at,
                                     unsigned pass, bool values) {
    const struct sort_move *move = &job->move;
    const struct sort_place *out = values ? &move->values_out : &move->keys_out;
    const unsigned left = job->plan.digits.passes - 1 - pass;
    const bool out_is_room = values ? move->sizes.in == move->sizes.out : out->buffer != NULL;
    if ((values && !move->sizes.in) || left == 0 || (left % 2 == 0 && out_is_room))
        return *out;
    return room(job, scratch, at, left % 2 == 0, values);
}

static struct sort_pass pass_of(const struct sort_job *job, struct buffer *scratch, size_t at,
                                unsigned number) {
    const struct sort_digits *digits = &job->plan.digits;
    const unsigned bits = job->input.end - job->input.begin;
    const unsigned done = (unsigned)lesser(number * digits->width, bits);
    const unsigned width = (unsigned)lesser(digits->width, bits - done);
    return (struct sort_pass){.input = &job->input,
                              .cut = &job->plan.cut,
                              .shift = width ? job->input.begin + done : 0,
                              .width = width,
                              .scratch = scratch,
                              .counts_at = at + job->plan.counts,
                              .window = {0, UINT32_MAX}};
}

static cls_status sort_submit_pass(const struct sort_job *job, struct buffer *scratch, size_t at,
                                   unsigned number, struct sort_move *move) {
    const struct sort_pass pass = pass_of(job, scratch, at, number);
    const bool is_last = number + 1 == job->plan.digits.passes;
    move->keys_out = destination(job, scratch, at, number, false);
    move->values_out = destination(job, scratch, at, number, true);
    move->sizes.out = is_last ? job->move.sizes.out : job->move.sizes.in;
    cls_status status = sort_pass_count(&pass, &move->keys);
    if (!status)
        status = sort_pass_offsets(&pass);
    if (!status)
        status = sort_pass_scatter(&pass, move);
    move->keys = move->keys_out;
    move->values = move->values_out;
    return status;
}

cls_status sort_job_submit(const struct sort_job *job, struct buffer *scratch, size_t at) {
    struct sort_move move = job->move;
    cls_status status = CLS_SUCCESS;
    if (job->plan.by_rows)
        return sort_submit_rows(job, scratch, at);
    for (unsigned i = 0; i < job->plan.digits.passes && !status; i++)
        status = sort_submit_pass(job, scratch, at, i, &move);
    return status;
}
