/* SPDX-License-Identifier: MIT */
#include "stream/observe.h"

#include <stdlib.h>

#include "base/clock.h"
#include "stream/context.h"
#include "stream/stream.h"

/* What a stream keeps for its next commands; a long FIFO's worth is given back. */
enum { MAX_SPARE = 2048 };

ASKED _Atomic(const struct observer *) observer_now;
__attribute__((used)) static const char *const linked = &observer_environment;

static struct sighting *take(struct stream *stream) {
    struct sighting *sighting = stream->spare_sightings;
    if (!sighting)
        return malloc(sizeof *sighting);
    stream->spare_sightings = sighting->next;
    stream->n_spare_sightings--;
    return sighting;
}

static void give(struct stream *stream, struct sighting *sighting) {
    if (!observer() || stream->n_spare_sightings >= MAX_SPARE) {
        free(sighting);
        return;
    }
    sighting->next = stream->spare_sightings;
    stream->spare_sightings = sighting;
    stream->n_spare_sightings++;
}

void sightings_free(struct sighting *spare) {
    while (spare) {
        struct sighting *next = spare->next;
        free(spare);
        spare = next;
    }
}

static void see_waits(struct stream *stream, struct sighting *sighting) {
    const struct dep *items = deps_items(&stream->waits);
    sighting->n_deps = stream->waits.count;
    for (unsigned i = 0; i < stream->waits.count && i < SIGHTING_DEPS; i++)
        sighting->deps[i] =
            (struct sighting_dep){items[i].stream ? items[i].stream->id : 0, items[i].position};
}

void observe_submit(struct stream *stream, struct command *command) {
    const struct observer *watcher = observer();
    struct sighting *sighting = watcher ? take(stream) : NULL;
    if (!sighting) {
        if (watcher)
            watcher->missed();
        return;
    }
    *sighting = (struct sighting){
        .label = command_label(command),
        .kind = command->type->kind,
        .bytes = command->bytes,
        .memory = atomic_load_explicit(&stream->context->memory_alive, memory_order_relaxed),
        .submitted = clock_now_ns(),
    };
    see_waits(stream, sighting);
    command->seen = sighting;
}

void observe_refused(struct stream *stream, struct command *command) {
    give(stream, command->seen);
    command->seen = NULL;
}

/* What the probes found the driver's times to be worth. A foreign call that a worker made ends with a
 * marker. */
static bool is_trusted(const struct caps *caps, const struct sighting *sighting) {
    bool marker = sighting->kind == CLS_COMMAND_MARKER ||
                  (sighting->kind == CLS_COMMAND_FOREIGN && sighting->began);
    return caps->timestamps_sane && (caps->marker_times_sane || !marker);
}

static void see_times(const struct device *device, cl_event event, struct sighting *sighting) {
    struct event_times *times = &sighting->device;
    event_times(device, event, times);
    if (sighting->at_end)
        *times = (struct event_times){times->ended, times->ended, times->ended, times->ended};
}

void observe_retired(struct stream *stream, struct sighting *sighting, uint64_t position,
                     cl_event event) {
    const struct observer *watcher = observer();
    const struct failure *failure = stream_failure_at(stream, position);
    sighting->position = position;
    sighting->outcome = failure ? failure->status : CLS_SUCCESS;
    sighting->retired = clock_now_ns();
    if (watcher && event && !failure && is_trusted(stream->context->caps, sighting))
        see_times(stream->context->device, event, sighting);
    if (watcher)
        watcher->retired(stream, sighting);
    give(stream, sighting);
}
