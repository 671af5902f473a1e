/* SPDX-License-Identifier: MIT */
#include "ops/reduction_cut.h"

#include "driver/caps.h"

enum {
    CPU_GROUPS = 1024, /* a group is one work-item there */
    CPU_MIN_STEPS = 1024,
    GPU_GROUPS_PER_UNIT = 16,
    GPU_MIN_STEPS = 4
};

size_t power_of_two_below(size_t limit) {
    size_t power = 1;
    while (power * 2 <= limit)
        power *= 2;
    return power;
}

size_t reduction_local(const struct op_call *call, struct kernel *kernel, size_t wanted) {
    const size_t limit = lesser(op_max_group(call, kernel), wanted);
    return caps_trusts(call->caps, TRUST_LOCAL_ARGUMENTS) ? power_of_two_below(limit) : 1;
}

/* How many groups a device is to have. */
static size_t wanted_groups(const struct device *device, const struct reduction_size *size,
                            size_t local) {
    if (size->local == 1)
        return CPU_GROUPS;
    return reduction_units(device) *
           (size->in_turn ? divide_up(REDUCTION_ITEMS_PER_UNIT, local) : GPU_GROUPS_PER_UNIT);
}

struct reduction_cut reduction_cut_of(const struct device *device,
                                      const struct reduction_size *size) {
    struct reduction_cut cut;
    const size_t most = size->alone ? 1 : size->local;
    cut.local = power_of_two_below(lesser(size->part_limit, most));
    const size_t rows = divide_up(size->count, cut.local * size->vector);
    const size_t target = wanted_groups(device, size, cut.local);
    const size_t least = size->local == 1 ? CPU_MIN_STEPS : GPU_MIN_STEPS;
    const size_t steps = clamp(divide_up(rows, target), least, REDUCTION_MAX_STEPS);
    cut.groups = rows ? divide_up(rows, steps) : 1;
    if (size->in_turn && steps > least && cut.groups < target)
        cut.groups = target; /* so none has a step more than another */
    cut.steps = (uint32_t)steps;
    const size_t finish = lesser(size->finish_limit, most);
    cut.finish_local = power_of_two_below(lesser(finish, cut.groups));
    return cut;
}
