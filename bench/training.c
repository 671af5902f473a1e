/* SPDX-License-Identifier: MIT */
/* Generates the trace of allocations of a transformer in training. */
#include "training.h"

#include <stdint.h>
#include <stdlib.h>

#include "harness.h"

enum { BATCH = 4, F32 = 4, ACTIVATIONS = 6, WEIGHTS = 4, STATES = 2 };

static unsigned take(struct trace *trace, size_t bytes) {
    if (trace->count == trace->room) {
        trace->room = trace->room ? 2 * trace->room : 1024;
        trace->steps = realloc(trace->steps, trace->room * sizeof *trace->steps);
        if (!trace->steps)
            die("no memory for a trace");
    }
    trace->steps[trace->count++] = (struct trace_step){trace->ids, bytes};
    return trace->ids++;
}

static void give(struct trace *trace, unsigned id) {
    const unsigned next = trace->ids;
    take(trace, 0);
    trace->ids = next;
    trace->steps[trace->count - 1].id = id;
}

struct layer {
    size_t weights[WEIGHTS]; /* bytes: attention in and out, feed-forward up and down */
    unsigned weight_ids[WEIGHTS], state_ids[WEIGHTS][STATES];
    unsigned activations[ACTIVATIONS], gradients[WEIGHTS];
};

static void make_layer(struct trace *trace, struct layer *layer, size_t width) {
    const size_t sizes[WEIGHTS] = {3 * width * width, width * width, 4 * width * width,
                                   4 * width * width};
    for (unsigned i = 0; i < WEIGHTS; i++) {
        layer->weights[i] = (sizes[i] + width) * F32;
        layer->weight_ids[i] = take(trace, layer->weights[i]);
        for (unsigned k = 0; k < STATES; k++)
            layer->state_ids[i][k] = take(trace, layer->weights[i]);
    }
}

/* An operation's workspace comes and goes. */
static void use_workspace(struct trace *trace, size_t bytes) { give(trace, take(trace, bytes)); }

static void forward(struct trace *trace, struct layer *layer, size_t width, size_t tokens,
                    size_t length) {
    const size_t wide = tokens * width * F32, heads = width / 64 ? width / 64 : 1;
    const size_t sizes[ACTIVATIONS] = {wide, 3 * wide, BATCH * heads * length * length * F32,
                                       wide, 4 * wide, wide};
    for (unsigned i = 0; i < ACTIVATIONS; i++) {
        use_workspace(trace, sizes[i] / 3 + 1000);
        layer->activations[i] = take(trace, sizes[i]);
    }
}

static void backward(struct trace *trace, struct layer *layer, size_t width, size_t tokens) {
    for (unsigned i = ACTIVATIONS; i-- > 0;) {
        const unsigned gradient = take(trace, tokens * width * F32);
        use_workspace(trace, tokens * width * F32 / 2 + 500);
        give(trace, layer->activations[i]);
        give(trace, gradient);
    }
    for (unsigned i = 0; i < WEIGHTS; i++)
        layer->gradients[i] = take(trace, layer->weights[i]);
}

static void update(struct trace *trace, struct layer *layer) {
    for (unsigned i = 0; i < WEIGHTS; i++) {
        use_workspace(trace, layer->weights[i]);
        give(trace, layer->gradients[i]);
    }
}

static void free_layer(struct trace *trace, struct layer *layer) {
    for (unsigned i = 0; i < WEIGHTS; i++) {
        give(trace, layer->weight_ids[i]);
        for (unsigned k = 0; k < STATES; k++)
            give(trace, layer->state_ids[i][k]);
    }
}

void trace_transformer(struct trace *trace, unsigned layers, size_t width, unsigned steps) {
    struct layer *all = allocate(layers * sizeof *all);
    uint64_t random = 88172645463325252u;
    *trace = (struct trace){.steps = NULL};
    for (unsigned i = 0; i < layers; i++)
        make_layer(trace, &all[i], width);
    for (unsigned step = 0; step < steps; step++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        const size_t length = 96 + (size_t)(random >> 16) % 160, tokens = BATCH * length;
        for (unsigned i = 0; i < layers; i++)
            forward(trace, &all[i], width, tokens, length);
        for (unsigned i = layers; i-- > 0;)
            backward(trace, &all[i], width, tokens);
        for (unsigned i = 0; i < layers; i++)
            update(trace, &all[i]);
    }
    for (unsigned i = 0; i < layers; i++)
        free_layer(trace, &all[i]);
    free(all);
}

void trace_free(struct trace *trace) { free(trace->steps); }
