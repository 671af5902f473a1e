/* SPDX-License-Identifier: MIT */
/*
 * The structs of the public headers that begin with their size, which may be those of an older header (types.h has
 * the rules). Options are copied over the defaults; results are written as far as the caller's struct reaches. A
 * field that is added goes behind the last one, or takes the place of `reserved` (doc/releases.md).
 */
#ifndef CLSTREAM_BASE_SIZED_H
#define CLSTREAM_BASE_SIZED_H

#include <stddef.h>

#include <clstream/status.h>

/* Copies a caller's options over `own`, which holds the defaults; null options leave those. */
#define SIZED_IN(type, own, given) \
    sized_in(#type, sizeof(type), (type *){own}, (const type *){given})

/* Whether a caller's struct, which may not be null, has a size that SIZED_OUT can write to. */
#define SIZED_CHECK(type, given) sized_check(#type, sizeof(type), (const type *){given})

/* Copies results to a struct that was checked; its size stays. */
#define SIZED_OUT(type, given, own) sized_out((type *){given}, (const type *){own})

cls_status sized_in(const char *type, size_t own_size, void *own, const void *given);
cls_status sized_check(const char *type, size_t own_size, const void *given);
void sized_out(void *given, const void *own);

#endif
