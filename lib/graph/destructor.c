/* SPDX-License-Identifier: MIT */
#include "graph/destructor.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/thread.h"
#include "graph/internals.h"

struct graph_destructor {
    struct later later;
    struct graph_destructor *next;
    cls_graph_destructor fn;
    void *arg;
};

static void *call_destructor(void *arg) {
    const struct graph_destructor destructor = *(struct graph_destructor *)arg;
    free(arg);
    destructor.fn(destructor.arg);
    return NULL;
}

/* A thread of its own may block in any call; the engine's runs no function of the program. Without a thread it is tried
 * again. */
static bool start_destructor(struct later *later) {
    return !thread_start(NULL, "cls-destructor", call_destructor, later);
}

void graph_destructors_run(graph_destructors *list) {
    struct graph_destructor *first = atomic_exchange(list, NULL);
    while (first) {
        struct graph_destructor *next = first->next;
        first->later.attempt = start_destructor;
        later_add(&first->later);
        first = next;
    }
}

cls_status graph_destructors_add(graph_destructors *list, cls_graph_destructor fn, void *arg) {
    struct graph_destructor *made = malloc(sizeof *made);
    if (!made)
        return error_no_memory("for a graph's destructor");
    *made = (struct graph_destructor){.fn = fn, .arg = arg, .next = atomic_load(list)};
    while (!atomic_compare_exchange_weak(list, &made->next, made))
        continue;
    return CLS_SUCCESS;
}
