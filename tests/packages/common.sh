# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2034
# What the checks of packages share: they are called with a tarball of `make dist` in a build folder. Source it.

top=$(cd "$(dirname "$0")/../.." && pwd)
tarball=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
name=$(basename "$tarball" .tar.gz)
# Not the make that calls this, with its options and its jobs.
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR

# skip REASON
skip() { echo "skipped: $*"; exit 77; }

say() { printf '==> %s\n' "$*"; }

# The end of the build's log, whose lines are as long as the compiler's.
show_end() { tail -n 40 "$folder/build.log" | cut -c 1-300; }

# against ROOT LIBDIR COMMAND...: with the packages that are unpacked in ROOT as if they were installed.
against() {
    root=$1 libdir=$1$2
    shift 2
    env PACKAGES_ROOT="$root" PATH="$root/usr/bin:$PATH" LD_LIBRARY_PATH="$libdir" PKG_CONFIG_PATH="$libdir/pkgconfig" \
        PKG_CONFIG_SYSROOT_DIR="$root" CMAKE_PREFIX_PATH="$libdir/cmake" CLSTREAM_LIBRARY="$libdir/libclstream.so.0" \
        PYTHONPATH="$root/usr/lib/python3/dist-packages" "$@"
}
