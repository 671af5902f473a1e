/* SPDX-License-Identifier: MIT */
#include "driver/warm.h"

#include "base/error.h"
#include "driver/event.h"
#include "driver/kernel.h"
#include "driver/program.h"
#include "driver/queue.h"
#include "system/clocks.h"

static const uint64_t PATIENCE_NS = 10 * CLOCK_SECOND;

static cls_status finish(const struct device *device, cl_command_queue queue, cl_event event) {
    uint64_t until = clock_now_ns() + PATIENCE_NS;
    cls_status status = queue_flush(device, queue);
    cl_int state = CL_QUEUED;
    while (!status && (state = event_state(device, event)) > 0 && clock_now_ns() < until)
        clock_sleep_ns(100 * 1000);
    if (!status && state)
        status = error_set_code(CLS_ERROR_DRIVER, state, "%s does not run an empty kernel",
                                device->info.name);
    return status;
}

static cls_status run(const struct device *device, cl_context context, cl_kernel kernel) {
    const struct queue_traits traits = {.out_of_order = false};
    const size_t one = 1;
    cl_command_queue queue;
    cl_event event;
    cls_status status = queue_create(device, context, &traits, &queue);
    if (status)
        return status;
    status = enqueue_kernel(device, queue, kernel, &(struct grid){1, &one, NULL, NULL},
                            (struct wait_list){0, NULL}, &event);
    if (!status) {
        status = finish(device, queue, event);
        event_release(device, event);
    }
    queue_release(device, queue, status != CLS_SUCCESS);
    return status;
}

cls_status device_warm(struct device *device, cl_context context) {
    const struct program_spec spec = {"warm.cl", "kernel void warm(void) {}\n", NULL};
    cl_program program;
    cl_kernel kernel;
    cls_status status = program_build(device, context, &spec, &program);
    if (status)
        return status;
    status = program_create_kernel(program, "warm", &kernel);
    if (!status) {
        status = run(device, context, kernel);
        kernel_release(device, kernel);
    }
    program_release(program);
    return status;
}
