/* SPDX-License-Identifier: MIT */
/*
 * A made-up libcuda.so.1, for the device that linked.h plays: the functions that the library calls. A device's memory is a
 * sealed file of whole units, and its handle the descriptor. A call fails when a test says so.
 */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include "libcuda.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* cuda.h, which has them, is not needed */
#define EXPORT __attribute__((visibility("default")))

enum { UNIT = 2 << 20, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, UNKNOWN = 999 };

struct properties {
    int type, handle_types, location_type, location;
    void *windows;
    unsigned char flags[8];
};

static _Atomic unsigned calls, fails_at;
static _Atomic int fails_with, live;
static _Atomic bool has_failed;

static int enter(void) {
    if (atomic_fetch_add(&calls, 1) + 1 != atomic_load(&fails_at))
        return 0;
    atomic_store(&has_failed, true);
    return atomic_load(&fails_with);
}

EXPORT int cuInit(unsigned flags) {
    const int code = enter();
    return code ? code : flags ? INVALID_VALUE : 0;
}

EXPORT int cuDeviceGetCount(int *count) {
    *count = LIBCUDA_DEVICES;
    return enter();
}

EXPORT int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return enter();
}

EXPORT int cuDeviceGetUuid(unsigned char uuid[16], int device) {
    libcuda_uuid(device, uuid);
    return enter();
}

EXPORT int cuMemGetAllocationGranularity(size_t *bytes, const struct properties *properties,
                                         int option) {
    *bytes = UNIT;
    const int code = enter();
    return code ? code : option || properties->type != 1 ? INVALID_VALUE : 0;
}

static bool fits(const struct properties *p, size_t bytes) {
    return p->type == 1 && p->handle_types == 1 && p->location_type == 1 &&
           p->location >= LIBCUDA_WHOLE && bytes % UNIT == 0;
}

EXPORT int cuMemCreate(unsigned long long *memory, size_t bytes, const struct properties *p,
                       unsigned long long flags) {
    char name[64];
    const int code = enter();
    if (code || flags || !fits(p, bytes))
        return code ? code : INVALID_VALUE;
    snprintf(name, sizeof name, "made-up memory of device %d", p->location);
    const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || posix_fallocate(fd, 0, (off_t)bytes)) {
        if (fd >= 0)
            close(fd);
        return OUT_OF_MEMORY;
    }
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    atomic_fetch_add(&live, 1);
    *memory = (unsigned long long)fd;
    return 0;
}

/* Two names of one open file, as NVIDIA's. */
static int duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }

EXPORT int cuMemExportToShareableHandle(int *fd, unsigned long long memory, int type,
                                        unsigned long long flags) {
    const int code = enter();
    if (code || type != 1 || flags)
        return code ? code : INVALID_VALUE;
    *fd = duplicate((int)memory);
    return *fd < 0 ? UNKNOWN : 0;
}

EXPORT int cuMemImportFromShareableHandle(unsigned long long *memory, void *fd, int type) {
    const int code = enter();
    if (code || type != 1 || !libcuda_owner((int)(intptr_t)fd))
        return code ? code : UNKNOWN;
    const int own = duplicate((int)(intptr_t)fd);
    if (own < 0)
        return UNKNOWN;
    atomic_fetch_add(&live, 1);
    *memory = (unsigned long long)own;
    return 0;
}

EXPORT int cuMemRelease(unsigned long long memory) {
    atomic_fetch_sub(&live, 1);
    close((int)memory);
    return enter();
}

/* --- the controls --- */

static void arm(unsigned nth, int code) {
    atomic_store(&fails_at, 0);
    atomic_store(&has_failed, false);
    atomic_store(&fails_with, code);
    atomic_store(&calls, 0);
    atomic_store(&fails_at, nth);
}

static bool failed(void) { return atomic_load(&has_failed); }
static int live_now(void) { return atomic_load(&live); }

EXPORT extern const struct libcuda_controls libcuda_controls;
const struct libcuda_controls libcuda_controls = {arm, failed, live_now};
