/* SPDX-License-Identifier: MIT */
/* What a launch touches, for the race checker, which asks when it is submitted (stream/touch.h). */
#ifndef CLSTREAM_GRAPH_TOUCH_H
#define CLSTREAM_GRAPH_TOUCH_H

#include "graph/exec.h"

/* What the nodes touch. Where those of the launch's version have not been compared with each other, that is done too. While
 * launches are kept off. */
touch_fn graph_touch;

#endif
