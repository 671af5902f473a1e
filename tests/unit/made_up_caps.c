/* SPDX-License-Identifier: MIT */
#include "made_up_caps.h"

#include "../support/test.h"

#include <stdbool.h>

#include "stream/context.h"

/* The engine may look at them for as long as it likes. */
static struct caps made_up;
static bool made;

void make_up_caps(cls_context context, void (*change)(struct caps *caps)) {
    struct context *inside;
    assert_int_equal(context_get(context, &inside), CLS_SUCCESS);
    if (!made) {
        made_up = *inside->caps;
        change(&made_up);
        made = true;
    }
    inside->caps = &made_up;
    context_put(inside);
}
