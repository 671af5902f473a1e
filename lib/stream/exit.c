/* SPDX-License-Identifier: MIT */
#include "stream/exit.h"

#include <stdatomic.h>

#include "base/at_exit.h"
#include "base/process.h"
#include "driver/quirk.h"
#include "driver/warm.h"
#include "stream/hooks.h"
#include "system/clocks.h"
#include "system/processes.h"

/* Handlers run in the reverse of their registration, and drivers register theirs as late as when the first kernel is
 * compiled. For a thread that at_exit_first does not watch, this one is registered twice: with the first work, for a
 * process that exits early, and after the first kernel has run; the run that comes first counts. On Windows both run where
 * the first one is: drivers have handlers of their own libraries there, which run when the process has let all go. */
enum { REGISTERED_EARLY = 1, REGISTERED_LATE = 2 };
ASKED static _Atomic int registered;

static const uint64_t PATIENCE_NS = 5 * CLOCK_SECOND;

/* In a process that does not use the library, threads may be about to. */
static void at_exit(void) {
    if (process_check())
        return;
    if (process_uses())
        hooks.at_exit();
    else
        at_exit_close(clock_now_ns() + PATIENCE_NS);
}

/* Nothing else calls it, but this file is linked wherever streams are. */
__attribute__((constructor)) static void watch_first_thread(void) {
    at_exit_first(at_exit);
    at_exit_watch_thread();
}

COLD static void register_early(const struct device *device) {
    int none = 0;
    if (device->quirks & QUIRK_LATE_EXIT_HANDLER)
        return;
    if (atomic_compare_exchange_strong(&registered, &none, REGISTERED_EARLY))
        system_at_exit(at_exit);
}

void exit_note_work(const struct device *device) {
    if (RARELY(!atomic_load_explicit(&registered, memory_order_relaxed)))
        register_early(device);
}

COLD static void register_late(void) {
    if (atomic_exchange(&registered, REGISTERED_LATE) != REGISTERED_LATE)
        system_at_exit(at_exit);
}

void exit_note_done(cls_command_kind kind) {
    if (atomic_load_explicit(&registered, memory_order_relaxed) != REGISTERED_LATE &&
        (kind == CLS_COMMAND_KERNEL || kind == CLS_COMMAND_GRAPH))
        register_late();
}

cls_status exit_prepare(struct device *device, cl_context context) {
    if (!(device->quirks & QUIRK_LATE_EXIT_HANDLER) || atomic_load(&registered) == REGISTERED_LATE)
        return CLS_SUCCESS;
    cls_status status = device_warm(device, context);
    if (!status)
        exit_note_done(CLS_COMMAND_KERNEL);
    return status;
}
