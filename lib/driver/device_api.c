/* SPDX-License-Identifier: MIT */
/* The functions of clstream/device.h. */
#include <string.h>

#include <clstream/device.h>
#include <clstream/opencl.h>
#include <clstream/stream.h>

#include "base/error.h"
#include "base/sized.h"
#include "driver/caps.h"
#include "driver/quirk.h"
#include "driver/serial.h"
#include "driver/status.h"
#include "driver/units.h"

static cls_status null_argument(const char *call, const char *name) {
    return error_set(CLS_ERROR_INVALID_VALUE, "%s: %s is null", call, name);
}

static cls_status at_index(const char *call, size_t index, struct device **out) {
    struct device *const *devices;
    size_t count;
    cls_status status = device_list(&devices, &count);
    if (status)
        return status;
    if (index >= count)
        return error_set(CLS_ERROR_NO_DEVICE, "%s: no device %zu; there are %zu", call, index,
                         count);
    *out = devices[index];
    return CLS_SUCCESS;
}

cls_status cls_device_count(size_t *count) {
    struct device *const *devices;
    size_t n;
    if (!count)
        return null_argument("cls_device_count", "count");
    cls_status status = device_list(&devices, &n);
    if (!status)
        *count = n;
    return status;
}

cls_status cls_device_get_info(size_t index, cls_device_info *info) {
    static const char call[] = "cls_device_get_info";
    struct device *device;
    cls_status status = SIZED_CHECK(cls_device_info, info);
    if (!status)
        status = at_index(call, index, &device);
    if (!status)
        SIZED_OUT(cls_device_info, info, &device->info);
    return status;
}

cls_status cls_device_has_extension(size_t index, const char *name, int *has) {
    static const char call[] = "cls_device_has_extension";
    struct device *device;
    if (!name || !has)
        return null_argument(call, name ? "has" : "name");
    if (!*name || strchr(name, ' '))
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: '%s' is no name", call, name);
    cls_status status = at_index(call, index, &device);
    if (!status)
        *has = device_list_has(device->extensions, name);
    return status;
}

/* An answer that came is of `*needed` bytes; a driver's code is put into words that name the number. */
static cls_status ask_by_number(const struct device *device, uint32_t name, size_t bytes,
                                void *value, size_t *needed) {
    driver_enter(device);
    const cl_int code = clGetDeviceInfo(device->id, name, bytes, value, needed);
    driver_leave(device);
    if (code == CL_SUCCESS)
        return CLS_SUCCESS;
    if (code == CL_INVALID_VALUE && !bytes)
        return error_set_code(CLS_ERROR_NOT_FOUND, code,
                              "%s: the driver does not know cl_device_info 0x%x", device->info.name,
                              (unsigned)name);
    if (code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES)
        return driver_status(code, "clGetDeviceInfo");
    return error_set_code(CLS_ERROR_UNSUPPORTED, code,
                          "%s: the driver refuses cl_device_info 0x%x: %s (%d)", device->info.name,
                          (unsigned)name, cl_code_name(code), code);
}

cls_status cls_device_query(size_t index, uint32_t name, size_t bytes, void *value,
                            size_t *needed) {
    static const char call[] = "cls_device_query";
    struct device *device;
    size_t size = 0;
    if ((bytes && !value) || (!bytes && !needed))
        return null_argument(call, bytes ? "value" : "needed");
    cls_status status = at_index(call, index, &device);
    if (!status)
        status = ask_by_number(device, name, 0, NULL, &size);
    if (!status && bytes && bytes < size)
        status = error_set(CLS_ERROR_INVALID_VALUE, "%s: the answer has %zu bytes, not %zu", call,
                           size, bytes);
    if (!status && bytes && size)
        status = ask_by_number(device, name, size, value, NULL);
    if (!status && needed)
        *needed = size;
    return status;
}

cls_status cls_device_get_cl(size_t index, cl_platform_id *platform, cl_device_id *id) {
    struct device *device;
    cls_status status = at_index("cls_device_get_cl", index, &device);
    if (!status && platform)
        *platform = device->platform;
    if (!status && id)
        *id = device->id;
    return status;
}

cls_status cls_device_find(const char *spec, size_t *index) {
    if (!index)
        return null_argument("cls_device_find", "index");
    struct device *device;
    cls_status status = device_find(spec, &device);
    if (!status)
        *index = device->index;
    return status;
}

cls_status cls_device_get_capability(size_t index, size_t i, cls_capability *out) {
    static const char call[] = "cls_device_get_capability";
    struct device *device;
    cls_status status = out ? at_index(call, index, &device) : null_argument(call, "out");
    if (status)
        return status;
    if (i >= caps_figures + UNITS_FIGURES)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "%s: no figure %zu; there are %zu", call, i,
                         caps_figures + UNITS_FIGURES);
    if (i >= caps_figures) {
        *out = units_figure(device_units(device), i - caps_figures);
        return CLS_SUCCESS;
    }
    const struct caps *caps;
    status = device_caps(device, &caps);
    if (!status)
        *out = caps_figure(caps, i);
    return status;
}

cls_status cls_device_get_priority_range(size_t index, int *least, int *greatest) {
    static const char call[] = "cls_device_get_priority_range";
    struct device *device;
    const struct caps *caps;
    cls_status status = least && greatest ? at_index(call, index, &device)
                                          : null_argument(call, least ? "greatest" : "least");
    if (!status)
        status = device_caps(device, &caps);
    if (status)
        return status;
    *least = caps->priorities ? CLS_PRIORITY_LOW : CLS_PRIORITY_NORMAL;
    *greatest = caps->priorities ? CLS_PRIORITY_HIGH : CLS_PRIORITY_NORMAL;
    return CLS_SUCCESS;
}

cls_status cls_device_get_quirk(size_t index, size_t i, cls_quirk *out) {
    static const char call[] = "cls_device_get_quirk";
    struct device *device;
    const struct caps *caps;
    cls_status status = out ? at_index(call, index, &device) : null_argument(call, "out");
    if (!status)
        status = device_caps(device, &caps);
    if (status)
        return status;
    size_t known = 0;
    for (; known <= i && quirk_at(device, known); known++)
        ;
    const cls_quirk *quirk =
        known > i ? &quirk_at(device, i)->text : trust_fault_at(device, caps, i - known);
    if (!quirk)
        return error_set(CLS_ERROR_OUT_OF_RANGE, "%s: no quirk %zu", call, i);
    *out = *quirk;
    return CLS_SUCCESS;
}
