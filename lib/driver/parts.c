/* SPDX-License-Identifier: MIT */
#include "driver/parts.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

/* A part stays in its root's list until the driver has released it; its handle is in `by_handle` until just before. A
 * root's handle cannot be reused while it has parts, because a part keeps it alive. */
struct part {
    UT_hash_handle hh;
    cl_mem memory;
    struct root *root;
    struct part *prev, *next; /* in order of creation */
    size_t start, end;        /* bytes of the root */
    unsigned holders;
    unsigned n_younger, n_older; /* overlapping parts in the list */
    bool releasing;
};

struct root {
    UT_hash_handle hh;
    cl_mem memory;
    struct part *parts; /* the oldest first */
    size_t end;         /* the largest end of a part */
    unsigned n_due;     /* parts without a holder that no thread releases yet */
};

static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct part *by_handle;
static struct root *roots;

/* What follows runs under the lock. */

static struct part *find(cl_mem memory) {
    struct part *part;
    HASH_FIND_PTR(by_handle, &memory, part);
    return part;
}

static struct root *root_of(cl_mem memory) {
    struct root *root;
    HASH_FIND_PTR(roots, &memory, root);
    if (root)
        return root;
    root = calloc(1, sizeof *root);
    if (!root)
        return NULL;
    root->memory = memory;
    HASH_ADD_PTR(roots, memory, root);
    if (root->hh.tbl)
        return root;
    free(root);
    return NULL;
}

static void end_if_unused(struct root *root) {
    if (root->parts)
        return;
    HASH_DEL(roots, root);
    free(root);
}

static struct part *older_than(const struct part *part) {
    return part == part->root->parts ? NULL : part->prev;
}

static bool overlap(const struct part *a, const struct part *b) {
    return a->start < b->end && b->start < a->end;
}

/* A part that begins where all others have ended, such as the next slot of a pool, is compared with none. */
static bool is_above_all(const struct part *part, const struct root *root) {
    return part->start >= root->end;
}

/* Whether a part would be younger than one that it overlaps and that the driver is about to release. */
static bool comes_too_early(const struct part *part, const struct root *root) {
    const struct part *other = is_above_all(part, root) ? NULL : root->parts;
    while (other && !(other->releasing && overlap(part, other)))
        other = other->next;
    return other != NULL;
}

static void count_overlaps(struct part *part) {
    struct part *older = is_above_all(part, part->root) ? NULL : older_than(part);
    for (; older; older = older_than(older))
        if (overlap(part, older)) {
            older->n_younger++;
            part->n_older++;
        }
}

static bool list_part(struct root *root, struct part *part) {
    HASH_ADD_PTR(by_handle, memory, part);
    if (!part->hh.tbl)
        return false;
    part->root = root;
    DL_APPEND(root->parts, part);
    count_overlaps(part);
    if (part->end > root->end)
        root->end = part->end;
    return true;
}

static void forget(struct part *part) {
    struct root *root = part->root;
    for (struct part *older = older_than(part); part->n_older; older = older_than(older))
        if (overlap(part, older)) {
            older->n_younger--;
            part->n_older--;
        }
    DL_DELETE(root->parts, part);
    free(part);
    end_if_unused(root);
}

static bool may_go(const struct part *part) {
    return !part->holders && !part->n_younger && !part->releasing;
}

/* Drops the lock meanwhile. Other threads leave the part to this one, and create none that overlaps it. */
static void release(struct part *part) {
    part->releasing = true;
    part->root->n_due--;
    HASH_DEL(by_handle, part);
    pthread_mutex_unlock(&lock);
    clReleaseMemObject(part->memory);
    pthread_mutex_lock(&lock);
    pthread_cond_broadcast(&released);
}

/* The part, then the older ones that waited for it, directly or not. */
static void release_from(struct part *part) {
    for (struct part *older; part; part = older) {
        const bool goes = may_go(part);
        if (goes)
            release(part);
        older = part->root->n_due ? older_than(part) : NULL;
        if (goes)
            forget(part);
    }
}

/* --- what the others call --- */

static cl_mem create(struct part *part, cl_mem root_memory, const cl_buffer_region *region,
                     cl_int *code) {
    struct root *root;
    while ((root = root_of(root_memory)) && comes_too_early(part, root))
        pthread_cond_wait(&released, &lock);
    *code = CL_OUT_OF_HOST_MEMORY;
    if (!root)
        return NULL;
    cl_mem memory = clCreateSubBuffer(root_memory, 0, CL_BUFFER_CREATE_TYPE_REGION, region, code);
    part->memory = memory;
    if (*code == CL_SUCCESS && !list_part(root, part)) {
        clReleaseMemObject(memory);
        *code = CL_OUT_OF_HOST_MEMORY;
    }
    end_if_unused(root);
    return *code == CL_SUCCESS ? memory : NULL;
}

cl_mem parts_create(cl_mem root, const cl_buffer_region *region, cl_int *code) {
    struct part *part = calloc(1, sizeof *part);
    *code = CL_OUT_OF_HOST_MEMORY;
    if (!part)
        return NULL;
    part->start = region->origin;
    part->end = region->origin + region->size;
    part->holders = 1;
    pthread_mutex_lock(&lock);
    cl_mem memory = create(part, root, region, code);
    pthread_mutex_unlock(&lock);
    if (!memory)
        free(part);
    return memory;
}

cl_int parts_retain(cl_mem memory) {
    pthread_mutex_lock(&lock);
    struct part *part = find(memory);
    if (part)
        part->holders++;
    pthread_mutex_unlock(&lock);
    return part ? CL_SUCCESS : clRetainMemObject(memory);
}

void parts_release(cl_mem memory) {
    pthread_mutex_lock(&lock);
    struct part *part = find(memory);
    if (part && --part->holders == 0) {
        part->root->n_due++;
        if (may_go(part))
            release_from(part);
    }
    pthread_mutex_unlock(&lock);
    if (!part)
        clReleaseMemObject(memory);
}
