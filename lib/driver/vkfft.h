/* SPDX-License-Identifier: MIT */
/*
 * VkFFT with its OpenCL back end, for driver/fft_vkfft.c alone: what it calls of OpenCL and of the C library are the
 * stand-ins of driver/fft_record.h. It sets the locale of the process, for decimal points, and prints; here it does
 * neither, and its caller sees to the thread's locale.
 */
#ifndef CLSTREAM_DRIVER_VKFFT_H
#define CLSTREAM_DRIVER_VKFFT_H

#pragma GCC system_header

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cl.h"
#include "driver/fft_record.h"

#define VKFFT_BACKEND 3

#define malloc fft_record_malloc
#define calloc fft_record_calloc
#define free fft_record_free
#define setlocale(category, name) ((char *)"C")
#define printf(...) ((void)0)
#define clGetDeviceInfo fft_record_device_info
#define clCreateBuffer fft_record_buffer
#define clCreateCommandQueue fft_record_queue
#define clEnqueueWriteBuffer fft_record_write
#define clEnqueueReadBuffer(...) CL_INVALID_OPERATION
#define clCreateProgramWithSource fft_record_source
#define clCreateProgramWithBinary(...) ((cl_program)0)
#define clBuildProgram(...) fft_record_nothing()
#define clGetProgramBuildInfo(...) fft_record_nothing()
#define clGetProgramInfo(...) CL_INVALID_OPERATION
#define clCreateKernel fft_record_kernel
#define clSetKernelArg fft_record_argument
#define clEnqueueNDRangeKernel fft_record_launch
#define clFinish(...) fft_record_nothing()
#define clReleaseMemObject(...) fft_record_nothing()
#define clReleaseProgram(...) fft_record_nothing()
#define clReleaseKernel(...) fft_record_nothing()
#define clReleaseCommandQueue(...) fft_record_nothing()

#include <vkFFT.h>

#undef malloc
#undef calloc
#undef free
#undef setlocale
#undef printf
#undef clGetDeviceInfo
#undef clCreateBuffer
#undef clCreateCommandQueue
#undef clEnqueueWriteBuffer
#undef clEnqueueReadBuffer
#undef clCreateProgramWithSource
#undef clCreateProgramWithBinary
#undef clBuildProgram
#undef clGetProgramBuildInfo
#undef clGetProgramInfo
#undef clCreateKernel
#undef clSetKernelArg
#undef clEnqueueNDRangeKernel
#undef clFinish
#undef clReleaseMemObject
#undef clReleaseProgram
#undef clReleaseKernel
#undef clReleaseCommandQueue

#endif
