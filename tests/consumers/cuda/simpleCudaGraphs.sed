# The kernels' header, and the half that makes a graph node by node.
/cooperative_groups/d
/^void cudaGraphsManual(/,/^}/d
/^  cudaGraphsManual(/,/;/d
