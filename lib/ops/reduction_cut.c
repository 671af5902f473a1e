/* SPDX-License-Identifier: MIT */
#include "ops/reduction_cut.h"

enum {
    MAX_STEPS = 65535, /* of one work-item: a driver stops counting there */
    CPU_GROUPS = 1024, /* a group is one work-item there */
    CPU_MIN_STEPS = 1024,
    GPU_GROUPS_PER_UNIT = 16,
    GPU_MIN_STEPS = 4
};

static size_t power_of_two_below(size_t limit) {
    size_t power = 1;
    while (power * 2 <= limit)
        power *= 2;
    return power;
}

static size_t divide_up(size_t a, size_t b) { return a / b + (a % b != 0); }

static size_t lesser(size_t a, size_t b) { return a < b ? a : b; }

struct reduction_cut reduction_cut_of(const struct device *device,
                                      const struct reduction_size *size) {
    const bool cpu = size->local == 1;
    const size_t target =
        cpu ? CPU_GROUPS : (size_t)device->info.compute_units * GPU_GROUPS_PER_UNIT;
    const size_t least = cpu ? CPU_MIN_STEPS : GPU_MIN_STEPS;
    struct reduction_cut cut;
    cut.local = power_of_two_below(lesser(size->part_limit, size->local));
    const size_t rows = divide_up(size->count, cut.local * size->vector);
    size_t steps = divide_up(rows, target ? target : 1);
    steps = steps < least ? least : lesser(steps, MAX_STEPS);
    cut.steps = (uint32_t)steps;
    cut.groups = rows ? divide_up(rows, steps) : 1;
    const size_t finish = lesser(size->finish_limit, size->local);
    cut.finish_local = power_of_two_below(lesser(finish, cut.groups));
    return cut;
}
