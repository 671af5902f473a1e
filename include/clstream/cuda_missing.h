/* SPDX-License-Identifier: MIT */
/**
 * @file cuda_missing.h
 * Calls of CUDA's runtime that clstream/cuda_runtime.h does not have. A program that makes one does not compile, and the
 * compiler names the call: C would otherwise take it for a function declared elsewhere, and link it with any library that
 * has the name. doc/porting.md says what the library has in the place of each.
 */
#ifndef CLSTREAM_CUDA_MISSING_H
#define CLSTREAM_CUDA_MISSING_H

#include <clstream/status.h>

CLS_BEGIN_DECLS

/** @cond */
#define cudaArrayGetInfo(...) clstream_has_no_cudaArrayGetInfo
#define cudaBindTexture(...) clstream_has_no_cudaBindTexture
#define cudaBindTexture2D(...) clstream_has_no_cudaBindTexture2D
#define cudaBindTextureToArray(...) clstream_has_no_cudaBindTextureToArray
#define cudaChooseDevice(...) clstream_has_no_cudaChooseDevice
#define cudaCreateChannelDesc(...) clstream_has_no_cudaCreateChannelDesc
#define cudaCreateSurfaceObject(...) clstream_has_no_cudaCreateSurfaceObject
#define cudaCreateTextureObject(...) clstream_has_no_cudaCreateTextureObject
#define cudaDestroyExternalMemory(...) clstream_has_no_cudaDestroyExternalMemory
#define cudaDestroyExternalSemaphore(...) clstream_has_no_cudaDestroyExternalSemaphore
#define cudaDestroySurfaceObject(...) clstream_has_no_cudaDestroySurfaceObject
#define cudaDestroyTextureObject(...) clstream_has_no_cudaDestroyTextureObject
#define cudaDeviceGetByPCIBusId(...) clstream_has_no_cudaDeviceGetByPCIBusId
#define cudaDeviceGetCacheConfig(...) clstream_has_no_cudaDeviceGetCacheConfig
#define cudaDeviceGetGraphMemAttribute(...) clstream_has_no_cudaDeviceGetGraphMemAttribute
#define cudaDeviceGetLimit(...) clstream_has_no_cudaDeviceGetLimit
#define cudaDeviceGetP2PAttribute(...) clstream_has_no_cudaDeviceGetP2PAttribute
#define cudaDeviceGetPCIBusId(...) clstream_has_no_cudaDeviceGetPCIBusId
#define cudaDeviceGraphMemTrim(...) clstream_has_no_cudaDeviceGraphMemTrim
#define cudaDeviceSetCacheConfig(...) clstream_has_no_cudaDeviceSetCacheConfig
#define cudaDeviceSetLimit(...) clstream_has_no_cudaDeviceSetLimit
#define cudaDeviceSetSharedMemConfig(...) clstream_has_no_cudaDeviceSetSharedMemConfig
#define cudaEventRecordWithFlags(...) clstream_has_no_cudaEventRecordWithFlags
#define cudaExternalMemoryGetMappedBuffer(...) clstream_has_no_cudaExternalMemoryGetMappedBuffer
#define cudaFreeArray(...) clstream_has_no_cudaFreeArray
#define cudaFreeMipmappedArray(...) clstream_has_no_cudaFreeMipmappedArray
#define cudaFuncGetAttributes(...) clstream_has_no_cudaFuncGetAttributes
#define cudaFuncSetAttribute(...) clstream_has_no_cudaFuncSetAttribute
#define cudaFuncSetCacheConfig(...) clstream_has_no_cudaFuncSetCacheConfig
#define cudaGetDeviceFlags(...) clstream_has_no_cudaGetDeviceFlags
#define cudaGetMipmappedArrayLevel(...) clstream_has_no_cudaGetMipmappedArrayLevel
#define cudaGraphAddChildGraphNode(...) clstream_has_no_cudaGraphAddChildGraphNode
#define cudaGraphAddDependencies(...) clstream_has_no_cudaGraphAddDependencies
#define cudaGraphAddEmptyNode(...) clstream_has_no_cudaGraphAddEmptyNode
#define cudaGraphAddEventRecordNode(...) clstream_has_no_cudaGraphAddEventRecordNode
#define cudaGraphAddEventWaitNode(...) clstream_has_no_cudaGraphAddEventWaitNode
#define cudaGraphAddMemAllocNode(...) clstream_has_no_cudaGraphAddMemAllocNode
#define cudaGraphAddMemFreeNode(...) clstream_has_no_cudaGraphAddMemFreeNode
#define cudaGraphAddNode(...) clstream_has_no_cudaGraphAddNode
#define cudaGraphDebugDotPrint(...) clstream_has_no_cudaGraphDebugDotPrint
#define cudaGraphExecMemcpyNodeSetParams(...) clstream_has_no_cudaGraphExecMemcpyNodeSetParams
#define cudaGraphExecMemsetNodeSetParams(...) clstream_has_no_cudaGraphExecMemsetNodeSetParams
#define cudaGraphKernelNodeSetParams(...) clstream_has_no_cudaGraphKernelNodeSetParams
#define cudaGraphNodeGetType(...) clstream_has_no_cudaGraphNodeGetType
#define cudaHostGetFlags(...) clstream_has_no_cudaHostGetFlags
#define cudaImportExternalMemory(...) clstream_has_no_cudaImportExternalMemory
#define cudaImportExternalSemaphore(...) clstream_has_no_cudaImportExternalSemaphore
#define cudaLaunchCooperativeKernel(...) clstream_has_no_cudaLaunchCooperativeKernel
#define cudaLaunchCooperativeKernelMultiDevice(...) \
    clstream_has_no_cudaLaunchCooperativeKernelMultiDevice
#define cudaLaunchKernelExC(...) clstream_has_no_cudaLaunchKernelExC
#define cudaMalloc3D(...) clstream_has_no_cudaMalloc3D
#define cudaMalloc3DArray(...) clstream_has_no_cudaMalloc3DArray
#define cudaMallocArray(...) clstream_has_no_cudaMallocArray
#define cudaMallocMipmappedArray(...) clstream_has_no_cudaMallocMipmappedArray
#define cudaMemPoolExportPointer(...) clstream_has_no_cudaMemPoolExportPointer
#define cudaMemPoolExportToShareableHandle(...) clstream_has_no_cudaMemPoolExportToShareableHandle
#define cudaMemPoolGetAccess(...) clstream_has_no_cudaMemPoolGetAccess
#define cudaMemPoolImportFromShareableHandle(...) \
    clstream_has_no_cudaMemPoolImportFromShareableHandle
#define cudaMemPoolImportPointer(...) clstream_has_no_cudaMemPoolImportPointer
#define cudaMemPoolSetAccess(...) clstream_has_no_cudaMemPoolSetAccess
#define cudaMemRangeGetAttribute(...) clstream_has_no_cudaMemRangeGetAttribute
#define cudaMemcpy2DArrayToArray(...) clstream_has_no_cudaMemcpy2DArrayToArray
#define cudaMemcpy2DFromArray(...) clstream_has_no_cudaMemcpy2DFromArray
#define cudaMemcpy2DToArray(...) clstream_has_no_cudaMemcpy2DToArray
#define cudaMemcpy3D(...) clstream_has_no_cudaMemcpy3D
#define cudaMemcpy3DAsync(...) clstream_has_no_cudaMemcpy3DAsync
#define cudaMemcpy3DPeer(...) clstream_has_no_cudaMemcpy3DPeer
#define cudaMemcpyToArray(...) clstream_has_no_cudaMemcpyToArray
#define cudaMemset3D(...) clstream_has_no_cudaMemset3D
#define cudaMemset3DAsync(...) clstream_has_no_cudaMemset3DAsync
#define cudaOccupancyMaxPotentialBlockSize(...) clstream_has_no_cudaOccupancyMaxPotentialBlockSize
#define cudaSignalExternalSemaphoresAsync(...) clstream_has_no_cudaSignalExternalSemaphoresAsync
#define cudaStreamCopyAttributes(...) clstream_has_no_cudaStreamCopyAttributes
#define cudaStreamGetAttribute(...) clstream_has_no_cudaStreamGetAttribute
#define cudaStreamGetCaptureInfo(...) clstream_has_no_cudaStreamGetCaptureInfo
#define cudaStreamGetId(...) clstream_has_no_cudaStreamGetId
#define cudaStreamSetAttribute(...) clstream_has_no_cudaStreamSetAttribute
#define cudaStreamUpdateCaptureDependencies(...) clstream_has_no_cudaStreamUpdateCaptureDependencies
#define cudaThreadExchangeStreamCaptureMode(...) clstream_has_no_cudaThreadExchangeStreamCaptureMode
#define cudaThreadExit(...) clstream_has_no_cudaThreadExit
#define cudaThreadSynchronize(...) clstream_has_no_cudaThreadSynchronize
#define cudaUnbindTexture(...) clstream_has_no_cudaUnbindTexture
#define cudaUserObjectCreate(...) clstream_has_no_cudaUserObjectCreate
#define cudaWaitExternalSemaphoresAsync(...) clstream_has_no_cudaWaitExternalSemaphoresAsync
/** @endcond */

CLS_END_DECLS

#endif
