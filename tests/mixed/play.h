/* SPDX-License-Identifier: MIT */
#ifndef CLSTREAM_TESTS_PLAY_H
#define CLSTREAM_TESTS_PLAY_H

#include "world.h"

/* Does as many random operations as the world says, or until something is wrong anywhere. */
void play(struct player *player);

#endif
