/* SPDX-License-Identifier: MIT */
/*
 * From a device's clock to the host's. What is known are brackets: at this device time the host's clock
 * less the device's was at least `low` and at most `high`. The brackets of a window of time are
 * intersected, and the middle of what remains is the offset there; between windows it is interpolated.
 */
#ifndef CLSTREAM_TRACE_CLOCK_MAP_H
#define CLSTREAM_TRACE_CLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bracket {
    uint64_t device_ns;
    int64_t low, high;
    /* Of the device's timer, whose clock may be another one than that of commands: counts only where it
     * agrees with the commands of its window. */
    bool timer;
};

struct anchor {
    uint64_t device_ns;
    int64_t offset;
};

struct clock_map {
    struct anchor *anchors; /* by rising device time */
    size_t count;
};

/* A bracket of a moment between two of the host's. */
static inline struct bracket bracket_of(uint64_t device_ns, uint64_t before, uint64_t after) {
    return (struct bracket){device_ns, (int64_t)(before - device_ns), (int64_t)(after - device_ns),
                            false};
}

/* Sorts the brackets. False without memory. */
bool clock_map_build(struct clock_map *map, struct bracket *brackets, size_t n);
void clock_map_free(struct clock_map *map);

/* The host's time; without any anchor the device's own. */
uint64_t clock_map_host(const struct clock_map *map, uint64_t device_ns);

#endif
