/* SPDX-License-Identifier: MIT */
/*
 * What the tiles of an array before one of them come to, in one pass: decoupled look-back (Merrill and Garland,
 * "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA NVR-2016-002), made to end on every device and to
 * give the same bits each time. Included after cl/parts.cl and
 *
 *     struct tiled      the call: states, tiles, is_reversed
 *
 * On a CPU each tile publishes its prefix: what everything up to its end comes to. A tile waits for that of the one before.
 *
 * On a GPU BLOCK tiles in a row are a block, BLOCK blocks a row. Each tile publishes one state: its part, but the last tile of a
 * block the part of the block, and the last tile of a row the prefix. A tile looks
 * at the states of its block, at those of its row's blocks, and at the prefix of the row before. All are joined in an order
 * that depends on the tiles' numbers alone.
 *
 * OpenCL promises no progress between groups. After POLLS looks a group computes and publishes itself what is missing.
 *
 * Each word of a state has BITS of a part, whether there is one, and whether it has a head, so that no order between two
 * stores is needed. Words of 64 bits need no atomic operations on NVIDIA's GPUs, which load and store them whole.
 */
#ifdef __NV_CL_C_VERSION
typedef ulong state_word;
enum { BITS = 32 };
#define LOAD(at) (*(at))
#define STORE(at, word) (*(at) = (word))
#define PAUSE() asm volatile("nanosleep.u32 200;")
#else
typedef uint state_word;
enum { BITS = 16 };
#define LOAD(at) atomic_or(at, 0)
#define STORE(at, word) atomic_xchg(at, word)
#define PAUSE()
#endif
#define THERE ((state_word)1 << BITS)
enum { WORDS = 8 * sizeof(PART) / BITS, HEAD_AT = BITS + 1, POLLS = 1000, FIRST_STATE = 16 };

#ifndef RUNS
enum { BLOCK = 32 };

/* What the items of a group share. */
struct looked {
    ulong tile;
    part before;
    uint is_there;
#ifndef LANES
    part parts[BLOCK];
    uint any;
#endif
};
#endif

/* --- states in global memory: the first word counts the tiles that were taken --- */

#ifdef __NV_CL_C_VERSION
typedef union { PART value; uint pieces[WORDS]; } part_pieces;
#else
typedef union { PART value; ushort pieces[WORDS]; } part_pieces;
#endif

/* States of tiles come first, then those of blocks, which are read together, and of rows. */
static volatile global state_word *state_of(const struct tiled *call, ulong tile) {
    ulong at = tile;
#ifndef RUNS
    const ulong blocks = call->tiles / BLOCK;
    if ((tile + 1) % BLOCK == 0)
        at = call->tiles + tile / BLOCK;
    if ((tile + 1) % (BLOCK * BLOCK) == 0)
        at = call->tiles + blocks + tile / (BLOCK * BLOCK);
#endif
    return (volatile global state_word *)(call->states + FIRST_STATE) + at * WORDS;
}

static void publish(const struct tiled *call, ulong tile, part mine) {
    volatile global state_word *at = state_of(call, tile);
    part_pieces from = {mine.value};
#pragma unroll
    for (uint i = 0; i < WORDS; i++)
        STORE(at + i, from.pieces[i] | THERE | (state_word)HEAD_OF(mine) << HEAD_AT);
}

/* The words of a state. */
typedef struct { state_word words[WORDS]; } state;

static state state_at(volatile global state_word *at) {
    state read;
#pragma unroll
    for (uint i = 0; i < WORDS; i++)
        read.words[i] = LOAD(at + i);
    return read;
}

static bool is_there(state read) {
    state_word all = THERE;
#pragma unroll
    for (uint i = 0; i < WORDS; i++)
        all &= read.words[i];
    return all != 0;
}

static part part_in(state read) {
    part_pieces to;
#pragma unroll
    for (uint i = 0; i < WORDS; i++)
        to.pieces[i] = read.words[i];
    return part_of(to.value, read.words[0] >> HEAD_AT);
}

static state state_none(void) {
    const part_pieces none = {PART_NONE};
    state made;
#pragma unroll
    for (uint i = 0; i < WORDS; i++)
        made.words[i] = none.pieces[i] | THERE;
    return made;
}

static bool is_published(const struct tiled *call, ulong tile) {
    return is_there(state_at(state_of(call, tile)));
}

#ifdef RUNS
/* What the tiles before come to, for one whose part is `mine`. What did not appear is computed, but what has been published since goes first, for the call may write in place. */
static part prefix_of(const struct tiled *call, ulong tile, part mine) {
    part before = part_none();
    state last = {{0}};
    for (uint i = 0; i < POLLS && tile > 0 && !is_there(last); i++)
        last = state_at(state_of(call, tile - 1));
    if (is_there(last)) {
        before = part_in(last);
    } else {
        ulong at = tile;
        while (at > 0 && !is_published(call, at - 1))
            at--;
        if (at > 0)
            before = part_in(state_at(state_of(call, at - 1)));
        for (; at < tile; at++) {
            const part computed = tile_part(call, at);
            mem_fence(CLK_GLOBAL_MEM_FENCE);
            last = state_at(state_of(call, at));
            before = is_there(last) ? part_in(last) : joined(before, computed);
        }
    }
    publish(call, tile, joined(before, mine));
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    return before;
}

static ulong next_tile(const struct tiled *call) {
    const ulong tile = atomic_inc(call->states);
    return call->is_reversed ? call->tiles - 1 - tile : tile;
}
#else
/* --- the first BLOCK items of a group: NVIDIA's are lanes, others wait for the group --- */

#ifdef LANES
#define LOOKERS_ONLY if (get_local_id(0) < BLOCK)
#define any_of(is_so, shared) lanes_any(is_so)
OF_LANE(part)

/* What those of all lookers come to. */
static part folded(part mine, local struct looked *shared) {
    for (uint apart = 1; apart < BLOCK; apart *= 2) {
        const part other = of_lane(mine, apart);
        mine = get_local_id(0) & apart ? joined(other, mine) : joined(mine, other);
    }
    return mine;
}
#else
#define LOOKERS_ONLY
/* The same for all items: PoCL 3.1 may have all of them do what stands behind a test for the first one, where barriers
 * are near. */
static part folded(part mine, local struct looked *shared) {
    if (get_local_id(0) < BLOCK)
        shared->parts[get_local_id(0)] = mine;
    SYNC();
    part all = shared->parts[0];
    for (uint i = 1; i < BLOCK; i++)
        all = joined(all, shared->parts[i]);
    SYNC();
    return all;
}

static bool any_of(bool is_so, local struct looked *shared) {
    if (get_local_id(0) == 0)
        shared->any = 0;
    SYNC();
    if (is_so && get_local_id(0) < BLOCK)
        shared->any = 1;
    SYNC();
    const bool any = shared->any;
    SYNC();
    return any;
}
#endif

/* --- looking back --- */

/* What a looker knows: the states of a tile in the block, of a block in the row, and of the row before. One that does not
 * count is of no elements. */
struct known { state tile, block, row; };

static struct known known_at_first(ulong tile) {
    const ulong me = get_local_id(0), block = tile / BLOCK, row = block / BLOCK;
    const state none = state_none(), missing = {{0}};
    struct known known = {me < tile % BLOCK ? missing : none, me < block % BLOCK ? missing : none,
                          row ? missing : none};
    return known;
}

/* By the lookers, for a tile whose part is `mine`: one look at the states before it that are not known. Publishes the tile's
 * own as soon as it can, unless `is_told`. Returns whether all are known; then `before` is what the tiles before come to. */
static bool look(const struct tiled *call, ulong tile, part mine, struct known *known, bool *is_told,
                 part *before, local struct looked *shared) {
    const ulong me = get_local_id(0), block = tile / BLOCK, row = block / BLOCK;
    const bool ends_block = tile % BLOCK == BLOCK - 1, ends_row = ends_block && block % BLOCK == BLOCK - 1;
    if (!ends_block && !*is_told) {
        if (me == 0)
            publish(call, tile, mine);
        *is_told = true;
    }
    if (!is_there(known->tile))
        known->tile = state_at(state_of(call, block * BLOCK + me));
    if (!is_there(known->block))
        known->block = state_at(state_of(call, (row * BLOCK + me) * BLOCK + BLOCK - 1));
    if (!is_there(known->row))
        known->row = state_at(state_of(call, row * BLOCK * BLOCK - 1));
    const bool has_tiles = !any_of(!is_there(known->tile), shared);
    const bool has_all = !any_of(!is_there(known->block) || !is_there(known->row), shared) && has_tiles;
    if (has_all || (has_tiles && !*is_told)) {
        const part own = folded(part_in(known->tile), shared), rows = part_in(known->row);
        const part blocks = folded(part_in(known->block), shared), with = joined(own, mine);
        *before = joined(joined(rows, blocks), own);
        if (!*is_told && (has_all || !ends_row)) {
            if (me == 0)
                publish(call, tile, ends_row ? joined(rows, joined(blocks, with)) : with);
            *is_told = true;
        }
    }
    return has_all;
}

/* The first tile before this one that has published nothing, behind the last row that has; by one item. */
static ulong first_missing(const struct tiled *call, ulong tile, ulong from) {
    while (from < tile && is_published(call, from))
        from++;
    return from;
}

static ulong first_of_rows(const struct tiled *call, ulong tile) {
    ulong from = tile / (BLOCK * BLOCK) * (BLOCK * BLOCK);
    while (from > 0 && !is_published(call, from - 1))
        from -= BLOCK * BLOCK;
    return from;
}

/* By all items of a group that has computed what the tile *at comes to, `mine`; at first that is its own. Returns true once
 * `before` is what the tiles before its own come to. Else *at is the tile to be computed next: one of those that did not
 * appear, or again its own. What a tile has published since its elements were read stays, for the call may write in place. */
static bool settle(const struct tiled *call, ulong tile, ulong *at, part mine, part *before,
                   local struct looked *shared) {
    const bool is_own = *at == tile;
    const uint polls = is_own ? POLLS : 1;
    bool was_published = false;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    if (!is_own) { /* one answer for all items, which meet at barriers */
        if (get_local_id(0) == 0)
            shared->is_there = is_published(call, *at);
        SYNC();
        was_published = shared->is_there;
        SYNC();
    }
    LOOKERS_ONLY {
        struct known known = known_at_first(*at);
        bool is_told = was_published, has_all = false;
        for (uint i = 0; i < polls && !has_all; i++) {
            has_all = look(call, *at, mine, &known, &is_told, before, shared);
            if (!has_all)
                PAUSE();
        }
        if (get_local_id(0) == 0) {
            shared->is_there = has_all;
            shared->before = *before;
            mem_fence(CLK_GLOBAL_MEM_FENCE); /* published before anything is written in place */
            if (!is_own || !has_all)
                shared->tile = first_missing(call, tile, is_own ? first_of_rows(call, tile) : *at + 1);
        }
    }
    SYNC();
    const bool is_settled = is_own && shared->is_there;
    *before = shared->before;
    *at = is_settled ? tile : shared->tile;
    SYNC();
    return is_settled;
}

/* The next tile, for all items of a group; `is_reversed` is for tests: the tiles of a call begin with the last one. */
static ulong next_tile(const struct tiled *call, local struct looked *shared) {
    if (get_local_id(0) == 0)
        shared->tile = atomic_inc(call->states);
    SYNC();
    const ulong tile = shared->tile;
    SYNC();
    return call->is_reversed ? call->tiles - 1 - tile : tile;
}
#endif
