/* SPDX-License-Identifier: MIT */
/* What the code of doc/from-opencl.md uses. docs.sh appends the code of each block, as a function. */
#include <string.h>

#include <clstream.h>
#include <clstream/opencl.h>

#define MAYBE __attribute__((unused))
static MAYBE cls_context context;
static MAYBE cls_stream stream, first, second;
static MAYBE cls_event ready, before, after;
static MAYBE cls_buffer x, y, x_there;
static MAYBE cls_image picture;
static MAYBE cls_program program;
static MAYBE cls_kernel kernel;
static MAYBE cls_timeline go;
static MAYBE cls_launch launch;
static MAYBE cls_arg args[3];
static MAYBE const char *text;
static MAYBE void *p, *host, *pixels, *argument, *binary;
static MAYBE size_t bytes, width, height;
static MAYBE float factor, zero;
static MAYBE double milliseconds;
static MAYBE void use(void *arg) { (void)arg; }
