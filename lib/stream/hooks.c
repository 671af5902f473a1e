/* SPDX-License-Identifier: MIT */
#include "stream/hooks.h"

ASKED _Atomic bool race_is_on;
