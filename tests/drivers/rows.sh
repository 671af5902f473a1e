# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# The OpenCL drivers that the suite is run on: sourced by run.sh.
#
#   name|root|Debian package|what the loader takes|environment|tests
#
# Root: `host`; `venv`, a Python environment; `served`, built by pocl_remote.sh, which starts its server too; or the
# Debian or Ubuntu release of a root of its own, in which the driver is the one of the name before the dash. Tests: a prefix; all where it is empty. Oclgrind is for
# kernels: it is an interpreter that aborts under several host threads.
driver_rows() {
    cat <<'ROWS'
pocl|host|pocl-opencl-icd|/etc/OpenCL/vendors/pocl.icd||
rusticl|host|mesa-opencl-icd|/etc/OpenCL/vendors/rusticl.icd|RUSTICL_ENABLE=llvmpipe|
oclgrind|host|oclgrind|/usr/lib/oclgrind/liboclgrind-rt-icd.so||tests/device/
nvidia|host||/etc/OpenCL/vendors/nvidia.icd||
intel|venv||lib/libintelocl.so||
pocl-trixie|trixie||||
rusticl-trixie|trixie||||
pocl-remote|served||lib/libpocl.so.2||
pocl-noble|noble||||
ROWS
}

# field NAME NUMBER
driver_field() { driver_rows | awk -F'|' -v name="$1" -v n="$2" '$1 == name { print $n }'; }

# Where what is not a Debian package of this machine is kept.
driver_home() { echo "${DRIVER_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/clstream-drivers}"; }
