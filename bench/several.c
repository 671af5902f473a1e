/* SPDX-License-Identifier: MIT */
/* Finds devices like the default one, or makes parts of it. */
#include "several.h"

#include <stdio.h>
#include <string.h>

#include "harness.h"

static bool is_alike(const cls_device_info *a, const cls_device_info *b) {
    return a->type == b->type && strcmp(a->platform, b->platform) == 0 &&
           strcmp(a->name, b->name) == 0;
}

static void take_alike(struct several *several, const struct rig *rig) {
    cls_device_info info = CLS_DEVICE_INFO_INIT;
    for (size_t i = 0; several->n < MOST_DEVICES && !cls_device_get_info(i, &info); i++) {
        cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
        char index[24];
        if (!is_alike(&info, &rig->info))
            continue;
        snprintf(index, sizeof index, "%zu", i);
        config.device = index;
        CLS(cls_context_create(&config, &several->contexts[several->n++]));
    }
}

static bool take_parts(struct several *several, const struct rig *rig) {
    const cl_device_partition_property one_each[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    cl_device_id parts[256];
    cl_uint n = 0, most = 0;
    cl_int code;
    if (clGetDeviceInfo(rig->device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most,
                        NULL) ||
        most < 2 || clCreateSubDevices(rig->device, one_each, 256, parts, &n) || n < 2)
        return false;
    for (several->n = 0; several->n < n && several->n < MOST_DEVICES; several->n++) {
        cl_context cl = clCreateContext(NULL, 1, &parts[several->n], NULL, NULL, &code);
        check_cl(code, "clCreateContext");
        CLS(cls_context_wrap(cl, parts[several->n], &several->contexts[several->n]));
    }
    return true;
}

void several_open(struct several *several, const struct rig *rig) {
    *several = (struct several){.apart = true, .what = "devices"};
    take_alike(several, rig);
    if (several->n < 2) {
        several->apart = false;
        several->what = "parts of one device";
        CLS(cls_context_destroy(several->contexts[0]));
        if (!take_parts(several, rig)) {
            several->what = "contexts of one device";
            for (several->n = 0; several->n < 2; several->n++)
                CLS(cls_context_create(NULL, &several->contexts[several->n]));
        }
    }
    for (unsigned d = 0; d < several->n; d++)
        CLS(cls_context_get_cl(several->contexts[d], &several->cl[d], &several->ids[d]));
}

void several_close(struct several *several) {
    for (unsigned d = 0; d < several->n; d++)
        CLS(cls_context_destroy(several->contexts[d]));
}

cls_buffer several_buffer(cls_context context, size_t bytes, bool shareable) {
    const float zero = 0;
    cls_buffer buffer;
    if (shareable)
        CLS(cls_buffer_create_shareable(context, bytes, &buffer));
    else
        CLS(cls_buffer_create(context, bytes, &buffer));
    CLS(cls_fill(buffer, 0, bytes, &zero, sizeof zero, NULL));
    return buffer;
}
