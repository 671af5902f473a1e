/* SPDX-License-Identifier: MIT */
/*
 * One lock around driver calls, for drivers that abort when two host threads call them at once
 * (QUIRK_SERIALIZE_CALLS). For every other device both calls are a test of one bit.
 *
 * The lock is not recursive and is never held while user code runs. Only the probes, which take about a
 * tenth of a second at first use of a device, wait for device work with the lock held.
 */
#ifndef CLSTREAM_DRIVER_SERIAL_H
#define CLSTREAM_DRIVER_SERIAL_H

#include "base/at_exit.h"
#include "base/rare.h"
#include "driver/quirk.h"

void driver_serial_lock(void) COLD;
void driver_serial_unlock(void) COLD;

/* Notes that some device of the process has the quirk, and tells it to calls that do not know their device. */
void driver_serial_require(void);
bool driver_serial_required(void);

static inline bool driver_serial_wanted(const struct device *device) {
    return device ? (device->quirks & QUIRK_SERIALIZE_CALLS) != 0 : driver_serial_required();
}

/* Around each driver call, or a short run of them. A NULL device means that it is not known. */
static inline void driver_enter(const struct device *device) {
    if (driver_serial_wanted(device))
        driver_serial_lock();
}

static inline void driver_leave(const struct device *device) {
    if (driver_serial_wanted(device))
        driver_serial_unlock();
}

/* The same around a call without a stream's lock, which threads of the program make at any time. False, and nothing to
 * leave, when the process exits (base/at_exit.h). */
static inline bool driver_begin(const struct device *device) {
    if (!at_exit_hold())
        return false;
    driver_enter(device);
    return true;
}

static inline void driver_end(const struct device *device) {
    driver_leave(device);
    at_exit_unhold();
}

/* Reports that driver_begin was false: CLS_ERROR_SHUTDOWN. */
cls_status driver_gone(void) COLD;

#endif
