/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* dladdr, RTLD_DEFAULT */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "system/libraries.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_BACKTRACE
#include <execinfo.h>
#endif

const char *const library_opencl_names[] = {
#if defined(__APPLE__)
    "/System/Library/Frameworks/OpenCL.framework/OpenCL",
#elif defined(__ANDROID__)
    "libOpenCL.so", "/vendor/lib64/libOpenCL.so", "/vendor/lib/libOpenCL.so",
#else
    "libOpenCL.so.1", "libOpenCL.so",
#endif
    NULL};

void *library_open(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

void *library_find(void *library, const char *function) {
    return dlsym(library ? library : RTLD_DEFAULT, function);
}

char *library_of(const void *address) {
    Dl_info info;
    return dladdr(address, &info) && info.dli_fname ? strdup(info.dli_fname) : NULL;
}

#ifdef HAVE_BACKTRACE
int library_call_stack(void **frames, int most) { return backtrace(frames, most); }

/* Of "FILE(NAME+OFFSET) [ADDRESS]". */
char *library_place(void *frame) {
    char **places = backtrace_symbols(&frame, 1);
    char *place = places ? strndup(places[0], strcspn(places[0], " [")) : NULL;
    free(places);
    return place;
}
#else
int library_call_stack(void **frames, int most) {
    (void)frames, (void)most;
    return 0;
}

char *library_place(void *frame) {
    (void)frame;
    return NULL;
}
#endif
