/* SPDX-License-Identifier: MIT */
#include "driver/tell_address.h"

#include "base/error.h"
#include "driver/kernel.h"
#include "driver/queue.h"
#include "driver/serial.h"
#include "driver/status.h"

static cls_status read_told(const struct device *device, cl_command_queue queue, cl_mem from,
                            cl_ulong *to) {
    if (!driver_begin(device))
        return driver_gone();
    const cl_int code = clEnqueueReadBuffer(queue, from, CL_TRUE, 0, sizeof *to, to, 0, NULL, NULL);
    driver_end(device);
    return driver_status(code, "clEnqueueReadBuffer");
}

cls_status tell_address(const struct device *device, cl_command_queue queue, cl_kernel kernel,
                        cl_mem memory, cl_mem told, uint64_t *out) {
    static const size_t one = 1;
    const struct grid grid = {.dims = 1, .global = &one, .local = &one};
    const struct wait_list none = {.count = 0};
    cl_ulong address = 0;
    cls_status status = kernel_set_arg(device, kernel, 0, sizeof memory, &memory);
    if (!status)
        status = kernel_set_arg(device, kernel, 1, sizeof told, &told);
    if (!status)
        status = enqueue_kernel(device, queue, kernel, &grid, none, NULL);
    if (!status)
        status = read_told(device, queue, told, &address);
    if (!status && !address)
        status =
            error_set(CLS_ERROR_UNSUPPORTED, "%s tells no address of a buffer", device->info.name);
    if (!status)
        *out = address;
    return status;
}
