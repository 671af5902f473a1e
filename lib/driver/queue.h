/* SPDX-License-Identifier: MIT */
/*
 * Command queues and everything that is enqueued on them. All calls report to the thread's detail and
 * leave their out-parameters alone on failure. A wait list of zero events is passed on as none.
 */
#ifndef CLSTREAM_DRIVER_QUEUE_H
#define CLSTREAM_DRIVER_QUEUE_H

#include "driver/device.h"

struct queue_traits {
    bool out_of_order;
    bool profiled;
    int priority; /* CLS_PRIORITY_*; ignored where the device has no priorities */
};

/* The events that a command waits for, all of one cl_context and none known to have failed. */
struct wait_list {
    cl_uint count;
    const cl_event *events;
};

static inline const cl_event *wait_events(struct wait_list waits) {
    return waits.count ? waits.events : NULL;
}

/* Leaves the device's serial section, and reports `code` of `call`. */
cls_status driver_left(const struct device *device, cl_int code, const char *call);

cls_status queue_create(const struct device *device, cl_context context,
                        const struct queue_traits *traits, cl_command_queue *out);
/* Releases a queue that is idle or `hurt`: a command on it failed, so that the driver may never finish it. */
void queue_release(const struct device *device, cl_command_queue queue, bool hurt);
/* The same inside the device's serial section (driver/serial.h). */
void queue_drop(const struct device *device, cl_command_queue queue, bool hurt);

/* The traits of a queue of the user's; it must be of `context` and of the device. */
cls_status queue_traits_of(const struct device *device, cl_context context, cl_command_queue queue,
                           struct queue_traits *out);
cls_status queue_retain(const struct device *device, cl_command_queue queue);
cls_status queue_flush(const struct device *device, cl_command_queue queue);

struct range_1d {
    size_t offset;
    size_t bytes;
};

/* One side of a rectangle: where it begins, and the bytes from row to row and, of several slices, from slice to slice. */
struct rect_side {
    size_t offset, pitch, slice;
};

/* A rectangle of bytes to copy; see cls_rect. No extent is 0. */
struct rect_3d {
    size_t width, height, depth;
    struct rect_side dst, src;
};

static inline struct rect_3d rect_1d(size_t dst_offset, size_t src_offset, size_t bytes) {
    return (struct rect_3d){bytes, 1, 1, {dst_offset, bytes, bytes}, {src_offset, bytes, bytes}};
}

static inline size_t rect_bytes(const struct rect_3d *rect) {
    return rect->width * rect->height * rect->depth;
}

/* Whether the bytes of the side follow each other without a gap. */
static inline bool rect_is_flat(const struct rect_3d *rect, const struct rect_side *side) {
    return (rect->height == 1 || side->pitch == rect->width) &&
           (rect->depth == 1 || side->slice == rect->width * rect->height);
}

/* The work-items of a launch. */
struct grid {
    cl_uint dims;
    const size_t *global, *local; /* local: NULL where the driver chooses */
    const size_t *offset;         /* of the first work-item; NULL: 0 */
};

/* `event` may be NULL: then the command has none. */
cls_status enqueue_kernel(const struct device *device, cl_command_queue queue, cl_kernel kernel,
                          const struct grid *grid, struct wait_list waits, cl_event *event);
/* Returns up to `most` events of launches in other cl_contexts that must not overlap this one, each with a reference for
 * the caller, who waits for them before the enqueue and then asks again. Returns 0 on nearly all drivers
 * (driver/grids.h). */
cl_uint kernel_cross_context_launches(const struct device *device, cl_command_queue queue,
                                      cl_kernel kernel, const struct grid *grid, cl_event *events,
                                      cl_uint most);
/* Whether there may be such launches for one of this context. */
bool kernel_spans_contexts(const struct device *device, cl_context context);
cls_status enqueue_write(const struct device *device, cl_command_queue queue, cl_mem to,
                         struct range_1d range, const void *from, struct wait_list waits,
                         cl_event *event);
cls_status enqueue_read(const struct device *device, cl_command_queue queue, cl_mem from,
                        struct range_1d range, void *to, struct wait_list waits, cl_event *event);
cls_status enqueue_copy(const struct device *device, cl_command_queue queue, cl_mem to,
                        size_t to_offset, cl_mem from, struct range_1d range,
                        struct wait_list waits, cl_event *event);
/* Rectangles that rect_is_cl accepts; the side in host memory is an offset from the pointer. */
cls_status enqueue_write_rect(const struct device *device, cl_command_queue queue, cl_mem to,
                              const struct rect_3d *rect, const void *from, struct wait_list waits,
                              cl_event *event);
cls_status enqueue_read_rect(const struct device *device, cl_command_queue queue, cl_mem from,
                             const struct rect_3d *rect, void *to, struct wait_list waits,
                             cl_event *event);
cls_status enqueue_copy_rect(const struct device *device, cl_command_queue queue, cl_mem to,
                             cl_mem from, const struct rect_3d *rect, struct wait_list waits,
                             cl_event *event);
/* Whether OpenCL takes the rectangle: it counts the distance of slices in rows. */
bool rect_is_cl(const struct rect_3d *rect);
cls_status enqueue_fill(const struct device *device, cl_command_queue queue, cl_mem to,
                        struct range_1d range, const void *pattern, size_t pattern_bytes,
                        struct wait_list waits, cl_event *event);

/* `memory` points to memory that lasts until the command is done: NVIDIA's driver looks there again when a
 * migration that had to wait begins, and crashes on what it finds. */
cls_status enqueue_migrate(const struct device *device, cl_command_queue queue,
                           const cl_mem *memory, bool to_host, struct wait_list waits,
                           cl_event *event);

/* Map memory for the host, to use at its address (driver/memory.h); unmap it. */
struct shared;
cls_status enqueue_map(const struct device *device, cl_command_queue queue,
                       const struct shared *mapping, struct wait_list waits, cl_event *event);
cls_status enqueue_unmap(const struct device *device, cl_command_queue queue,
                         const struct shared *mapping, struct wait_list waits, cl_event *event);

/* Completes with its wait list or, without one, with everything enqueued on the queue so far. Orders
 * nothing in an out-of-order queue: only its event is of use. */
cls_status enqueue_marker(const struct device *device, cl_command_queue queue,
                          struct wait_list waits, cl_event *event);

#endif
