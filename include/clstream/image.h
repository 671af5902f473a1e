/* SPDX-License-Identifier: MIT */
/**
 * @file image.h
 * Images: device memory of texels, which kernels read through samplers. A kernel's image2d_t takes a
 * cls_image (cls_arg_image), its sampler_t a sampler (cls_arg_sampler).
 *
 *     const cls_image_shape shape = {CLS_IMAGE_2D, {CLS_CHANNELS_RGBA, CLS_CHANNEL_UNORM8}, 0, 640, 480, 1};
 *     cls_image_create(NULL, &shape, &image);
 *     cls_image_from_host_async(image, pixels, NULL, stream);
 *     cls_arg args[] = {cls_arg_image(image), cls_arg_sampler(0, CLS_ADDRESS_CLAMP_TO_EDGE, CLS_FILTER_NEAREST)};
 *
 * Extents and origins are in texels; the layers of an array are its last dimension. An image is memory
 * like a buffer: submitted work keeps it, graphs capture its commands, and the race checker knows it,
 * as one whole. The rules of buffer.h for host memory, for the `_async` forms and for statuses hold for
 * its copies too. cls_graph_bind takes no images: cls_graph_set_args and cls_graph_update do. Every
 * function may be called from any thread.
 *
 * At the first image of a context the library tries a small one by values. On a device whose driver
 * gets that wrong, as on one without images, calls that make an image return CLS_ERROR_UNSUPPORTED.
 */
#ifndef CLSTREAM_IMAGE_H
#define CLSTREAM_IMAGE_H

#include <clstream/kernel.h>
#include <clstream/types.h>

CLS_BEGIN_DECLS

/** Kinds of images, with the type that a kernel has for them. The numbers do not change. */
typedef enum cls_image_kind {
    CLS_IMAGE_1D = 1,       /**< image1d_t */
    CLS_IMAGE_2D = 2,       /**< image2d_t; also the memory of a buffer, cls_image_over */
    CLS_IMAGE_3D = 3,       /**< image3d_t */
    CLS_IMAGE_1D_ARRAY = 4, /**< image1d_array_t: `height` layers */
    CLS_IMAGE_2D_ARRAY = 5, /**< image2d_array_t: `depth` layers */
    CLS_IMAGE_1D_BUFFER = 6 /**< image1d_buffer_t: the memory of a buffer, cls_image_over */
} cls_image_kind;

/** Channels of a texel, in memory's order. The numbers do not change. */
typedef enum cls_channel_order {
    CLS_CHANNELS_R = 1,         /**< red */
    CLS_CHANNELS_A = 2,         /**< alpha */
    CLS_CHANNELS_RG = 3,        /**< red, green */
    CLS_CHANNELS_RA = 4,        /**< red, alpha */
    CLS_CHANNELS_RGB = 5,       /**< packed: of CLS_CHANNEL_UNORM_565, _555 and _101010 only */
    CLS_CHANNELS_RGBA = 6,      /**< red, green, blue, alpha */
    CLS_CHANNELS_BGRA = 7,      /**< of channels of 8 bits */
    CLS_CHANNELS_ARGB = 8,      /**< of channels of 8 bits */
    CLS_CHANNELS_INTENSITY = 9, /**< one value, read as all four */
    CLS_CHANNELS_LUMINANCE = 10 /**< one value, read as red, green and blue */
} cls_channel_order;

/** Type of a channel. The numbers do not change. */
typedef enum cls_channel_type {
    CLS_CHANNEL_SNORM8 = 1,       /**< 8 bits, read as -1 to 1 */
    CLS_CHANNEL_SNORM16 = 2,      /**< 16 bits, read as -1 to 1 */
    CLS_CHANNEL_UNORM8 = 3,       /**< 8 bits, read as 0 to 1 */
    CLS_CHANNEL_UNORM16 = 4,      /**< 16 bits, read as 0 to 1 */
    CLS_CHANNEL_UNORM_565 = 5,    /**< three channels in 16 bits */
    CLS_CHANNEL_UNORM_555 = 6,    /**< three channels in 16 bits */
    CLS_CHANNEL_UNORM_101010 = 7, /**< three channels in 32 bits */
    CLS_CHANNEL_I8 = 8,           /**< read by read_imagei */
    CLS_CHANNEL_I16 = 9,          /**< read by read_imagei */
    CLS_CHANNEL_I32 = 10,         /**< read by read_imagei */
    CLS_CHANNEL_U8 = 11,          /**< read by read_imageui */
    CLS_CHANNEL_U16 = 12,         /**< read by read_imageui */
    CLS_CHANNEL_U32 = 13,         /**< read by read_imageui */
    CLS_CHANNEL_F16 = 14,         /**< IEEE 754 binary16, read as a float */
    CLS_CHANNEL_F32 = 15          /**< float */
} cls_channel_type;

/** What a texel is. */
typedef struct cls_image_format {
    cls_channel_order order; /**< its channels */
    cls_channel_type type;   /**< the type of each */
} cls_image_format;

/** What an image is. Extents that the kind does not have count as 1, and may be 0. */
typedef struct cls_image_shape {
    cls_image_kind kind;     /**< dimensions, and whether it is an array */
    cls_image_format format; /**< of its texels */
    cls_access access; /**< what kernels may do: 0, as CLS_ACCESS_READ_WRITE, read it and write it;
                                  some formats are for CLS_ACCESS_READ or CLS_ACCESS_WRITE only */
    size_t width;      /**< texels of a row */
    size_t height;     /**< rows of a slice; layers of CLS_IMAGE_1D_ARRAY */
    size_t depth;      /**< slices; layers of CLS_IMAGE_2D_ARRAY */
} cls_image_shape;

/**
 * Makes an image with undefined contents. The caller destroys it.
 * @retval CLS_ERROR_INVALID_VALUE        null, an unknown constant, an extent of 0, a format that OpenCL does not
 *                                        have, or CLS_IMAGE_1D_BUFFER (cls_image_over)
 * @retval CLS_ERROR_UNSUPPORTED          the device has no images, or none of this format or size; the detail says
 *                                        which, and the device's limit
 * @retval CLS_ERROR_OUT_OF_DEVICE_MEMORY also for more than the device allows in one buffer
 */
CLS_API cls_status cls_image_create(cls_context context, const cls_image_shape *shape,
                                    cls_image *out);

/**
 * Makes an image of kind CLS_IMAGE_1D_BUFFER or CLS_IMAGE_2D of the first texels of a buffer, whose memory it is and
 * keeps. Rows have no gap (cls_image_over_pitched). The race checker knows the two to be one memory.
 *
 * CLS_IMAGE_2D needs OpenCL 2.0 or cl_khr_image2d_from_buffer. The library tries it by values at the first such image of
 * a context.
 * @retval CLS_ERROR_INVALID_VALUE as in cls_image_create, another kind, or rows of CLS_IMAGE_2D that are no multiple of
 *                                 the device's alignment, which the detail names
 * @retval CLS_ERROR_OUT_OF_RANGE  the texels end past the end of the buffer
 * @retval CLS_ERROR_UNSUPPORTED   also for a buffer of another kind than CLS_BUFFER_OWN, and for CLS_IMAGE_2D on a device
 *                                 without it, or whose driver gets it wrong
 */
CLS_API cls_status cls_image_over(cls_buffer buffer, const cls_image_shape *shape, cls_image *out);

/**
 * Like cls_image_over, for rows of CLS_IMAGE_2D that begin `pitch` bytes apart; 0: rows without a gap, as for any other
 * kind. The last row too takes `pitch` bytes of the buffer. No function of the library writes between the rows.
 * @retval CLS_ERROR_INVALID_VALUE also a pitch below a row's size, that is no multiple of a texel's, or of another kind
 */
CLS_API cls_status cls_image_over_pitched(cls_buffer buffer, const cls_image_shape *shape,
                                          size_t pitch, cls_image *out);

/**
 * Releases the caller's handle and returns at once. Submitted work keeps the memory until it is done.
 */
CLS_API cls_status cls_image_destroy(cls_image image);

/** Gets what the image is, its extents 1 where its kind has none. */
CLS_API cls_status cls_image_get_shape(cls_image image, cls_image_shape *shape);

/**
 * Says whether the context's device has images of this kind and format for this access (0: read and write):
 * `*supported` becomes 1 or 0. A device without images has none.
 * @retval CLS_ERROR_INVALID_VALUE an unknown constant, or `supported` is null
 */
CLS_API cls_status cls_image_format_supported(cls_context context, cls_image_kind kind,
                                              cls_access access, cls_image_format format,
                                              int *supported);

/**
 * Lists the formats that cls_image_format_supported is 1 for: the first `room` of them to `formats`, and their number
 * to `count`. `formats` may be NULL where `room` is 0.
 */
CLS_API cls_status cls_image_formats(cls_context context, cls_image_kind kind, cls_access access,
                                     cls_image_format *formats, size_t room, size_t *count);

/** Returns the bytes of a texel, or 0 for a format that OpenCL does not have. */
CLS_API size_t cls_image_format_size(cls_image_format format);

/**
 * A box of texels to copy or to fill. A null box stands for the whole image, its rows without a gap. A copy between
 * images of different extents needs a box.
 */
typedef struct cls_image_box {
    size_t size[3]; /**< extents, in texels; a box with a 0 among them is empty */
    size_t dst[3];  /**< its first texel in the destination, where that is an image */
    size_t src[3];  /**< its first texel in the source, where that is an image */
    size_t offset;  /**< bytes before its first row in host memory or in a buffer */
    size_t pitch;   /**< of host memory: bytes from row to row, or 0 for rows without a gap. A
                             multiple of the texel's size */
    size_t
        slice_pitch; /**< of host memory: bytes from slice to slice, or 0 for slices without a gap. A multiple of
                             the pitch */
} cls_image_box;

/**
 * Copies texels of host memory to an image. All copies and fills of images return what those of buffers do (buffer.h),
 * and besides:
 * @retval CLS_ERROR_INVALID_VALUE a pitch that is too small, no such multiple, or of a buffer
 * @retval CLS_ERROR_OUT_OF_RANGE  the box ends past the end of an image or a buffer
 */
CLS_API cls_status cls_image_from_host_async(cls_image dst, const void *src,
                                             const cls_image_box *box, cls_stream stream);
/** Like cls_image_from_host_async, and waits for the copy. */
CLS_API cls_status cls_image_from_host(cls_image dst, const void *src, const cls_image_box *box,
                                       cls_stream stream);

/** Copies texels of an image to host memory, which holds them once the copy is done. */
CLS_API cls_status cls_image_to_host_async(void *dst, cls_image src, const cls_image_box *box,
                                           cls_stream stream);
/** Like cls_image_to_host_async, and waits for the copy. */
CLS_API cls_status cls_image_to_host(void *dst, cls_image src, const cls_image_box *box,
                                     cls_stream stream);

/**
 * Copies texels from a buffer, where rows and slices have no gap, to an image.
 * @retval CLS_ERROR_UNSUPPORTED also for CLS_IMAGE_1D_ARRAY on a driver that cannot, as NVIDIA's; host memory can
 */
CLS_API cls_status cls_image_from_buffer_async(cls_image dst, cls_buffer src,
                                               const cls_image_box *box, cls_stream stream);
/** Like cls_image_from_buffer_async, and waits for the copy. */
CLS_API cls_status cls_image_from_buffer(cls_image dst, cls_buffer src, const cls_image_box *box,
                                         cls_stream stream);

/** Copies texels of an image to a buffer, where rows and slices have no gap; statuses as of cls_image_from_buffer_async. */
CLS_API cls_status cls_image_to_buffer_async(cls_buffer dst, cls_image src,
                                             const cls_image_box *box, cls_stream stream);
/** Like cls_image_to_buffer_async, and waits for the copy. */
CLS_API cls_status cls_image_to_buffer(cls_buffer dst, cls_image src, const cls_image_box *box,
                                       cls_stream stream);

/**
 * Copies texels from image to image, of one format.
 * @retval CLS_ERROR_INVALID_VALUE also images of two formats
 * @retval CLS_ERROR_OVERLAP       both boxes are of one image, and share a texel
 */
CLS_API cls_status cls_image_copy_async(cls_image dst, cls_image src, const cls_image_box *box,
                                        cls_stream stream);
/** Like cls_image_copy_async, and waits for the copy. */
CLS_API cls_status cls_image_copy(cls_image dst, cls_image src, const cls_image_box *box,
                                  cls_stream stream);

/**
 * Fills texels with a colour: four int32_t for the types CLS_CHANNEL_I*, four uint32_t for CLS_CHANNEL_U*, four floats
 * for all others, as red, green, blue and alpha. The call copies them.
 */
CLS_API cls_status cls_image_fill_async(cls_image dst, const void *color, const cls_image_box *box,
                                        cls_stream stream);
/** Like cls_image_fill_async, and waits for the fill. */
CLS_API cls_status cls_image_fill(cls_image dst, const void *color, const cls_image_box *box,
                                  cls_stream stream);

CLS_END_DECLS

#endif
