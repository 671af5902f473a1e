/* SPDX-License-Identifier: MIT */
/*
 * Histograms by work-groups: a group takes rows of elements in turn, and counts them in local memory, or, with -DTOGETHER, by
 * atomics in device memory. The options are those of cl/bins.cl; also
 *
 *     -DBATCH=4         vectors that an item has under way
 *
 * Arguments: `places` is (first element, first edge, length, elements). `shape` is (bins, copies, groups of a part, 0). So many
 * groups count in one part of `parts`, a word for each bin, together less than 2^32 elements; cl/add_counts.cl adds the parts
 * up. In local memory there are `copies` of each counter, a power of two, so that neighbours in a group count in different banks.
 * `counters` has room for them and, of bytes, for a word for each bin; `ranks` for the edges.
 */
#if defined(BY_EDGES) && !defined(TOGETHER)
#define LOCAL_EDGES
#endif
#include "bins.cl"

#ifdef TOGETHER
#define LOCAL_MEMORY
#else
#define LOCAL_MEMORY , local uint *counters, local edge *ranks
#endif

struct counting {
    struct bins bins;
    uint copies;
#ifdef TOGETHER
    global uint *counters;
#else
    local uint *counters; /* of this item's copy */
#endif
};

static void add_to(const struct counting *counting, uint counter) {
    if (counter >= counters_of(&counting->bins))
        return;
#ifdef TOGETHER
    atomic_add(counting->counters + counter, 1u);
#else
    atomic_add(counting->counters + counter * counting->copies, 1u);
#endif
}

/* All loads are under way before the first is waited for. */
static void count_row(const struct counting *counting, global const IN *row) {
    const uint me = get_local_id(0), local_size = get_local_size(0);
    loaded x[BATCH];
#pragma unroll
    for (uint b = 0; b < BATCH; b++)
        x[b] = load_vector(row + (b * local_size + me) * W);
#pragma unroll
    for (uint b = 0; b < BATCH; b++) {
        uint counters[W];
        find_counters(&counting->bins, &x[b], counters);
#pragma unroll
        for (uint w = 0; w < W; w++)
            add_to(counting, counters[w]);
    }
}

static void count_last_row(const struct counting *counting, global const IN *row, uint count) {
    for (uint at = get_local_id(0) * W; at < count; at += get_local_size(0) * W) {
        const loaded x = load_some(row + at, count - at);
        uint counters[W];
        find_counters(&counting->bins, &x, counters);
#pragma unroll
        for (uint w = 0; w < W; w++)
            if (at + w < count)
                add_to(counting, counters[w]);
    }
}

static void count_rows(const struct counting *counting, global const IN *in, ulong count) {
    const ulong row = (ulong)get_local_size(0) * (W * BATCH);
    for (ulong first = get_group_id(0) * row; first < count; first += get_num_groups(0) * row) {
        if (count - first >= row)
            count_row(counting, in + first);
        else
            count_last_row(counting, in + first, (uint)(count - first));
    }
}

#ifndef TOGETHER
static void clear_words(local uint *words, uint count) {
    for (uint i = get_local_id(0); i < count; i += get_local_size(0))
        words[i] = 0;
}

/* The copies of a counter together; each item begins with another one. */
static uint sum_of_copies(local const uint *copies, uint count) {
    uint sum = 0;
    for (uint i = 0; i < count; i++)
        sum += copies[(i + get_local_id(0)) & (count - 1)];
    return sum;
}

static void write_part(const struct bins *bins, local uint *counters, uint copies, global uint *part) {
    const uint n = counters_of(bins), me = get_local_id(0), local_size = get_local_size(0);
#ifdef OF_BYTES
    local uint *in_bins = counters + n * copies;
    for (uint i = me; i < n; i += local_size) {
        const uint sum = sum_of_copies(counters + i * copies, copies), bin = bin_of_byte(bins, i);
        if (sum > 0 && bin < bins->count)
            atomic_add(in_bins + bin, sum);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = me; i < bins->count; i += local_size)
        part[i] = in_bins[i];
#else
    for (uint i = me; i < n; i += local_size)
        part[i] = sum_of_copies(counters + i * copies, copies);
#endif
}
#endif

kernel void histogram(global const IN *in, global const edge *edges, global const long *length,
                      global uint *parts, ulong4 places, uint4 shape, ulong4 how LOCAL_MEMORY) {
    struct counting counting = {.bins = {.how = how, .count = shape.s0}, .copies = shape.s1};
    const ulong count = length_of(length, places.s2, places.s3);
    global uint *part = parts + (ulong)(get_group_id(0) / shape.s2) * shape.s0;
    in += places.s0;
#ifdef TOGETHER
#ifdef BY_EDGES
    counting.bins.edges = edges + places.s1;
#endif
    counting.counters = part;
    count_rows(&counting, in, count);
#else
    clear_words(counters, counters_of(&counting.bins) * shape.s1 + IN_BINS(shape.s0));
#ifdef BY_EDGES
    for (uint i = get_local_id(0); i <= shape.s0; i += get_local_size(0))
        ranks[i] = (KEY)rank_of(edges[places.s1 + i], 0);
    counting.bins.ranks = ranks;
#endif
    counting.counters = counters + (get_local_id(0) & (shape.s1 - 1));
    barrier(CLK_LOCAL_MEM_FENCE);
    count_rows(&counting, in, count);
    barrier(CLK_LOCAL_MEM_FENCE);
    write_part(&counting.bins, counters, shape.s1, part);
#endif
}
