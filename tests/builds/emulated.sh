#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the library for other processors and runs its tests under QEMU: `make check-emulated`, part of `make check-long`.
#
#   EMULATED="aarch64"                         some of: aarch64, with PoCL; s390x, of the other byte order, without OpenCL
#   EMULATED_TESTS="tests/api/test_order ..."  some of the programs
#   EMULATED_KEEP=1                            keeps the folders builds/NAME: roots and builds, for the next run
#
# A root of Debian 12 for the processor comes from mmdebstrap. A cross compiler builds against it, and the programs run
# in it, in a namespace of mounts, with the folders of the source and of the build where they are outside. PoCL starts
# a linker: that of the cross compiler, with the libraries it needs beside those of the root. Where the kernel has
# binfmt_misc for each namespace of users (Linux 6.7), programs that start others of their processor run too. Each program
# is one test here; the last lines count its tests.
set -u
. "$srcdir/tests/tap.sh"
failed=0
jobs=$(nproc 2>/dev/null || echo 2)
suite=bookworm
packages='coreutils dash libc6-dev libgcc-12-dev ocl-icd-libopencl1 ocl-icd-opencl-dev opencl-headers libcmocka-dev libjansson-dev libxxhash-dev uthash-dev'

# Those that read files, or the memory of other types: what a byte order changes.
file_tests='tests/unit/test_cache tests/unit/test_caps tests/unit/test_checksum tests/unit/test_compare tests/unit/test_expression
    tests/unit/test_graph_dot tests/unit/test_handle tests/unit/test_kernel_sources tests/unit/test_npy
    tests/unit/test_profile tests/unit/test_profile_formats tests/unit/test_rows tests/unit/test_size_format
    tests/unit/test_source_include tests/unit/test_status tests/unit/test_version'

# Why a processor cannot be tried here. $1 is Debian's name of it, $2 QEMU's.
untried() {
    for program in mmdebstrap unshare "qemu-$2-static" "$2-linux-gnu-gcc" "$2-linux-gnu-ld"; do
        command -v "$program" >/dev/null || { echo "no $program"; return; }
    done
    unshare -rm true 2>/dev/null || echo "no namespaces of users and mounts"
}

# make_root DEBIAN QEMU PACKAGE...: the folder root here.
make_root() {
    debian=$1 qemu=$2
    shift 2
    mmdebstrap --variant=extract --architectures="$debian" --include="$(echo "$packages $*" | tr -s ' ' ,)" \
        "$suite" root || return
    # Links from the top are for the inside; the compiler is outside.
    find root/usr/lib -lname '/*' | while read -r link; do
        ln -sf "$(realpath -m --relative-to="$(dirname "$link")" "root$(readlink "$link")")" "$link"
    done
    mkdir -p root/proc root/sys root/dev root/tmp "root$srcdir" "root$PWD/build"
    cp "$(command -v "qemu-$qemu-static")" root/usr/bin
    linker=$(command -v "$qemu-linux-gnu-ld")
    rm -f root/usr/bin/ld
    cp -L "$linker" root/usr/bin/ld
    ldd "$linker" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "root$(dirname "$library")" && cp -L "$library" "root$library"
    done
    : >root/complete
}

# build_for QEMU: the programs, in the folder build.
build_for() {
    mkdir -p build && cd build || return
    multiarch=$1-linux-gnu
    PKG_CONFIG_SYSROOT_DIR=$here/root
    PKG_CONFIG_LIBDIR=$here/root/usr/lib/$multiarch/pkgconfig:$here/root/usr/share/pkgconfig
    export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_LIBDIR
    [ -e Makefile ] || "$srcdir/configure" -q --host="$multiarch" --enable-werror --disable-shared --enable-static \
        --disable-lto --without-clblast --without-vkfft --without-mpi CC="${EMULATED_CCACHE:-} $multiarch-gcc --sysroot=$here/root" \
        CXX=false CFLAGS=-O1 || return
    # shellcheck disable=SC2086 # words
    $MAKE -j"$jobs" $programs
}

# Whether programs of another processor can be given to QEMU in a namespace of its own.
can_register() { unshare -rm mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null; }

# inside PROGRAM: runs it in the root, in the folder of its build, with caches of its own. Others are told to be of its
# processor by the beginning of their ELF header.
inside() {
    cd build && CMOCKA_MESSAGE_OUTPUT=TAP OCL_ICD_VENDORS=/etc/OpenCL/vendors POCL_CACHE_DIR=$PWD/pocl TEST_PATIENCE=10 \
        CLSTREAM_CACHE_DIR=$PWD/cache timeout -k 10 3000 unshare -rm --propagation private sh -c '
            if mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null; then
                head=$(od -An -v -tx1 -N20 "$2/build/$4" | tr -d "\n" | sed "s/ /\\\\x/g")
                printf %s ":qemu:M::$head::$2/root/usr/bin/qemu-$1-static:F" >/proc/sys/fs/binfmt_misc/register || exit
            fi
            for folder in /proc /sys /dev /tmp "$3" "$2/build"; do
                mount --rbind "$folder" "$2/root$folder" || exit
            done
            PATH=$PATH:/usr/sbin:/sbin
            exec chroot "$2/root" "/usr/bin/qemu-$1-static" "$2/build/$4"' sh "$qemu" "$here" "$srcdir" "$1"
}

# row NAME DEBIAN PROGRAMS PACKAGE...
row() {
    qemu=$1 debian=$2 programs=${EMULATED_TESTS:-$3}
    shift 3
    case " ${EMULATED:-aarch64 s390x} " in *" $qemu "*) ;; *) return ;; esac
    why=$(untried "$debian" "$qemu")
    [ -z "$why" ] || { skip "$qemu" "$why"; return; }
    here=$PWD/builds/emulated-$qemu
    mkdir -p "$here"
    if [ ! -e "$here/root/complete" ]; then
        rm -rf "$here/root"
        (cd "$here" && make_root "$debian" "$qemu" "$@") >"$here/root.log" 2>&1 ||
            { skip "$qemu" "no root of Debian: $(tail -n 1 "$here/root.log")"; return; }
    fi
    if ! (cd "$here" && build_for "$qemu") >"$here/build.log" 2>&1; then
        check "$qemu builds" "$(grep -E 'error|warning|undefined|\*\*\*' "$here/build.log" | head -n 20)"
        failed=1
        return
    fi
    check "$qemu builds" ""
    passed=0 bad=0 left_out=0
    starters='test_cuda_ipc test_event_processes test_exit test_process_end test_share_processes'
    ! can_register || starters=
    for program in $programs; do
        case " $starters " in *" ${program##*/} "*)
            skip "$qemu: $program" "it starts programs of that processor, which this kernel runs in no namespace"
            continue
            ;;
        esac
        log=$here/$(basename "$program").log
        rc=0
        (cd "$here" && inside "$program") >"$log" 2>&1 || rc=$?
        passed=$((passed + $(grep -c '^ok [0-9]* - ' "$log")))
        left_out=$((left_out + $(grep -cE '^(not )?ok [0-9]+ .*# SKIP' "$log")))
        bad=$((bad + $(grep -E '^not ok' "$log" | grep -vc '# SKIP')))
        check "$qemu: $program" "$([ $rc = 0 ] || { echo "exit status $rc"; grep -v '^ok' "$log" | tail -n 20; })"
        [ $rc = 0 ] || failed=1
    done
    echo "# $qemu: $passed passed, $bad failed, $left_out skipped"
    [ -n "${EMULATED_KEEP:-}" ] || rm -rf "$here"
}

# shellcheck disable=SC2086 # words
row aarch64 arm64 "$PROGRAMS" libpocl2 pocl-opencl-icd
row s390x s390x "$file_tests"
finish
exit $failed
