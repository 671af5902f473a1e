/* SPDX-License-Identifier: MIT */
#include "driver/serial.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Set while the device list is made, before any device is handed out, and never cleared: so a pair
 * of enter and leave always sees the same value. */
static atomic_bool required;

void driver_serial_lock(void) { pthread_mutex_lock(&lock); }

void driver_serial_unlock(void) { pthread_mutex_unlock(&lock); }

cls_status driver_gone(void) { return error_set(CLS_ERROR_SHUTDOWN, "the process is exiting"); }

void driver_serial_require(void) { atomic_store(&required, true); }

bool driver_serial_required(void) { return atomic_load_explicit(&required, memory_order_relaxed); }
