/* SPDX-License-Identifier: MIT */
/*
 * Maps a device's clock to the host's. Each sample is a bracket: at this device time, the host's clock minus the
 * device's was between `low` and `high`. The brackets of a time window are intersected; the middle of the
 * intersection is the offset of the window, and offsets between windows are interpolated.
 */
#ifndef CLSTREAM_TRACE_CLOCK_MAP_H
#define CLSTREAM_TRACE_CLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bracket {
    uint64_t device_ns;
    int64_t low, high;
    /* A sample of the device's timer, which may be a clock other than that of commands: used only where it agrees
     * with the commands of its window. */
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
