/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <jansson.h>
#include <stdio.h>

#include <clstream/blas.h>
#include <clstream/device.h>

#include "failure.h"
#include "json_text.h"
#include "sharing.h"

bool json_is_built(void) { return true; }

static json_t *facts(size_t index, const cls_device_info *info) {
    static const char *const types[] = {"other", "cpu", "gpu", "accelerator"};
    return json_pack(
        "{s:I, s:o, s:s, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:o, s:o, s:I, "
        "s:I, s:I, s:I}",
        "index", (json_int_t)index, "name", json_text(info->name), "type", types[info->type],
        "vendor", json_text(info->vendor), "platform", json_text(info->platform), "version",
        json_text(info->version), "driver_version", json_text(info->driver_version),
        "global_memory", (json_int_t)info->global_memory, "max_allocation",
        (json_int_t)info->max_allocation, "local_memory", (json_int_t)info->local_memory,
        "compute_units", (json_int_t)info->compute_units, "max_work_group",
        (json_int_t)info->max_work_group, "base_align", (json_int_t)info->base_align, "has_fp64",
        info->has_fp64, "unified_memory", info->unified_memory, "has_images", info->has_images,
        "extensions", json_text(info->extensions), "c_version", json_text(info->c_version),
        "opencl_version", (json_int_t)info->opencl_version, "address_bits",
        (json_int_t)info->address_bits, "clock_mhz", (json_int_t)info->clock_mhz, "cache_bytes",
        (json_int_t)info->cache_bytes);
}

static cls_status add_capabilities(json_t *device, size_t index) {
    json_t *list = json_array();
    cls_capability figure;
    cls_status status;
    for (size_t i = 0; (status = cls_device_get_capability(index, i, &figure)) == CLS_SUCCESS; i++)
        json_array_append_new(list, json_pack("{s:s, s:f, s:s, s:s}", "name", figure.name, "value",
                                              figure.value, "unit", figure.unit, "meaning",
                                              figure.meaning));
    json_object_set_new(device, "capabilities", list);
    return status == CLS_ERROR_OUT_OF_RANGE ? CLS_SUCCESS : status;
}

static cls_status add_quirks(json_t *device, size_t index) {
    json_t *list = json_array();
    cls_quirk quirk;
    cls_status status;
    for (size_t i = 0; (status = cls_device_get_quirk(index, i, &quirk)) == CLS_SUCCESS; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s}", "name", quirk.name, "reason", quirk.reason));
    json_object_set_new(device, "quirks", list);
    return status == CLS_ERROR_OUT_OF_RANGE ? CLS_SUCCESS : status;
}

static void add_products(json_t *device, size_t index) {
    static const cls_dtype dtypes[] = {CLS_F32, CLS_F64};
    cls_blas_tuning tuning = CLS_BLAS_TUNING_INIT;
    json_t *list = json_array();
    for (int i = 0; i < 2; i++)
        if (cls_blas_get_tuning(index, dtypes[i], &tuning) == CLS_SUCCESS)
            json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:I, s:s}", "dtype",
                                                  cls_dtype_name(dtypes[i]), "parameters",
                                                  tuning.parameters, "gain", tuning.gain, "made",
                                                  (json_int_t)tuning.made, "refused",
                                                  tuning.refused ? tuning.refused : ""));
    json_object_set_new(device, "products_by_clblast", list);
}

/* A pair that cannot be tried is of kind "unknown". */
static void add_sharing(json_t *device, size_t index, size_t count) {
    json_t *list = json_array();
    for (size_t other = 0; other < count; other++) {
        cls_share_info info = CLS_SHARE_INFO_INIT;
        const bool known = sharing_find(index, other, &info) == CLS_SUCCESS;
        json_array_append_new(
            list, json_pack("{s:I, s:s, s:f, s:f, s:o}", "device", (json_int_t)other, "kind",
                            known ? sharing_name(info.kind) : "unknown", "gb_per_s", info.gb_per_s,
                            "latency_ns", info.latency_ns, "reason",
                            json_text(known ? info.reason : cls_last_error_detail())));
    }
    json_object_set_new(device, "memory_used_by", list);
}

static bool add_device(json_t *devices, size_t index, size_t count) {
    cls_device_info info = {.size = sizeof info};
    struct failure failure = {.set = false};
    cls_status status = cls_device_get_info(index, &info);
    json_t *device = status == CLS_SUCCESS ? facts(index, &info) : NULL;

    if (status == CLS_SUCCESS)
        status = add_capabilities(device, index);
    if (status == CLS_SUCCESS)
        status = add_quirks(device, index);
    if (status == CLS_SUCCESS) {
        add_products(device, index);
        add_sharing(device, index, count);
    }
    if (status != CLS_SUCCESS) {
        json_decref(device);
        fail_status(&failure, status, "cannot describe a device");
        failure_print(&failure, TOOL_FAILED);
        return false;
    }
    return json_array_append_new(devices, device) == 0;
}

bool json_print_info(void) {
    json_t *devices = json_array();
    size_t count = 0, chosen;
    bool good = cls_device_count(&count) == CLS_SUCCESS;
    for (size_t i = 0; i < count; i++)
        good = add_device(devices, i, count) && good;
    json_t *top = json_pack("{s:o}", "devices", devices);
    if (top && cls_device_find(NULL, &chosen) == CLS_SUCCESS)
        json_object_set_new(top, "default_device", json_integer((json_int_t)chosen));
    return json_print(top) && good;
}
