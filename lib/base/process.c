/* SPDX-License-Identifier: MIT */
#include "base/process.h"

#include <stdatomic.h>

#include "base/at_exit.h"
#include "base/error.h"
#include "base/rare.h"
#include "system/processes.h"

enum process_use { USE_NONE, USE_HERE, USE_FORKED };

ASKED static _Atomic int use;

static _Atomic(void (*)(void)) child_hook;

void process_at_fork(void (*in_child)(void)) { atomic_store(&child_hook, in_child); }

static void in_child(void) {
    void (*hook)(void) = atomic_load(&child_hook);
    atomic_store(&use, USE_FORKED);
    if (hook)
        hook();
}

cls_status process_check(void) {
    if (atomic_load_explicit(&use, memory_order_relaxed) != USE_FORKED)
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_FORKED,
                     "this process was forked after its parent had used the library; only "
                     "the parent may go on using it");
}

bool process_uses(void) { return atomic_load(&use) == USE_HERE; }

/* Two first uses at once may both register the handler, which may run twice. */
COLD static cls_status begin(void) {
    cls_status status = process_check();
    if (status)
        return status;
    if (!system_at_fork(in_child))
        return error_no_memory("for a fork handler");
    at_exit_watch_thread();
    atomic_store(&use, USE_HERE);
    return CLS_SUCCESS;
}

cls_status process_enter(void) {
    if (RARELY(atomic_load_explicit(&use, memory_order_relaxed) != USE_HERE))
        return begin();
    return CLS_SUCCESS;
}
