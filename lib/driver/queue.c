/* SPDX-License-Identifier: MIT */
#include "driver/queue.h"

#include <pthread.h>
#include <string.h>

#include <clstream/stream.h>

#include "base/error.h"
#include "base/rare.h"
#include "driver/grids.h"
#include "driver/kernel.h"
#include "driver/memory.h"
#include "driver/quirk.h"
#include "driver/serial.h"
#include "driver/status.h"
#include "system/clocks.h"

cls_status driver_left(const struct device *device, cl_int code, const char *call) {
    driver_leave(device);
    return driver_status(code, call);
}

static cl_queue_priority_khr driver_priority(int priority) {
    if (priority < CLS_PRIORITY_NORMAL)
        return CL_QUEUE_PRIORITY_HIGH_KHR;
    return priority > CLS_PRIORITY_NORMAL ? CL_QUEUE_PRIORITY_LOW_KHR : CL_QUEUE_PRIORITY_MED_KHR;
}

static cl_command_queue create_with_properties(const struct device *device, cl_context context,
                                               cl_command_queue_properties bits, int priority,
                                               cl_int *code) {
    cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, bits, CL_QUEUE_PRIORITY_KHR,
                                        driver_priority(priority), 0};
    return clCreateCommandQueueWithProperties(context, device->id, properties, code);
}

cls_status queue_create(const struct device *device, cl_context context,
                        const struct queue_traits *traits, cl_command_queue *out) {
    cl_command_queue_properties bits = 0;
    if (traits->out_of_order)
        bits |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    if (traits->profiled)
        bits |= CL_QUEUE_PROFILING_ENABLE;
    bool hint = traits->priority != CLS_PRIORITY_NORMAL && device->priority_hints &&
                device->cl_version >= 200;
    cl_int code = CL_SUCCESS;
    if (!driver_begin(device))
        return driver_gone();
    cl_command_queue queue =
        hint ? create_with_properties(device, context, bits, traits->priority, &code)
             : clCreateCommandQueue(context, device->id, bits, &code);
    driver_end(device);
    cls_status status = driver_status(code, "clCreateCommandQueue");
    if (!status)
        *out = queue;
    return status;
}

/* Queues that are finished and wait to be released (QUIRK_REST_BEFORE_RELEASE), oldest first. */
enum { RESTING_QUEUES = 128 };
static const uint64_t REST_NS = CLOCK_SECOND;
static pthread_mutex_t resting_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    cl_command_queue queue;
    uint64_t since;
} resting[RESTING_QUEUES];
static unsigned n_resting;

/* Removes the oldest queue if it has rested long enough or its place is needed. */
static cl_command_queue take_rested(void) {
    cl_command_queue queue = NULL;
    pthread_mutex_lock(&resting_lock);
    if (n_resting == RESTING_QUEUES ||
        (n_resting && clock_now_ns() - resting[0].since >= REST_NS)) {
        queue = resting[0].queue;
        memmove(&resting[0], &resting[1], --n_resting * sizeof resting[0]);
    }
    pthread_mutex_unlock(&resting_lock);
    return queue;
}

/* A queue that finds no place because many threads release queues at once is never released. */
static void rest(cl_command_queue queue) {
    cl_command_queue rested;
    while ((rested = take_rested()) != NULL)
        clReleaseCommandQueue(rested);
    pthread_mutex_lock(&resting_lock);
    if (n_resting < RESTING_QUEUES) {
        resting[n_resting].queue = queue;
        resting[n_resting++].since = clock_now_ns();
    }
    pthread_mutex_unlock(&resting_lock);
}

void queue_drop(const struct device *device, cl_command_queue queue, bool hurt) {
    if (device->quirks & QUIRK_UNLIKE_GRIDS_ABORT)
        grids_forget_queue(queue);
    if (!(device->quirks & QUIRK_REST_BEFORE_RELEASE)) {
        clReleaseCommandQueue(queue);
    } else if (!hurt) {
        clFinish(queue);
        rest(queue);
    }
}

void queue_release(const struct device *device, cl_command_queue queue, bool hurt) {
    if (!driver_begin(device))
        return;
    queue_drop(device, queue, hurt);
    driver_end(device);
}

cls_status queue_retain(const struct device *device, cl_command_queue queue) {
    if ((device->quirks & QUIRK_UNLIKE_GRIDS_ABORT) && !grids_wrap_queue(queue))
        return error_no_memory("for a queue");
    driver_enter(device);
    const cl_int code = clRetainCommandQueue(queue);
    if (code && (device->quirks & QUIRK_UNLIKE_GRIDS_ABORT))
        grids_forget_queue(queue);
    return driver_left(device, code, "clRetainCommandQueue");
}

/* A sub-device's queue may be told to be one of the device that it is a part of. */
static bool is_of(const struct device *device, cl_device_id id) {
    cl_device_id parent = NULL;
    if (id == device->id)
        return true;
    return clGetDeviceInfo(device->id, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL) ==
               CL_SUCCESS &&
           parent && id == parent;
}

cls_status queue_traits_of(const struct device *device, cl_context context, cl_command_queue queue,
                           struct queue_traits *out) {
    cl_command_queue_properties bits;
    cl_context owner;
    cl_device_id id;
    driver_enter(device);
    cl_int code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof bits, &bits, NULL);
    if (code == CL_SUCCESS)
        code = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof owner, &owner, NULL);
    if (code == CL_SUCCESS)
        code = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof id, &id, NULL);
    const bool ours = code == CL_SUCCESS && is_of(device, id);
    cls_status status = driver_left(device, code, "clGetCommandQueueInfo");
    if (status)
        return status;
    if (owner != context)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "the queue is of another cl_context");
    if (!ours)
        return error_set(CLS_ERROR_WRONG_CONTEXT, "the queue is of another device than %s",
                         device->info.name);
    out->out_of_order = (bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
    out->profiled = (bits & CL_QUEUE_PROFILING_ENABLE) != 0;
    out->priority = CLS_PRIORITY_NORMAL;
    return CLS_SUCCESS;
}

cls_status queue_flush(const struct device *device, cl_command_queue queue) {
    driver_enter(device);
    return driver_left(device, clFlush(queue), "clFlush");
}

/* The limit of a kernel's groups that a driver states is a hint: rusticl 22.3.6 says 32 and runs 1,024. */
COLD static cls_status refuse_launch(const struct device *device, cl_kernel kernel,
                                     const struct grid *grid, cl_int code) {
    size_t group = 1, stated;
    for (cl_uint i = 0; i < grid->dims && grid->local; i++)
        group *= grid->local[i];
    if (kernel_max_group(device, kernel, &stated) != CLS_SUCCESS || group <= stated)
        return driver_status(code, "clEnqueueNDRangeKernel");
    return error_set_code(
        CLS_ERROR_INVALID_VALUE, code,
        "clEnqueueNDRangeKernel: %s (%d) for a group of %zu work-items, where the driver states %zu "
        "for this kernel; reqd_work_group_size in its source has the kernel compiled for that group",
        cl_code_name(code), code, group, stated);
}

cls_status enqueue_kernel(const struct device *device, cl_command_queue queue, cl_kernel kernel,
                          const struct grid *grid, struct wait_list waits, cl_event *event) {
    const bool in_turn = device->quirks & QUIRK_UNLIKE_GRIDS_ABORT;
    driver_enter(device);
    const cl_int code =
        in_turn ? grids_enqueue(queue, kernel, grid, waits, event)
                : clEnqueueNDRangeKernel(queue, kernel, grid->dims, grid->offset, grid->global,
                                         grid->local, waits.count, wait_events(waits), event);
    driver_leave(device);
    return RARELY(code) ? refuse_launch(device, kernel, grid, code) : CLS_SUCCESS;
}

bool kernel_spans_contexts(const struct device *device, cl_context context) {
    return (device->quirks & QUIRK_UNLIKE_GRIDS_ABORT) && grids_span_contexts(context);
}

cl_uint kernel_cross_context_launches(const struct device *device, cl_command_queue queue,
                                      cl_kernel kernel, const struct grid *grid, cl_event *events,
                                      cl_uint most) {
    if (!(device->quirks & QUIRK_UNLIKE_GRIDS_ABORT))
        return 0;
    driver_enter(device);
    const cl_uint count = grids_cross_context_launches(queue, kernel, grid, events, most);
    driver_leave(device);
    return count;
}

cls_status enqueue_write(const struct device *device, cl_command_queue queue, cl_mem to,
                         struct range_1d range, const void *from, struct wait_list waits,
                         cl_event *event) {
    driver_enter(device);
    return driver_left(device,
                       clEnqueueWriteBuffer(queue, to, CL_FALSE, range.offset, range.bytes, from,
                                            waits.count, wait_events(waits), event),
                       "clEnqueueWriteBuffer");
}

cls_status enqueue_read(const struct device *device, cl_command_queue queue, cl_mem from,
                        struct range_1d range, void *to, struct wait_list waits, cl_event *event) {
    driver_enter(device);
    return driver_left(device,
                       clEnqueueReadBuffer(queue, from, CL_FALSE, range.offset, range.bytes, to,
                                           waits.count, wait_events(waits), event),
                       "clEnqueueReadBuffer");
}

cls_status enqueue_copy(const struct device *device, cl_command_queue queue, cl_mem to,
                        size_t to_offset, cl_mem from, struct range_1d range,
                        struct wait_list waits, cl_event *event) {
    driver_enter(device);
    return driver_left(device,
                       clEnqueueCopyBuffer(queue, from, to, range.offset, to_offset, range.bytes,
                                           waits.count, wait_events(waits), event),
                       "clEnqueueCopyBuffer");
}

/* OpenCL's rectangles take an origin in bytes, rows and slices; all of it fits the first row. */
#define ORIGIN(offset) ((const size_t[3]){(offset), 0, 0})
#define REGION(rect) ((const size_t[3]){(rect)->width, (rect)->height, (rect)->depth})
#define SLICE(rect, side) ((rect)->depth > 1 ? (rect)->side.slice : 0)

bool rect_is_cl(const struct rect_3d *rect) {
    return rect->depth == 1 ||
           (rect->dst.slice % rect->dst.pitch == 0 && rect->src.slice % rect->src.pitch == 0);
}

cls_status enqueue_write_rect(const struct device *device, cl_command_queue queue, cl_mem to,
                              const struct rect_3d *rect, const void *from, struct wait_list waits,
                              cl_event *event) {
    const char *start = (const char *)from + rect->src.offset;
    driver_enter(device);
    return driver_left(device,
                       clEnqueueWriteBufferRect(queue, to, CL_FALSE, ORIGIN(rect->dst.offset),
                                                ORIGIN(0), REGION(rect), rect->dst.pitch,
                                                SLICE(rect, dst), rect->src.pitch, SLICE(rect, src),
                                                start, waits.count, wait_events(waits), event),
                       "clEnqueueWriteBufferRect");
}

cls_status enqueue_read_rect(const struct device *device, cl_command_queue queue, cl_mem from,
                             const struct rect_3d *rect, void *to, struct wait_list waits,
                             cl_event *event) {
    char *start = (char *)to + rect->dst.offset;
    driver_enter(device);
    return driver_left(device,
                       clEnqueueReadBufferRect(queue, from, CL_FALSE, ORIGIN(rect->src.offset),
                                               ORIGIN(0), REGION(rect), rect->src.pitch,
                                               SLICE(rect, src), rect->dst.pitch, SLICE(rect, dst),
                                               start, waits.count, wait_events(waits), event),
                       "clEnqueueReadBufferRect");
}

/* Within one buffer PoCL 3.1 takes an origin that is past its first row for rows that overlap. */
#define ORIGIN_IN_ROW(side) \
    ((const size_t[3]){(side).offset % (side).pitch, (side).offset / (side).pitch, 0})

cls_status enqueue_copy_rect(const struct device *device, cl_command_queue queue, cl_mem to,
                             cl_mem from, const struct rect_3d *rect, struct wait_list waits,
                             cl_event *event) {
    driver_enter(device);
    return driver_left(
        device,
        clEnqueueCopyBufferRect(queue, from, to, ORIGIN_IN_ROW(rect->src), ORIGIN_IN_ROW(rect->dst),
                                REGION(rect), rect->src.pitch, SLICE(rect, src), rect->dst.pitch,
                                SLICE(rect, dst), waits.count, wait_events(waits), event),
        "clEnqueueCopyBufferRect");
}

cls_status enqueue_fill(const struct device *device, cl_command_queue queue, cl_mem to,
                        struct range_1d range, const void *pattern, size_t pattern_bytes,
                        struct wait_list waits, cl_event *event) {
    driver_enter(device);
    return driver_left(device,
                       clEnqueueFillBuffer(queue, to, pattern, pattern_bytes, range.offset,
                                           range.bytes, waits.count, wait_events(waits), event),
                       "clEnqueueFillBuffer");
}

cls_status enqueue_migrate(const struct device *device, cl_command_queue queue,
                           const cl_mem *memory, bool to_host, struct wait_list waits,
                           cl_event *event) {
    driver_enter(device);
    return driver_left(device,
                       clEnqueueMigrateMemObjects(queue, 1, memory,
                                                  to_host ? CL_MIGRATE_MEM_OBJECT_HOST : 0,
                                                  waits.count, wait_events(waits), event),
                       "clEnqueueMigrateMemObjects");
}

cls_status enqueue_map(const struct device *device, cl_command_queue queue,
                       const struct shared *mapping, struct wait_list waits, cl_event *event) {
    cl_int code;
    driver_enter(device);
    clEnqueueMapBuffer(queue, mapping->memory, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0,
                       mapping->bytes, waits.count, wait_events(waits), event, &code);
    return driver_left(device, code, "clEnqueueMapBuffer");
}

cls_status enqueue_unmap(const struct device *device, cl_command_queue queue,
                         const struct shared *mapping, struct wait_list waits, cl_event *event) {
    driver_enter(device);
    return driver_left(device,
                       clEnqueueUnmapMemObject(queue, mapping->memory, mapping->host, waits.count,
                                               wait_events(waits), event),
                       "clEnqueueUnmapMemObject");
}

cls_status enqueue_marker(const struct device *device, cl_command_queue queue,
                          struct wait_list waits, cl_event *event) {
    driver_enter(device);
    return driver_left(device,
                       clEnqueueMarkerWithWaitList(queue, waits.count, wait_events(waits), event),
                       "clEnqueueMarkerWithWaitList");
}
