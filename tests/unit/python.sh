#!/bin/sh
# SPDX-License-Identifier: MIT
# The Python package: its tables match the headers, its tests pass with NumPy as the reference, and pip installs it
# without a network.
set -eu
. "$srcdir/tests/tool/common.sh"

library=$top_builddir/lib/.libs/libclstream.so
if ! [ -e "$library" ] || grep -q '^SANITIZER_CFLAGS = .*-fsanitize' "$top_builddir/Makefile"; then
    echo "1..0 # SKIP the build has no shared library, or one with sanitizers"
    exit 0
fi
for python in "${PYTHON:-python3}" /usr/bin/python3 none; do
    ! "$python" -c 'import numpy' 2>/dev/null || break
done
if [ "$python" = none ]; then
    echo "1..0 # SKIP no Python with NumPy (Debian and Ubuntu: python3-numpy)"
    exit 0
fi
need_device

CLSTREAM_LIBRARY=$library PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$srcdir/python
export CLSTREAM_LIBRARY PYTHONDONTWRITEBYTECODE PYTHONPATH
HEADERS=$(header_paths | tr '\n' ' ')
export HEADERS

# One line of TAP for each test of a file; unittest prints "name (class) ... ok".
unittests() {
    rc=0
    "$python" "$1" -v >"$work/out" 2>"$work/err" || rc=$?
    sed -n 's/^\(test_[a-z_0-9]*\) (.*) \.\.\. .*ok$/\1/p' "$work/out" >"$work/passed"
    while read -r name; do check "$(basename "$1" .py): $name" ""; done <"$work/passed"
    sed -n "s/^\(test_[a-z_0-9]*\) (.*) \.\.\. skipped '\(.*\)'$/\1 \2/p" "$work/out" >"$work/skipped"
    while read -r name reason; do skip "$(basename "$1" .py): $name" "$reason"; done <"$work/skipped"
    check "$(basename "$1" .py) passes" "$([ "$rc" = 0 ] && grep -q '^Ran [1-9]' "$work/out" || cat "$work/out" "$work/err")"
}
unittests "$srcdir/python/tests/test_capi.py"
for part in clstream generators optimizers transforms lifetime operands graphs standard; do unittests "$srcdir/python/tests/test_$part.py"; done

version=$(sed -n 's/^PACKAGE_VERSION = //p' "$top_builddir/Makefile")
check "the package has the library's version" \
    "$(grep -q "^version = \"$version\"$" "$srcdir/python/pyproject.toml" &&
        grep -q "^__version__ = \"$version\"$" "$srcdir/python/clstream/__init__.py" || echo "not $version")"

# installed FOLDER OPTION...: where the package is imported from, if pip installs it with these options.
installed() {
    folder=$1
    shift
    rm -rf "$work/site"
    "$python" -m pip install --quiet --no-index --no-deps --no-build-isolation --target "$work/site" "$@" "$work/source" \
        >"$work/said" 2>&1 || { echo "pip failed"; cat "$work/said"; }
    PYTHONPATH='' "$python" -c "import site; site.addsitedir('$work/site'); import clstream; print(clstream.__file__)" \
        >"$work/where" 2>&1 || cat "$work/where"
    grep -q "^$folder/" "$work/where" || echo "imported from $(cat "$work/where")"
    [ -e "$folder/clstream/py.typed" ] || echo "no py.typed, by which type checkers read the package"
}
if "$python" -m pip --version >/dev/null 2>&1; then
    cp -r "$srcdir/python" "$work/source"
    check "pip installs it without a network" "$(installed "$work/site")"
    check "pip installs the folder as it is (--editable)" "$(installed "$work/source" --editable)"
else
    skip "pip installs it without a network" "no pip (Debian and Ubuntu: python3-pip)"
fi
finish
