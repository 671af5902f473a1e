/* SPDX-License-Identifier: MIT */
/*
 * Whether a driver's images are right, by values: rows with a gap are written to an image, a kernel reads it through a
 * sampler, beyond its edges too, and writes another image, which is read back with a gap. PoCL 3.1 takes images of one
 * half a texel for something else, so that those are tried by themselves, and NVIDIA's driver refuses copies between
 * buffers and any layer of a 1D array but the first. A 2D image over a buffer, whose rows are written to the buffer, is
 * tried by itself too, when one is made for the first time.
 */
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "driver/driver_image.h"
#include "driver/kernel.h"
#include "driver/memory.h"
#include "driver/program.h"
#include "driver/serial.h"
#include "driver/status.h"

enum { WIDTH = 5, HEIGHT = 3, MARGIN = 1, OUT_WIDTH = WIDTH + 2, OUT_HEIGHT = HEIGHT + 2, GAP = 3 };

static const char source[] =
    "kernel void try_images(read_only image2d_t from, sampler_t nearest, write_only image2d_t to) {\n"
    "    const int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imageui(to, at, read_imageui(from, nearest, at - 1) + 1u);\n"
    "}\n"
    "kernel void try_halves(read_only image2d_t from, sampler_t nearest, write_only image2d_t to) {\n"
    "    const int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    const float4 read = read_imagef(from, nearest, at - 1);\n"
    "    write_imageui(to, at, (uint4)(convert_uint_sat(read.x * 64.0f), 0, 0, 0));\n"
    "}\n";

enum { LAYERS = 3, LAYERS_BYTES = WIDTH * LAYERS * 4 };
enum { HALF = 0x3800, HALF_READ = 32 }; /* 0.5, and 64 times that */

static const cls_image_format whole_texels = {CLS_CHANNELS_RGBA, CLS_CHANNEL_U8},
                              halves = {CLS_CHANNELS_R, CLS_CHANNEL_F16};

struct images {
    bool of_halves;
    const struct device *device;
    cl_command_queue queue;
    cl_mem from, to;
    cl_mem over;  /* whose memory `from` is; NULL: it has its own */
    size_t pitch; /* of the rows in `over`, or 0 */
    cl_sampler nearest;
    cl_kernel kernel;
    cl_program program;
};

static cls_status make_images(struct images *images, struct device *device, cl_context context) {
    const struct queue_traits traits = {.out_of_order = false};
    const struct program_spec spec = {"images", source, NULL};
    const cls_image_format format = images->of_halves ? halves : whole_texels;
    const char *name = images->of_halves ? "try_halves" : "try_images";
    const cls_image_shape from = {CLS_IMAGE_2D, format, CLS_ACCESS_READ, WIDTH, HEIGHT, 1};
    const cls_image_shape to = {CLS_IMAGE_2D, whole_texels, CLS_ACCESS_WRITE,
                                OUT_WIDTH,    OUT_HEIGHT,   1};
    cls_status status = program_build(device, context, &spec, &images->program);
    if (!status)
        status = program_create_kernel(images->program, name, &images->kernel);
    if (!status)
        status = sampler_create(device, context,
                                sampler_number(0, CLS_ADDRESS_CLAMP_TO_EDGE, CLS_FILTER_NEAREST),
                                &images->nearest);
    if (!status && images->pitch)
        status = memory_create(device, context, images->pitch * HEIGHT, &images->over);
    if (!status)
        status = image_create(device, context, &from, images->over, images->pitch, &images->from);
    if (!status)
        status = image_create(device, context, &to, NULL, 0, &images->to);
    return status ? status : queue_create(device, context, &traits, &images->queue);
}

static void release_images(const struct images *images, bool hurt) {
    if (images->queue)
        queue_release(images->device, images->queue, hurt);
    if (images->to)
        memory_release(images->device, images->to);
    if (images->from)
        memory_release(images->device, images->from);
    if (images->over)
        memory_release(images->device, images->over);
    if (images->nearest)
        sampler_release(images->device, images->nearest);
    if (images->kernel)
        kernel_release(images->device, images->kernel);
    if (images->program)
        program_release(images->program);
}

static unsigned char value_at(int x, int y, int channel) {
    return (unsigned char)(16 * y + 64 * channel + 3 * x);
}

static cls_status set_image_args(const struct images *images) {
    const struct device *device = images->device;
    cls_status status = kernel_set_arg(device, images->kernel, 0, sizeof(cl_mem), &images->from);
    if (!status)
        status = kernel_set_arg(device, images->kernel, 1, sizeof(cl_sampler), &images->nearest);
    return status ? status : kernel_set_arg(device, images->kernel, 2, sizeof(cl_mem), &images->to);
}

static cls_status write_image(const struct images *images, const unsigned char *in) {
    const struct image_box written = {.size = {WIDTH, HEIGHT, 1},
                                      .rows = ROW_MANY,
                                      .pitch = (WIDTH + GAP) * (size_t)(images->of_halves ? 2 : 4)};
    const struct wait_list none = {0, NULL};
    return enqueue_image_write(images->device, images->queue, images->from, &written, in, none,
                               NULL);
}

static cls_status write_buffer(const struct images *images, const unsigned char *in) {
    const struct wait_list none = {0, NULL};
    cls_status status = CLS_SUCCESS;
    for (size_t y = 0; y < HEIGHT && !status; y++) {
        const struct range_1d row = {y * images->pitch, WIDTH * 4};
        status = enqueue_write(images->device, images->queue, images->over, row,
                               in + y * (WIDTH + GAP) * 4, none, NULL);
    }
    return status;
}

static cls_status use(const struct images *images, const unsigned char *in, unsigned char *out) {
    static const size_t items[2] = {OUT_WIDTH, OUT_HEIGHT};
    const struct image_box read = {.size = {OUT_WIDTH, OUT_HEIGHT, 1},
                                   .rows = ROW_MANY,
                                   .pitch = (OUT_WIDTH + GAP) * (size_t)4};
    const struct grid grid = {2, items, NULL, NULL};
    const struct wait_list none = {0, NULL};
    cls_status status = set_image_args(images);
    if (!status)
        status = (images->over ? write_buffer : write_image)(images, in);
    if (!status)
        status = enqueue_kernel(images->device, images->queue, images->kernel, &grid, none, NULL);
    if (!status)
        status =
            enqueue_image_read(images->device, images->queue, images->to, &read, out, none, NULL);
    return status;
}

static int clamp_texel(int i, int most) { return i < 0 ? 0 : i > most ? most : i; }

static unsigned char wanted_at(int x, int y, int c, bool of_halves) {
    if (x >= OUT_WIDTH)
        return 0; /* the gap */
    if (of_halves)
        return c ? 0 : HALF_READ;
    const int from_x = clamp_texel(x - MARGIN, WIDTH - 1),
              from_y = clamp_texel(y - MARGIN, HEIGHT - 1);
    return (unsigned char)(value_at(from_x, from_y, c) + 1);
}

static bool texels_are_right(const unsigned char *out, bool of_halves) {
    bool right = true;
    for (int y = 0; y < OUT_HEIGHT; y++)
        for (int x = 0; x < OUT_WIDTH + GAP; x++)
            for (int c = 0; c < 4; c++)
                right = right &&
                        out[(y * (OUT_WIDTH + GAP) + x) * 4 + c] == wanted_at(x, y, c, of_halves);
    return right;
}

/* The contents of images of whole texels and of halves. Made once: after a failed trial the driver may still read them. */
static unsigned char contents[2][HEIGHT * (WIDTH + GAP) * 4];

static void make_contents(void) {
    const uint16_t half = HALF;
    for (size_t i = 0; i < sizeof contents[false]; i++)
        contents[false][i] =
            value_at((int)(i / 4 % (WIDTH + GAP)), (int)(i / 4 / (WIDTH + GAP)), (int)(i % 4));
    for (size_t i = 0; i < sizeof contents[true]; i += sizeof half)
        memcpy(contents[true] + i, &half, sizeof half);
}

static cls_status finish_images(const struct images *images, cls_status status) {
    driver_enter(images->device);
    const cl_int code = clFinish(images->queue);
    driver_leave(images->device);
    return status ? status : driver_status(code, "clFinish");
}

/* The output is static for the same reason. */
static cls_status run_image_trial(const struct images *images, bool *right) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static unsigned char out[OUT_HEIGHT * (OUT_WIDTH + GAP) * 4];
    memset(out, 0, sizeof out);
    pthread_once(&once, make_contents);
    cls_status status = finish_images(images, use(images, contents[images->of_halves], out));
    if (!status)
        *right = texels_are_right(out, images->of_halves);
    return status;
}

static cls_status try_one(struct device *device, cl_context context, bool of_halves, bool *right) {
    struct images images = {.of_halves = of_halves, .device = device};
    cls_status status = make_images(&images, device, context);
    if (!status)
        status = run_image_trial(&images, right);
    release_images(&images, status != CLS_SUCCESS);
    return status;
}

/* --- layers: from the beginning of a buffer to a 1D array, and on to the buffer's second half --- */

static cls_status make_layers(struct images *images, struct device *device, cl_context context) {
    const struct queue_traits traits = {.out_of_order = false};
    const cls_image_shape shape = {
        CLS_IMAGE_1D_ARRAY, whole_texels, CLS_ACCESS_READ_WRITE, WIDTH, LAYERS, 1};
    cls_status status = memory_create(device, context, 2 * LAYERS_BYTES, &images->from);
    if (!status)
        status = image_create(device, context, &shape, NULL, 0, &images->to);
    return status ? status : queue_create(device, context, &traits, &images->queue);
}

/* What the driver refuses is an answer too. */
static cls_status use_layers(const struct images *images, const unsigned char *in,
                             unsigned char *out, bool *refused) {
    const struct range_1d first = {0, LAYERS_BYTES}, second = {LAYERS_BYTES, LAYERS_BYTES};
    const struct image_box there = {.size = {WIDTH, LAYERS, 1}},
                           back = {.size = {WIDTH, LAYERS, 1}, .offset = LAYERS_BYTES};
    const struct wait_list none = {0, NULL};
    cls_status status =
        enqueue_write(images->device, images->queue, images->from, first, in, none, NULL);
    if (status)
        return status;
    status = enqueue_buffer_to_image(images->device, images->queue, images->to, images->from,
                                     &there, none, NULL);
    if (!status)
        status = enqueue_image_to_buffer(images->device, images->queue, images->from, images->to,
                                         &back, none, NULL);
    *refused = status == CLS_ERROR_INVALID_VALUE;
    if (status)
        return *refused ? CLS_SUCCESS : status;
    return enqueue_read(images->device, images->queue, images->from, second, out, none, NULL);
}

static cls_status try_layers(struct device *device, cl_context context, bool *right) {
    static unsigned char in[LAYERS_BYTES], out[LAYERS_BYTES];
    struct images images = {.device = device};
    bool refused = false;
    for (int i = 0; i < LAYERS_BYTES; i++)
        in[i] = value_at(i / 4, 0, i % 4);
    memset(out, 0, sizeof out);
    cls_status status = make_layers(&images, device, context);
    if (!status)
        status = finish_images(&images, use_layers(&images, in, out, &refused));
    if (!status)
        *right = !refused && !memcmp(in, out, sizeof in);
    release_images(&images, status != CLS_SUCCESS);
    return status;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one trial at a time */

cls_status image_try(struct device *device, cl_context context, struct image_verdict *out) {
    struct image_verdict found = {false, false, false};
    bool has = false;
    pthread_mutex_lock(&lock);
    cls_status status = try_one(device, context, false, &found.texels);
    if (!status)
        status = image_has_format(device, context, CLS_IMAGE_2D, CLS_ACCESS_READ, halves, &has);
    if (!status && has)
        status = try_one(device, context, true, &found.halves);
    if (!status)
        status = image_has_format(device, context, CLS_IMAGE_1D_ARRAY, CLS_ACCESS_READ_WRITE,
                                  whole_texels, &has);
    if (!status && has)
        status = try_layers(device, context, &found.layers);
    pthread_mutex_unlock(&lock);
    if (!status)
        *out = found;
    return status;
}

/* What the driver refuses is an answer too. */
static cls_status try_over(struct device *device, cl_context context, size_t pitch, bool *right) {
    struct images images = {.device = device, .pitch = pitch};
    cls_status status = make_images(&images, device, context);
    const bool refused = status == CLS_ERROR_INVALID_VALUE || status == CLS_ERROR_UNSUPPORTED;
    *right = false;
    if (!status)
        status = run_image_trial(&images, right);
    release_images(&images, status != CLS_SUCCESS);
    return refused ? CLS_SUCCESS : status;
}

/* With rows that are shorter than the pitch. */
cls_status image_try_over(struct device *device, cl_context context, bool *right) {
    size_t texels = 0;
    cls_status status = image_pitch_alignment(device, &texels);
    if (status)
        return status;
    *right = false;
    if (!texels)
        return CLS_SUCCESS;
    pthread_mutex_lock(&lock);
    status = try_over(device, context, (WIDTH / texels + 1) * texels * 4, right);
    pthread_mutex_unlock(&lock);
    return status;
}
