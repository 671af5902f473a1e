/* SPDX-License-Identifier: MIT */
#include "alike.h"

#include <stdio.h>
#include <string.h>

enum { MOST_ALIKE = 16 };

static struct ring {
    unsigned n;
    size_t devices[MOST_ALIKE]; /* indices, the rig's first */
} ring;

static void find_ring(void) {
    cls_device_info rigs = CLS_DEVICE_INFO_INIT, other = CLS_DEVICE_INFO_INIT;
    OK(cls_context_get_device(rig.context, &ring.devices[0]));
    OK(cls_device_get_info(ring.devices[0], &rigs));
    ring.n = 1;
    for (size_t i = 0; ring.n < MOST_ALIKE && cls_device_get_info(i, &other) == CLS_SUCCESS; i++)
        if (i != ring.devices[0] && !strcmp(other.platform, rigs.platform) &&
            !strcmp(other.name, rigs.name))
            ring.devices[ring.n++] = i;
}

unsigned alike_count(void) {
    if (!ring.n)
        find_ring();
    return ring.n;
}

cls_context alike_context(unsigned place) {
    cls_context_config config = CLS_CONTEXT_CONFIG_INIT;
    cls_context context = NULL;
    char index[24];
    const unsigned n = alike_count();
    snprintf(index, sizeof index, "%zu", ring.devices[place % n]);
    config.device = index;
    OK(cls_context_create(&config, &context));
    return context;
}

/* Ordered: none, the same pages, a link. */
static void take_weaker(cls_share_info *info, cls_context owner, cls_context other) {
    cls_share_info found = CLS_SHARE_INFO_INIT;
    OK(cls_context_can_share(owner, other, &found));
    if (!info->size || found.kind < info->kind)
        *info = found;
}

static bool share_memory(cls_share_info *info) {
    cls_context contexts[MOST_ALIKE];
    const unsigned n = alike_count();
    *info = (cls_share_info){.size = 0};
    for (unsigned i = 0; i < n; i++)
        contexts[i] = alike_context(i);
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < n; k++)
            take_weaker(info, contexts[i], contexts[k]);
    for (unsigned i = 0; i < n; i++)
        OK(cls_context_destroy(contexts[i]));
    return info->kind != CLS_SHARE_NONE;
}

struct alike_memory alike_memory;

int alike_setup(void **state) {
    if (rig_setup(state))
        return -1;
    alike_memory.is_shared = share_memory(&alike_memory.found);
    return 0;
}

void run_shared_test(void **state) {
    const struct shared_test *test = *state;
    SKIP_UNLESS_SHARED();
    test->run(state);
}
