#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles the library's files for systems that are not here: `make check-objects`. Nothing is linked or run.
#
#   ZIG=PROGRAM          Zig 0.13 or later (`pip install ziglang`), which has the headers of macOS's C library, and of musl
#   ANDROID_SYSROOT=DIR  the sysroot of an NDK; without it Android is tried with musl's headers
#
# tests/builds/objects.known lists files that do not compile yet; a file that does must leave the list.
set -u
. "$srcdir/tests/tap.sh"
failed=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ZIG=${ZIG:-zig}
export ZIG_GLOBAL_CACHE_DIR="$dir/zig" ZIG_LOCAL_CACHE_DIR="$dir/zig"

# The headers without a system's own.
mkdir "$dir/headers"
for header in /usr/include/CL /usr/include/xxh*.h /usr/include/ut*.h; do
    [ ! -e "$header" ] || ln -s "$header" "$dir/headers"
done
sh "$srcdir/build-aux/generate" "$dir/generated" || exit
flags="-std=c11 -Wall -Wextra -Werror -I$srcdir/build-aux/embedded -I$srcdir/lib -I$srcdir/include -I$dir/generated/include
    -I$dir/headers -DHAVE_CONFIG_H=1 -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -DCLS_OPENCL_DLOPEN=1
    -DCL_TARGET_OPENCL_VERSION=300"

# row SYSTEM COMPILER...
row() {
    system=$1
    shift
    files=0
    : >"$dir/not"
    # shellcheck disable=SC2086 # words
    for file in $(sed -n '/^mpi /d; /^tool/d; /^windows /d; s/^[a-z]* //p' "$dir/generated/sources.list"); do
        files=$((files + 1))
        "$@" $flags -c "$srcdir/$file" -o "$dir/object" 2>"$dir/log" || {
            echo "$file" >>"$dir/not"
            sed -n 's/.*error: //p' "$dir/log" | sort -u | head -n 2 >>"$dir/why"
        }
    done
    sed -n "s/^$system //p" "$srcdir/tests/builds/objects.known" | diff - "$dir/not" >"$dir/new"
    check "$system: $((files - $(wc -l <"$dir/not"))) of $files files compile" "$(cat "$dir/new")"
    [ ! -s "$dir/new" ] || failed=1
    [ ! -s "$dir/why" ] || sort -u "$dir/why" | sed 's/^/# /'
    rm -f "$dir/why"
}

if command -v "$ZIG" >/dev/null; then
    for processor in x86_64 aarch64; do
        row macos "$ZIG" cc -target $processor-macos -D_DARWIN_C_SOURCE
    done
else
    skip "macos" "no zig: pip install ziglang"
fi

libc=$("$ZIG" env 2>/dev/null | sed -n 's/.*"lib_dir": "\(.*\)".*/\1/p')/libc/include
if ! command -v "${CLANG:=clang-14}" >/dev/null; then
    skip "android" "no $CLANG"
elif [ -n "${ANDROID_SYSROOT:-}" ]; then
    row android "$CLANG" -target aarch64-linux-android24 --sysroot="$ANDROID_SYSROOT"
elif [ -d "$libc/generic-musl" ]; then
    row android "$CLANG" -target aarch64-linux-android24 -nostdlibinc -isystem "$libc/aarch64-linux-musl" \
        -isystem "$libc/generic-musl" -isystem "$libc/aarch64-linux-any" -isystem "$libc/any-linux-any"
else
    skip "android" "neither an NDK (ANDROID_SYSROOT) nor zig's headers"
fi
finish
exit $failed
