/* SPDX-License-Identifier: MIT */
/*
 * A say before a wait is taken. A layer above may look at the waits of all streams and refuse the one that
 * would close a cycle; until it installs its check, taking a wait asks nobody.
 */
#ifndef CLSTREAM_STREAM_WAIT_CHECK_H
#define CLSTREAM_STREAM_WAIT_CHECK_H

#include <stdbool.h>

#include <clstream/status.h>

struct dep;
struct stream;

/* Whether `stream` may come to wait for `dep`; reports. Called under the check's own lock, so no two waits
 * are taken at once, and before any stream's lock. */
typedef cls_status (*wait_check)(struct stream *stream, const struct dep *dep);

/* Installs the check for good. */
void wait_check_install(wait_check check);

/* Whether there is a check, and a dependency that it is for. */
bool wait_check_wanted(const struct dep *dep);

/* Asks. On success the check's lock is left locked, until the wait is taken. */
cls_status wait_check_enter(struct stream *stream, const struct dep *dep);

/* The check's lock, for other calls that must not come between. Taken before any other. */
void wait_check_lock(void);
void wait_check_unlock(void);

#endif
