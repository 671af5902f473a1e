/* SPDX-License-Identifier: MIT */
/* The library is linked to a loader of its headers' version. */
#include "driver/loader.h"

#ifndef CLS_OPENCL_DLOPEN
unsigned loader_version(void) { return 300; }
#endif
