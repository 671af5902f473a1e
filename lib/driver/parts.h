/* SPDX-License-Identifier: MIT */
/*
 * Sub-buffers for a driver that crashes when one is released before a younger one that overlaps it
 * (QUIRK_PART_RELEASE_CRASHES). The library's holders of a part share one reference of the driver's. When the last
 * holder is gone the part is due: it is released at once if no younger part of its root overlaps it, else right after
 * those are released, from the youngest to the oldest.
 *
 * References and sub-buffers of the user's own are not seen. Memory that is no part of this table's goes straight to
 * the driver. Safe from any thread. One lock, a leaf: clCreateSubBuffer runs under it, so that the table has the
 * driver's order; clReleaseMemObject does not, because it may run a destructor callback of the user's. A part that
 * overlaps one which is just being released is created afterwards.
 */
#ifndef CLSTREAM_DRIVER_PARTS_H
#define CLSTREAM_DRIVER_PARTS_H

#include "driver/cl.h"

/* clCreateSubBuffer of a region; NULL and a code if it fails. `root` is no sub-buffer. CL_OUT_OF_HOST_MEMORY if the
 * table has no memory. */
cl_mem parts_create(cl_mem root, const cl_buffer_region *region, cl_int *code);

/* clRetainMemObject and clReleaseMemObject, of a part or of any other memory. */
cl_int parts_retain(cl_mem memory);
void parts_release(cl_mem memory);

#endif
