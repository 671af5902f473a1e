/* SPDX-License-Identifier: MIT */
/*
 * A tile of a group in local memory, so that registers hold none of it while the group waits for earlier tiles, and more
 * groups are under way: ROWS vectors for each work-item. They are loaded and stored in rows, so that neighbours touch neighbours,
 * and worked on in runs of ROWS vectors for each item. ROWS is odd, so that items read from different banks.
 *
 * Included after
 *
 *     STAGED            the type of a vector of the tile
 *     staged_load()     the vector from an element on; staged_whole() where all of its elements are there
 *     FLAGGED           where elements, 8 of a vector at most, have a bit each, which flags_of() gives, and flags_whole() where
 *                       all are there and flags_are_aligned()
 *     vector_part()     what a vector comes to
 */
#ifndef RUNS
struct tile_room {
    STAGED vectors[ROWS * GROUP];
#ifdef FLAGGED
    uchar flags[ROWS * GROUP];
#endif
    struct group_parts parts;
};

/* The vector `row` of the work-item's in memory, and its run's. */
static uint in_row(uint row) { return row * get_local_size(0) + get_local_id(0); }
static uint in_run(uint row) { return get_local_id(0) * ROWS + row; }

static ulong element_of(const struct tiled *call, ulong tile, uint vector) {
    return tile * call->length + vector * W;
}

static bool tile_is_whole(const struct tiled *call, ulong tile) {
    return (tile + 1) * call->length <= call->count;
}

/* The flags of a vector of the item's run. */
static uint run_flags(const local struct tile_room *room, uint row) {
#ifdef FLAGGED
    return room->flags[in_run(row)];
#else
    return 0;
#endif
}

#ifndef FLAGGED
#define flags_are_aligned(call) true
#define flags_whole(call, i, vector) 0
#define flags_of(call, i, vector) 0
#endif

static void keep_vector(local struct tile_room *room, uint at, STAGED vector, uint flags) {
    room->vectors[at] = vector;
#ifdef FLAGGED
    room->flags[at] = flags;
#endif
}

/* Brings a tile to local memory. `total` gets what it comes to; returns what its elements before the item's run do. */
static part tile_stage(const struct tiled *call, ulong tile, part *total) {
    local struct tile_room *room = call->room_of_tile;
    part mine = part_none();
    if (tile_is_whole(call, tile) && flags_are_aligned(call)) {
        /* Without a branch, so that all loads are under way before the first is waited for. */
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            const ulong i = element_of(call, tile, in_row(r));
            const STAGED vector = staged_whole(call, i);
            keep_vector(room, in_row(r), vector, flags_whole(call, i, vector));
        }
    } else
        for (uint r = 0; r < ROWS; r++) {
            const ulong i = element_of(call, tile, in_row(r));
            const STAGED vector = staged_load(call, i);
            keep_vector(room, in_row(r), vector, flags_of(call, i, vector));
        }
    SYNC();
#pragma unroll
    for (uint r = 0; r < ROWS; r++)
        mine = joined(mine, vector_part(room->vectors[in_run(r)], run_flags(room, r)));
    return group_before(mine, total, &room->parts);
}
#endif
