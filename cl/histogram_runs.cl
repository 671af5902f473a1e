/* SPDX-License-Identifier: MIT */
/*
 * Histograms on CPUs: a work-item takes a run of elements, and counts it by itself. The options are those of cl/bins.cl.
 *
 * Arguments: `places` is (first element, first edge, length, elements). `shape` is (bins, sets of counters of an item, 0, 0). An
 * item takes `run` elements, less than 2^32. It has one set or SETS of them, each a word for each bin and one for elements in
 * none, so that an element need not wait for the one before it to be counted; cl/add_counts.cl adds them up.
 */
#include "bins.cl"

enum { SETS = 4 };

#ifdef OF_BYTES
typedef uint *counter_set;
#else
typedef global uint *counter_set;
#endif

static void count_vector(const struct bins *bins, const loaded *x, counter_set sets[SETS]) {
    uint counters[W];
    find_counters(bins, x, counters);
#pragma unroll
    for (uint w = 0; w < W; w++)
        sets[w % SETS][counters[w]]++;
}

static void count_run(const struct bins *bins, global const IN *in, uint count, counter_set sets[SETS]) {
    uint i = 0;
    for (; count - i >= W; i += W) {
        const loaded x = load_vector(in + i);
        count_vector(bins, &x, sets);
    }
    if (i < count) {
        const loaded x = load_some(in + i, count - i);
        uint counters[W];
        find_counters(bins, &x, counters);
        for (uint w = 0; w < count - i; w++)
            sets[0][counters[w]]++;
    }
}

kernel void histogram(global const IN *in, global const edge *edges, global const long *length,
                      global uint *parts, ulong4 places, uint4 shape, ulong4 how, ulong run) {
    struct bins bins = {.how = how, .count = shape.s0};
    const uint n = shape.s0 + 1, n_sets = shape.s1;
    const ulong item = get_global_id(0), count = length_of(length, places.s2, places.s3);
    const ulong first = min(item * run, count);
    const uint mine = (uint)min(count - first, run);
    counter_set sets[SETS];
    parts += item * n_sets * n;
    in += places.s0 + first;
#ifdef BY_EDGES
    bins.edges = edges + places.s1;
#endif
    for (uint i = 0; i < n_sets * n; i++)
        parts[i] = 0;
#ifdef OF_BYTES
    uint counters[SETS][BYTES];
    for (uint set = 0; set < SETS; set++) {
        sets[set] = counters[set];
        for (uint i = 0; i < BYTES; i++)
            counters[set][i] = 0;
    }
    count_run(&bins, in, mine, sets);
    for (uint i = 0; i < BYTES; i++)
        parts[bin_of_byte(&bins, i)] += counters[0][i] + counters[1][i] + counters[2][i] + counters[3][i];
#else
    for (uint set = 0; set < SETS; set++)
        sets[set] = parts + (n_sets > 1 ? set * n : 0);
    count_run(&bins, in, mine, sets);
#endif
}
