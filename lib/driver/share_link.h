/* SPDX-License-Identifier: MIT */
/* How the memory of one device is used from another one, or from a second context of the same: tried by values, and
 * timed, at the first question about the pair. */
#ifndef CLSTREAM_DRIVER_SHARE_LINK_H
#define CLSTREAM_DRIVER_SHARE_LINK_H

#include "base/rare.h"
#include "driver/shareable.h"

struct share_link {
    struct share_link *next;
    const struct device *owner, *other;
    const struct exporter *exporter; /* of the memory; NULL: it cannot be shared */
    double gb_per_s;                 /* a copy on `other` from the owner's memory to its own */
    double latency_ns;               /* the same of a few bytes, with the wait for it */
    char reason[256];                /* why it cannot be shared */
};

/* A device, and a context of it to try the memory in. */
struct share_end {
    struct device *device;
    cl_context context;
};

/* Valid until the process ends. The first call for a pair takes about 20 ms, and the first for an owner as long as its
 * driver takes for one more context; other threads that ask wait for it. A question that could not be settled, for want
 * of memory or because a command failed, is asked again by the next call. */
cls_status share_link_find(struct share_end owner, struct share_end other,
                           const struct share_link **out);

/* Reports CLS_ERROR_UNSUPPORTED with the link's reason. */
cls_status share_link_refuse(const struct share_link *link) COLD;

#endif
