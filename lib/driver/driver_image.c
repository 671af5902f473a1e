/* SPDX-License-Identifier: MIT */
#include "driver/driver_image.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "driver/memory.h"
#include "driver/serial.h"
#include "driver/status.h"

/* --- the library's numbers and OpenCL's --- */

static const cl_mem_object_type kinds[] = {
    [CLS_IMAGE_1D] = CL_MEM_OBJECT_IMAGE1D,
    [CLS_IMAGE_2D] = CL_MEM_OBJECT_IMAGE2D,
    [CLS_IMAGE_3D] = CL_MEM_OBJECT_IMAGE3D,
    [CLS_IMAGE_1D_ARRAY] = CL_MEM_OBJECT_IMAGE1D_ARRAY,
    [CLS_IMAGE_2D_ARRAY] = CL_MEM_OBJECT_IMAGE2D_ARRAY,
    [CLS_IMAGE_1D_BUFFER] = CL_MEM_OBJECT_IMAGE1D_BUFFER,
};

static const struct order_row {
    cl_channel_order cl;
    unsigned char channels;
} orders[] = {
    [CLS_CHANNELS_R] = {CL_R, 1},
    [CLS_CHANNELS_A] = {CL_A, 1},
    [CLS_CHANNELS_RG] = {CL_RG, 2},
    [CLS_CHANNELS_RA] = {CL_RA, 2},
    [CLS_CHANNELS_RGB] = {CL_RGB, 3},
    [CLS_CHANNELS_RGBA] = {CL_RGBA, 4},
    [CLS_CHANNELS_BGRA] = {CL_BGRA, 4},
    [CLS_CHANNELS_ARGB] = {CL_ARGB, 4},
    [CLS_CHANNELS_INTENSITY] = {CL_INTENSITY, 1},
    [CLS_CHANNELS_LUMINANCE] = {CL_LUMINANCE, 1},
};

/* A packed type has all its channels in `bytes`. */
static const struct channel_row {
    cl_channel_type cl;
    unsigned char bytes;
    bool packed;
} channels[] = {
    [CLS_CHANNEL_SNORM8] = {CL_SNORM_INT8, 1, false},
    [CLS_CHANNEL_SNORM16] = {CL_SNORM_INT16, 2, false},
    [CLS_CHANNEL_UNORM8] = {CL_UNORM_INT8, 1, false},
    [CLS_CHANNEL_UNORM16] = {CL_UNORM_INT16, 2, false},
    [CLS_CHANNEL_UNORM_565] = {CL_UNORM_SHORT_565, 2, true},
    [CLS_CHANNEL_UNORM_555] = {CL_UNORM_SHORT_555, 2, true},
    [CLS_CHANNEL_UNORM_101010] = {CL_UNORM_INT_101010, 4, true},
    [CLS_CHANNEL_I8] = {CL_SIGNED_INT8, 1, false},
    [CLS_CHANNEL_I16] = {CL_SIGNED_INT16, 2, false},
    [CLS_CHANNEL_I32] = {CL_SIGNED_INT32, 4, false},
    [CLS_CHANNEL_U8] = {CL_UNSIGNED_INT8, 1, false},
    [CLS_CHANNEL_U16] = {CL_UNSIGNED_INT16, 2, false},
    [CLS_CHANNEL_U32] = {CL_UNSIGNED_INT32, 4, false},
    [CLS_CHANNEL_F16] = {CL_HALF_FLOAT, 2, false},
    [CLS_CHANNEL_F32] = {CL_FLOAT, 4, false},
};

enum {
    KINDS = sizeof kinds / sizeof *kinds,
    ORDERS = sizeof orders / sizeof *orders,
    CHANNELS = sizeof channels / sizeof *channels
};
_Static_assert(KINDS == CLS_IMAGE_1D_BUFFER + 1 && ORDERS == CLS_CHANNELS_LUMINANCE + 1 &&
                   CHANNELS == CLS_CHANNEL_F32 + 1,
               "one row for each constant");

bool image_kind_is_known(cls_image_kind kind) { return (unsigned)kind - 1 < KINDS - 1; }

bool image_access_is_known(cls_access access) { return (unsigned)access <= CLS_ACCESS_READ_WRITE; }

/* OpenCL's rules; which of the others a device has, it says itself. */
static bool format_fits(const struct order_row *order, const struct channel_row *channel) {
    const bool of_8_bits = channel->bytes == 1,
               narrow = order->cl == CL_BGRA || order->cl == CL_ARGB;
    return channel->packed ? order->cl == CL_RGB : order->cl != CL_RGB && (of_8_bits || !narrow);
}

size_t cls_image_format_size(cls_image_format format) {
    if ((unsigned)format.order - 1 >= ORDERS - 1 || (unsigned)format.type - 1 >= CHANNELS - 1)
        return 0;
    const struct order_row *order = &orders[format.order];
    const struct channel_row *channel = &channels[format.type];
    if (!format_fits(order, channel))
        return 0;
    return channel->packed ? channel->bytes : (size_t)channel->bytes * order->channels;
}

static cl_image_format cl_of(cls_image_format format) {
    return (cl_image_format){orders[format.order].cl, channels[format.type].cl};
}

/* False: the library has no name for it. */
static bool format_of(cl_image_format cl, cls_image_format *out) {
    unsigned order = ORDERS - 1, type = CHANNELS - 1;
    while (order && orders[order].cl != cl.image_channel_order)
        order--;
    while (type && channels[type].cl != cl.image_channel_data_type)
        type--;
    *out = (cls_image_format){(cls_channel_order)order, (cls_channel_type)type};
    return cls_image_format_size(*out) != 0;
}

static cl_mem_flags flags_of(cls_access access) {
    return access == CLS_ACCESS_READ    ? CL_MEM_READ_ONLY
           : access == CLS_ACCESS_WRITE ? CL_MEM_WRITE_ONLY
                                        : CL_MEM_READ_WRITE;
}

/* --- limits and formats of the device --- */

static size_t limit(const struct device *device, cl_device_info what) {
    size_t most = 0;
    return !what                                                                       ? 1
           : clGetDeviceInfo(device->id, what, sizeof most, &most, NULL) == CL_SUCCESS ? most
                                                                                       : 0;
}

/* What bounds each extent; 0: the kind does not have it. */
static const cl_device_info limits[][3] = {
    [CLS_IMAGE_1D] = {CL_DEVICE_IMAGE2D_MAX_WIDTH, 0, 0},
    [CLS_IMAGE_2D] = {CL_DEVICE_IMAGE2D_MAX_WIDTH, CL_DEVICE_IMAGE2D_MAX_HEIGHT, 0},
    [CLS_IMAGE_3D] = {CL_DEVICE_IMAGE3D_MAX_WIDTH, CL_DEVICE_IMAGE3D_MAX_HEIGHT,
                      CL_DEVICE_IMAGE3D_MAX_DEPTH},
    [CLS_IMAGE_1D_ARRAY] = {CL_DEVICE_IMAGE2D_MAX_WIDTH, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, 0},
    [CLS_IMAGE_2D_ARRAY] = {CL_DEVICE_IMAGE2D_MAX_WIDTH, CL_DEVICE_IMAGE2D_MAX_HEIGHT,
                            CL_DEVICE_IMAGE_MAX_ARRAY_SIZE},
    [CLS_IMAGE_1D_BUFFER] = {CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, 0, 0},
};

cls_status image_check_size(const struct device *device, const cls_image_shape *shape) {
    const size_t extents[3] = {shape->width, shape->height, shape->depth};
    size_t most[3];
    if (!driver_begin(device))
        return driver_gone();
    for (unsigned i = 0; i < 3; i++)
        most[i] = limit(device, limits[shape->kind][i]);
    driver_end(device);
    if (!device->info.has_images)
        return error_set(CLS_ERROR_UNSUPPORTED, "%s has no images", device->info.name);
    for (unsigned i = 0; i < 3; i++)
        if (extents[i] > most[i] || extents[i] > UINT32_MAX)
            return error_set(CLS_ERROR_UNSUPPORTED,
                             "an image of %zu in dimension %u; %s allows %zu of this kind",
                             extents[i], i, device->info.name, most[i]);
    return CLS_SUCCESS;
}

static cl_int list_cl_formats(cl_context context, cls_image_kind kind, cls_access access,
                              cl_image_format **out, cl_uint *count) {
    *out = NULL;
    *count = 0;
    cl_int code =
        clGetSupportedImageFormats(context, flags_of(access), kinds[kind], 0, NULL, count);
    if (code != CL_SUCCESS || !*count)
        return code;
    *out = malloc(*count * sizeof **out);
    return *out ? clGetSupportedImageFormats(context, flags_of(access), kinds[kind], *count, *out,
                                             count)
                : CL_OUT_OF_HOST_MEMORY;
}

cls_status image_formats(const struct device *device, cl_context context, cls_image_kind kind,
                         cls_access access, cls_image_format *formats, size_t room, size_t *count) {
    cl_image_format *found = NULL;
    cl_uint n_found = 0;
    size_t n = 0;
    if (!driver_begin(device))
        return driver_gone();
    const cl_int code = device->info.has_images
                            ? list_cl_formats(context, kind, access, &found, &n_found)
                            : CL_SUCCESS;
    driver_end(device);
    for (cl_uint i = 0; i < n_found && code == CL_SUCCESS; i++) {
        cls_image_format format;
        if (!format_of(found[i], &format))
            continue;
        if (n < room)
            formats[n] = format;
        n++;
    }
    free(found);
    cls_status status = driver_status(code, "clGetSupportedImageFormats");
    if (!status)
        *count = n;
    return status;
}

cls_status image_has_format(const struct device *device, cl_context context, cls_image_kind kind,
                            cls_access access, cls_image_format format, bool *out) {
    cls_image_format formats[IMAGE_FORMATS];
    size_t count = 0;
    cls_status status =
        image_formats(device, context, kind, access, formats, IMAGE_FORMATS, &count);
    *out = false;
    for (size_t i = 0; i < count && i < IMAGE_FORMATS; i++)
        *out = *out || (formats[i].order == format.order && formats[i].type == format.type);
    return status;
}

/* --- images --- */

/* OpenCL 3.0 made them optional again: the device says 0 then. */
static cl_uint ask_pitch_alignment(const struct device *device) {
    cl_uint texels = 0;
    if (device->cl_version < 200 &&
        !device_list_has(device->extensions, "cl_khr_image2d_from_buffer"))
        return 0;
    return clGetDeviceInfo(device->id, CL_DEVICE_IMAGE_PITCH_ALIGNMENT, sizeof texels, &texels,
                           NULL) == CL_SUCCESS
               ? texels
               : 0;
}

cls_status image_pitch_alignment(const struct device *device, size_t *texels) {
    if (!driver_begin(device))
        return driver_gone();
    *texels = ask_pitch_alignment(device);
    driver_end(device);
    return CLS_SUCCESS;
}

cls_status image_check_pitch(const struct device *device, size_t texel, size_t pitch) {
    size_t texels = 0;
    cls_status status = image_pitch_alignment(device, &texels);
    if (status)
        return status;
    if (!texels)
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "%s has no 2D images over buffers (cl_khr_image2d_from_buffer)",
                         device->info.name);
    if (pitch % (texels * texel))
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "rows %zu bytes apart; %s wants a multiple of %zu (%zu texels)", pitch,
                         device->info.name, texels * texel, texels);
    return CLS_SUCCESS;
}

cls_status image_create(const struct device *device, cl_context context,
                        const cls_image_shape *shape, cl_mem over, size_t pitch, cl_mem *out) {
    const cl_image_format format = cl_of(shape->format);
    const bool is_array = shape->kind == CLS_IMAGE_1D_ARRAY || shape->kind == CLS_IMAGE_2D_ARRAY;
    cl_image_desc desc = {.image_type = kinds[shape->kind], .image_width = shape->width};
    cl_int code;
    if (shape->kind != CLS_IMAGE_1D_ARRAY)
        desc.image_height = shape->height;
    if (shape->kind == CLS_IMAGE_3D)
        desc.image_depth = shape->depth;
    if (is_array)
        desc.image_array_size = shape->kind == CLS_IMAGE_1D_ARRAY ? shape->height : shape->depth;
    desc.buffer = over;
    if (shape->kind == CLS_IMAGE_2D)
        desc.image_row_pitch = pitch;
    if (!driver_begin(device))
        return driver_gone();
    cl_mem memory = clCreateImage(context, flags_of(shape->access), &format, &desc, NULL, &code);
    driver_end(device);
    cls_status status = driver_status(code, "clCreateImage");
    if (!status)
        *out = memory;
    return status;
}

static cl_int read_extents(cl_mem memory, cls_image_shape *out, cl_image_format *format) {
    const bool lines = out->kind == CLS_IMAGE_1D_ARRAY, slices = out->kind == CLS_IMAGE_3D;
    const cl_image_info height = lines ? CL_IMAGE_ARRAY_SIZE : CL_IMAGE_HEIGHT,
                        depth = slices ? CL_IMAGE_DEPTH : CL_IMAGE_ARRAY_SIZE;
    cl_int code = clGetImageInfo(memory, CL_IMAGE_FORMAT, sizeof *format, format, NULL);
    if (code == CL_SUCCESS)
        code = clGetImageInfo(memory, CL_IMAGE_WIDTH, sizeof out->width, &out->width, NULL);
    if (code == CL_SUCCESS && limits[out->kind][1])
        code = clGetImageInfo(memory, height, sizeof out->height, &out->height, NULL);
    if (code == CL_SUCCESS && limits[out->kind][2])
        code = clGetImageInfo(memory, depth, sizeof out->depth, &out->depth, NULL);
    return code;
}

static cl_int read_cl_shape(cl_mem memory, cl_context *context, cls_image_shape *out,
                            cl_image_format *format, size_t *bytes) {
    cl_mem_object_type type = 0;
    cl_mem_flags flags = 0;
    unsigned kind = KINDS - 1;
    cl_int code = clGetMemObjectInfo(memory, CL_MEM_TYPE, sizeof type, &type, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof(cl_context), context, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(memory, CL_MEM_FLAGS, sizeof flags, &flags, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof *bytes, bytes, NULL);
    while (kind && kinds[kind] != type)
        kind--;
    *out = (cls_image_shape){.kind = (cls_image_kind)kind, .width = 1, .height = 1, .depth = 1};
    out->access = flags & CL_MEM_READ_ONLY    ? CLS_ACCESS_READ
                  : flags & CL_MEM_WRITE_ONLY ? CLS_ACCESS_WRITE
                                              : CLS_ACCESS_READ_WRITE;
    return code == CL_SUCCESS && kind ? read_extents(memory, out, format) : code;
}

cls_status image_adopt(const struct device *device, cl_context context, cl_mem memory,
                       cls_image_shape *out, size_t *bytes) {
    cl_context owner = NULL;
    cl_image_format format = {0, 0};
    cls_image_shape shape;
    if (!driver_begin(device))
        return driver_gone();
    const cl_int code = read_cl_shape(memory, &owner, &shape, &format, bytes);
    driver_end(device);
    cls_status status = driver_status(code, "clGetImageInfo");
    if (status)
        return status;
    if (owner != context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "the cl_mem is of another cl_context");
    if (!shape.kind || !format_of(format, &shape.format))
        return error_set(
            CLS_ERROR_UNSUPPORTED,
            "the cl_mem is no image, or of a kind or format (0x%x, 0x%x) that the library does not have",
            format.image_channel_order, format.image_channel_data_type);
    status = memory_retain(device, memory);
    if (!status)
        *out = shape;
    return status;
}

/* --- samplers --- */

static const cl_addressing_mode addressings[] = {
    [CLS_ADDRESS_NONE] = CL_ADDRESS_NONE,
    [CLS_ADDRESS_BORDER] = CL_ADDRESS_CLAMP,
    [CLS_ADDRESS_CLAMP_TO_EDGE] = CL_ADDRESS_CLAMP_TO_EDGE,
    [CLS_ADDRESS_REPEAT] = CL_ADDRESS_REPEAT,
    [CLS_ADDRESS_MIRRORED_REPEAT] = CL_ADDRESS_MIRRORED_REPEAT,
};
enum { ADDRESSINGS = sizeof addressings / sizeof *addressings };
_Static_assert(SAMPLERS == 4 * ADDRESSINGS, "one sampler for each combination");

unsigned sampler_number(int normalized, cls_addressing addressing, cls_filter filter) {
    const bool repeats =
        addressing == CLS_ADDRESS_REPEAT || addressing == CLS_ADDRESS_MIRRORED_REPEAT;
    if ((unsigned)addressing >= ADDRESSINGS || (unsigned)filter > CLS_FILTER_LINEAR ||
        (repeats && !normalized))
        return SAMPLERS;
    return (unsigned)addressing * 4 + (unsigned)filter * 2 + (normalized != 0);
}

cls_status sampler_create(const struct device *device, cl_context context, unsigned number,
                          cl_sampler *out) {
    cl_int code;
    driver_enter(device);
    cl_sampler sampler =
        clCreateSampler(context, number & 1 ? CL_TRUE : CL_FALSE, addressings[number / 4],
                        number & 2 ? CL_FILTER_LINEAR : CL_FILTER_NEAREST, &code);
    driver_leave(device);
    cls_status status = driver_status(code, "clCreateSampler");
    if (!status)
        *out = sampler;
    return status;
}

void sampler_release(const struct device *device, cl_sampler sampler) {
    if (!driver_begin(device))
        return;
    clReleaseSampler(sampler);
    driver_end(device);
}

/* --- commands --- */

enum image_rows image_rows_of(cls_image_kind kind) {
    static const enum image_rows rows[] = {
        [CLS_IMAGE_1D] = ROW_ONE,          [CLS_IMAGE_2D] = ROW_MANY,
        [CLS_IMAGE_3D] = ROW_SLICES,       [CLS_IMAGE_1D_ARRAY] = ROW_LAYERS,
        [CLS_IMAGE_2D_ARRAY] = ROW_SLICES, [CLS_IMAGE_1D_BUFFER] = ROW_ONE,
    };
    return rows[kind];
}

static size_t row_pitch(const struct image_box *box) {
    return box->rows == ROW_ONE ? 0 : box->pitch;
}

static size_t slice_pitch(const struct image_box *box) {
    return box->rows == ROW_SLICES ? box->slice : box->rows == ROW_LAYERS ? box->pitch : 0;
}

#define TEXELS(of) ((const size_t[3]){(of)[0], (of)[1], (of)[2]})
#define WAITS(waits) (waits).count, wait_events(waits)

cls_status enqueue_image_write(const struct device *device, cl_command_queue queue, cl_mem to,
                               const struct image_box *box, const void *from,
                               struct wait_list waits, cl_event *event) {
    const char *start = (const char *)from + box->offset;
    driver_enter(device);
    return driver_left(device,
                       clEnqueueWriteImage(queue, to, CL_FALSE, TEXELS(box->to), TEXELS(box->size),
                                           row_pitch(box), slice_pitch(box), start, WAITS(waits),
                                           event),
                       "clEnqueueWriteImage");
}

cls_status enqueue_image_read(const struct device *device, cl_command_queue queue, cl_mem from,
                              const struct image_box *box, void *to, struct wait_list waits,
                              cl_event *event) {
    char *start = (char *)to + box->offset;
    driver_enter(device);
    return driver_left(device,
                       clEnqueueReadImage(queue, from, CL_FALSE, TEXELS(box->from),
                                          TEXELS(box->size), row_pitch(box), slice_pitch(box),
                                          start, WAITS(waits), event),
                       "clEnqueueReadImage");
}

cls_status enqueue_image_copy(const struct device *device, cl_command_queue queue, cl_mem to,
                              cl_mem from, const struct image_box *box, struct wait_list waits,
                              cl_event *event) {
    driver_enter(device);
    return driver_left(device,
                       clEnqueueCopyImage(queue, from, to, TEXELS(box->from), TEXELS(box->to),
                                          TEXELS(box->size), WAITS(waits), event),
                       "clEnqueueCopyImage");
}

/* Buffers by their roots: PoCL 3.1 crashes on sub-buffers here. */
cls_status enqueue_buffer_to_image(const struct device *device, cl_command_queue queue, cl_mem to,
                                   cl_mem from, const struct image_box *box, struct wait_list waits,
                                   cl_event *event) {
    struct memory_place place;
    const cl_int code = memory_find(device, from, &place);
    if (code != CL_SUCCESS)
        return driver_status(code, "clGetMemObjectInfo");
    driver_enter(device);
    return driver_left(device,
                       clEnqueueCopyBufferToImage(queue, place.root, to, place.origin + box->offset,
                                                  TEXELS(box->to), TEXELS(box->size), WAITS(waits),
                                                  event),
                       "clEnqueueCopyBufferToImage");
}

cls_status enqueue_image_to_buffer(const struct device *device, cl_command_queue queue, cl_mem to,
                                   cl_mem from, const struct image_box *box, struct wait_list waits,
                                   cl_event *event) {
    struct memory_place place;
    const cl_int code = memory_find(device, to, &place);
    if (code != CL_SUCCESS)
        return driver_status(code, "clGetMemObjectInfo");
    driver_enter(device);
    return driver_left(device,
                       clEnqueueCopyImageToBuffer(queue, from, place.root, TEXELS(box->from),
                                                  TEXELS(box->size), place.origin + box->offset,
                                                  WAITS(waits), event),
                       "clEnqueueCopyImageToBuffer");
}

cls_status enqueue_image_fill(const struct device *device, cl_command_queue queue, cl_mem to,
                              const struct image_box *box, struct wait_list waits,
                              cl_event *event) {
    driver_enter(device);
    return driver_left(device,
                       clEnqueueFillImage(queue, to, box->color, TEXELS(box->to), TEXELS(box->size),
                                          WAITS(waits), event),
                       "clEnqueueFillImage");
}
