/* SPDX-License-Identifier: MIT */
/* What a launch touches, for the race checker, which asks when it is submitted (stream/touch.h). */
#ifndef CLSTREAM_GRAPH_TOUCH_H
#define CLSTREAM_GRAPH_TOUCH_H

#include "graph/exec.h"

/* What the nodes touch, with all changes that the launch comes after. Where the nodes have not been compared with each
 * other since the last change, that is done too. While launches are kept off. */
touch_fn graph_touch;

#endif
