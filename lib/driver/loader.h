/* SPDX-License-Identifier: MIT */
#ifndef CLSTREAM_DRIVER_LOADER_H
#define CLSTREAM_DRIVER_LOADER_H

/* The version of OpenCL whose functions the loader has: 120, 200, 210 or 300. No device has a higher one. */
unsigned loader_version(void);

#endif
