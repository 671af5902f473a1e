/* SPDX-License-Identifier: MIT */
/* Kinds of arguments: shapes, formats and boxes of images. */
#include <limits.h>

#include "hostile.h"

static const cls_image_format rgba8 = {CLS_CHANNELS_RGBA, CLS_CHANNEL_U8};

static union value good_shape(const struct arg *arg, unsigned slot) {
    static const cls_image_shape
        image = {CLS_IMAGE_2D, {CLS_CHANNELS_RGBA, CLS_CHANNEL_U8}, CLS_ACCESS_UNKNOWN, 4, 4, 1},
        over = {
            CLS_IMAGE_1D_BUFFER, {CLS_CHANNELS_RGBA, CLS_CHANNEL_U8}, CLS_ACCESS_UNKNOWN, 4, 1, 1};
    (void)slot;
    return of_pointer(has_flag(arg, "over") ? &over : &image);
}

enum { SHAPES = 9 };

static void bad_shape(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static cls_image_shape shapes[2][SHAPES];
    const bool over = has_flag(arg, "over");
    cls_image_shape *bad = shapes[over];
    bad_pointer(arg, slot, list);
    for (unsigned i = 0; i < SHAPES; i++)
        bad[i] = *(const cls_image_shape *)good_shape(arg, slot).constant;
    bad[0].kind = (cls_image_kind)0;
    bad[1].kind = over ? CLS_IMAGE_1D : CLS_IMAGE_1D_BUFFER;
    bad[2].kind = (cls_image_kind)INT_MAX;
    bad[3].format.order = (cls_channel_order)0;
    bad[4].format.order = CLS_CHANNELS_RGB;
    bad[5].format.type = (cls_channel_type)INT_MIN;
    bad[6].access = (cls_access)4;
    bad[7].width = 0;
    bad[8].depth = 2;
    for (unsigned i = 0; i < SHAPES; i++)
        add_bad(list, "a shape that is none", CLS_ERROR_INVALID_VALUE, of_pointer(&bad[i]));
}

static union value good_kind(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return (union value){.number = CLS_IMAGE_2D};
}

static void bad_number(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const int numbers[] = {-1, 7, INT_MIN, INT_MAX};
    (void)arg;
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        add_bad(list, "no such constant", CLS_ERROR_INVALID_VALUE,
                (union value){.number = numbers[i]});
}

/* Of an image of one dimension. */
static void bad_pitch(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const size_t pitches[] = {1, 16, SIZE_MAX};
    (void)arg;
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(pitches); i++)
        add_bad(list, "a pitch of rows that there are not", CLS_ERROR_INVALID_VALUE,
                (union value){.size = pitches[i]});
}

static union value good_format(const struct arg *arg, unsigned slot) {
    (void)arg;
    (void)slot;
    return (union value){.image_format = rgba8};
}

static void bad_image_format(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const cls_image_format formats[] = {
        {(cls_channel_order)0, CLS_CHANNEL_U8},     {(cls_channel_order)-1, CLS_CHANNEL_U8},
        {CLS_CHANNELS_RGBA, (cls_channel_type)0},   {CLS_CHANNELS_RGBA, (cls_channel_type)16},
        {CLS_CHANNELS_RGB, CLS_CHANNEL_U8},         {CLS_CHANNELS_BGRA, CLS_CHANNEL_F32},
        {CLS_CHANNELS_RGBA, CLS_CHANNEL_UNORM_565},
    };
    (void)arg;
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        add_bad(list, "no format", CLS_ERROR_INVALID_VALUE,
                (union value){.image_format = formats[i]});
}

/* From one half of the image to the other where both sides are it. */
static union value good_box(const struct arg *arg, unsigned slot) {
    static const cls_image_box box = {{2, 1, 1}, {0, 0, 0}, {2, 0, 0}, 0, 0, 0};
    (void)arg;
    (void)slot;
    return of_pointer(&box);
}

static void bad_box(const struct arg *arg, unsigned slot, struct bad_list *list) {
    static const cls_image_box past[] = {
        {{5, 1, 1}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0},
        {{1, 5, 1}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0},
        {{1, 1, 2}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0},
        {{2, 1, 1}, {3, 0, 0}, {3, 0, 0}, 0, 0, 0},
        {{2, 1, 1}, {SIZE_MAX, 0, 0}, {SIZE_MAX, 0, 0}, 0, 0, 0},
        {{SIZE_MAX, 1, 1}, {1, 0, 0}, {1, 0, 0}, 0, 0, 0},
        {{SIZE_MAX, SIZE_MAX, SIZE_MAX}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0},
    };
    static const cls_image_box rows[] = {
        {{2, 2, 1}, {0, 0, 0}, {0, 0, 0}, 0, 4, 0},
        {{2, 2, 1}, {0, 0, 0}, {0, 0, 0}, 0, 9, 0},
        {{2, 2, 1}, {0, 0, 0}, {0, 0, 0}, 0, 0, 12},
        {{2, 2, 1}, {0, 0, 0}, {0, 0, 0}, 0, 8, SIZE_MAX},
    };
    static const cls_image_box far = {{2, 1, 1}, {0, 0, 0}, {0, 0, 0}, SIZE_MAX, 0, 0};
    (void)slot;
    for (size_t i = 0; i < COUNT_OF(past); i++)
        add_bad(list, "a box past the end", CLS_ERROR_OUT_OF_RANGE, of_pointer(&past[i]));
    for (size_t i = 0; i < COUNT_OF(rows) && has_flag(arg, "rows"); i++)
        add_bad(list, "rows that are none", CLS_ERROR_INVALID_VALUE, of_pointer(&rows[i]));
    if (has_flag(arg, "rows"))
        add_bad(list, "an offset past the end", CLS_ERROR_OUT_OF_RANGE, of_pointer(&far));
}

const struct kind image_kinds[] = {
    {"box", good_box, bad_box, NULL},
    {"image_access", good_zero, bad_number, NULL},
    {"image_format", good_format, bad_image_format, NULL},
    {"image_kind", good_kind, bad_number, NULL},
    {"image_pitch", good_zero, bad_pitch, NULL},
    {"shape", good_shape, bad_shape, NULL},
    {NULL, NULL, NULL, NULL},
};
