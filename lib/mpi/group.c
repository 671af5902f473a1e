/* SPDX-License-Identifier: MIT */
/* All-reduce over the devices of a group on each rank: within the rank, between the ranks, and back to the devices. */
#include <clstream/device_group.h>
#include <clstream/stream.h>

#include "mpi/comm.h"

/* Sends the result from the first device's array to those of the others. */
static cls_status spread(cls_device_group group, unsigned devices, const cls_array *arrays) {
    const size_t size = cls_dtype_size(arrays[0].dtype);
    const cls_device_range from = {0, arrays[0].buffer, arrays[0].offset * size};
    cls_status status = CLS_SUCCESS;
    for (unsigned d = 1; d < devices && !status; d++) {
        const cls_device_range to = {d, arrays[d].buffer, arrays[d].offset * size};
        status = cls_device_group_copy_async(group, to, from, arrays[0].count * size);
    }
    return status;
}

static cls_status check_first(cls_mpi_comm handle, cls_stream first) {
    cls_stream_info info = CLS_STREAM_INFO_INIT;
    struct comm *comm;
    cls_status status = comm_get(handle, &comm);
    if (status)
        return status;
    status = cls_stream_get_info(first, &info);
    if (!status && info.context != comm->context)
        status = report(CLS_ERROR_WRONG_CONTEXT,
                        "the communicator has another context than the group's first device");
    return comm_put(comm, status);
}

cls_status cls_mpi_group_allreduce_async(cls_mpi_comm comm, cls_device_group group,
                                         const cls_array *arrays) {
    cls_device_streams streams;
    unsigned devices;
    if (!arrays)
        return report(CLS_ERROR_INVALID_VALUE, "cls_mpi_group_allreduce_async: arrays is null");
    cls_status status = cls_device_group_get_count(group, &devices);
    if (!status)
        status = cls_device_group_get_streams(group, 0, &streams);
    if (!status)
        status = check_first(comm, streams.compute);
    if (!status)
        status = cls_device_group_all_reduce_async(group, CLS_REDUCE_SUM, arrays);
    if (!status)
        status = cls_mpi_allreduce_async(comm, CLS_MPI_SUM, arrays[0], arrays[0], streams.compute);
    return status ? status : spread(group, devices, arrays);
}
