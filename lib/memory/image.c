/* SPDX-License-Identifier: MIT */
#include "memory/image.h"

#include <string.h>

#include "base/error.h"
#include "base/range.h"
#include "driver/driver_image.h"
#include "driver/memory.h"
#include "stream/context.h"

/* The race checker knows an image over a buffer as that buffer. */
static void image_finalize(struct object *object) {
    struct image *image = (struct image *)(void *)object;
    if (!image->over) {
        buffer_end(&image->memory);
        return;
    }
    memory_release(image->memory.context->device, image->memory.memory);
    context_put(image->memory.context);
    buffer_put(image->over);
}

struct object_pool image_pool = OBJECT_POOL(23, sizeof(struct image), "image", image_finalize);

cls_status image_get(cls_image handle, struct image **out) {
    struct image *image = object_acquire(&image_pool, handle);
    if (!image)
        return object_invalid(&image_pool, handle);
    cls_status status = context_check(image->memory.context);
    if (status)
        buffer_put(&image->memory);
    else
        *out = image;
    return status;
}

cls_status image_get_memory(cls_image handle, struct buffer **out) {
    struct image *image;
    cls_status status = image_get(handle, &image);
    if (!status)
        *out = &image->memory;
    return status;
}

static size_t shape_bytes(const cls_image_shape *shape) {
    size_t bytes = cls_image_format_size(shape->format);
    if (__builtin_mul_overflow(bytes, shape->width, &bytes) ||
        __builtin_mul_overflow(bytes, shape->height, &bytes) ||
        __builtin_mul_overflow(bytes, shape->depth, &bytes))
        return SIZE_MAX;
    return bytes;
}

/* Of memory whose rows begin `pitch` bytes apart. */
static size_t pitched_bytes(const cls_image_shape *shape, size_t pitch) {
    size_t bytes;
    return __builtin_mul_overflow(pitch, shape->height, &bytes) ? SIZE_MAX : bytes;
}

cls_status image_new(struct context *context, cl_mem memory, const cls_image_shape *shape,
                     struct buffer *over, size_t pitch, cls_image *out) {
    struct image *image = object_create(&image_pool);
    if (!image)
        return object_none(&image_pool, "an image's handle");
    object_retain(&context->object);
    image->memory.context = context;
    image->memory.memory = memory;
    image->memory.bytes = over ? pitched_bytes(shape, pitch) : shape_bytes(shape);
    image->memory.counted = over ? 0 : image->memory.bytes;
    context_count_memory(context, (int64_t)image->memory.counted);
    image->shape = *shape;
    image->texel = cls_image_format_size(shape->format);
    if (over)
        object_retain(&over->object);
    image->over = over;
    image->pitch = pitch;
    *out = object_handle(&image->memory.object);
    return CLS_SUCCESS;
}

/* --- requested shapes --- */

static cls_status check_kind(cls_image_kind kind, cls_access access) {
    if (!image_kind_is_known(kind))
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_image_kind", (int)kind);
    if (!image_access_is_known(access))
        return error_set(CLS_ERROR_INVALID_VALUE, "%d is no cls_access", (int)access);
    return CLS_SUCCESS;
}

static cls_status check_format(cls_image_format format) {
    if (cls_image_format_size(format))
        return CLS_SUCCESS;
    return error_set(CLS_ERROR_INVALID_VALUE, "channels %d of type %d are no format of OpenCL",
                     (int)format.order, (int)format.type);
}

static cls_status check_extents(const cls_image_shape *shape) {
    const bool flat = shape->kind == CLS_IMAGE_1D || shape->kind == CLS_IMAGE_1D_BUFFER;
    const bool deep = shape->kind == CLS_IMAGE_3D || shape->kind == CLS_IMAGE_2D_ARRAY;
    if (!shape->width || (!flat && !shape->height) || (deep && !shape->depth))
        return error_set(CLS_ERROR_INVALID_VALUE, "an image with an extent of 0");
    if ((flat && shape->height > 1) || (!deep && shape->depth > 1))
        return error_set(CLS_ERROR_INVALID_VALUE, "an extent that the image's kind does not have");
    return CLS_SUCCESS;
}

static cls_status take_shape(const cls_image_shape *given, cls_image_shape *out) {
    if (!given)
        return error_set(CLS_ERROR_INVALID_VALUE, "the image's shape is null");
    cls_status status = check_kind(given->kind, given->access);
    if (!status)
        status = check_format(given->format);
    if (!status)
        status = check_extents(given);
    *out = *given;
    out->height += !given->height;
    out->depth += !given->depth;
    if (!given->access)
        out->access = CLS_ACCESS_READ_WRITE;
    return status;
}

/* --- formats of the device --- */

/* `images` of a context. */
enum {
    IMAGES_TRIED = 1,
    IMAGES_RIGHT = 2,
    IMAGES_HALVES_RIGHT = 4,
    IMAGES_LAYERS_RIGHT = 8,
    IMAGES_OVER_TRIED = 16,
    IMAGES_OVER_RIGHT = 32
};

static cls_status try_images(struct context *context, int *out) {
    struct image_verdict verdict = {false, false, false};
    *out = atomic_load(&context->images);
    if (*out)
        return CLS_SUCCESS;
    cls_status status = context->device->info.has_images
                            ? image_try(context->device, context->cl, &verdict)
                            : CLS_SUCCESS;
    if (status)
        return status;
    *out = IMAGES_TRIED | (verdict.texels ? IMAGES_RIGHT : 0) |
           (verdict.halves ? IMAGES_HALVES_RIGHT : 0) | (verdict.layers ? IMAGES_LAYERS_RIGHT : 0);
    atomic_store(&context->images, *out);
    return CLS_SUCCESS;
}

cls_status image_check_layers(const struct image *image) {
    int images;
    if (image->shape.kind != CLS_IMAGE_1D_ARRAY)
        return CLS_SUCCESS;
    cls_status status = try_images(image->memory.context, &images);
    if (status || images & IMAGES_LAYERS_RIGHT)
        return status;
    return error_set(CLS_ERROR_UNSUPPORTED,
                     "%s: the driver cannot copy the layers of a 1D array from and to buffers",
                     image->memory.context->device->info.name);
}

static bool is_one_half(cls_image_format format) {
    return format.type == CLS_CHANNEL_F16 && cls_image_format_size(format) == sizeof(uint16_t);
}

/* The driver's formats, without those that it gets wrong. */
static cls_status list_right_formats(struct context *context, cls_image_kind kind,
                                     cls_access access, cls_image_format formats[IMAGE_FORMATS],
                                     size_t *count) {
    int images;
    size_t n_found = 0, n = 0;
    cls_status status = try_images(context, &images);
    if (!status && images & IMAGES_RIGHT)
        status = image_formats(context->device, context->cl, kind, access, formats, IMAGE_FORMATS,
                               &n_found);
    for (size_t i = 0; i < n_found && i < IMAGE_FORMATS; i++)
        if (images & IMAGES_HALVES_RIGHT || !is_one_half(formats[i]))
            formats[n++] = formats[i];
    *count = n;
    return status;
}

static cls_status has_format(struct context *context, cls_image_kind kind, cls_access access,
                             cls_image_format format, bool *out) {
    int images;
    cls_status status = try_images(context, &images);
    *out = false;
    if (status || !(images & IMAGES_RIGHT) ||
        (is_one_half(format) && !(images & IMAGES_HALVES_RIGHT)))
        return status;
    return image_has_format(context->device, context->cl, kind, access, format, out);
}

static cls_status check_trial(struct context *context) {
    int images;
    cls_status status = try_images(context, &images);
    if (status || images & IMAGES_RIGHT)
        return status;
    return error_set(CLS_ERROR_UNSUPPORTED,
                     "%s: kernels see other texels of an image than were copied to it",
                     context->device->info.name);
}

/* After try_images. */
static cls_status try_images_over(struct context *context, bool *right) {
    const int images = atomic_load(&context->images);
    *right = (images & IMAGES_OVER_RIGHT) != 0;
    if (images & IMAGES_OVER_TRIED)
        return CLS_SUCCESS;
    cls_status status = image_try_over(context->device, context->cl, right);
    if (!status)
        atomic_fetch_or(&context->images, IMAGES_OVER_TRIED | (*right ? IMAGES_OVER_RIGHT : 0));
    return status;
}

static cls_status check_rows_over(struct context *context, const cls_image_shape *shape,
                                  size_t pitch) {
    bool right;
    cls_status status =
        image_check_pitch(context->device, cls_image_format_size(shape->format), pitch);
    if (!status)
        status = try_images_over(context, &right);
    if (status || right)
        return status;
    return error_set(CLS_ERROR_UNSUPPORTED,
                     "%s: kernels see other texels of a 2D image over a buffer than the buffer has",
                     context->device->info.name);
}

static cls_status check_device(struct context *context, const cls_image_shape *shape) {
    bool has = false;
    cls_status status = image_check_size(context->device, shape);
    if (!status)
        status = check_trial(context);
    if (!status)
        status = has_format(context, shape->kind, shape->access, shape->format, &has);
    if (!status && !has)
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "%s has no images of this kind and access with channels %d of type %d",
                         context->device->info.name, (int)shape->format.order,
                         (int)shape->format.type);
    return status;
}

/* --- the calls --- */

static cls_status create_image(struct context *context, const cls_image_shape *shape,
                               struct buffer *over, size_t pitch, cls_image *out) {
    cl_mem memory;
    cls_status status = check_device(context, shape);
    if (!status && over && shape->kind == CLS_IMAGE_2D)
        status = check_rows_over(context, shape, pitch);
    if (!status && !over)
        status = buffer_check_most(context->device, shape_bytes(shape));
    if (!status)
        status = image_create(context->device, context->cl, shape, over ? over->memory : NULL,
                              pitch, &memory);
    if (status)
        return status;
    status = image_new(context, memory, shape, over, pitch, out);
    if (status)
        memory_release(context->device, memory);
    return status;
}

cls_status cls_image_create(cls_context handle, const cls_image_shape *given, cls_image *out) {
    struct context *context;
    cls_image_shape shape;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_image_create: out is null");
    cls_status status = take_shape(given, &shape);
    if (!status && shape.kind == CLS_IMAGE_1D_BUFFER)
        status = error_set(CLS_ERROR_INVALID_VALUE,
                           "an image of a buffer's memory: cls_image_over makes it");
    if (!status)
        status = context_get(handle, &context);
    if (status)
        return status;
    status = create_image(context, &shape, NULL, 0, out);
    context_put(context);
    if (!status)
        object_note_call(*out, "cls_image_create");
    return status;
}

/* 0 becomes the size of a row. */
static cls_status take_pitch(const cls_image_shape *shape, size_t *pitch) {
    const size_t texel = cls_image_format_size(shape->format);
    size_t row;
    if (__builtin_mul_overflow(texel, shape->width, &row))
        row = SIZE_MAX;
    if (*pitch && shape->kind != CLS_IMAGE_2D)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "a pitch of %zu bytes for an image of one dimension", *pitch);
    if (*pitch && (*pitch < row || *pitch % texel))
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "a pitch of %zu bytes for rows of %zu with texels of %zu", *pitch, row,
                         texel);
    *pitch = *pitch ? *pitch : row;
    return CLS_SUCCESS;
}

/* Drivers do not agree on images over a part of a buffer, and other memory moves between contexts or to the host. So the
 * memory is the driver's own: CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT is about memory of CL_MEM_USE_HOST_PTR. */
static cls_status check_over(const struct buffer *buffer, const cls_image_shape *shape,
                             size_t pitch) {
    if (buffer->kind != CLS_BUFFER_OWN)
        return error_set(CLS_ERROR_UNSUPPORTED,
                         "an image over a buffer that is not of cls_buffer_create");
    return range_check(0, pitched_bytes(shape, pitch), buffer->bytes);
}

static cls_status make_over(cls_buffer handle, const cls_image_shape *given, size_t pitch,
                            cls_image *out, const char *call) {
    struct buffer *buffer;
    cls_image_shape shape;
    if (!out)
        return error_set(CLS_ERROR_INVALID_VALUE, "%s: out is null", call);
    cls_status status = take_shape(given, &shape);
    if (!status && shape.kind != CLS_IMAGE_1D_BUFFER && shape.kind != CLS_IMAGE_2D)
        status =
            error_set(CLS_ERROR_INVALID_VALUE,
                      "only an image of kind CLS_IMAGE_1D_BUFFER or CLS_IMAGE_2D is over a buffer");
    if (!status)
        status = take_pitch(&shape, &pitch);
    if (!status)
        status = buffer_get(handle, &buffer);
    if (status)
        return status;
    status = check_over(buffer, &shape, pitch);
    if (!status)
        status = create_image(buffer->context, &shape, buffer, pitch, out);
    buffer_put(buffer);
    if (!status)
        object_note_call(*out, call);
    return status;
}

cls_status cls_image_over(cls_buffer buffer, const cls_image_shape *shape, cls_image *out) {
    return make_over(buffer, shape, 0, out, "cls_image_over");
}

cls_status cls_image_over_pitched(cls_buffer buffer, const cls_image_shape *shape, size_t pitch,
                                  cls_image *out) {
    return make_over(buffer, shape, pitch, out, "cls_image_over_pitched");
}

cls_status cls_image_destroy(cls_image handle) {
    return object_destroy(&image_pool, handle) ? CLS_SUCCESS : object_invalid(&image_pool, handle);
}

cls_status cls_image_get_shape(cls_image handle, cls_image_shape *shape) {
    struct image *image;
    if (!shape)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_image_get_shape: shape is null");
    cls_status status = image_get(handle, &image);
    if (status)
        return status;
    *shape = image->shape;
    buffer_put(&image->memory);
    return CLS_SUCCESS;
}

cls_status cls_image_format_supported(cls_context handle, cls_image_kind kind, cls_access access,
                                      cls_image_format format, int *supported) {
    struct context *context;
    bool has = false;
    if (!supported)
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_image_format_supported: supported is null");
    cls_status status = check_kind(kind, access);
    if (!status)
        status = check_format(format);
    if (!status)
        status = context_get(handle, &context);
    if (status)
        return status;
    status = has_format(context, kind, access, format, &has);
    context_put(context);
    if (!status)
        *supported = has;
    return status;
}

cls_status cls_image_formats(cls_context handle, cls_image_kind kind, cls_access access,
                             cls_image_format *formats, size_t room, size_t *count) {
    cls_image_format found[IMAGE_FORMATS];
    struct context *context;
    size_t n;
    if (!count || (room && !formats))
        return error_set(CLS_ERROR_INVALID_VALUE, "cls_image_formats: %s is null",
                         count ? "formats" : "count");
    cls_status status = check_kind(kind, access);
    if (!status)
        status = context_get(handle, &context);
    if (status)
        return status;
    status = list_right_formats(context, kind, access, found, &n);
    context_put(context);
    if (status)
        return status;
    if (room && n)
        memcpy(formats, found, (n < room ? n : room) * sizeof *formats);
    *count = n;
    return CLS_SUCCESS;
}

/* --- samplers --- */

/* Two threads may make one at once; the second one's is given back. */
cls_status image_sampler(struct context *context, const cls_arg *arg, cl_sampler *out) {
    const unsigned number =
        sampler_number(arg->u.sampler.normalized, arg->u.sampler.addressing, arg->u.sampler.filter);
    if (number == SAMPLERS)
        return error_set(CLS_ERROR_INVALID_VALUE,
                         "OpenCL has no such sampler: addressing %d, filter %d, %s coordinates",
                         (int)arg->u.sampler.addressing, (int)arg->u.sampler.filter,
                         arg->u.sampler.normalized ? "normalized" : "texels as");
    cl_sampler sampler = atomic_load(&context->samplers[number]), made = NULL;
    if (!sampler) {
        cls_status status = sampler_create(context->device, context->cl, number, &made);
        if (status)
            return status;
        if (atomic_compare_exchange_strong(&context->samplers[number], &sampler, made))
            sampler = made;
        else
            sampler_release(context->device, made);
    }
    *out = sampler;
    return CLS_SUCCESS;
}
