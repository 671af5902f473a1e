/* SPDX-License-Identifier: MIT */
/* Images and samplers: every kind and format against a reference on the host, copies with pitches, launches, graphs, and
 * mistakes of callers. */
#include "../support/rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <clstream/image.h>

enum { MOST = 4096 };

static const cls_image_format u32_texels = {CLS_CHANNELS_R, CLS_CHANNEL_U32};
static const cls_image_format rgba8 = {CLS_CHANNELS_RGBA, CLS_CHANNEL_U8};

static const char source[] =
    "kernel void sum2d(read_only image2d_t from, sampler_t s, write_only image2d_t to, uint add) {\n"
    "    const int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imageui(to, at, read_imageui(from, s, at) + add);\n"
    "}\n"
    "kernel void read1d(read_only image1d_t from, sampler_t s, global uint *out) {\n"
    "    const uint x = get_global_id(0);\n"
    "    out[x] = read_imageui(from, s, (int)x).x;\n"
    "}\n"
    "kernel void read2d(read_only image2d_t from, sampler_t s, global uint *out) {\n"
    "    const uint x = get_global_id(0), y = get_global_id(1);\n"
    "    out[y * get_global_size(0) + x] = read_imageui(from, s, (int2)(x, y)).x;\n"
    "}\n"
    "kernel void read3d(read_only image3d_t from, sampler_t s, global uint *out) {\n"
    "    const uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    out[(z * get_global_size(1) + y) * get_global_size(0) + x] =\n"
    "        read_imageui(from, s, (int4)(x, y, z, 0)).x;\n"
    "}\n"
    "kernel void read1da(read_only image1d_array_t from, sampler_t s, global uint *out) {\n"
    "    const uint x = get_global_id(0), y = get_global_id(1);\n"
    "    out[y * get_global_size(0) + x] = read_imageui(from, s, (int2)(x, y)).x;\n"
    "}\n"
    "kernel void read2da(read_only image2d_array_t from, sampler_t s, global uint *out) {\n"
    "    const uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    out[(z * get_global_size(1) + y) * get_global_size(0) + x] =\n"
    "        read_imageui(from, s, (int4)(x, y, z, 0)).x;\n"
    "}\n"
    "kernel void read_f(read_only image2d_t from, sampler_t s, float dx, float dy, float scale,\n"
    "                   global float4 *out) {\n"
    "    const uint x = get_global_id(0), y = get_global_id(1);\n"
    "    out[y * get_global_size(0) + x] = read_imagef(from, s, (float2)(x + dx, y + dy) * scale);\n"
    "}\n"
    "kernel void read_i(read_only image2d_t from, sampler_t s, global int4 *out) {\n"
    "    const uint x = get_global_id(0), y = get_global_id(1);\n"
    "    out[y * get_global_size(0) + x] = read_imagei(from, s, (int2)(x, y));\n"
    "}\n"
    "kernel void read_u(read_only image2d_t from, sampler_t s, global uint4 *out) {\n"
    "    const uint x = get_global_id(0), y = get_global_id(1);\n"
    "    out[y * get_global_size(0) + x] = read_imageui(from, s, (int2)(x, y));\n"
    "}\n"
    "kernel void buffer(global uint *o) { o[0] = 1; }\n";

static const char source_1d_buffer[] =
    "kernel void readb(read_only image1d_buffer_t from, global uint *out) {\n"
    "    const uint x = get_global_id(0);\n"
    "    out[x] = read_imageui(from, (int)x).x;\n"
    "}\n";

static cls_program program;
static bool has_images;

static int setup(void **state) {
    const cls_image_shape shape = {CLS_IMAGE_2D, rgba8, CLS_ACCESS_UNKNOWN, 2, 2, 1};
    cls_image image;
    if (rig_setup(state))
        return -1;
    const cls_status status = cls_image_create(rig.context, &shape, &image);
    if (status == CLS_ERROR_UNSUPPORTED)
        return 0;
    has_images = true;
    return status || cls_image_destroy(image) ||
           cls_program_from_source(rig.context, source, "images.cl", NULL, &program);
}

static int teardown(void **state) {
    if (program && cls_program_destroy(program))
        return -1;
    return rig_teardown(state);
}

#define NEED_IMAGES() \
    if (!has_images)  \
    SKIP_BECAUSE("the device has no images that can be used")

static cls_kernel kernel_of(const char *name) {
    cls_kernel kernel;
    OK(cls_kernel_create(program, name, &kernel));
    return kernel;
}

static cls_arg plain_sampler(void) {
    return cls_arg_sampler(0, CLS_ADDRESS_CLAMP_TO_EDGE, CLS_FILTER_NEAREST);
}

static bool has_format(cls_image_kind kind, cls_access access, cls_image_format format) {
    int yes = -1;
    OK(cls_image_format_supported(rig.context, kind, access, format, &yes));
    return yes;
}

/* --- kinds --- */

static const struct kind {
    cls_image_kind kind;
    const char *kernel;
    size_t extents[3];
} kinds[] = {
    {CLS_IMAGE_1D, "read1d", {13, 1, 1}},       {CLS_IMAGE_2D, "read2d", {7, 5, 1}},
    {CLS_IMAGE_3D, "read3d", {5, 4, 3}},        {CLS_IMAGE_1D_ARRAY, "read1da", {6, 4, 1}},
    {CLS_IMAGE_2D_ARRAY, "read2da", {5, 3, 4}},
};

static cls_image make(cls_image_kind kind, cls_image_format format, const size_t *extents) {
    const cls_image_shape shape = {kind,       format,     CLS_ACCESS_UNKNOWN,
                                   extents[0], extents[1], extents[2]};
    cls_image image;
    OK(cls_image_create(rig.context, &shape, &image));
    return image;
}

static void expect_texels(const struct kind *kind, cls_image image, const uint32_t *wanted) {
    const size_t *n = kind->extents;
    cls_kernel kernel = kernel_of(kind->kernel);
    cls_buffer out = rig_cells(MOST);
    const cls_launch shape = cls_launch_3d(n[0], n[1], n[2]);
    const cls_arg args[] = {cls_arg_image(image), plain_sampler(), cls_arg_buffer(out)};
    uint32_t read[MOST];
    OK(cls_kernel_launch(kernel, &shape, args, 3, NULL));
    OK(cls_copy_d2h(read, out, 0, n[0] * n[1] * n[2] * 4, NULL));
    assert_memory_equal(read, wanted, n[0] * n[1] * n[2] * 4);
    OK(cls_buffer_destroy(out));
    OK(cls_kernel_destroy(kernel));
}

/* Writes a box of rows with gaps, and reads it back with other ones. */
static void copy_with_pitches(const struct kind *kind, cls_image image, uint32_t *wanted) {
    const size_t *n = kind->extents;
    cls_image_box box = {.size = {n[0] - 2, n[1] > 1 ? n[1] - 1 : 1, n[2] > 1 ? n[2] - 1 : 1},
                         .dst = {1, n[1] > 1, n[2] > 1},
                         .offset = 8};
    uint32_t from[MOST], to[MOST];
    box.pitch = (n[0] + 3) * 4;
    box.slice_pitch = (n[1] + 1) * box.pitch;
    for (uint32_t i = 0; i < MOST; i++)
        from[i] = 1000 + i;
    OK(cls_image_from_host(image, from, &box, NULL));
    for (size_t z = 0; z < box.size[2]; z++)
        for (size_t y = 0; y < box.size[1]; y++)
            for (size_t x = 0; x < box.size[0]; x++)
                wanted[((z + box.dst[2]) * n[1] + y + box.dst[1]) * n[0] + x + box.dst[0]] =
                    from[2 + z * box.slice_pitch / 4 + y * box.pitch / 4 + x];
    memcpy(box.src, box.dst, sizeof box.src);
    memset(to, 0xee, sizeof to);
    box.offset = 4;
    OK(cls_image_to_host(to, image, &box, NULL));
    for (size_t z = 0; z < box.size[2]; z++)
        for (size_t y = 0; y < box.size[1]; y++) {
            const size_t at = z * box.slice_pitch / 4 + y * box.pitch / 4;
            assert_memory_equal(to + 1 + at, from + 2 + at, box.size[0] * 4);
            assert_int_equal(to[1 + at + box.size[0]], 0xeeeeeeee);
        }
}

/* To a buffer, from it to another image, and to a third one. */
static void copy_through_buffer(const struct kind *kind, cls_image image, const uint32_t *wanted) {
    const size_t *n = kind->extents, bytes = n[0] * n[1] * n[2] * 4;
    cls_image second = make(kind->kind, u32_texels, n), third = make(kind->kind, u32_texels, n);
    const cls_image_box whole = {.size = {n[0], n[1], n[2]}, .offset = 16};
    cls_buffer buffer = rig_cells(MOST);
    uint32_t read[MOST];
    const cls_status status = cls_image_to_buffer_async(buffer, image, &whole, NULL);
    if (status == CLS_ERROR_UNSUPPORTED && kind->kind == CLS_IMAGE_1D_ARRAY) {
        print_message("%s\n", cls_last_error_detail());
        EXPECT(CLS_ERROR_UNSUPPORTED, cls_image_from_buffer_async(second, buffer, &whole, NULL));
        OK(cls_image_from_host(second, wanted, NULL, NULL));
    } else {
        OK(status);
        OK(cls_image_from_buffer_async(second, buffer, &whole, NULL));
    }
    OK(cls_image_copy_async(third, second, NULL, NULL));
    OK(cls_image_to_host(read, third, NULL, NULL));
    assert_memory_equal(read, wanted, bytes);
    expect_texels(kind, third, wanted);
    OK(cls_buffer_destroy(buffer));
    OK(cls_image_destroy(second));
    OK(cls_image_destroy(third));
}

static void fill_box(const struct kind *kind, cls_image image, uint32_t *wanted) {
    const size_t *n = kind->extents;
    const cls_image_box box = {.size = {2, 1, 1}, .dst = {1, n[1] - 1, n[2] - 1}};
    const uint32_t color[4] = {77, 78, 79, 80};
    OK(cls_image_fill(image, color, &box, NULL));
    for (unsigned x = 1; x < 3; x++)
        wanted[(box.dst[2] * n[1] + box.dst[1]) * n[0] + x] = 77;
}

static void test_kinds(void **state) {
    (void)state;
    NEED_IMAGES();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const struct kind *kind = &kinds[k];
        uint32_t wanted[MOST];
        if (!has_format(kind->kind, CLS_ACCESS_READ_WRITE, u32_texels)) {
            print_message("no images of kind %d\n", kind->kind);
            continue;
        }
        print_message("kind %d\n", kind->kind);
        cls_image image = make(kind->kind, u32_texels, kind->extents);
        cls_image_shape shape;
        for (uint32_t i = 0; i < MOST; i++)
            wanted[i] = i * 2654435761u;
        OK(cls_image_from_host(image, wanted, NULL, NULL));
        expect_texels(kind, image, wanted);
        copy_with_pitches(kind, image, wanted);
        expect_texels(kind, image, wanted);
        copy_through_buffer(kind, image, wanted);
        fill_box(kind, image, wanted);
        expect_texels(kind, image, wanted);
        OK(cls_image_get_shape(image, &shape));
        assert_int_equal(shape.kind, kind->kind);
        assert_int_equal(shape.access, CLS_ACCESS_READ_WRITE);
        assert_memory_equal(&shape.width, kind->extents, sizeof kind->extents);
        OK(cls_image_destroy(image));
        EXPECT(CLS_ERROR_INVALID_HANDLE, cls_image_destroy(image));
    }
}

static void test_over_a_buffer(void **state) {
    (void)state;
    NEED_IMAGES();
    const cls_image_shape shape = {CLS_IMAGE_1D_BUFFER, u32_texels, CLS_ACCESS_READ, 64, 1, 1};
    cls_buffer memory = rig_cells(64), out = rig_cells(64);
    const cls_image_box same = {.size = {32, 1, 1}},
                        shifted = {.size = {31, 1, 1}, .src = {1, 0, 0}};
    cls_image_shape shorter = shape;
    cls_program over;
    cls_kernel kernel;
    cls_image image, half_of_it;
    uint32_t values[64], read[64];
    if (!has_format(shape.kind, shape.access, shape.format)) {
        OK(cls_buffer_destroy(memory));
        OK(cls_buffer_destroy(out));
        SKIP_BECAUSE("the device has no images over buffers");
    }
    for (uint32_t i = 0; i < 64; i++)
        values[i] = i * i + 1;
    OK(cls_program_from_source(rig.context, source_1d_buffer, NULL, NULL, &over));
    OK(cls_kernel_create(over, "readb", &kernel));
    OK(cls_image_over(memory, &shape, &image));
    OK(cls_copy_h2d(memory, 0, values, sizeof values, NULL));
    shorter.width = 32;
    OK(cls_image_over(memory, &shorter, &half_of_it));
    OK(cls_image_copy(half_of_it, image, &same, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_image_copy(half_of_it, image, &shifted, NULL));
    OK(cls_image_destroy(half_of_it));
    OK(cls_buffer_destroy(memory));
    const cls_launch items = cls_launch_1d(64);
    const cls_arg args[] = {cls_arg_image(image), cls_arg_buffer(out)};
    OK(cls_kernel_launch(kernel, &items, args, 2, NULL));
    OK(cls_copy_d2h(read, out, 0, sizeof read, NULL));
    assert_memory_equal(read, values, sizeof read);
    OK(cls_image_destroy(image));
    OK(cls_kernel_destroy(kernel));
    OK(cls_program_destroy(over));
    OK(cls_buffer_destroy(out));
}

/* Rows of WIDTH texels that begin PITCH texels apart: a multiple of what devices want. */
enum { OVER_WIDTH = 5, OVER_HEIGHT = 3, OVER_PITCH = 256, OVER_CELLS = OVER_PITCH * OVER_HEIGHT };

static const cls_image_shape over_shape = {CLS_IMAGE_2D,          {CLS_CHANNELS_R, CLS_CHANNEL_U32},
                                           CLS_ACCESS_READ_WRITE, OVER_WIDTH,
                                           OVER_HEIGHT,           1};

static cls_status make_over(cls_buffer buffer, cls_image *out) {
    return cls_image_over_pitched(buffer, &over_shape, OVER_PITCH * 4, out);
}

/* False: the device has none, as the message says. */
static bool open_over(cls_buffer *buffer, cls_image *image) {
    *buffer = rig_cells(OVER_CELLS);
    const cls_status status = make_over(*buffer, image);
    if (!status)
        return true;
    print_message("%s\n", cls_last_error_detail());
    assert_int_equal(status, CLS_ERROR_UNSUPPORTED);
    OK(cls_buffer_destroy(*buffer));
    return false;
}

#define SKIP_OVER() SKIP_BECAUSE("the device has no 2D images over buffers that can be used")

static void expect_cells(cls_buffer buffer, const uint32_t *wanted) {
    static uint32_t seen[OVER_CELLS];
    OK(cls_copy_d2h(seen, buffer, 0, sizeof seen, NULL));
    assert_memory_equal(seen, wanted, sizeof seen);
}

/* Kernels, copies and fills of the image show in the buffer; the gaps keep their contents. */
static void test_rows_over_a_buffer(void **state) {
    (void)state;
    NEED_IMAGES();
    static uint32_t cells[OVER_CELLS];
    uint32_t texels[OVER_WIDTH * OVER_HEIGHT], read[OVER_WIDTH * OVER_HEIGHT];
    const uint32_t color[4] = {77, 0, 0, 0};
    const cls_image_box corner = {.size = {2, 2, 1}, .dst = {3, 1, 0}};
    const cls_launch items = cls_launch_2d(OVER_WIDTH, OVER_HEIGHT);
    const size_t extents[3] = {OVER_WIDTH, OVER_HEIGHT, 1};
    const struct kind as_read2d = {CLS_IMAGE_2D, "read2d", {OVER_WIDTH, OVER_HEIGHT, 1}};
    cls_buffer buffer;
    cls_image image;
    if (!open_over(&buffer, &image))
        SKIP_OVER();
    for (uint32_t i = 0; i < OVER_CELLS; i++)
        cells[i] = i * 2654435761u;
    for (uint32_t i = 0; i < OVER_WIDTH * OVER_HEIGHT; i++)
        texels[i] = cells[i / OVER_WIDTH * OVER_PITCH + i % OVER_WIDTH];
    OK(cls_copy_h2d(buffer, 0, cells, sizeof cells, NULL));
    expect_texels(&as_read2d, image, texels);
    OK(cls_image_to_host(read, image, NULL, NULL));
    assert_memory_equal(read, texels, sizeof texels);

    cls_image from = make(CLS_IMAGE_2D, u32_texels, extents);
    cls_kernel kernel = kernel_of("sum2d");
    const cls_arg args[] = {cls_arg_image(from), plain_sampler(), cls_arg_image(image),
                            cls_arg_u32(1)};
    OK(cls_image_copy(from, image, NULL, NULL));
    OK(cls_kernel_launch(kernel, &items, args, 4, NULL));
    for (uint32_t i = 0; i < OVER_WIDTH * OVER_HEIGHT; i++)
        cells[i / OVER_WIDTH * OVER_PITCH + i % OVER_WIDTH] = ++texels[i];
    expect_cells(buffer, cells);

    OK(cls_image_fill(image, color, &corner, NULL));
    for (uint32_t i = 0; i < 4; i++)
        cells[(1 + i / 2) * OVER_PITCH + 3 + i % 2] = 77;
    expect_cells(buffer, cells);
    OK(cls_image_from_host(image, read, NULL, NULL));
    for (uint32_t i = 0; i < OVER_WIDTH * OVER_HEIGHT; i++)
        cells[i / OVER_WIDTH * OVER_PITCH + i % OVER_WIDTH] = read[i];
    expect_cells(buffer, cells);

    /* The image keeps the memory. */
    OK(cls_buffer_destroy(buffer));
    expect_texels(&as_read2d, image, read);
    OK(cls_kernel_destroy(kernel));
    OK(cls_image_destroy(from));
    OK(cls_image_destroy(image));
}

/* Image and buffer, and two images of one buffer, are one memory, row by row: the gaps are not the image's. */
static void test_rows_overlap(void **state) {
    (void)state;
    NEED_IMAGES();
    cls_buffer buffer;
    cls_image image, tight;
    cls_image_box box = {.size = {2, 2, 1}, .src = {1, 1, 0}, .offset = (OVER_PITCH + 3) * 4};
    const cls_image_shape wide = {CLS_IMAGE_2D, u32_texels, CLS_ACCESS_READ_WRITE,
                                  OVER_PITCH,   2,          1};
    const cls_image_box below = {.size = {2, 1, 1}, .dst = {0, 2, 0}, .src = {0, 1, 0}};
    if (!open_over(&buffer, &image))
        SKIP_OVER();
    OK(cls_image_over(buffer, &wide, &tight));
    OK(cls_image_to_buffer(buffer, image, &box, NULL));
    box.offset -= 4;
    EXPECT(CLS_ERROR_OVERLAP, cls_image_to_buffer(buffer, image, &box, NULL));
    box.offset = (2 * OVER_PITCH - 1) * 4;
    EXPECT(CLS_ERROR_OVERLAP, cls_image_to_buffer(buffer, image, &box, NULL));
    memset(box.src, 0, sizeof box.src);
    box.offset = OVER_WIDTH * 4;
    OK(cls_image_from_buffer(image, buffer, &box, NULL));
    OK(cls_image_copy(image, tight, &below, NULL));
    OK(cls_image_copy(image, image, NULL, NULL));
    box.dst[0] = 1;
    EXPECT(CLS_ERROR_OVERLAP, cls_image_copy(image, tight, &box, NULL));
    OK(cls_image_destroy(tight));
    OK(cls_image_destroy(image));
    OK(cls_buffer_destroy(buffer));
}

static void test_refused_rows(void **state) {
    (void)state;
    NEED_IMAGES();
    cls_image image = (cls_image)(void *)&image;
    const cls_image before = image;
    cls_image_shape line = over_shape, cube = over_shape;
    line.kind = CLS_IMAGE_1D_BUFFER;
    line.height = 1;
    cube.kind = CLS_IMAGE_3D;
    cls_buffer buffer = rig_cells(OVER_CELLS), small_one = rig_cells(OVER_CELLS - 1);
    const struct {
        cls_buffer buffer;
        const cls_image_shape *shape;
        size_t pitch;
        cls_status status;
    } bad[] = {
        {buffer, &line, OVER_PITCH * 4, CLS_ERROR_INVALID_VALUE},
        {buffer, &cube, OVER_PITCH * 4, CLS_ERROR_INVALID_VALUE},
        {buffer, &over_shape, OVER_WIDTH * 4 - 4, CLS_ERROR_INVALID_VALUE},
        {buffer, &over_shape, OVER_PITCH * 4 + 2, CLS_ERROR_INVALID_VALUE},
        {small_one, &over_shape, OVER_PITCH * 4, CLS_ERROR_OUT_OF_RANGE},
        {buffer, &over_shape, SIZE_MAX - 3, CLS_ERROR_OUT_OF_RANGE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        print_message("row %zu\n", i);
        EXPECT(bad[i].status,
               cls_image_over_pitched(bad[i].buffer, bad[i].shape, bad[i].pitch, &image));
        assert_ptr_equal(image, before);
    }
    OK(cls_buffer_destroy(buffer));
    OK(cls_buffer_destroy(small_one));
}

/* A pitch of one texel more than an aligned one; only a device that wants less than two texels takes it. */
static void test_alignment_of_rows(void **state) {
    (void)state;
    NEED_IMAGES();
    cls_buffer buffer, larger = rig_cells(OVER_CELLS + OVER_HEIGHT);
    cls_image image, other;
    if (!open_over(&buffer, &image)) {
        OK(cls_buffer_destroy(larger));
        SKIP_OVER();
    }
    const cls_status status =
        cls_image_over_pitched(larger, &over_shape, (OVER_PITCH + 1) * 4, &other);
    print_message("%s\n", status ? cls_last_error_detail() : "every pitch is aligned");
    if (!status)
        OK(cls_image_destroy(other));
    else {
        assert_int_equal(status, CLS_ERROR_INVALID_VALUE);
        assert_non_null(strstr(cls_last_error_detail(), "multiple of"));
    }
    OK(cls_image_destroy(image));
    OK(cls_buffer_destroy(buffer));
    OK(cls_buffer_destroy(larger));
}

/* --- formats --- */

static double half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}

/* A channel of a texel in memory as a kernel reads it. */
static double channel(cls_channel_type type, const unsigned char *bytes) {
    int8_t i8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    float f32;
    memcpy(&i8, bytes, 1);
    memcpy(&i16, bytes, 2);
    memcpy(&u16, bytes, 2);
    memcpy(&i32, bytes, 4);
    memcpy(&u32, bytes, 4);
    memcpy(&f32, bytes, 4);
    switch (type) {
    case CLS_CHANNEL_SNORM8:
        return fmax(i8 / 127.0, -1);
    case CLS_CHANNEL_SNORM16:
        return fmax(i16 / 32767.0, -1);
    case CLS_CHANNEL_UNORM8:
        return *bytes / 255.0;
    case CLS_CHANNEL_UNORM16:
        return u16 / 65535.0;
    case CLS_CHANNEL_I8:
        return i8;
    case CLS_CHANNEL_I16:
        return i16;
    case CLS_CHANNEL_I32:
        return i32;
    case CLS_CHANNEL_U8:
        return *bytes;
    case CLS_CHANNEL_U16:
        return u16;
    case CLS_CHANNEL_U32:
        return u32;
    case CLS_CHANNEL_F16:
        return half(u16);
    case CLS_CHANNEL_F32:
        return f32;
    case CLS_CHANNEL_UNORM_565:
    case CLS_CHANNEL_UNORM_555:
    case CLS_CHANNEL_UNORM_101010:
        break;
    }
    return NAN;
}

/* Where the four components come from: a channel in memory, or 0 or 1. */
enum { ZERO = 8, ONE };
static const struct order {
    cls_channel_order order;
    unsigned char channels, from[4];
} orders[] = {
    {CLS_CHANNELS_R, 1, {0, ZERO, ZERO, ONE}},   {CLS_CHANNELS_A, 1, {ZERO, ZERO, ZERO, 0}},
    {CLS_CHANNELS_RG, 2, {0, 1, ZERO, ONE}},     {CLS_CHANNELS_RA, 2, {0, ZERO, ZERO, 1}},
    {CLS_CHANNELS_RGBA, 4, {0, 1, 2, 3}},        {CLS_CHANNELS_BGRA, 4, {2, 1, 0, 3}},
    {CLS_CHANNELS_ARGB, 4, {1, 2, 3, 0}},        {CLS_CHANNELS_INTENSITY, 1, {0, 0, 0, 0}},
    {CLS_CHANNELS_LUMINANCE, 1, {0, 0, 0, ONE}},
};

enum { SIDE = 4, TEXELS = SIDE * SIDE };

static bool is_integer(cls_channel_type type) {
    return type >= CLS_CHANNEL_I8 && type <= CLS_CHANNEL_U32;
}

static void make_texels(cls_channel_type type, unsigned char *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(i * 37 + 11);
    for (size_t i = 0; i < n / 4 && type == CLS_CHANNEL_F32; i++) {
        const float value = (float)i * 0.375f - 3;
        memcpy(bytes + 4 * i, &value, 4);
    }
    for (size_t i = 0; i < n / 2 && type == CLS_CHANNEL_F16; i++) {
        const uint16_t value = (uint16_t)(0x3000 + 37 * i);
        memcpy(bytes + 2 * i, &value, 2);
    }
}

/* Floats may be off by what a driver does to convert: 1.5 units of the last place in OpenCL; a little more here. */
static bool one_format(const struct order *order, cls_channel_type type, double *worst) {
    const cls_image_format format = {order->order, type};
    const size_t texel = cls_image_format_size(format), extents[3] = {SIDE, SIDE, 1};
    unsigned char in[TEXELS * 16], back[TEXELS * 16];
    uint32_t out[TEXELS * 4];
    if (!texel || !has_format(CLS_IMAGE_2D, CLS_ACCESS_READ_WRITE, format))
        return false;
    make_texels(type, in, sizeof in);
    cls_image image = make(CLS_IMAGE_2D, format, extents);
    cls_buffer buffer = rig_cells(TEXELS * 4);
    cls_kernel kernel = kernel_of(!is_integer(type)        ? "read_f"
                                  : type >= CLS_CHANNEL_U8 ? "read_u"
                                                           : "read_i");
    const cls_launch shape = cls_launch_2d(SIDE, SIDE);
    const cls_arg floats[] = {cls_arg_image(image), plain_sampler(), cls_arg_f32(0.5f),
                              cls_arg_f32(0.5f),    cls_arg_f32(1),  cls_arg_buffer(buffer)};
    const cls_arg integers[] = {cls_arg_image(image), plain_sampler(), cls_arg_buffer(buffer)};
    OK(cls_image_from_host_async(image, in, NULL, NULL));
    OK(is_integer(type) ? cls_kernel_launch(kernel, &shape, integers, 3, NULL)
                        : cls_kernel_launch(kernel, &shape, floats, 6, NULL));
    OK(cls_image_to_host(back, image, NULL, NULL));
    assert_memory_equal(back, in, TEXELS * texel);
    OK(cls_copy_d2h(out, buffer, 0, sizeof out, NULL));
    for (unsigned t = 0; t < TEXELS; t++)
        for (unsigned c = 0; c < 4; c++) {
            const unsigned from = order->from[c];
            const double wanted =
                from >= ZERO ? from - ZERO
                             : channel(type, in + t * texel + from * texel / order->channels);
            float f;
            memcpy(&f, &out[4 * t + c], 4);
            const double got = !is_integer(type)        ? f
                               : type >= CLS_CHANNEL_U8 ? out[4 * t + c]
                                                        : (double)(int32_t)out[4 * t + c];
            *worst = fmax(*worst, fabs(got - wanted));
            /* PoCL 3.1 reads 0 where integers have no alpha. */
            if (from == ONE && is_integer(type) && rig_platform_is("Portable"))
                continue;
            if (fabs(got - wanted) > fabs(wanted) * 1e-6 + 1e-7)
                fail_msg("order %d, type %d, texel %u, component %u: %g, not %g", order->order,
                         type, t, c, got, wanted);
        }
    OK(cls_kernel_destroy(kernel));
    OK(cls_buffer_destroy(buffer));
    OK(cls_image_destroy(image));
    return true;
}

static void test_formats(void **state) {
    (void)state;
    NEED_IMAGES();
    double worst = 0;
    unsigned count = 0;
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++)
        for (int type = CLS_CHANNEL_SNORM8; type <= CLS_CHANNEL_F32; type++)
            count += one_format(&orders[o], (cls_channel_type)type, &worst);
    print_message("%u formats, worst %g\n", count, worst);
    assert_true(count > 0);
    size_t listed = 0;
    cls_image_format formats[256];
    OK(cls_image_formats(rig.context, CLS_IMAGE_2D, CLS_ACCESS_READ_WRITE, formats, 256, &listed));
    assert_true(listed >= count);
    for (size_t i = 0; i < listed; i++)
        assert_true(cls_image_format_size(formats[i]) > 0);
}

/* --- samplers --- */

enum { WIDE = 8 };

static double texel_at(const float *in, int x, int y, cls_addressing addressing) {
    const bool outside = x < 0 || y < 0 || x >= WIDE || y >= WIDE;
    if (addressing == CLS_ADDRESS_BORDER && outside)
        return 0;
    if (addressing == CLS_ADDRESS_REPEAT)
        return in[(y & (WIDE - 1)) * WIDE + (x & (WIDE - 1))];
    x = x < 0 ? 0 : x >= WIDE ? WIDE - 1 : x;
    y = y < 0 ? 0 : y >= WIDE ? WIDE - 1 : y;
    return in[y * WIDE + x];
}

static double sampled(const float *in, double u, double v, cls_addressing addressing,
                      cls_filter filter) {
    if (filter == CLS_FILTER_NEAREST)
        return texel_at(in, (int)floor(u), (int)floor(v), addressing);
    const double x = floor(u - 0.5), y = floor(v - 0.5), a = u - 0.5 - x, b = v - 0.5 - y;
    const int i = (int)x, j = (int)y;
    return (1 - a) * (1 - b) * texel_at(in, i, j, addressing) +
           a * (1 - b) * texel_at(in, i + 1, j, addressing) +
           (1 - a) * b * texel_at(in, i, j + 1, addressing) +
           a * b * texel_at(in, i + 1, j + 1, addressing);
}

/* Coordinates go from 2.3 texels before the image to as much behind it. */
static double sampler_error(cls_image image, const float *in, int normalized,
                            cls_addressing addressing, cls_filter filter) {
    enum { SPAN = WIDE + 5 };
    const float shift = -2.3f, scale = normalized ? 1.0f / WIDE : 1.0f;
    cls_kernel kernel = kernel_of("read_f");
    cls_buffer out = rig_cells(SPAN * SPAN * 4);
    const cls_launch shape = cls_launch_2d(SPAN, SPAN);
    const cls_arg args[] = {cls_arg_image(image), cls_arg_sampler(normalized, addressing, filter),
                            cls_arg_f32(shift),   cls_arg_f32(shift),
                            cls_arg_f32(scale),   cls_arg_buffer(out)};
    float read[SPAN * SPAN * 4];
    double worst = 0;
    OK(cls_kernel_launch(kernel, &shape, args, 6, NULL));
    OK(cls_copy_d2h(read, out, 0, sizeof read, NULL));
    for (int y = 0; y < SPAN; y++)
        for (int x = 0; x < SPAN; x++) {
            const double wanted =
                sampled(in, x + (double)shift, y + (double)shift, addressing, filter);
            worst = fmax(worst, fabs((double)read[(y * SPAN + x) * 4] - wanted));
        }
    OK(cls_kernel_destroy(kernel));
    OK(cls_buffer_destroy(out));
    return worst;
}

static void test_samplers(void **state) {
    (void)state;
    NEED_IMAGES();
    const cls_image_format format = {CLS_CHANNELS_RGBA, CLS_CHANNEL_F32};
    const size_t extents[3] = {WIDE, WIDE, 1};
    float texels[WIDE * WIDE * 4], in[WIDE * WIDE];
    for (int i = 0; i < WIDE * WIDE; i++) {
        in[i] = (float)(i * 29 % 64) / 64;
        for (int c = 0; c < 4; c++)
            texels[4 * i + c] = in[i];
    }
    cls_image image = make(CLS_IMAGE_2D, format, extents);
    OK(cls_image_from_host(image, texels, NULL, NULL));
    for (int filter = CLS_FILTER_NEAREST; filter <= CLS_FILTER_LINEAR; filter++)
        for (int normalized = 0; normalized < 2; normalized++)
            for (int a = CLS_ADDRESS_BORDER;
                 a <= (normalized ? CLS_ADDRESS_REPEAT : CLS_ADDRESS_CLAMP_TO_EDGE); a++) {
                const double error =
                    sampler_error(image, in, normalized, (cls_addressing)a, (cls_filter)filter);
                print_message("filter %d, normalized %d, addressing %d: %g\n", filter, normalized,
                              a, error);
                if (error > (filter ? 1.0 / 256 : 0))
                    fail_msg("filter %d, normalized %d, addressing %d: off by %g", filter,
                             normalized, a, error);
            }
    OK(cls_image_destroy(image));
}

/* --- order, life, graphs --- */

struct sum {
    cls_kernel kernel;
    cls_image from, to;
    cls_stream stream;
};

static const size_t small[3] = {4, 4, 1};
static const cls_launch small_items = {2, {4, 4, 1}, {0, 0, 0}, {0, 0, 0}, NULL, 0};

static void open_sum(struct sum *sum) {
    sum->kernel = kernel_of("sum2d");
    sum->from = make(CLS_IMAGE_2D, rgba8, small);
    sum->to = make(CLS_IMAGE_2D, rgba8, small);
    sum->stream = rig_stream();
}

static void close_sum(const struct sum *sum) {
    OK(cls_stream_destroy(sum->stream));
    OK(cls_image_destroy(sum->from));
    OK(cls_image_destroy(sum->to));
    OK(cls_kernel_destroy(sum->kernel));
}

static cls_status add(const struct sum *sum, cls_image from, cls_image to, uint32_t value) {
    const cls_arg args[] = {cls_arg_image(from), plain_sampler(), cls_arg_image(to),
                            cls_arg_u32(value)};
    return cls_kernel_launch_async(sum->kernel, &small_items, args, 4, sum->stream);
}

static void expect_bytes(const unsigned char *bytes, unsigned char value) {
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(bytes[i], value);
}

static void test_destroyed_at_work(void **state) {
    (void)state;
    NEED_IMAGES();
    struct sum sum;
    unsigned char in[64], out[64] = {0};
    cls_buffer cells = rig_cells(1);
    memset(in, 5, sizeof in);
    open_sum(&sum);
    cls_image between = make(CLS_IMAGE_2D, rgba8, small);
    OK(rig_set(sum.stream, cells, 0, 1, 30));
    OK(cls_image_from_host_async(sum.from, in, NULL, sum.stream));
    OK(add(&sum, sum.from, between, 1));
    OK(add(&sum, between, sum.to, 2));
    OK(cls_image_to_host_async(out, sum.to, NULL, sum.stream));
    OK(cls_image_destroy(between));
    OK(cls_stream_synchronize(sum.stream));
    expect_bytes(out, 8);
    OK(cls_buffer_destroy(cells));
    close_sum(&sum);
}

static void record(const struct sum *sum, cls_image from, unsigned char *in, unsigned char *out,
                   uint32_t value, cls_graph *graph) {
    const uint32_t color[4] = {9, 9, 9, 9};
    const cls_image_box corner = {.size = {1, 1, 1}, .dst = {3, 3, 0}};
    OK(cls_stream_begin_capture(sum->stream, "images"));
    OK(cls_image_from_host_async(from, in, NULL, sum->stream));
    OK(cls_image_fill_async(from, color, &corner, sum->stream));
    OK(add(sum, from, sum->to, value));
    OK(cls_image_to_host_async(out, sum->to, NULL, sum->stream));
    OK(cls_stream_end_capture(sum->stream, graph));
}

static void expect_graph(const unsigned char *out, unsigned char value, unsigned char corner) {
    for (unsigned i = 0; i < 64; i++)
        assert_int_equal(out[i], i < 60 ? value : corner);
}

static void test_graphs(void **state) {
    (void)state;
    NEED_IMAGES();
    struct sum sum;
    unsigned char in[64], out[64], other_in[64], other_out[64];
    cls_graph graph, changed;
    cls_graph_exec exec;
    memset(in, 5, sizeof in);
    memset(other_in, 50, sizeof in);
    open_sum(&sum);
    cls_image other = make(CLS_IMAGE_2D, rgba8, small);
    record(&sum, sum.from, in, out, 1, &graph);
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (unsigned i = 0; i < 3; i++) {
        memset(in, (int)(10 + i), sizeof in);
        OK(cls_graph_launch(exec, sum.stream));
        OK(cls_stream_synchronize(sum.stream));
        expect_graph(out, (unsigned char)(11 + i), 10);
    }
    /* Other host memory, another image and another value by another graph. */
    record(&sum, other, other_in, other_out, 7, &changed);
    OK(cls_graph_update(exec, changed));
    OK(cls_graph_destroy(changed));
    OK(cls_image_destroy(other));
    OK(cls_graph_launch(exec, sum.stream));
    OK(cls_stream_synchronize(sum.stream));
    expect_graph(other_out, 57, 16);
    OK(cls_graph_bind_host(exec, other_in, in));
    OK(cls_graph_launch(exec, sum.stream));
    OK(cls_stream_synchronize(sum.stream));
    expect_graph(other_out, 19, 16);
    /* An image is no buffer to bind. */
    cls_buffer cells = rig_cells(64);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_bind(exec, (cls_buffer)(void *)sum.to, cells));
    EXPECT(CLS_ERROR_INVALID_HANDLE, cls_graph_bind(exec, cells, (cls_buffer)(void *)sum.from));
    OK(cls_buffer_destroy(cells));
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    close_sum(&sum);
}

static void expect_bound(const struct sum *sum, cls_graph_exec exec, unsigned char *out,
                         unsigned char value) {
    memset(out, 0, 64);
    OK(cls_graph_launch(exec, sum->stream));
    OK(cls_stream_synchronize(sum->stream));
    expect_graph(out, value, 10);
}

/* The image of a copy, a fill and a launch, and the one that a launch writes and a copy reads. */
static void test_images_bound(void **state) {
    (void)state;
    NEED_IMAGES();
    const size_t larger[3] = {small[0] + 1, small[1], 1};
    struct sum sum;
    unsigned char in[64], out[64], seen[64];
    cls_graph graph;
    cls_graph_exec exec;
    memset(in, 5, sizeof in);
    open_sum(&sum);
    cls_image from = make(CLS_IMAGE_2D, rgba8, small), to = make(CLS_IMAGE_2D, rgba8, small);
    cls_image wide = make(CLS_IMAGE_2D, rgba8, larger);
    cls_image other_format = make(CLS_IMAGE_2D, u32_texels, small);
    cls_buffer cells = rig_cells(64);
    record(&sum, sum.from, in, out, 1, &graph);
    OK(cls_graph_instantiate(graph, NULL, &exec));
    OK(cls_graph_bind_image(exec, sum.from, from));
    OK(cls_graph_bind_image(exec, sum.to, to));
    expect_bound(&sum, exec, out, 6);
    OK(cls_image_to_host(seen, from, NULL, sum.stream));
    assert_int_equal(seen[0], 5);
    OK(cls_image_to_host(seen, to, NULL, sum.stream));
    assert_int_equal(seen[0], 6);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_bind_image(exec, sum.from, wide));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_bind_image(exec, sum.from, other_format));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_graph_bind_image(exec, wide, from));
    EXPECT(CLS_ERROR_NOT_FOUND, cls_graph_bind_image(exec, (cls_image)(void *)cells, from));
    EXPECT(CLS_ERROR_INVALID_HANDLE,
           cls_graph_bind_image(exec, sum.from, (cls_image)(void *)cells));
    /* By the captured handle, also if it is destroyed; the graph keeps the image that is bound. */
    OK(cls_graph_bind_image(exec, sum.to, sum.to));
    OK(cls_image_destroy(from));
    OK(cls_image_destroy(to));
    OK(cls_image_destroy(sum.from));
    expect_bound(&sum, exec, out, 6);
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_graph_bind(exec, (cls_buffer)(void *)sum.from, cells));
    from = make(CLS_IMAGE_2D, rgba8, small);
    OK(cls_graph_bind_image(exec, sum.from, from));
    expect_bound(&sum, exec, out, 6);
    sum.from = from; /* for close_sum */
    OK(cls_image_destroy(wide));
    OK(cls_image_destroy(other_format));
    OK(cls_buffer_destroy(cells));
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    close_sum(&sum);
}

/* Through memory of the capture that is no whole allocation, and through a buffer that is bound later. */
static void test_graphs_through_buffers(void **state) {
    (void)state;
    NEED_IMAGES();
    enum { BYTES = 64 };
    struct sum sum;
    unsigned char in[BYTES], out[BYTES] = {0}, seen[BYTES] = {0};
    const cls_image_box behind = {.size = {4, 4, 1}, .offset = 4};
    cls_buffer first, second, bound, other;
    cls_graph graph;
    cls_graph_exec exec;
    open_sum(&sum);
    OK(cls_buffer_create(rig.context, BYTES + 4, &bound));
    OK(cls_buffer_create(rig.context, BYTES + 4, &other));
    OK(cls_stream_begin_capture(sum.stream, "through buffers"));
    OK(cls_malloc_async(sum.stream, 5000, &first));
    OK(cls_malloc_async(sum.stream, BYTES + 4, &second));
    OK(cls_copy_h2d_async(first, 0, in, BYTES, sum.stream));
    OK(cls_copy_d2d_async(second, 4, first, 0, BYTES, sum.stream));
    OK(cls_image_from_buffer_async(sum.from, second, &behind, sum.stream));
    OK(cls_image_to_buffer_async(bound, sum.from, &behind, sum.stream));
    OK(cls_copy_d2h_async(out, bound, 4, BYTES, sum.stream));
    OK(cls_free_async(first, sum.stream));
    OK(cls_free_async(second, sum.stream));
    OK(cls_stream_end_capture(sum.stream, &graph));
    OK(cls_graph_instantiate(graph, NULL, &exec));
    for (unsigned i = 1; i < 4; i++) {
        memset(in, (int)i, sizeof in);
        OK(cls_graph_launch(exec, sum.stream));
        expect_bytes(out, (unsigned char)i);
    }
    OK(cls_graph_bind(exec, bound, other));
    memset(in, 7, sizeof in);
    OK(cls_graph_launch(exec, sum.stream));
    expect_bytes(out, 7);
    OK(cls_copy_d2h(seen, bound, 4, BYTES, NULL));
    expect_bytes(seen, 3);
    OK(cls_graph_exec_destroy(exec));
    OK(cls_graph_destroy(graph));
    OK(cls_buffer_destroy(bound));
    OK(cls_buffer_destroy(other));
    close_sum(&sum);
}

/* --- mistakes --- */

static void test_refused_arguments(void **state) {
    (void)state;
    NEED_IMAGES();
    struct sum sum;
    open_sum(&sum);
    cls_buffer cells = rig_cells(4);
    const size_t line[3] = {4, 1, 1};
    const cls_image_shape read_shape = {CLS_IMAGE_2D, rgba8, CLS_ACCESS_READ, 4, 4, 1};
    cls_image read_only;
    OK(cls_image_create(rig.context, &read_shape, &read_only));
    cls_arg args[] = {cls_arg_image(sum.from), plain_sampler(), cls_arg_image(sum.to),
                      cls_arg_u32(1)};
    const cls_arg good[] = {args[0], args[1], args[2], args[3]};
    const struct {
        unsigned at;
        cls_arg arg;
        cls_status status;
        bool told; /* only where the driver tells kinds and access */
    } bad[] = {
        {0, cls_arg_buffer(cells), CLS_ERROR_INVALID_VALUE, true},
        {0, cls_arg_image(NULL), CLS_ERROR_INVALID_HANDLE, false},
        {0, cls_arg_image((cls_image)(void *)cells), CLS_ERROR_INVALID_HANDLE, false},
        {1, cls_arg_u32(1), CLS_ERROR_INVALID_VALUE, true},
        {1, cls_arg_image(sum.from), CLS_ERROR_INVALID_VALUE, true},
        {1, cls_arg_sampler(0, CLS_ADDRESS_REPEAT, CLS_FILTER_NEAREST), CLS_ERROR_INVALID_VALUE,
         false},
        {1, cls_arg_sampler(0, (cls_addressing)5, CLS_FILTER_NEAREST), CLS_ERROR_INVALID_VALUE,
         false},
        {1, cls_arg_sampler(0, CLS_ADDRESS_NONE, (cls_filter)2), CLS_ERROR_INVALID_VALUE, false},
        {2, cls_arg_image(read_only), CLS_ERROR_INVALID_VALUE, true},
        {3, cls_arg_image(sum.to), CLS_ERROR_INVALID_VALUE, true},
        {3, plain_sampler(), CLS_ERROR_INVALID_VALUE, true},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        print_message("row %zu\n", i);
        memcpy(args, good, sizeof args);
        args[bad[i].at] = bad[i].arg;
        EXPECT(bad[i].status,
               cls_kernel_launch_async(sum.kernel, &small_items, args, 4, sum.stream));
        OK(cls_kernel_launch_async(sum.kernel, &small_items, good, 4, sum.stream));
    }
    cls_image flat = make(CLS_IMAGE_1D, u32_texels, line);
    args[0] = cls_arg_image(flat);
    EXPECT(CLS_ERROR_INVALID_VALUE,
           cls_kernel_launch_async(sum.kernel, &small_items, args, 4, sum.stream));
    OK(cls_stream_synchronize(sum.stream));
    OK(cls_image_destroy(flat));
    OK(cls_image_destroy(read_only));
    OK(cls_buffer_destroy(cells));
    close_sum(&sum);
}

static void test_refused_shapes(void **state) {
    (void)state;
    const struct {
        cls_image_shape shape;
        cls_status status;
    } bad[] = {
        {{(cls_image_kind)0, rgba8, CLS_ACCESS_UNKNOWN, 4, 4, 1}, CLS_ERROR_INVALID_VALUE},
        {{(cls_image_kind)7, rgba8, CLS_ACCESS_UNKNOWN, 4, 4, 1}, CLS_ERROR_INVALID_VALUE},
        {{CLS_IMAGE_2D, rgba8, (cls_access)4, 4, 4, 1}, CLS_ERROR_INVALID_VALUE},
        {{CLS_IMAGE_2D, {CLS_CHANNELS_RGB, CLS_CHANNEL_U8}, CLS_ACCESS_UNKNOWN, 4, 4, 1},
         CLS_ERROR_INVALID_VALUE},
        {{CLS_IMAGE_2D, {(cls_channel_order)11, CLS_CHANNEL_U8}, CLS_ACCESS_UNKNOWN, 4, 4, 1},
         CLS_ERROR_INVALID_VALUE},
        {{CLS_IMAGE_2D, {CLS_CHANNELS_R, (cls_channel_type)16}, CLS_ACCESS_UNKNOWN, 4, 4, 1},
         CLS_ERROR_INVALID_VALUE},
        {{CLS_IMAGE_2D, rgba8, CLS_ACCESS_UNKNOWN, 0, 4, 1}, CLS_ERROR_INVALID_VALUE},
        {{CLS_IMAGE_2D, rgba8, CLS_ACCESS_UNKNOWN, 4, 4, 2}, CLS_ERROR_INVALID_VALUE},
        {{CLS_IMAGE_3D, rgba8, CLS_ACCESS_UNKNOWN, 4, 4, 0}, CLS_ERROR_INVALID_VALUE},
        {{CLS_IMAGE_1D_BUFFER, u32_texels, CLS_ACCESS_UNKNOWN, 4, 1, 1}, CLS_ERROR_INVALID_VALUE},
        {{CLS_IMAGE_2D, rgba8, CLS_ACCESS_UNKNOWN, SIZE_MAX, 4, 1}, CLS_ERROR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cls_image image = (cls_image)(void *)&image;
        const cls_image before = image;
        print_message("row %zu\n", i);
        EXPECT(bad[i].status, cls_image_create(rig.context, &bad[i].shape, &image));
        assert_ptr_equal(image, before);
    }
}

static void test_refused_boxes(void **state) {
    (void)state;
    NEED_IMAGES();
    cls_image image = make(CLS_IMAGE_2D, rgba8, small),
              line = make(CLS_IMAGE_2D, u32_texels, small);
    cls_buffer cells = rig_cells(16);
    unsigned char host[256] = {0};
    const cls_image_box past = {.size = {4, 4, 1}, .dst = {1, 0, 0}, .src = {1, 0, 0}};
    const cls_image_box narrow = {.size = {4, 4, 1}, .pitch = 12};
    const cls_image_box odd = {.size = {4, 4, 1}, .pitch = 18};
    const cls_image_box flat = {.size = {4, 4, 1}, .pitch = 16, .slice_pitch = 48};
    const cls_image_box shifted = {.size = {2, 4, 1}, .dst = {1, 0, 0}};
    const cls_image_box apart = {.size = {2, 4, 1}, .dst = {2, 0, 0}};
    const cls_image_box behind = {.size = {4, 4, 1}, .offset = 4};
    const cls_image_box empty = {.size = {0, 4, 1}};
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_image_from_host(image, host, &past, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_image_to_host(host, image, &past, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_image_from_host(image, host, &narrow, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_image_from_host(image, host, &odd, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_image_from_host(image, host, &flat, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_image_from_host(image, NULL, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_image_from_buffer(image, cells, &flat, NULL));
    EXPECT(CLS_ERROR_OUT_OF_RANGE, cls_image_to_buffer(cells, image, &behind, NULL));
    EXPECT(CLS_ERROR_OVERLAP, cls_image_copy(image, image, &shifted, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_image_copy(image, line, NULL, NULL));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_image_fill(image, NULL, NULL, NULL));
    OK(cls_image_copy(image, image, &apart, NULL));
    OK(cls_image_copy(image, image, NULL, NULL));
    OK(cls_image_from_host(image, NULL, &empty, NULL));
    OK(cls_image_destroy(image));
    OK(cls_image_destroy(line));
    OK(cls_buffer_destroy(cells));
}

static void test_wrapped(void **state) {
    (void)state;
    NEED_IMAGES();
    cls_image image = make(CLS_IMAGE_2D, rgba8, small), again;
    cls_buffer cells = rig_cells(4), none;
    cl_mem memory, buffer;
    cls_image_shape shape;
    unsigned char in[64], out[64] = {0};
    memset(in, 3, sizeof in);
    OK(cls_image_get_cl(image, &memory));
    OK(cls_buffer_get_cl(cells, &buffer));
    OK(cls_image_wrap(rig.context, memory, &again));
    OK(cls_image_destroy(image));
    OK(cls_image_get_shape(again, &shape));
    assert_int_equal(shape.width, 4);
    assert_int_equal(shape.height, 4);
    assert_int_equal(shape.format.type, CLS_CHANNEL_U8);
    OK(cls_image_from_host(again, in, NULL, NULL));
    OK(cls_image_to_host(out, again, NULL, NULL));
    expect_bytes(out, 3);
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_buffer_wrap(rig.context, memory, &none));
    EXPECT(CLS_ERROR_UNSUPPORTED, cls_image_wrap(rig.context, buffer, &image));
    EXPECT(CLS_ERROR_INVALID_VALUE, cls_image_wrap(rig.context, NULL, &image));
    OK(cls_image_destroy(again));
    OK(cls_buffer_destroy(cells));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_over_a_buffer),
        cmocka_unit_test(test_rows_over_a_buffer),
        cmocka_unit_test(test_rows_overlap),
        cmocka_unit_test(test_refused_rows),
        cmocka_unit_test(test_alignment_of_rows),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_samplers),
        cmocka_unit_test(test_destroyed_at_work),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_images_bound),
        cmocka_unit_test(test_graphs_through_buffers),
        cmocka_unit_test(test_refused_arguments),
        cmocka_unit_test(test_refused_shapes),
        cmocka_unit_test(test_refused_boxes),
        cmocka_unit_test(test_wrapped),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
