/* SPDX-License-Identifier: MIT */
#include "stream/exit.h"

#include <stdatomic.h>

#include "base/at_exit.h"
#include "driver/quirk.h"
#include "driver/warm.h"
#include "stream/hooks.h"

/* Handlers run in the reverse of their registration, and drivers register theirs as late as when the
 * first kernel runs. So this one is registered twice: with the first work, for a process that exits
 * early, and after the first kernel has run; the run that comes first counts. */
enum { REGISTERED_EARLY = 1, REGISTERED_LATE = 2 };
ASKED static _Atomic int registered;

static struct at_exit handler;

static void at_exit(void) {
    if (at_exit_is_due(&handler))
        hooks.at_exit();
}

COLD static void register_early(const struct device *device) {
    int none = 0;
    if (device->quirks & QUIRK_LATE_EXIT_HANDLER)
        return;
    if (atomic_compare_exchange_strong(&registered, &none, REGISTERED_EARLY))
        at_exit_register(&handler, at_exit);
}

void exit_note_work(const struct device *device) {
    if (RARELY(!atomic_load_explicit(&registered, memory_order_relaxed)))
        register_early(device);
}

COLD static void register_late(void) {
    if (atomic_exchange(&registered, REGISTERED_LATE) != REGISTERED_LATE)
        at_exit_register(&handler, at_exit);
}

void exit_note_done(cls_command_kind kind) {
    if (atomic_load_explicit(&registered, memory_order_relaxed) != REGISTERED_LATE &&
        kind == CLS_COMMAND_KERNEL)
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
