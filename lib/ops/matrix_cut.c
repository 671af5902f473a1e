/* SPDX-License-Identifier: MIT */
#include "ops/matrix_cut.h"

#include "ops/reduction_cut.h"

enum {
    ITEM_ELEMENTS = 8192, /* of a CPU's work-item: microseconds of work */
    SQUARE_WIDTH = 64     /* of these, where lines of cache are used by several lines */
};

static struct matrix_cut cut_by(size_t team, size_t height, size_t width, size_t across) {
    return (struct matrix_cut){
        .numbers = {(uint32_t)team, (uint32_t)height, (uint32_t)width, (uint32_t)across}};
}

/* A CPU's item takes rows, or a part of a long one. */
static struct matrix_cut cut_by_item(size_t rows, size_t columns, bool in_squares) {
    const size_t width = lesser(columns, in_squares ? SQUARE_WIDTH : ITEM_ELEMENTS);
    const size_t height = clamp(ITEM_ELEMENTS / width, 1, rows);
    return cut_by(1, height, width, divide_up(columns, width));
}

static struct matrix_cut cut_by_team(size_t columns, const struct spec *spec, size_t local) {
    const size_t vectors = divide_up(columns, spec->vector);
    size_t team = 1;
    while (team < local && team < vectors)
        team *= 2;
    return cut_by(team, local / team * spec->batch, team * spec->vector, divide_up(vectors, team));
}

struct matrix_cut matrix_cut_of(const struct op_call *call, const struct spec *spec,
                                struct kernel *kernel, size_t rows, size_t columns,
                                bool in_squares) {
    const bool by_team = spec->local > 1;
    const size_t local =
        by_team ? power_of_two_below(lesser(op_max_group(call, kernel), spec->local)) : 1;
    struct matrix_cut cut =
        by_team ? cut_by_team(columns, spec, local) : cut_by_item(rows, columns, in_squares);
    cut.local = local;
    cut.groups = divide_up(rows, cut.numbers[1]) * cut.numbers[3];
    return cut;
}
