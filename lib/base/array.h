/* SPDX-License-Identifier: MIT */
/* Arrays that grow. */
#ifndef CLSTREAM_BASE_ARRAY_H
#define CLSTREAM_BASE_ARRAY_H

#include <stdbool.h>
#include <stdlib.h>

/*
 * Makes room for one more item in `items`, which has `count` of them and places for `room`: true where there is. A full
 * array doubles, from `first` places on. Without memory it stays as it is.
 */
#define ARRAY_ROOM(items, count, room, first)                              \
    __extension__({                                                        \
        bool has_room_ = (count) < (room);                                 \
        if (!has_room_) {                                                  \
            const __typeof__(room) doubled_ = (room) ? 2 * (room) : first; \
            void *grown_ = realloc(items, doubled_ * sizeof *(items));     \
            has_room_ = grown_ != NULL;                                    \
            if (has_room_) {                                               \
                (items) = grown_;                                          \
                (room) = doubled_;                                         \
            }                                                              \
        }                                                                  \
        has_room_;                                                         \
    })

#endif
