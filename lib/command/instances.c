/* SPDX-License-Identifier: MIT */
/*
 * The cl_kernel instances of a kernel. A few are kept for the next launches. Queued launches have one each, and give the
 * oldest back first, but PoCL takes longer to release a kernel the more younger ones of its program there are (138 us with
 * 40,000 of them, against less than 1): so they are kept until few are taken, and then released from the newest on.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/array.h"
#include "command/kernel.h"
#include "driver/program.h"
#include "stream/context.h"
#include "stream/engine.h"

enum { FEW_TAKEN = 64 };

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards the lists of all kernels; a leaf */

static bool add(struct instance_list *list, cl_kernel instance) {
    const bool room = ARRAY_ROOM(list->items, list->count, list->room, FEW_TAKEN);
    if (room)
        list->items[list->count++] = instance;
    return room;
}

/* --- releasing --- */

struct spare {
    cl_kernel instance;
    unsigned age; /* from 1, the oldest; 0: not known, but older */
};

static int by_address(const void *a, const void *b) {
    const uintptr_t x = (uintptr_t)((const struct spare *)a)->instance,
                    y = (uintptr_t)((const struct spare *)b)->instance;
    return (x > y) - (x < y);
}

static int newest_first(const void *a, const void *b) {
    const unsigned x = ((const struct spare *)a)->age, y = ((const struct spare *)b)->age;
    return (x < y) - (x > y);
}

static void sort(struct spare *spares, unsigned count, const struct instance_list *made) {
    qsort(spares, count, sizeof *spares, by_address);
    for (unsigned i = 0; i < made->count; i++) {
        const struct spare key = {.instance = made->items[i]};
        struct spare *spare = bsearch(&key, spares, count, sizeof *spares, by_address);
        if (spare)
            spare->age = i + 1;
    }
    qsort(spares, count, sizeof *spares, newest_first);
}

/* Without memory for sorting them, in the reverse order of being given back. */
static void release(const struct device *device, const struct instance_list *list,
                    const struct instance_list *made) {
    struct spare *spares = calloc(list->count, sizeof *spares);
    for (unsigned i = 0; i < list->count && spares; i++)
        spares[i].instance = list->items[i];
    if (spares)
        sort(spares, list->count, made);
    for (unsigned i = 0; i < list->count; i++)
        kernel_release(device, spares ? spares[i].instance : list->items[list->count - 1 - i]);
    free(spares);
}

/* What is not a spare now is old by the next time. */
static void release_spares(struct kernel *kernel) {
    pthread_mutex_lock(&lock);
    const struct instance_list spares = kernel->spares, made = kernel->made;
    kernel->spares = kernel->made = (struct instance_list){.items = NULL};
    pthread_mutex_unlock(&lock);
    if (spares.count)
        release(kernel->context->device, &spares, &made);
    free(spares.items);
    free(made.items);
}

void kernel_release_instances(struct kernel *kernel) {
    release_spares(kernel);
    for (int i = 0; i < KERNEL_INSTANCES; i++) {
        cl_kernel instance = atomic_load(&kernel->instances[i]);
        if (instance)
            kernel_release(kernel->context->device, instance);
    }
}

/* --- taking and giving back --- */

static bool is_reusable(const struct kernel *kernel) {
    return caps_trusts(kernel->context->caps, TRUST_ARGUMENTS_SET_AGAIN);
}

static bool are_many_taken(const struct kernel *kernel) {
    return atomic_load_explicit(&kernel->n_taken, memory_order_relaxed) > FEW_TAKEN;
}

static cl_kernel take_spare(struct kernel *kernel) {
    struct instance_list *spares = &kernel->spares;
    pthread_mutex_lock(&lock);
    cl_kernel instance = spares->count ? spares->items[--spares->count] : NULL;
    pthread_mutex_unlock(&lock);
    return instance;
}

static cls_status make(struct kernel *kernel, cl_kernel *out) {
    cls_status status = program_create_kernel(kernel->cl, kernel->name, out);
    if (status || !are_many_taken(kernel) || !is_reusable(kernel))
        return status;
    pthread_mutex_lock(&lock);
    add(&kernel->made, *out);
    pthread_mutex_unlock(&lock);
    return CLS_SUCCESS;
}

static cls_status take(struct kernel *kernel, cl_kernel *out) {
    for (int i = 0; i < KERNEL_INSTANCES; i++) {
        if (!atomic_load_explicit(&kernel->instances[i], memory_order_relaxed))
            continue;
        *out = atomic_exchange(&kernel->instances[i], NULL);
        if (*out)
            return CLS_SUCCESS;
    }
    *out = take_spare(kernel);
    return *out ? CLS_SUCCESS : make(kernel, out);
}

cls_status kernel_take_instance(struct kernel *kernel, cl_kernel *out) {
    cls_status status = take(kernel, out);
    if (!status)
        atomic_fetch_add_explicit(&kernel->n_taken, 1, memory_order_relaxed);
    return status;
}

static bool keep(struct kernel *kernel, cl_kernel instance) {
    if (!is_reusable(kernel))
        return false;
    for (int i = 0; i < KERNEL_INSTANCES; i++) {
        cl_kernel none = NULL;
        if (atomic_compare_exchange_strong(&kernel->instances[i], &none, instance))
            return true;
    }
    if (!are_many_taken(kernel))
        return false;
    pthread_mutex_lock(&lock);
    const bool kept = add(&kernel->spares, instance);
    pthread_mutex_unlock(&lock);
    return kept;
}

/* As the process exits nothing is released: it would take time that callbacks are waited for. */
void kernel_give_instance(struct kernel *kernel, cl_kernel instance) {
    atomic_fetch_sub_explicit(&kernel->n_taken, 1, memory_order_relaxed);
    if (engine_is_down() || keep(kernel, instance))
        return;
    kernel_release(kernel->context->device, instance);
    if (!are_many_taken(kernel))
        release_spares(kernel);
}
