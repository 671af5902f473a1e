/* SPDX-License-Identifier: MIT */
#include "sharing.h"

#include <stdio.h>

#include <clstream/context.h>

static cls_status open_context(size_t device, cls_context *out) {
    char number[24];
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    snprintf(number, sizeof number, "%zu", device);
    config.device = number;
    return cls_context_create(&config, out);
}

cls_status sharing_find(size_t owner, size_t other, cls_share_info *info) {
    cls_context contexts[2];
    cls_status status = open_context(owner, &contexts[0]);
    if (status != CLS_SUCCESS)
        return status;
    status = open_context(other, &contexts[1]);
    if (status == CLS_SUCCESS) {
        status = cls_context_can_share(contexts[0], contexts[1], info);
        cls_context_destroy(contexts[1]);
    }
    cls_context_destroy(contexts[0]);
    return status;
}

const char *sharing_name(cls_share_kind kind) {
    return kind == CLS_SHARE_HOST_MEMORY   ? "host_memory"
           : kind == CLS_SHARE_DIRECT_LINK ? "direct_link"
                                           : "none";
}
