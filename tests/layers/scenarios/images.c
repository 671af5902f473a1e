/* SPDX-License-Identifier: MIT */
/* The scenario of images: copies of each kind, a fill, and a launch that reads one through a sampler and writes another. */
#include <string.h>

#include "world.h"

enum { SIDE = 8 };

static const char source[] =
    "kernel void next(read_only image2d_t from, sampler_t s, write_only image2d_t to) {\n"
    "    const int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imageui(to, at, read_imageui(from, s, at) + 1u);\n"
    "}\n";

struct pictures {
    cls_image from, to, line, rows;
    cls_program program;
    cls_kernel kernel;
};

/* Over a buffer, where the device has that with such a pitch. */
static bool make_rows(struct run *run, const struct world *world, struct pictures *p) {
    const cls_image_shape shape = {
        CLS_IMAGE_2D, {CLS_CHANNELS_R, CLS_CHANNEL_U32}, CLS_ACCESS_UNKNOWN, SIDE, 1, 1};
    const cls_status status = cls_image_over_pitched(world->b, &shape, BYTES, &p->rows);
    return status == CLS_ERROR_UNSUPPORTED || status == CLS_ERROR_INVALID_VALUE || ok(run, status);
}

static bool make(struct run *run, const struct world *world, struct pictures *p) {
    const cls_image_shape square = {
        CLS_IMAGE_2D, {CLS_CHANNELS_R, CLS_CHANNEL_U32}, CLS_ACCESS_UNKNOWN, SIDE, SIDE, 1};
    const cls_image_shape line = {
        CLS_IMAGE_1D_BUFFER, square.format, CLS_ACCESS_UNKNOWN, WORDS, 1, 1};
    int has = 0, has_line = 0;
    if (!ok(run, cls_image_format_supported(world->context, CLS_IMAGE_2D, CLS_ACCESS_READ_WRITE,
                                            square.format, &has)) ||
        !ok(run, cls_image_format_supported(world->context, line.kind, CLS_ACCESS_READ_WRITE,
                                            line.format, &has_line)))
        return false;
    if (!has)
        run->nothing = "the device has no images";
    return has && ok(run, cls_image_create(world->context, &square, &p->from)) &&
           ok(run, cls_image_create(world->context, &square, &p->to)) &&
           (!has_line || ok(run, cls_image_over(world->b, &line, &p->line))) &&
           make_rows(run, world, p) &&
           ok(run, cls_program_from_source(world->context, source, NULL, NULL, &p->program)) &&
           ok(run, cls_kernel_create(p->program, "next", &p->kernel));
}

static void end(struct run *run, const struct pictures *p) {
    if (p->kernel)
        ok(run, cls_kernel_destroy(p->kernel));
    if (p->program)
        ok(run, cls_program_destroy(p->program));
    if (p->rows)
        ok(run, cls_image_destroy(p->rows));
    if (p->line)
        ok(run, cls_image_destroy(p->line));
    if (p->to)
        ok(run, cls_image_destroy(p->to));
    if (p->from)
        ok(run, cls_image_destroy(p->from));
}

static bool use(struct run *run, const struct world *world, const struct pictures *p) {
    static const cls_image_box corner = {{1, 1, 1}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0};
    static const uint32_t color[4] = {41, 0, 0, 0};
    const cls_launch items = cls_launch_2d(SIDE, SIDE);
    const cls_arg args[] = {cls_arg_image(p->from),
                            cls_arg_sampler(0, CLS_ADDRESS_CLAMP_TO_EDGE, CLS_FILTER_NEAREST),
                            cls_arg_image(p->to)};
    cls_stream stream = world->streams[0];
    return ok(run, cls_image_from_host_async(p->from, world->area->in, NULL, stream)) &&
           ok(run, cls_image_fill_async(p->from, color, &corner, stream)) &&
           ok(run, cls_kernel_launch_async(p->kernel, &items, args, 3, stream)) &&
           ok(run, cls_image_to_buffer_async(world->a, p->to, NULL, stream)) &&
           ok(run, cls_image_from_buffer_async(p->from, world->a, NULL, stream)) &&
           ok(run, cls_image_copy_async(p->to, p->from, NULL, stream)) &&
           ok(run, cls_image_to_host_async(world->area->out, p->to, NULL, stream)) &&
           synchronize(run, stream);
}

void images(struct run *run) {
    struct world world;
    struct pictures p;
    memset(&p, 0, sizeof p);
    if (world_open(run, &world, 1) && make(run, &world, &p) && use(run, &world, &p))
        expect(run,
               world.area->out[0] == 42 && world.area->out[9] == world.area->in[9] + 1 &&
                   world.area->out[WORDS - 1] == world.area->in[WORDS - 1] + 1,
               "the texels");
    end(run, &p);
    world_close(run, &world);
}
