/* SPDX-License-Identifier: MIT */
/*
 * Where the values of a planned batch lie, and whether they may lie there: the arrays of the caller must not
 * overlap each other's results, nor be in the host's hands or freed.
 */
#ifndef CLSTREAM_BATCH_PLACES_H
#define CLSTREAM_BATCH_PLACES_H

#include "batch/batch.h"

/* The place of a value in memory; borrowed. */
struct array_place place_of(const struct batch *batch, uint32_t node);

/* CLS_ERROR_OVERLAP where a result would be written over what others still read. */
cls_status places_check_overlaps(const struct batch *batch);

/* Whether an array of the caller's can become unusable between executions: unified memory, which the host may
 * own, and stream-ordered memory, which may be freed. */
bool places_may_lose(const struct batch *batch);

/* CLS_ERROR_INVALID_STATE for memory that the host owns now, CLS_ERROR_INVALID_HANDLE for memory that was
 * freed. */
cls_status places_check(const struct batch *batch);
cls_status place_check(const struct array_place *place);

#endif
