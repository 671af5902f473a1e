#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints what gen-wrappers.awk makes of the system's OpenCL headers.
# Usage: CC=cc OPENCL_CFLAGS=... gen-wrappers.sh gen-wrappers.awk calls|wrappers
set -eu
headers=$(printf '#define CL_TARGET_OPENCL_VERSION 300\n#include <CL/cl_icd.h>\n' |
    ${CC:-cc} ${OPENCL_CFLAGS:-} -M -x c - | tr -d '\\' | tr ' ' '\n')
table=$(printf '%s\n' "$headers" | grep '/CL/cl_icd\.h$')
prototypes=$(printf '%s\n' "$headers" | grep '/CL/cl\.h$')
exec ${AWK:-awk} -v what="$2" -f "$1" "$table" "$prototypes"
