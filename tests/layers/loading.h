/* SPDX-License-Identifier: MIT */
/*
 * Getting a layer under a test program: the loader reads OPENCL_LAYERS at the first OpenCL call, so the
 * program starts itself again with it set. A wrong path is ignored silently, hence layer_controls: it
 * finds the layer among the loaded objects or ends the program.
 */
#ifndef CLSTREAM_TESTS_LOADING_H
#define CLSTREAM_TESTS_LOADING_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <clstream/opencl.h>

/* LAYERS is the folder of the layers, from the makefile. */
static inline const char *layer_path(const char *name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s.so", LAYERS, name);
    return path;
}

/* The strictest driver is played: one that runs nothing before it is flushed. */
static inline void layer_start(const char *name, char **argv) {
    setenv("CLSTREAM_FLUSH", "always", 0);
    const char *path = layer_path(name), *now = getenv("OPENCL_LAYERS");
    if (now && !strcmp(now, path))
        return;
    if (access(path, R_OK) != 0 || setenv("OPENCL_LAYERS", path, 1) != 0) {
        printf("Bail out! no layer at %s\n", path);
        exit(99);
    }
    execv("/proc/self/exe", argv);
    perror("execv");
    exit(99);
}

static inline const void *layer_controls(const char *name, const char *symbol) {
    cl_uint platforms;
    clGetPlatformIDs(0, NULL, &platforms);
    void *layer = dlopen(layer_path(name), RTLD_NOW | RTLD_NOLOAD);
    const void *controls = layer ? dlsym(layer, symbol) : NULL;
    if (!controls) {
        printf("Bail out! the OpenCL loader did not load %s\n", layer_path(name));
        exit(99);
    }
    return controls;
}

/* Gives up PoCL's name: the library keeps events of failed commands for good where that driver aborts
 * when they are released, and a sweep in which the driver itself never fails looks for every object. */
static inline void layer_leave_quirks_aside(void) {
    cl_platform_id platform;
    char name[128] = "";
    if (clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS &&
        clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, NULL) == CL_SUCCESS &&
        strstr(name, "Portable Computing Language"))
        setenv("CLS_FAULT_PLATFORM", "PoCL, its quirks aside", 1);
}

#endif
