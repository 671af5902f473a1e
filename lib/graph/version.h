/* SPDX-License-Identifier: MIT */
/*
 * Versions of a body (graph/body.h): what the nodes do in the launches that were submitted between two changes of it. A version
 * does not change. Its launches hold it until they have retired, and with it all buffers, parts and kernels that they use;
 * so it says what they use, whatever has been rebound since.
 */
#ifndef CLSTREAM_GRAPH_VERSION_H
#define CLSTREAM_GRAPH_VERSION_H

#include "graph/body.h"

struct graph_version {
    _Atomic unsigned references;
    struct graph_body *body; /* retained: of it, only what no rebinding changes is read */
    unsigned n_nodes;
    struct body_node *nodes; /* `owner` is among what is kept */
    struct place *places;
    struct object **kept; /* retained */
    unsigned n_kept;
    bool compared; /* the nodes with each other, by the race checker; under `launching` */
};

/* The version of a body as it is now, with one reference. */
cls_status graph_version_new(struct graph_body *body, struct graph_version **out);
void graph_version_put(struct graph_version *version);

static inline void graph_version_retain(struct graph_version *version) {
    atomic_fetch_add_explicit(&version->references, 1, memory_order_relaxed);
}

static inline const struct place *graph_version_places(const struct graph_version *version,
                                                       unsigned i) {
    return &version->places[version->nodes[i].first];
}

/* A node of its own, which does what node `i` does and keeps what that uses. */
cls_status graph_version_copy(const struct graph_version *version, unsigned i,
                              struct graph_node *out);

/* Whether its launches use something (stream_last_use). */
bool graph_version_uses(const struct graph_version *version, use_test uses, const void *arg);

/* Calls `visit` for all objects that its launches use, some of them more than once. */
void graph_version_visit(const struct graph_version *version, void (*visit)(struct object *object));

#endif
