/* SPDX-License-Identifier: MIT */
/*
 * A radix sort for CPU devices: work-items that each take a long run. The options and arguments are those of
 * cl/sort_key.cl, and the kernels those of cl/sort.cl, but that the tile of an item has shape.s2 elements, and that
 * `offsets`, an item for each row, adds up the digits too: counts are then where the next key goes.
 */
#include "sort_key.cl"

struct tile {
    ulong row;
    uint number, first, end;
};

static struct tile tile_of(ulong4 shape, uint length) {
    const ulong item = get_global_id(0);
    struct tile tile = {item / shape.s1, (uint)(item % shape.s1), 0, 0};
    tile.first = min((uint)(tile.number * shape.s2), length);
    tile.end = tile.first + min((uint)shape.s2, length - tile.first);
    return tile;
}

static ulong count_at(ulong4 counts_at, ulong4 shape, const struct tile *tile, uint digit) {
    return counts_at.s0 + (tile->row * RADIX + digit) * shape.s1 + tile->number;
}

enum { COUNTERS = 2 /* of each digit: a key need not wait for the one before it */ };

kernel void count(global const KEY *keys, global uint *counts, global const long *lengths,
                  global const struct chosen *chosen, ulong2 keys_at, ulong4 counts_at,
                  ulong4 shape, ulong4 given) {
    uint counters[COUNTERS][RADIX + 1];
    const struct tile tile = tile_of(shape, length_of(lengths, counts_at.s2, shape.s0));
    const struct order order = order_of(given, chosen + counts_at.s3);
    for (uint i = 0; i < RADIX; i++)
        counters[0][i] = counters[1][i] = 0;
    keys += keys_at.s0 + tile.row * keys_at.s1;
    uint i = tile.first;
    for (; i + 2 <= tile.end; i += 2) {
        counters[0][digit_of(keys[i], &order)]++;
        counters[1][digit_of(keys[i + 1], &order)]++;
    }
    if (i < tile.end)
        counters[0][digit_of(keys[i], &order)]++;
    for (uint digit = 0; digit < RADIX; digit++)
        counts[count_at(counts_at, shape, &tile, digit)] = counters[0][digit] + counters[1][digit];
}

kernel void offsets(global uint *counts, ulong4 counts_at, ulong4 shape) {
    const ulong row = get_global_id(0);
    global uint *mine = counts + counts_at.s0 + row * RADIX * shape.s1;
    uint sum = 0;
    for (uint digit = 0; digit < RADIX; digit++) {
        const uint before = sum;
        for (ulong tile = 0; tile < shape.s1; tile++) {
            const uint number = mine[digit * shape.s1 + tile];
            mine[digit * shape.s1 + tile] = sum;
            sum += number;
        }
        counts[counts_at.s1 + row * RADIX + digit] = sum - before;
    }
}

kernel void scatter(global const KEY *keys_in, global KEY *keys_out,
                    global const VALUE_IN *values_in, global VALUE_OUT *values_out,
                    global const uint *counts, global const long *lengths,
                    global const struct chosen *chosen, ulong4 in_at, ulong4 out_at,
                    ulong4 counts_at, ulong4 shape, ulong4 given, ulong2 window) {
    uint next[RADIX];
    const struct tile tile = tile_of(shape, length_of(lengths, counts_at.s2, shape.s0));
    const struct order order = order_of(given, chosen + counts_at.s3);
    const bool has_keys = out_at.s0 != NOWHERE;
    for (uint digit = 0; digit < RADIX; digit++)
        next[digit] = counts[count_at(counts_at, shape, &tile, digit)] - (uint)window.s0;
    const uint most = (uint)(window.s1 - window.s0);
    keys_in += in_at.s0 + tile.row * in_at.s1;
    keys_out += has_keys ? out_at.s0 + tile.row * out_at.s1 : 0;
#ifdef VALUES
    const bool numbers = in_at.s2 == NOWHERE;
    values_in += numbers ? 0 : in_at.s2 + tile.row * in_at.s3;
    values_out += out_at.s2 + tile.row * out_at.s3;
#endif
    for (uint i = tile.first; i < tile.end; i++) {
        const KEY key = keys_in[i];
        const uint to = next[digit_of(key, &order)]++;
        if (to >= most) /* before the window comes out above all */
            continue;
        if (has_keys)
            keys_out[to] = key;
#ifdef VALUES
        values_out[to] = (VALUE_OUT)(numbers ? (VALUE_IN)i : values_in[i]);
#endif
    }
}

/* --- rows, one for each work-item --- */

enum { MOST_PASSES = 8 };

/* How many keys of a row have each digit, of the pass with each number; then where the first of them goes. */
static void count_row(global const KEY *keys, uint length, uint passes, struct order order,
                      uint last, uint next[MOST_PASSES][RADIX]) {
    const uint wide = popcount(order.mask);
    for (uint pass = 0; pass < passes; pass++)
        for (uint digit = 0; digit < RADIX; digit++)
            next[pass][digit] = 0;
    for (uint i = 0; i < length; i++) {
        const rank bits = rank_of(keys[i], order.flip) >> order.shift;
        for (uint pass = 0; pass + 1 < passes; pass++)
            next[pass][(uint)(bits >> pass * wide) & order.mask]++;
        next[passes - 1][(uint)(bits >> (passes - 1) * wide) & last]++;
    }
    for (uint pass = 0; pass < passes; pass++) {
        uint sum = 0;
        for (uint digit = 0; digit < RADIX; digit++) {
            const uint mine = next[pass][digit];
            next[pass][digit] = sum;
            sum += mine;
        }
    }
}

/* Passes go from the input to the first and the second room by turns, and the last one to the output. rooms_at is (keys of
 * the first and of the second, values of the first and of the second), where rows follow each other. `shape` is (elements
 * of a row, where its length is, 0, passes), and given.s3 the mask of the last digit. */
kernel void sort_rows(global const KEY *keys_in, global KEY *keys_out,
                      global const VALUE_IN *values_in, global VALUE_OUT *values_out,
                      global KEY *key_rooms, global VALUE_IN *value_rooms,
                      global const long *lengths, ulong4 in_at, ulong4 out_at, ulong4 rooms_at,
                      ulong4 shape, ulong4 given) {
    uint next[MOST_PASSES][RADIX];
    const ulong row = get_global_id(0);
    const uint length = length_of(lengths, shape.s1, shape.s0), passes = (uint)shape.s3;
    const struct order order = order_of(given, 0);
    global const KEY *keys = keys_in + in_at.s0 + row * in_at.s1;
#ifdef VALUES
    const bool numbers = in_at.s2 == NOWHERE;
    global const VALUE_IN *values = values_in + (numbers ? 0 : in_at.s2 + row * in_at.s3);
#endif
    count_row(keys, length, passes, order, (uint)given.s3, next);
    for (uint pass = 0; pass + 1 < passes; pass++) {
        const uint shift = order.shift + pass * popcount(order.mask);
        global KEY *keys_to = key_rooms + (pass % 2 ? rooms_at.s1 : rooms_at.s0) + row * shape.s0;
#ifdef VALUES
        global VALUE_IN *values_to =
            value_rooms + (pass % 2 ? rooms_at.s3 : rooms_at.s2) + row * shape.s0;
#endif
        for (uint i = 0; i < length; i++) {
            const KEY key = keys[i];
            const uint to = next[pass][(uint)(rank_of(key, order.flip) >> shift) & order.mask]++;
            keys_to[to] = key;
#ifdef VALUES
            values_to[to] = numbers && pass == 0 ? (VALUE_IN)i : values[i];
#endif
        }
        keys = keys_to;
#ifdef VALUES
        values = values_to;
#endif
    }
    const uint shift = order.shift + (passes - 1) * popcount(order.mask);
    const bool has_keys = out_at.s0 != NOWHERE;
    keys_out += has_keys ? out_at.s0 + row * out_at.s1 : 0;
#ifdef VALUES
    values_out += out_at.s2 + row * out_at.s3;
#endif
    for (uint i = 0; i < length; i++) {
        const KEY key = keys[i];
        const uint digit = (uint)(rank_of(key, order.flip) >> shift) & (uint)given.s3;
        const uint to = next[passes - 1][digit]++;
        if (has_keys)
            keys_out[to] = key;
#ifdef VALUES
        values_out[to] = (VALUE_OUT)(numbers && passes == 1 ? (VALUE_IN)i : values[i]);
#endif
    }
}
