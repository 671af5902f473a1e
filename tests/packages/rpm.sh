#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the RPM packages of a tarball of `make dist`, and the README's first program with them, unpacked into a folder:
# `make check-rpm`. On Debian too, whose rpm knows nothing of what is installed, so the spec's requirements are not looked at.
#
# The packages stay in packages/rpm of the build folder. Exit status 77 is a skip, whose last line says why.
set -eu
. "$(dirname "$0")/common.sh"

# PACKAGES_INSTALL, PACKAGES_CHECK: as in debian.sh
[ -z "${PACKAGES_INSTALL:-}" ] || apt-get install -y --no-install-recommends rpm cpio doxygen cmake libclblast-dev libjansson-dev ||
    say 'not all tools could be installed'
for tool in rpmbuild rpm2cpio cpio doxygen cmake pkg-config; do
    command -v "$tool" >/dev/null || skip "no $tool"
done
for module in OpenCL clblast jansson; do
    pkg-config --exists "$module" || skip "pkg-config finds no $module"
done

rm -rf packages/rpm
mkdir -p packages/rpm/SOURCES packages/rpm/root
cd packages/rpm
folder=$PWD
cp "$tarball" SOURCES
tar xf "$tarball"
say "building $name"
check=
[ "${PACKAGES_CHECK:-}" != no ] || check=--nocheck
rpmbuild -ba --nodeps $check --define "_topdir $folder" "$name/build-aux/clstream.spec" >build.log 2>&1 ||
    { show_end; exit 1; }
for package in RPMS/*/*.rpm; do rpm2cpio "$package" | (cd root && cpio -idm --quiet); done
cd "$name"
say 'debian/tests/first-program'
AUTOPKGTEST_TMP=$folder
export AUTOPKGTEST_TMP
against "$folder/root" "$(rpm --eval '%{_libdir}')" debian/tests/first-program
say "in $folder:"
ls "$folder"/SRPMS/* "$folder"/RPMS/*/*
