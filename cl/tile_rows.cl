/* SPDX-License-Identifier: MIT */
/*
 * A tile of a group: rows of one vector for each work-item, so that neighbours read neighbours. What vectors come to goes
 * through local memory, of_rows of struct tiled, ROWS for each item.
 */
#ifndef RUNS
static ulong element_of(const struct tiled *call, ulong tile, uint row) {
    return tile * call->length + (row * get_local_size(0) + get_local_id(0)) * W;
}

static local part *part_of_row(const struct tiled *call, uint row) {
    return call->of_rows + row * get_local_size(0) + get_local_id(0);
}

/* From what each vector of a tile comes to makes what the tile's elements before it come to. Returns what all do. */
static part rows_before(const struct tiled *call) {
    local part *mine = call->of_rows + get_local_id(0) * ROWS;
    part run = part_none(), total;
    SYNC();
#pragma unroll
    for (uint r = 0; r < ROWS; r++)
        run = joined(run, mine[r]);
    run = group_before(run, &total, call->parts);
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
        const part next = joined(run, mine[r]);
        mine[r] = run;
        run = next;
    }
    SYNC();
    return total;
}
#endif
