/* SPDX-License-Identifier: MIT */
/* Conversion of a capability record to and from a row of numbers, its form on disk. The table in caps_table.c gives
 * their order, and the name, unit and meaning that `clstream info` prints. */
#ifndef CLSTREAM_DRIVER_CAPS_TABLE_H
#define CLSTREAM_DRIVER_CAPS_TABLE_H

#include "driver/caps.h"

/* The verdicts of the trials are further figures, but not among these numbers. */
enum { CAPS_FIGURES = 38 };

void caps_to_numbers(const struct caps *caps, double numbers[CAPS_FIGURES]);
void caps_from_numbers(const double numbers[CAPS_FIGURES], struct caps *caps);

#endif
