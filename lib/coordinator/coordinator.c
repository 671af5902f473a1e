/* SPDX-License-Identifier: MIT */
/* Coordinators as objects: create and destroy, streams and dependencies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include "coordinator/coordinator.h"

#include <clstream/context.h>

#include "base/error.h"
#include "base/process.h"
#include "base/sized.h"

/* --- the object --- */

static void member_free(struct member *member) {
    stream_put(member->stream);
    free(member);
}

static void coordinator_finalize(struct object *object) {
    struct coordinator *coordinator = (struct coordinator *)(void *)object;
    struct member *member, *next;
    HASH_ITER(hh, coordinator->members, member, next) {
        HASH_DEL(coordinator->members, member);
        member_free(member);
    }
    wait_graph_destroy(coordinator->graph);
    pthread_mutex_destroy(&coordinator->lock);
}

struct object_pool coordinator_pool =
    OBJECT_POOL(7, sizeof(struct coordinator), "coordinator", coordinator_finalize);

cls_status coordinator_get(cls_coordinator handle, struct coordinator **out) {
    struct coordinator *coordinator = object_acquire(&coordinator_pool, handle);
    if (!coordinator)
        return object_invalid(&coordinator_pool, handle);
    *out = coordinator;
    return CLS_SUCCESS;
}

cls_status coordinator_enter(cls_coordinator handle, struct coordinator **out) {
    cls_status status = coordinator_get(handle, out);
    if (!status)
        pthread_mutex_lock(&(*out)->lock);
    return status;
}

cls_status coordinator_leave(struct coordinator *coordinator, cls_status status) {
    pthread_mutex_unlock(&coordinator->lock);
    coordinator_put(coordinator);
    return status;
}

cls_status cls_coordinator_create(const cls_coordinator_config *given, cls_coordinator *out) {
    cls_coordinator_config config = CLS_COORDINATOR_CONFIG_INIT;
    struct wait_graph *graph;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_coordinator_create: out is null");
    cls_status status = SIZED_IN(cls_coordinator_config, &config, given);
    if (!status)
        status = process_enter();
    if (!status)
        status = wait_graph_create(config.permissive != 0, &graph);
    if (status)
        return status;
    struct coordinator *coordinator = object_create(&coordinator_pool);
    if (!coordinator || pthread_mutex_init(&coordinator->lock, NULL)) {
        if (coordinator)
            object_abandon(&coordinator->object);
        wait_graph_destroy(graph);
        return object_none(&coordinator_pool, "a coordinator");
    }
    coordinator->graph = graph;
    snprintf(coordinator->name, sizeof coordinator->name, "%s",
             config.name ? config.name : "coordinator");
    *out = object_handle(&coordinator->object);
    return CLS_SUCCESS;
}

cls_status cls_coordinator_destroy(cls_coordinator handle) {
    return object_destroy(&coordinator_pool, handle) ? CLS_SUCCESS
                                                     : object_invalid(&coordinator_pool, handle);
}

/* --- streams --- */

/* Replaces NULL by the default stream. That may have to be created, so not under a lock. */
static cls_status stream_resolve(cls_stream *handle) {
    return *handle ? CLS_SUCCESS : cls_context_default_stream(NULL, handle);
}

cls_status coordinator_open(cls_coordinator handle, cls_stream *stream, struct coordinator **out) {
    struct coordinator *coordinator;
    cls_status status = coordinator_get(handle, &coordinator);
    if (status)
        return status;
    status = stream_resolve(stream);
    if (status)
        coordinator_put(coordinator);
    else
        *out = coordinator;
    return status;
}

static struct member *find(struct coordinator *coordinator, cls_stream handle) {
    struct member *member;
    HASH_FIND_PTR(coordinator->members, &handle, member);
    return member;
}

cls_status coordinator_find(struct coordinator *coordinator, cls_stream handle,
                            struct member **out) {
    struct stream *stream;
    struct member *member = find(coordinator, handle);
    if (member) {
        *out = member;
        return CLS_SUCCESS;
    }
    cls_status status = stream_get(handle, NULL, &stream);
    if (status)
        return status;
    error_set(CLS_ERROR_NOT_FOUND, "stream '%s' is not in '%s'", stream->name, coordinator->name);
    stream_put(stream);
    return CLS_ERROR_NOT_FOUND;
}

/* Under the lock; takes over the stream's reference on success. */
static cls_status add_member(struct coordinator *coordinator, cls_stream handle,
                             struct stream *stream, struct member **out) {
    struct member *member = calloc(1, sizeof *member);
    if (!member)
        return error_no_memory("for a stream in a coordinator");
    member->handle = handle;
    member->stream = stream;
    cls_status status =
        wait_graph_add_node(coordinator->graph, member, stream->name, &member->node);
    if (status) {
        free(member);
        return status;
    }
    HASH_ADD_PTR(coordinator->members, handle, member);
    if (!member->hh.tbl) {
        wait_graph_remove_node(coordinator->graph, member->node);
        free(member);
        return error_no_memory("for a stream in a coordinator");
    }
    *out = member;
    return CLS_SUCCESS;
}

cls_status cls_coordinator_add_stream(cls_coordinator handle, cls_stream stream_handle,
                                      size_t *index) {
    struct coordinator *coordinator;
    struct stream *stream;
    cls_status status = coordinator_open(handle, &stream_handle, &coordinator);
    if (status)
        return status;
    status = stream_get(stream_handle, NULL, &stream);
    if (status) {
        coordinator_put(coordinator);
        return status;
    }
    pthread_mutex_lock(&coordinator->lock);
    struct member *member = find(coordinator, stream_handle);
    bool known = member != NULL;
    if (!known)
        status = add_member(coordinator, stream_handle, stream, &member);
    if (!status && index)
        *index = member->node;
    pthread_mutex_unlock(&coordinator->lock);
    if (known || status)
        stream_put(stream);
    coordinator_put(coordinator);
    return status;
}

cls_status cls_coordinator_remove_stream(cls_coordinator handle, cls_stream stream) {
    struct coordinator *coordinator;
    struct member *member = NULL;
    cls_status status = coordinator_open(handle, &stream, &coordinator);
    if (status)
        return status;
    pthread_mutex_lock(&coordinator->lock);
    status = coordinator_find(coordinator, stream, &member);
    if (!status) {
        wait_graph_remove_node(coordinator->graph, member->node);
        HASH_DEL(coordinator->members, member);
        if (coordinator->failed == member->handle)
            coordinator->failed = NULL;
    }
    pthread_mutex_unlock(&coordinator->lock);
    if (member)
        member_free(member);
    coordinator_put(coordinator);
    return status;
}

/* --- dependencies --- */

/* A query or change of the edge between two members; under the lock. */
typedef cls_status edge_fn(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite,
                           int *has);

static cls_status with_edge(cls_coordinator handle, cls_stream dependent, cls_stream prerequisite,
                            edge_fn *fn, int *has) {
    struct coordinator *coordinator;
    struct member *from, *to;
    cls_status status = stream_resolve(&dependent);
    if (!status)
        status = coordinator_open(handle, &prerequisite, &coordinator);
    if (status)
        return status;
    pthread_mutex_lock(&coordinator->lock);
    status = coordinator_find(coordinator, dependent, &from);
    if (!status)
        status = coordinator_find(coordinator, prerequisite, &to);
    if (!status)
        status = fn(coordinator->graph, from->node, to->node, has);
    return coordinator_leave(coordinator, status);
}

static cls_status add_edge(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite,
                           int *has) {
    (void)has;
    return wait_graph_add_edge(graph, dependent, prerequisite);
}

static cls_status remove_edge(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite,
                              int *has) {
    (void)has;
    return wait_graph_remove_edge(graph, dependent, prerequisite);
}

static cls_status has_edge(struct wait_graph *graph, uint32_t dependent, uint32_t prerequisite,
                           int *has) {
    *has = wait_graph_has_edge(graph, dependent, prerequisite);
    return CLS_SUCCESS;
}

cls_status cls_coordinator_add_dependency(cls_coordinator coordinator, cls_stream dependent,
                                          cls_stream prerequisite) {
    return with_edge(coordinator, dependent, prerequisite, add_edge, NULL);
}

cls_status cls_coordinator_remove_dependency(cls_coordinator coordinator, cls_stream dependent,
                                             cls_stream prerequisite) {
    return with_edge(coordinator, dependent, prerequisite, remove_edge, NULL);
}

cls_status cls_coordinator_has_dependency(cls_coordinator coordinator, cls_stream dependent,
                                          cls_stream prerequisite, int *has) {
    if (!has)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_coordinator_has_dependency: has is null");
    return with_edge(coordinator, dependent, prerequisite, has_edge, has);
}
