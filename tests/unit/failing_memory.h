/* SPDX-License-Identifier: MIT */
/*
 * Makes one allocation fail. For a test program that is linked with
 * $(failing_memory), and includes this in one file.
 */
#ifndef CLSTREAM_TESTS_FAILING_MEMORY_H
#define CLSTREAM_TESTS_FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

static long allocations_left = -1; /* until the one that fails; below 0: none does */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);

static bool fails_now(void) { return allocations_left >= 0 && allocations_left-- == 0; }

void *__wrap_malloc(size_t size) { return fails_now() ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t count, size_t size) {
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    return fails_now() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails_now() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text) { return fails_now() ? NULL : __real_strdup(text); }

#endif
