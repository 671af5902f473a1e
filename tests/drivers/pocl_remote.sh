#!/bin/sh
# SPDX-License-Identifier: MIT
# PoCL-Remote, whose devices are those of a server on another machine: client and server, built from Debian's source
# package of PoCL 6.0, for tests only.
#
#   pocl_remote.sh install FOLDER         needs network, apt, dpkg-dev, cmake, a C++ compiler, the OpenCL headers
#                                         and the loader; no root
#   pocl_remote.sh run FOLDER COMMAND...  a command with the server's first device. Both are in a network namespace of
#                                         their own, because the server opens a port on every interface. A server that
#                                         dies is started again, and FOLDER/ended gets a line
set -eu
do=$1
folder=$2
shift 2
port=10998

# apt with lists of its own: the machine's stay as they are.
fetch() {
    mkdir -p "$1/lists/partial" "$1/cache"
    echo 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]' \
        'http://deb.debian.org/debian trixie main' >"$1/sources"
    for step in update 'source --download-only pocl'; do
        # shellcheck disable=SC2086
        (cd "$1" && apt-get -q -o Dir::Etc::SourceList="$1/sources" -o Dir::Etc::SourceParts=/dev/null \
            -o Dir::State::Lists="$1/lists" -o Dir::Cache="$1/cache" -o APT::Sandbox::User="$(id -un)" $step)
    done
    dpkg-source -x "$1"/pocl_*.dsc "$1/pocl"
}

install() {
    work=$folder/work
    rm -rf "$folder"
    mkdir -p "$work"
    fetch "$work"
    # This source uses <algorithm> without including it.
    # shellcheck disable=SC2016
    cmake -S "$work/pocl" -B "$work/build" -DCMAKE_INSTALL_PREFIX="$folder" \
        -DCMAKE_INSTALL_RPATH='$ORIGIN;$ORIGIN/..;$ORIGIN/../lib' -DCMAKE_CXX_FLAGS='-include algorithm' \
        -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DENABLE_ICD=1 -DENABLE_REMOTE_CLIENT=1 -DENABLE_REMOTE_SERVER=1 \
        -DENABLE_HOST_CPU_DEVICES=0 -DENABLE_LLVM=0 -DENABLE_HWLOC=0 -DENABLE_TESTS=0 -DENABLE_EXAMPLES=0
    cmake --build "$work/build" --parallel 2
    cmake --install "$work/build"
    rm -rf "$work"
}

serve() {
    while :; do
        env -u LD_LIBRARY_PATH OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd "$folder/bin/pocld" \
            -a 127.0.0.1 -p $port >"$folder/server.log" 2>&1 &
        child=$!
        wait $child || true
        echo "the server ended: $(tail -n 1 "$folder/server.log")" >>"$folder/ended"
    done
}

inside() {
    ip link set lo up
    : >"$folder/ended"
    serve & # ends with the namespace of processes
    until ss -ltn | grep -q ":$port "; do
        sleep 0.1
    done
    export OCL_ICD_VENDORS="$folder/lib/libpocl.so.2" POCL_DEVICES=remote
    export POCL_REMOTE0_PARAMETERS=127.0.0.1:$port/0
    "$@"
}

case $do in
install) install ;;
run) exec unshare --map-root-user --net --pid --fork --kill-child --mount-proc sh "$0" inside "$folder" "$@" ;;
inside) inside "$@" ;;
esac
