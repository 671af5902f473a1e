/* SPDX-License-Identifier: MIT */
/* A device that is taken to be of another kind. */
#ifndef CLSTREAM_TESTS_MADE_UP_CAPS_H
#define CLSTREAM_TESTS_MADE_UP_CAPS_H

#include <clstream/context.h>

struct caps;

/* From here on the context's capabilities are its device's as `change` leaves them; one change a program. */
void make_up_caps(cls_context context, void (*change)(struct caps *caps));

#endif
