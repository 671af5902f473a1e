#!/bin/sh
# SPDX-License-Identifier: MIT
# What `make install` puts into $(docdir): the pages, and the examples, which build there by pkg-config and run.
set -eu
. "$srcdir/tests/tool/common.sh"

make() {
    # Not the make that runs the tests, with its options and its jobs.
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make "$@" >"$work/said" 2>&1 || { echo "exit status $?"; tail -n 20 "$work/said"; }
}

docs() {
    make -C "$top_builddir" DESTDIR="$work/root" docdir=/doc "$@"
}
check "the documentation is installed" "$(docs install-dist_docDATA install-nobase_dist_docDATA)"
for page in guide porting batch performance design releases api-changes; do
    check "$page.md is there" "$(same "$srcdir/doc/$page.md" "$work/root/doc/$page.md")"
done
check "every example is there" \
    "$(cd "$srcdir/examples" && find . -name '*.c' -o -name '*.h' -o -name '*.cc' -o -name '*.npy' | while read -r file; do
        cmp "$file" "$work/root/doc/examples/$file" 2>&1 || true
    done)"
check "every example has a name in the installed Makefile" \
    "$(for file in "$srcdir"/examples/*.c; do
        name=$(basename "$file" .c)
        [ "$name" = learning ] || grep -qw "$name" "$work/root/doc/examples/Makefile" || echo "$name"
    done)"

# The library of this build, as clstream.pc names an installed one.
if [ ! -e "$top_builddir/lib/.libs/libclstream.so" ]; then
    skip "the installed examples build" "there is no shared library"
else
    {
        echo '#!/bin/sh'
        echo 'case $* in'
        echo "'--libs OpenCL') echo '$OPENCL_LIBS' ;;"
        echo "--cflags*) echo '-I$top_builddir/include -I$srcdir/include $OPENCL_CFLAGS' ;;"
        echo "--libs*) echo '-L$top_builddir/lib/.libs -lclstream' ;;"
        echo 'esac'
    } >"$work/pkg-config"
    chmod +x "$work/pkg-config"
    LD_LIBRARY_PATH=$top_builddir/lib/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    cp -R "$work/root/doc/examples" "$work/copy"
    build() {
        make -C "$work/copy" PKG_CONFIG="$work/pkg-config" CC="$CC" CXX="$CXX" CFLAGS='-O0 -Wall -Wextra -Werror' \
            CXXFLAGS='-O0 -Wall -Wextra -Werror' "$@"
    }
    check "the installed examples build without a warning" "$(build all)"
    if "$clstream" info >"$work/info" 2>&1; then
        check "an installed example runs" "$(cd "$work/copy" && ./first 2>&1 >"$work/said" || cat "$work/said")"
    else
        skip "an installed example runs" "no OpenCL device"
    fi
fi

check "uninstalling leaves nothing" \
    "$(docs uninstall-dist_docDATA uninstall-nobase_dist_docDATA
    find "$work/root" -type f)"
finish
