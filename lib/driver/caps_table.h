/* SPDX-License-Identifier: MIT */
/* A record as a row of numbers, in the order of the table of figures: the form it has on disk. */
#ifndef CLSTREAM_DRIVER_CAPS_TABLE_H
#define CLSTREAM_DRIVER_CAPS_TABLE_H

#include "driver/caps.h"

enum { CAPS_FIGURES = 29 };

void caps_to_numbers(const struct caps *caps, double numbers[CAPS_FIGURES]);
void caps_from_numbers(const double numbers[CAPS_FIGURES], struct caps *caps);

#endif
