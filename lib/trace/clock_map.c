/* SPDX-License-Identifier: MIT */
#include "trace/clock_map.h"

#include <stdlib.h>

#include "system/clocks.h"

static const uint64_t WINDOW_NS = 50 * CLOCK_MS;

static int by_time(const void *left, const void *right) {
    const struct bracket *a = left, *b = right;
    return (a->device_ns > b->device_ns) - (a->device_ns < b->device_ns);
}

struct window {
    int64_t low, high;
    uint64_t first, last;
    size_t commands;
};

static void narrow(struct window *window, const struct bracket *bracket) {
    window->low = bracket->low > window->low ? bracket->low : window->low;
    window->high = bracket->high < window->high ? bracket->high : window->high;
}

/* Brackets that exclude each other (wrong device times, a clock that jumps) leave low above high. The middle of
 * the two is then wrong by at most half of their contradiction. */
static struct window look_at(const struct bracket *brackets, size_t n) {
    struct window window = {INT64_MIN, INT64_MAX, brackets[0].device_ns, brackets[n - 1].device_ns,
                            0};
    for (size_t i = 0; i < n; i++) {
        if (brackets[i].timer)
            continue;
        narrow(&window, &brackets[i]);
        window.commands++;
    }
    for (size_t i = 0; i < n && window.commands; i++) {
        const struct bracket *timer = &brackets[i];
        if (timer->timer && timer->low <= window.high && timer->high >= window.low)
            narrow(&window, timer);
    }
    return window;
}

static void add_anchor(struct clock_map *map, const struct window *window) {
    int64_t offset = window->low / 2 + window->high / 2 + (window->low % 2 + window->high % 2) / 2;
    uint64_t middle = window->first + (window->last - window->first) / 2;
    map->anchors[map->count++] = (struct anchor){middle, offset};
}

static size_t window_size(const struct bracket *brackets, size_t n) {
    size_t size = 1;
    while (size < n && brackets[size].device_ns - brackets[0].device_ns < WINDOW_NS)
        size++;
    return size;
}

bool clock_map_build(struct clock_map *map, struct bracket *brackets, size_t n) {
    *map = (struct clock_map){malloc((n ? n : 1) * sizeof *map->anchors), 0};
    if (!map->anchors)
        return false;
    qsort(brackets, n, sizeof *brackets, by_time);
    for (size_t i = 0, size; i < n; i += size) {
        size = window_size(brackets + i, n - i);
        struct window window = look_at(brackets + i, size);
        if (window.commands)
            add_anchor(map, &window);
    }
    return true;
}

void clock_map_free(struct clock_map *map) { free(map->anchors); }

/* The first anchor later than the time, or the number of anchors. */
static size_t first_later(const struct clock_map *map, uint64_t device_ns) {
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->anchors[middle].device_ns > device_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint64_t clock_map_host(const struct clock_map *map, uint64_t device_ns) {
    if (!map->count)
        return device_ns;
    size_t later = first_later(map, device_ns);
    if (later == 0 || later == map->count)
        return device_ns + (uint64_t)map->anchors[later ? later - 1 : 0].offset;
    const struct anchor *a = &map->anchors[later - 1], *b = &map->anchors[later];
    double part = (double)(device_ns - a->device_ns) / (double)(b->device_ns - a->device_ns);
    return device_ns + (uint64_t)(a->offset + (int64_t)(part * (double)(b->offset - a->offset)));
}
