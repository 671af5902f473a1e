# The kernels' header.
/cooperative_groups/d
