/* SPDX-License-Identifier: MIT */
/*
 * OpenCL without a link to its loader, for builds with CLS_OPENCL_DLOPEN (doc/embedding.md): the calls of lib/driver go
 * through a table, which the first clGetPlatformIDs fills in. The library makes no other call before that one, as
 * everything else needs a device. Included by driver/cl.h. Made by build-aux/opencl-calls.
 */
#ifndef CLSTREAM_DRIVER_OPENCL_CALLS_H
#define CLSTREAM_DRIVER_OPENCL_CALLS_H

/* clang-format off */
#define OPENCL_CALLS(ROW) \
    ROW(clBuildProgram) \
    ROW(clCreateBuffer) \
    ROW(clCreateCommandQueue) \
    ROW(clCreateCommandQueueWithProperties) \
    ROW(clCreateContext) \
    ROW(clCreateImage) \
    ROW(clCreateKernel) \
    ROW(clCreateKernelsInProgram) \
    ROW(clCreateProgramWithBinary) \
    ROW(clCreateProgramWithIL) \
    ROW(clCreateProgramWithSource) \
    ROW(clCreateSampler) \
    ROW(clCreateSubBuffer) \
    ROW(clEnqueueCopyBuffer) \
    ROW(clEnqueueCopyBufferRect) \
    ROW(clEnqueueCopyBufferToImage) \
    ROW(clEnqueueCopyImage) \
    ROW(clEnqueueCopyImageToBuffer) \
    ROW(clEnqueueFillBuffer) \
    ROW(clEnqueueFillImage) \
    ROW(clEnqueueMapBuffer) \
    ROW(clEnqueueMarkerWithWaitList) \
    ROW(clEnqueueMigrateMemObjects) \
    ROW(clEnqueueNDRangeKernel) \
    ROW(clEnqueueReadBuffer) \
    ROW(clEnqueueReadBufferRect) \
    ROW(clEnqueueReadImage) \
    ROW(clEnqueueUnmapMemObject) \
    ROW(clEnqueueWriteBuffer) \
    ROW(clEnqueueWriteBufferRect) \
    ROW(clEnqueueWriteImage) \
    ROW(clFinish) \
    ROW(clFlush) \
    ROW(clGetCommandQueueInfo) \
    ROW(clGetContextInfo) \
    ROW(clGetDeviceAndHostTimer) \
    ROW(clGetDeviceIDs) \
    ROW(clGetDeviceInfo) \
    ROW(clGetEventInfo) \
    ROW(clGetEventProfilingInfo) \
    ROW(clGetImageInfo) \
    ROW(clGetKernelArgInfo) \
    ROW(clGetKernelInfo) \
    ROW(clGetKernelWorkGroupInfo) \
    ROW(clGetMemObjectInfo) \
    ROW(clGetPlatformIDs) \
    ROW(clGetPlatformInfo) \
    ROW(clGetProgramBuildInfo) \
    ROW(clGetProgramInfo) \
    ROW(clGetSupportedImageFormats) \
    ROW(clReleaseCommandQueue) \
    ROW(clReleaseContext) \
    ROW(clReleaseEvent) \
    ROW(clReleaseKernel) \
    ROW(clReleaseMemObject) \
    ROW(clReleaseProgram) \
    ROW(clReleaseSampler) \
    ROW(clRetainCommandQueue) \
    ROW(clRetainContext) \
    ROW(clRetainDevice) \
    ROW(clRetainEvent) \
    ROW(clRetainMemObject) \
    ROW(clRetainProgram) \
    ROW(clSVMAlloc) \
    ROW(clSVMFree) \
    ROW(clSetEventCallback) \
    ROW(clSetKernelArg) \
    ROW(clSetKernelArgSVMPointer) \
    ROW(clSetMemObjectDestructorCallback) \
    ROW(clWaitForEvents)

/* Of calls that later versions deprecate, too. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct opencl_calls {
#define OPENCL_MEMBER(name) __typeof__(name) *name##_call;
    OPENCL_CALLS(OPENCL_MEMBER)
#undef OPENCL_MEMBER
};
#pragma GCC diagnostic pop

extern struct opencl_calls opencl_calls; /* driver/opencl_calls.c */

/* As clGetPlatformIDs; CL_PLATFORM_NOT_FOUND_KHR without a loader that has the calls of OpenCL 1.2. */
cl_int opencl_get_platform_ids(cl_uint room, cl_platform_id *platforms, cl_uint *count);

#define clBuildProgram opencl_calls.clBuildProgram_call
#define clCreateBuffer opencl_calls.clCreateBuffer_call
#define clCreateCommandQueue opencl_calls.clCreateCommandQueue_call
#define clCreateCommandQueueWithProperties opencl_calls.clCreateCommandQueueWithProperties_call
#define clCreateContext opencl_calls.clCreateContext_call
#define clCreateImage opencl_calls.clCreateImage_call
#define clCreateKernel opencl_calls.clCreateKernel_call
#define clCreateKernelsInProgram opencl_calls.clCreateKernelsInProgram_call
#define clCreateProgramWithBinary opencl_calls.clCreateProgramWithBinary_call
#define clCreateProgramWithIL opencl_calls.clCreateProgramWithIL_call
#define clCreateProgramWithSource opencl_calls.clCreateProgramWithSource_call
#define clCreateSampler opencl_calls.clCreateSampler_call
#define clCreateSubBuffer opencl_calls.clCreateSubBuffer_call
#define clEnqueueCopyBuffer opencl_calls.clEnqueueCopyBuffer_call
#define clEnqueueCopyBufferRect opencl_calls.clEnqueueCopyBufferRect_call
#define clEnqueueCopyBufferToImage opencl_calls.clEnqueueCopyBufferToImage_call
#define clEnqueueCopyImage opencl_calls.clEnqueueCopyImage_call
#define clEnqueueCopyImageToBuffer opencl_calls.clEnqueueCopyImageToBuffer_call
#define clEnqueueFillBuffer opencl_calls.clEnqueueFillBuffer_call
#define clEnqueueFillImage opencl_calls.clEnqueueFillImage_call
#define clEnqueueMapBuffer opencl_calls.clEnqueueMapBuffer_call
#define clEnqueueMarkerWithWaitList opencl_calls.clEnqueueMarkerWithWaitList_call
#define clEnqueueMigrateMemObjects opencl_calls.clEnqueueMigrateMemObjects_call
#define clEnqueueNDRangeKernel opencl_calls.clEnqueueNDRangeKernel_call
#define clEnqueueReadBuffer opencl_calls.clEnqueueReadBuffer_call
#define clEnqueueReadBufferRect opencl_calls.clEnqueueReadBufferRect_call
#define clEnqueueReadImage opencl_calls.clEnqueueReadImage_call
#define clEnqueueUnmapMemObject opencl_calls.clEnqueueUnmapMemObject_call
#define clEnqueueWriteBuffer opencl_calls.clEnqueueWriteBuffer_call
#define clEnqueueWriteBufferRect opencl_calls.clEnqueueWriteBufferRect_call
#define clEnqueueWriteImage opencl_calls.clEnqueueWriteImage_call
#define clFinish opencl_calls.clFinish_call
#define clFlush opencl_calls.clFlush_call
#define clGetCommandQueueInfo opencl_calls.clGetCommandQueueInfo_call
#define clGetContextInfo opencl_calls.clGetContextInfo_call
#define clGetDeviceAndHostTimer opencl_calls.clGetDeviceAndHostTimer_call
#define clGetDeviceIDs opencl_calls.clGetDeviceIDs_call
#define clGetDeviceInfo opencl_calls.clGetDeviceInfo_call
#define clGetEventInfo opencl_calls.clGetEventInfo_call
#define clGetEventProfilingInfo opencl_calls.clGetEventProfilingInfo_call
#define clGetImageInfo opencl_calls.clGetImageInfo_call
#define clGetKernelArgInfo opencl_calls.clGetKernelArgInfo_call
#define clGetKernelInfo opencl_calls.clGetKernelInfo_call
#define clGetKernelWorkGroupInfo opencl_calls.clGetKernelWorkGroupInfo_call
#define clGetMemObjectInfo opencl_calls.clGetMemObjectInfo_call
#define clGetPlatformIDs opencl_get_platform_ids
#define clGetPlatformInfo opencl_calls.clGetPlatformInfo_call
#define clGetProgramBuildInfo opencl_calls.clGetProgramBuildInfo_call
#define clGetProgramInfo opencl_calls.clGetProgramInfo_call
#define clGetSupportedImageFormats opencl_calls.clGetSupportedImageFormats_call
#define clReleaseCommandQueue opencl_calls.clReleaseCommandQueue_call
#define clReleaseContext opencl_calls.clReleaseContext_call
#define clReleaseEvent opencl_calls.clReleaseEvent_call
#define clReleaseKernel opencl_calls.clReleaseKernel_call
#define clReleaseMemObject opencl_calls.clReleaseMemObject_call
#define clReleaseProgram opencl_calls.clReleaseProgram_call
#define clReleaseSampler opencl_calls.clReleaseSampler_call
#define clRetainCommandQueue opencl_calls.clRetainCommandQueue_call
#define clRetainContext opencl_calls.clRetainContext_call
#define clRetainDevice opencl_calls.clRetainDevice_call
#define clRetainEvent opencl_calls.clRetainEvent_call
#define clRetainMemObject opencl_calls.clRetainMemObject_call
#define clRetainProgram opencl_calls.clRetainProgram_call
#define clSVMAlloc opencl_calls.clSVMAlloc_call
#define clSVMFree opencl_calls.clSVMFree_call
#define clSetEventCallback opencl_calls.clSetEventCallback_call
#define clSetKernelArg opencl_calls.clSetKernelArg_call
#define clSetKernelArgSVMPointer opencl_calls.clSetKernelArgSVMPointer_call
#define clSetMemObjectDestructorCallback opencl_calls.clSetMemObjectDestructorCallback_call
#define clWaitForEvents opencl_calls.clWaitForEvents_call
/* clang-format on */

#endif
