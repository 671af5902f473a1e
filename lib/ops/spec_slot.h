/* SPDX-License-Identifier: MIT */
/* How the files that make specs (ops/spec.h) keep them: each in a slot for its kernel's types. */
#ifndef CLSTREAM_OPS_SPEC_SLOT_H
#define CLSTREAM_OPS_SPEC_SLOT_H

#include <stdatomic.h>

#include "ops/spec.h"

typedef _Atomic(struct spec *) spec_slot;

/* Without options and label, which the caller writes. NULL: there was no memory, which has been reported. */
struct spec *spec_new(const char *source, const char *entry);

/* Publishes `made`, or finds the one that another thread has published first; NULL: there was no memory. */
cls_status spec_publish(spec_slot *at, struct spec *made, const struct spec **found);

struct type_row;

/* The options of cl/rank.cl for a type, besides that of its bits. */
const char *spec_order_of(const struct type_row *type);

#endif
