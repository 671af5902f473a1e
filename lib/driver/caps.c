/* SPDX-License-Identifier: MIT */
#include "driver/caps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <clstream/version.h>

#include "base/error.h"
#include "base/setting.h"
#include "base/text.h"
#include "driver/cache_file.h"
#include "driver/caps_table.h"
#include "driver/device_state.h"
#include "driver/probe.h"
#include "driver/quirk.h"

/* Counts up with every change of a figure's meaning or of a probe. */
enum { CAPS_FORMAT = 29 };

/* Pinned against pageable copies. */
#define MUCH_FASTER 1.5

/* How long a record serves whose rounds disagreed: whatever kept the machine busy may be over then. */
#define UNSURE_S 600

/* Out-of-order unless it is missing, or was measured to gain nothing or to be slower; where the probe
 * could not tell (one core, a busy machine), it stays the choice. */
static bool in_order_is_better(const struct caps *caps) {
    return !caps->out_of_order || caps->out_of_order_serial || caps->chain_cost_ratio > CAPS_DEAR;
}

/* CLSTREAM_FLUSH=always is for a driver that the probe judges wrongly. */
static bool must_flush(const struct caps *caps) {
    static struct setting_switch always = {.variable = "CLSTREAM_FLUSH", .word = "always"};
    return setting_is_on(&always) || !caps->unflushed_runs;
}

/* Where commands share an event, a failure shows only if what follows it on the queue fails too, and no event
 * of an inner command is kept. */
static bool may_share_events(const struct device *device) {
    return !(device->quirks & (QUIRK_STATUS_LIES | QUIRK_FAILED_RELEASE_ABORTS));
}

/* Where an event is waited for to know that its command has failed, that is dear, and a failure is known to travel
 * along a chain to its end; the events of inner launches are released before their end. */
static bool shares_in_chains(const struct device *device) {
    return (device->quirks & QUIRK_STATUS_LIES) && !(device->quirks & QUIRK_FAILED_RELEASE_ABORTS);
}

void caps_choose(const struct device *device, struct caps *caps) {
    bool separate = !device->info.unified_memory && device->info.type != CLS_DEVICE_CPU;
    caps->prefer_in_order =
        in_order_is_better(caps) || (device->quirks & QUIRK_WAITER_COMPUTES) != 0;
    caps->flushes = must_flush(caps);
    caps->event_less =
        caps->prefer_in_order && caps->event_cost_ratio > CAPS_DEAR && may_share_events(device);
    caps->chain_shares = shares_in_chains(device);
    /* Where pinned memory is much faster, the driver stages pageable copies itself, and does so in the
     * caller once they exceed its own buffers: NVIDIA returns from 256 MiB after 80% of the time. */
    bool staged = separate && caps->pinned_speedup > MUCH_FASTER;
    caps->stage_writes = staged || (separate && caps->pageable_write_blocks > 0.5);
    caps->keep_programs = !caps->binary_compiles;
    caps->stage_reads = staged || (separate && caps->pageable_read_blocks > 0.5);
}

/* A gain of less is noise, and small fills cost what a command costs. */
#define WIDTH_GAIN 1.5
enum { SMALL_FILL = 16 << 10 };

/* Whether the pattern is the same after each `period` bytes. */
static bool repeats(const unsigned char *pattern, size_t width, size_t period) {
    return memcmp(pattern, pattern + period, width - period) == 0;
}

size_t caps_fill_width(const struct caps *caps, const void *pattern, size_t width, size_t offset,
                       size_t bytes) {
    size_t best = width;
    double speed = 0;
    for (unsigned i = 0; i < FILL_WIDTHS; i++)
        if ((size_t)1 << i == width)
            speed = caps->fill_gbs[i] * WIDTH_GAIN;
    for (unsigned i = 0; i < FILL_WIDTHS && speed > 0 && bytes >= SMALL_FILL; i++) {
        const size_t other = (size_t)1 << i;
        const bool fits = other < width ? repeats(pattern, width, other)
                                        : offset % other == 0 && bytes % other == 0;
        if (!fits || caps->fill_gbs[i] <= speed)
            continue;
        speed = caps->fill_gbs[i];
        best = other;
    }
    return best;
}

/* A record in its form on disk. */
struct record {
    double numbers[CAPS_FIGURES];
    double made; /* seconds since 1970 */
    unsigned char verdicts[TRUSTS];
};

/* A record from the future was made before the clock was set back: nobody knows how old it is. */
static bool is_due(const struct caps *caps, double made) {
    double age = (double)time(NULL) - made;
    return !caps->rounds_agreed && (age < 0 || age > UNSURE_S);
}

static bool load(struct cache_bytes key, struct caps *caps) {
    struct record record;
    struct cache_bytes payload;
    void *owned;
    if (!cache_load(CACHE_CAPS, key, &payload, &owned))
        return false;
    bool fits = payload.size == sizeof record;
    if (fits)
        memcpy(&record, payload.bytes, sizeof record);
    free(owned);
    if (!fits)
        return false;
    struct caps kept = {0};
    caps_from_numbers(record.numbers, &kept);
    for (size_t i = 0; i < TRUSTS; i++)
        kept.verdicts[i] = (enum trial_verdict)record.verdicts[i];
    if (is_due(&kept, record.made))
        return false;
    *caps = kept;
    return true;
}

static void store(struct cache_bytes key, const struct caps *caps) {
    struct record record;
    memset(&record, 0, sizeof record);
    record.made = (double)time(NULL);
    caps_to_numbers(caps, record.numbers);
    for (size_t i = 0; i < TRUSTS; i++)
        record.verdicts[i] = (unsigned char)caps->verdicts[i];
    cache_store(CACHE_CAPS, key, (struct cache_bytes){&record, sizeof record});
}

bool caps_wanted_anew(void) {
    static struct setting_switch again = {.variable = "CLSTREAM_PROBE", .word = "again"};
    return setting_is_on(&again);
}

bool caps_key(const struct device *device, const char *record, int format, struct text *key) {
    text_printf(key, "%slibrary %s\n%s %d\n", device->identity, cls_version_string(), record,
                format);
    return !key->failed;
}

/* The record is made even without memory for the cache's key. Whatever a failed probe has left in
 * the thread's detail is of no interest to the caller, whose call succeeds. */
static void make(struct device *device, struct caps *caps) {
    struct text text = {0};
    const bool has_key = caps_key(device, "capabilities", CAPS_FORMAT, &text);
    const struct cache_bytes key = {text.bytes, text.length};
    if (!has_key || caps_wanted_anew() || !load(key, caps)) {
        bool complete = probe_device(device, caps);
        caps_choose(device, caps);
        if (complete && has_key)
            store(key, caps);
    }
    caps_choose(device, caps);
    free(text.bytes);
}

cls_status device_caps(struct device *device, const struct caps **out) {
    struct device_state *state = device->state;
    if (!state->has_caps) {
        pthread_mutex_lock(&state->lock);
        if (!state->has_caps) {
            make(device, &state->caps);
            state->has_caps = true;
        }
        pthread_mutex_unlock(&state->lock);
    }
    *out = &state->caps;
    return CLS_SUCCESS;
}
