/* SPDX-License-Identifier: MIT */
#include "graph/version.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* --- versions --- */

static unsigned count_kept(const struct graph_body *body) {
    unsigned count = 0;
    for (unsigned i = 0; i < body->n_slots; i++)
        if (body->slots[i].bound)
            count += 1 + body->slots[i].n_parts;
    for (unsigned i = 0; i < body->plan->n_nodes; i++)
        count += body->nodes[i].owner != NULL;
    return count;
}

static void keep(struct graph_version *version, struct object *object) {
    object_retain(object);
    version->kept[version->n_kept++] = object;
}

static void keep_all(struct graph_version *version, const struct graph_body *body) {
    for (unsigned i = 0; i < body->n_slots; i++) {
        const struct graph_slot *slot = &body->slots[i];
        if (!slot->bound)
            continue;
        keep(version, &slot->bound->object);
        for (unsigned p = 0; p < slot->n_parts; p++)
            keep(version, &slot->parts[p]->object);
    }
    for (unsigned i = 0; i < version->n_nodes; i++)
        if (body->nodes[i].owner)
            keep(version, &body->nodes[i].owner->object);
}

static void *copy_array(const void *from, size_t bytes) {
    void *to = malloc(bytes + 1);
    if (to && bytes)
        memcpy(to, from, bytes);
    return to;
}

cls_status graph_version_new(struct graph_body *body, struct graph_version **out) {
    struct graph_version *version = calloc(1, sizeof *version);
    if (!version)
        return error_no_memory("for a launch of a graph");
    atomic_init(&version->references, 1);
    atomic_fetch_add(&body->references, 1);
    version->body = body;
    version->n_nodes = body->plan->n_nodes;
    version->nodes = copy_array(body->nodes, version->n_nodes * sizeof *body->nodes);
    version->places = copy_array(body->places, body->n_places * sizeof *body->places);
    version->kept = calloc((size_t)count_kept(body) + 1, sizeof(struct object *));
    if (!version->nodes || !version->places || !version->kept) {
        graph_version_put(version);
        return error_no_memory("for a launch of a graph");
    }
    keep_all(version, body);
    *out = version;
    return CLS_SUCCESS;
}

void graph_version_put(struct graph_version *version) {
    if (atomic_fetch_sub(&version->references, 1) > 1)
        return;
    for (unsigned i = 0; i < version->n_kept; i++)
        object_release(version->kept[i]);
    graph_body_put(version->body);
    free(version->nodes);
    free(version->places);
    free(version->kept);
    free(version);
}

/* --- copies of nodes --- */

/* What the place uses is kept by the node too. */
static cls_status take_place(struct graph_node *node, const struct graph_node *from, unsigned p,
                             const struct place *place) {
    cls_status status = place->buffer ? node_keep(node, &place->buffer->object) : CLS_SUCCESS;
    if (!status && place->part)
        status = node_keep(node, &place->part->object);
    if (!status)
        node_set_place(node, from, p, place);
    return status;
}

cls_status graph_version_copy(const struct graph_version *version, unsigned i,
                              struct graph_node *out) {
    const struct graph_node *from = version->nodes[i].node;
    const struct place *places = graph_version_places(version, i);
    cls_status status = node_copy(out, from);
    if (status)
        return status;
    if (version->body->arena)
        status = node_keep(out, &version->body->arena->object);
    if (!status)
        status = command_graph_keep(version->body->captured, out);
    for (unsigned p = 0; p < node_n_places(from) && !status; p++) {
        const struct place captured = node_place(from, p);
        if (!place_is_same(&places[p], &captured))
            status = take_place(out, from, p, &places[p]);
    }
    if (status)
        node_drop(out);
    return status;
}

/* --- what launches use --- */

/* Whether the node uses the object in places only, where other memory may be bound instead. */
static bool is_of_places(const struct graph_node *node, const struct object *object) {
    bool found = false;
    for (unsigned p = 0; p < node_n_places(node) && !found; p++) {
        const struct place captured = node_place(node, p);
        found = captured.buffer && &captured.buffer->object == object;
    }
    return found;
}

static bool uses_object(struct object *object, use_test uses, const void *arg) {
    const struct refs one = {.count = 1, .here = {object}};
    return uses(&one, NULL, arg);
}

static bool uses_place(const struct place *place, use_test uses, const void *arg) {
    const struct refs none = {.count = 0};
    if (place->buffer)
        return uses_object(&place->buffer->object, uses, arg);
    return place->host && uses(&none, place->host, arg);
}

static bool node_uses(const struct graph_version *version, unsigned i, use_test uses,
                      const void *arg) {
    const struct graph_node *node = version->nodes[i].node;
    const struct place *places = graph_version_places(version, i);
    const struct refs *refs = &node->command.refs;
    bool used = false;
    for (unsigned p = 0; p < node_n_places(node) && !used; p++)
        used = uses_place(&places[p], uses, arg);
    for (unsigned r = 0; r < refs->count + refs->more_count && !used; r++)
        used = !is_of_places(node, refs_at(refs, r)) && uses_object(refs_at(refs, r), uses, arg);
    return used;
}

bool graph_version_uses(const struct graph_version *version, use_test uses, const void *arg) {
    bool used = false;
    for (unsigned i = 0; i < version->n_nodes && !used; i++)
        used = !version->nodes[i].disabled && node_uses(version, i, uses, arg);
    return used;
}

void graph_version_visit(const struct graph_version *version,
                         void (*visit)(struct object *object)) {
    for (unsigned i = 0; i < version->n_nodes; i++) {
        const struct refs *refs = &version->nodes[i].node->command.refs;
        for (unsigned r = 0; r < refs->count + refs->more_count; r++)
            visit(refs_at(refs, r));
    }
    for (unsigned i = 0; i < version->n_kept; i++)
        visit(version->kept[i]);
}
