# The kernels' header, and the function that makes a graph node by node.
/cooperative_groups/d
/^double JacobiMethodGpuCudaGraphExecKernelSetParams(/,/^}/d
s/sumGPU = JacobiMethodGpuCudaGraphExecKernelSetParams(/sumGPU = JacobiMethodGpu(/
