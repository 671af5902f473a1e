/* SPDX-License-Identifier: MIT */
/* Handles: looked up, never dereferenced, so that a stale or foreign one is a status. */
#ifndef CLSTREAM_MPI_TABLE_H
#define CLSTREAM_MPI_TABLE_H

#include <clstream/status.h>

/* What begins an object with a handle. */
struct table_entry {
    unsigned users; /* calls that use it; under the table's lock */
};

enum table_kind { KIND_COMM = 1, KIND_BUCKETS };

/* Gives an object a handle. Reports CLS_ERROR_LIMIT. */
cls_status table_add(enum table_kind kind, struct table_entry *entry, void **handle);
/* Looks a handle up, for table_put to give back. Reports. */
cls_status table_get(enum table_kind kind, const void *handle, struct table_entry **entry);
void table_put(struct table_entry *entry);
/* Ends a handle, and returns once no call uses the object; NULL: there is no such handle. */
struct table_entry *table_remove(enum table_kind kind, const void *handle);
/* Calls `visit` for each object of the kind. */
void table_each(enum table_kind kind, void (*visit)(struct table_entry *entry));

#endif
