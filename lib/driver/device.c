/* SPDX-License-Identifier: MIT */
#include "driver/device.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/process.h"
#include "base/text.h"
#include "driver/device_query.h"
#include "driver/serial.h"
#include "driver/status.h"
#include "system/processes.h"

/* The list while it is made; becomes `known` in one step when it is complete. */
struct draft {
    struct device **devices;
    size_t count;
    size_t room;
    size_t platforms;
    struct text skipped; /* why platforms and devices were left out; for the message */
};

/* The other members are final once `made` is set, and not before. A failed attempt changes nothing,
 * so that the next call tries again. */
static struct {
    pthread_mutex_t lock;
    _Atomic(bool) made;
    struct draft list;
} known = {PTHREAD_MUTEX_INITIALIZER, false, {0}};

/* Sub-devices of the caller's. Entries are added at the head and never removed. */
struct sub_device {
    struct device *device;
    struct sub_device *next;
};

static pthread_mutex_t sub_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sub_device *sub_devices;

static void discard(struct draft *draft) {
    for (size_t i = 0; i < draft->count; i++)
        device_free(draft->devices[i]);
    free(draft->devices);
    free(draft->skipped.bytes);
}

static cls_status add(struct draft *draft, struct device *device) {
    if (!ARRAY_ROOM(draft->devices, draft->count, draft->room, 4)) {
        device_free(device);
        return error_no_memory("for the device list");
    }
    device->index = draft->count;
    draft->devices[draft->count++] = device;
    return CLS_SUCCESS;
}

static void note_skipped(struct draft *draft, cl_platform_id platform, const char *what,
                         const char *reason) {
    char name[128] = "?";
    if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL) != CL_SUCCESS)
        strcpy(name, "?");
    name[sizeof name - 1] = '\0';
    text_printf(&draft->skipped, "\n  not usable: %s of platform %s (%s)", what, name, reason);
}

/* A platform whose query fails is left out; only lack of memory is a failure. */
static cls_status add_platform(struct draft *draft, cl_platform_id platform) {
    cl_uint count = 0;
    cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &count);
    if (code != CL_SUCCESS || count == 0) {
        note_skipped(draft, platform, "no device", cl_code_name(code));
        return CLS_SUCCESS;
    }
    cl_device_id *ids = calloc(count, sizeof *ids);
    if (!ids)
        return error_no_memory("for the device list");
    code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids, NULL);
    if (code != CL_SUCCESS) {
        note_skipped(draft, platform, "no device", cl_code_name(code));
        count = 0;
    }
    cls_status status = CLS_SUCCESS;
    for (cl_uint i = 0; i < count && !status; i++) {
        struct device *device = NULL;
        const char *reason = NULL;
        status = device_query(platform, ids[i], &device, &reason);
        if (!status && reason)
            note_skipped(draft, platform, "a device", reason);
        else if (!status)
            status = add(draft, device);
    }
    free(ids);
    return status;
}

/* What a driver reads from the environment when it starts, where the caller has not set it: NVIDIA maps
 * all queues to 8 hardware channels unless told otherwise, and 32 kernels on as many queues then run 8 at
 * a time. */
static const struct driver_variable {
    const char *name, *value;
} driver_variables[] = {{"CUDA_DEVICE_MAX_CONNECTIONS", "32"}};

static void set_driver_variables(void) {
    for (size_t i = 0; i < sizeof driver_variables / sizeof driver_variables[0]; i++)
        system_set_variable(driver_variables[i].name, driver_variables[i].value);
}

static cls_status add_all(struct draft *draft) {
    cl_uint count = 0;
    set_driver_variables();
    cl_int code = clGetPlatformIDs(0, NULL, &count);
    if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && count == 0))
        return CLS_SUCCESS;
    if (code != CL_SUCCESS)
        return driver_status(code, "clGetPlatformIDs");
    cl_platform_id *platforms = calloc(count, sizeof *platforms);
    if (!platforms)
        return error_no_memory("for the device list");
    cls_status status = driver_status(clGetPlatformIDs(count, platforms, NULL), "clGetPlatformIDs");
    for (cl_uint i = 0; i < count && !status; i++)
        status = add_platform(draft, platforms[i]);
    draft->platforms = count;
    free(platforms);
    return status;
}

static cls_status make_list(void) {
    struct draft draft = {0};
    if (!at_exit_hold())
        return driver_gone();
    cls_status status = add_all(&draft);
    at_exit_unhold();
    if (!status && draft.skipped.failed)
        status = error_no_memory("for the device list");
    if (status) {
        discard(&draft);
        return status;
    }
    known.list = draft;
    known.made = true;
    return CLS_SUCCESS;
}

cls_status device_list(struct device *const **devices, size_t *count) {
    cls_status status = process_enter();
    if (!status && !known.made) {
        pthread_mutex_lock(&known.lock);
        if (!known.made)
            status = make_list();
        pthread_mutex_unlock(&known.lock);
    }
    if (status)
        return status;
    *devices = known.list.devices;
    *count = known.list.count;
    return CLS_SUCCESS;
}

/* Choosing */

static const struct {
    const char *name;
    cls_device_type type;
} types[] = {
    {"gpu", CLS_DEVICE_GPU},
    {"accelerator", CLS_DEVICE_ACCELERATOR},
    {"cpu", CLS_DEVICE_CPU},
};

enum { TYPES = sizeof types / sizeof *types };

const char *device_type_name(cls_device_type type) {
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].type == type)
            return types[i].name;
    return "other";
}

static struct device *first_of_type(cls_device_type type) {
    for (size_t i = 0; i < known.list.count; i++)
        if (known.list.devices[i]->info.type == type)
            return known.list.devices[i];
    return NULL;
}

/* Digits match only a whole number in the name, like "3090": otherwise an index past the last device would match a part
 * of "avx512". */
static bool has_number(const char *name, const char *digits, size_t length) {
    for (const char *at = name; (at = strstr(at, digits)); at++)
        if ((at == name || !isdigit((unsigned char)at[-1])) && !isdigit((unsigned char)at[length]))
            return true;
    return false;
}

static bool is_part(const char *name, const char *part) {
    const size_t length = strlen(part);
    return strspn(part, "0123456789") == length ? has_number(name, part, length)
                                                : text_contains(name, part);
}

static struct device *first_named(const char *part) {
    for (size_t i = 0; i < known.list.count; i++) {
        const cls_device_info *info = &known.list.devices[i]->info;
        if (is_part(info->name, part) || is_part(info->platform, part))
            return known.list.devices[i];
    }
    return NULL;
}

static struct device *by_default(void) {
    static const cls_device_type order[] = {CLS_DEVICE_GPU, CLS_DEVICE_ACCELERATOR};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        struct device *device = first_of_type(order[i]);
        if (device)
            return device;
    }
    return known.list.count ? known.list.devices[0] : NULL;
}

static struct device *match(const char *spec) {
    char *end = NULL;
    unsigned long index = isdigit((unsigned char)spec[0]) ? strtoul(spec, &end, 10) : 0;
    if (end && *end == '\0' && index < known.list.count)
        return known.list.devices[index];
    for (size_t i = 0; i < TYPES; i++)
        if (strlen(spec) == strlen(types[i].name) && text_contains(spec, types[i].name))
            return first_of_type(types[i].type);
    return first_named(spec);
}

static cls_status report_nothing(const char *spec, bool from_environment) {
    struct text text = {0};
    if (known.list.platforms == 0)
        text_printf(&text, "no OpenCL driver is installed; one is in your distribution's package "
                           "pocl-opencl-icd (any CPU), or comes with the GPU's driver");
    else if (known.list.count == 0)
        text_printf(&text, "no usable OpenCL device; the package pocl-opencl-icd makes one of the "
                           "CPU");
    else
        text_printf(&text, "no device matches \"%s\"%s; there is:", spec,
                    from_environment ? " (from CLSTREAM_DEVICE)" : "");
    for (size_t i = 0; i < known.list.count; i++) {
        const cls_device_info *info = &known.list.devices[i]->info;
        text_printf(&text, "\n  %zu: %s (%s, platform %s)", i, info->name,
                    device_type_name(info->type), info->platform);
    }
    if (known.list.skipped.bytes)
        text_printf(&text, "%s", known.list.skipped.bytes);
    error_set(CLS_ERROR_NO_DEVICE, "%s", text.failed ? "no device matches" : text.bytes);
    free(text.bytes);
    return CLS_ERROR_NO_DEVICE;
}

cls_status device_find(const char *spec, struct device **out) {
    struct device *const *devices;
    size_t count;
    cls_status status = device_list(&devices, &count);
    if (status)
        return status;
    bool from_environment = !spec || !*spec;
    if (from_environment)
        spec = system_variable("CLSTREAM_DEVICE");
    struct device *device = spec && *spec ? match(spec) : by_default();
    if (!device)
        return report_nothing(spec ? spec : "", from_environment && spec && *spec);
    *out = device;
    return CLS_SUCCESS;
}

/* Sub-devices */

static struct device *listed(cl_device_id id) {
    for (size_t i = 0; i < known.list.count; i++)
        if (known.list.devices[i]->id == id)
            return known.list.devices[i];
    return NULL;
}

/* The listed device that `id` is a part of, however deep, or NULL. */
static struct device *root_of(cl_device_id id) {
    struct device *root = NULL;
    while (id && !(root = listed(id)))
        if (clGetDeviceInfo(id, CL_DEVICE_PARENT_DEVICE, sizeof id, &id, NULL) != CL_SUCCESS)
            return NULL;
    return root;
}

/* The entry holds a reference, so that its id never comes to mean another sub-device. */
static cls_status make_sub_device(cl_device_id id, struct device **out) {
    struct device *root = root_of(id);
    if (!root)
        return error_set(CLS_ERROR_NO_DEVICE, "the cl_device_id is not a usable device");
    struct device *device = NULL;
    const char *reason = NULL;
    cls_status status = device_query(root->platform, id, &device, &reason);
    if (status)
        return status;
    if (reason)
        return error_set(CLS_ERROR_NO_DEVICE, "the sub-device cannot be used: %s", reason);
    struct sub_device *entry = malloc(sizeof *entry);
    if (!entry || (status = driver_status(clRetainDevice(id), "clRetainDevice"))) {
        device_free(device);
        free(entry);
        return status ? status : error_no_memory("for the device list");
    }
    device->index = root->index;
    *entry = (struct sub_device){device, sub_devices};
    sub_devices = entry;
    *out = device;
    return CLS_SUCCESS;
}

static cls_status sub_device_of_id(cl_device_id id, struct device **out) {
    for (const struct sub_device *entry = sub_devices; entry; entry = entry->next)
        if (entry->device->id == id) {
            *out = entry->device;
            return CLS_SUCCESS;
        }
    return make_sub_device(id, out);
}

cls_status device_of_id(cl_device_id id, struct device **out) {
    struct device *const *devices;
    size_t count;
    cls_status status = device_list(&devices, &count);
    if (status)
        return status;
    struct device *device = listed(id);
    if (device) {
        *out = device;
        return CLS_SUCCESS;
    }
    if (!id)
        return error_set(CLS_ERROR_INVALID_VALUE, "the cl_device_id is null");
    driver_enter(NULL);
    pthread_mutex_lock(&sub_lock);
    status = sub_device_of_id(id, out);
    pthread_mutex_unlock(&sub_lock);
    driver_leave(NULL);
    return status;
}
