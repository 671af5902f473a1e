/* SPDX-License-Identifier: MIT */
#include "driver/units.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "driver/cache_file.h"
#include "driver/caps.h"
#include "driver/device_state.h"
#include "driver/probe.h"

/* Counts up with every change of a member's meaning or of a trial. */
enum { UNITS_FORMAT = 1 };

static bool load_units(struct cache_bytes key, struct units *units) {
    struct cache_bytes payload;
    void *owned;
    if (!cache_load(CACHE_CAPS, key, &payload, &owned))
        return false;
    const unsigned char *flags = payload.bytes;
    const bool fits = payload.size == UNITS_FIGURES;
    if (fits)
        *units = (struct units){flags[0] != 0, flags[1] != 0, flags[2] != 0};
    free(owned);
    return fits;
}

static void store_units(struct cache_bytes key, const struct units *units) {
    const unsigned char flags[UNITS_FIGURES] = {units->mma, units->wgmma, units->split_f32};
    cache_store(CACHE_CAPS, key, (struct cache_bytes){flags, sizeof flags});
}

static void make_units(struct device *device, struct units *units) {
    struct text text = {0};
    const bool has_key = caps_key(device, "matrix units", UNITS_FORMAT, &text);
    const struct cache_bytes key = {text.bytes, text.length};
    if ((!has_key || caps_wanted_anew() || !load_units(key, units)) && probe_units(device, units) &&
        has_key)
        store_units(key, units);
    free(text.bytes);
}

const struct units *device_units(struct device *device) {
    static const struct units none = {false, false, false};
    struct device_state *state = device->state;
    if (!probe_may_have_units(device))
        return &none;
    if (!state->has_units) {
        pthread_mutex_lock(&state->lock);
        if (!state->has_units) {
            make_units(device, &state->units);
            state->has_units = true;
        }
        pthread_mutex_unlock(&state->lock);
    }
    return &state->units;
}

cls_capability units_figure(const struct units *units, size_t i) {
    const cls_capability figures[UNITS_FIGURES] = {
        {"mma", "products by matrix units (mma.sync) agreed with the host's", "bool", units->mma},
        {"wgmma", "products by Hopper's matrix units (wgmma) agreed with the host's", "bool",
         units->wgmma},
        {"split_f32", "f32 products of three on matrix units took less time than others", "bool",
         units->split_f32}};
    return figures[i];
}
