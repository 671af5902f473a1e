/* SPDX-License-Identifier: MIT */
/* What the graphs of a context take of its memory. */
#include "base/error.h"
#include "base/sized.h"
#include "graph/exec.h"
#include "graph/memory.h"

cls_status cls_context_get_graph_memory(cls_context handle, cls_graph_memory *memory) {
    cls_graph_memory now = CLS_GRAPH_MEMORY_INIT;
    struct context *context;
    cls_status status = SIZED_CHECK(cls_graph_memory, memory);
    if (!status)
        status = context_get(handle, &context);
    if (status)
        return status;
    now.used_high = atomic_load(&context->graph_memory_high);
    now.used = atomic_load(&context->graph_memory);
    SIZED_OUT(cls_graph_memory, memory, &now);
    context_put(context);
    return CLS_SUCCESS;
}

cls_status cls_context_reset_graph_memory_peak(cls_context handle) {
    struct context *context;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    atomic_store(&context->graph_memory_high, atomic_load(&context->graph_memory));
    context_put(context);
    return CLS_SUCCESS;
}

/* Under `launching`. */
static bool is_idle(const struct graph_exec *exec) {
    bool idle = true;
    for (unsigned i = exec->first_open; i < exec->n_open && idle; i++)
        idle = launch_is_over(&exec->open[i]);
    return idle;
}

static void trim(const struct object *object, void *arg) {
    struct graph_exec *exec = (struct graph_exec *)(uintptr_t)object;
    if (exec->context != arg)
        return;
    pthread_mutex_lock(&exec->launching);
    if (exec->body->arena_bytes && is_idle(exec)) {
        graph_exec_changes(exec);
        exec_nodes_forget(&exec->nodes);
        graph_memory_give_up(exec->body);
    }
    pthread_mutex_unlock(&exec->launching);
}

cls_status cls_context_trim_graph_memory(cls_context handle) {
    struct context *context;
    cls_status status = context_get(handle, &context);
    if (status)
        return status;
    if (!object_visit(graph_exec_pool.type, trim, context))
        status = error_no_memory("to go through the graphs of a context");
    context_put(context);
    return status;
}
