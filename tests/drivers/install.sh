#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs drivers of rows.sh: install.sh NAME... Debian packages and roots need root; Intel's runtime, which
# is proprietary and here for tests only, comes from PyPI into a folder of its own (830 MB). PoCL-Remote is built from Debian's source package.
set -eu
. "$srcdir/tests/drivers/rows.sh"

# What the suite is built and run with, in a root that has nothing.
build_packages='build-essential pkgconf opencl-headers ocl-icd-opencl-dev libxxhash-dev uthash-dev
    libjansson-dev libcmocka-dev'

apt='apt-get -q -o Dpkg::Use-Pty=0'

install_package() {
    export DEBIAN_FRONTEND=noninteractive
    $apt update && $apt install -y --no-install-recommends "$1"
}

install_venv() {
    folder=$(driver_home)/$1
    python3 -m venv "$folder"
    "$folder/bin/pip" -q install intel-opencl-rt intel-cmplr-lib-rt
    rm -f "$folder"/lib/libOpenCL* # it would take the place of the system's loader
}

# debootstrap's options and arguments for a release; a Debian release needs none. Ubuntu's are all made in one
# way, and Debian's debootstrap knows the older ones by name.
release_options() { [ "$1" != noble ] || echo --components=main,universe --no-check-gpg; }
release_source() { [ "$1" != noble ] || echo http://archive.ubuntu.com/ubuntu gutsy; }

# A root of another release, with the packages of all its drivers.
install_root() {
    folder=$(driver_home)/$1
    [ ! -e "$folder/.complete" ] || return 0
    rm -rf --one-file-system "$folder"
    mkdir -p "$folder"
    # shellcheck disable=SC2046
    debootstrap --variant=minbase $(release_options "$1") "$1" "$folder" $(release_source "$1")
    packages=$(driver_rows | awk -F'|' -v root="$1" '
        { package[$1] = $3 }
        $2 == root { sub("-" root "$", "", $1); print package[$1] }')
    # shellcheck disable=SC2086
    chroot "$folder" env DEBIAN_FRONTEND=noninteractive $apt install -y --no-install-recommends \
        $build_packages $packages
    touch "$folder/.complete"
}

for name in "$@"; do
    root=$(driver_field "$name" 2)
    package=$(driver_field "$name" 3)
    echo "installing $name"
    case $root:$package in
    host:) echo "$name comes with its hardware" ;;
    host:*) install_package "$package" ;;
    venv:*) install_venv "$name" ;;
    served:*) sh "$srcdir/tests/drivers/pocl_remote.sh" install "$(driver_home)/$name" ;;
    *) install_root "$root" ;;
    esac
done
