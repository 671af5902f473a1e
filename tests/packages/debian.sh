#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the Debian packages of a tarball of `make dist`, asks lintian, and runs debian/tests with them: `make check-debian`.
#
#   PACKAGES_INSTALL=tools   as root, installs what the build needs
#   PACKAGES_INSTALL=all     and the packages. Otherwise they are unpacked into a folder for the tests.
#   PACKAGES_CHECK=no        builds without the test suite; debian/tests run all the same
#
# The packages stay in packages/debian of the build folder. Exit status 77 is a skip, whose last line says why.
set -eu
. "$(dirname "$0")/common.sh"
install=${PACKAGES_INSTALL:-}

for tool in apt-get dpkg-query dpkg-architecture; do
    command -v "$tool" >/dev/null || skip "no $tool (Debian and Ubuntu: dpkg-dev)"
done
# Tools, and the packages that debian/tests need, but not ours.
needed=$({ printf '%s\n' debhelper dpkg-dev lintian
    sed -n 's/^Depends: //p' "$top/debian/tests/control" | tr -d ' ' | tr ',' '\n'; } | grep -v clstream | sort -u)
if [ -n "$install" ]; then
    apt-get install -y --no-install-recommends $needed || say 'not all tools could be installed'
    apt-get build-dep -y --no-install-recommends "$top" || say 'not all that the build needs could be installed'
fi
missing=$(for package in $needed; do
    dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q ' installed$' || echo "$package"
done)
[ -z "$missing" ] || skip "no packages" $missing
missing=$(cd "$top" && dpkg-checkbuilddeps 2>&1) || skip "$missing"

rm -rf packages/debian
mkdir -p packages/debian
cd packages/debian
folder=$PWD
tar xf "$tarball"
cd "$name"
[ "${PACKAGES_CHECK:-}" != no ] || export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-} nocheck"
say "building $name"
dpkg-buildpackage -us -uc >"$folder/build.log" 2>&1 || { show_end; exit 1; }
cd ..
say 'lintian'
lintian --allow-root --info --fail-on error,warning clstream_*.changes

if [ "$install" = all ]; then
    apt-get install -y --no-install-recommends ./*.deb
    run=
else
    for package in *.deb; do dpkg-deb -x "$package" root; done
    run="against $folder/root /usr/lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH)"
fi
cd "$name"
for test in $(sed -n 's/^Tests: //p' debian/tests/control); do
    say "debian/tests/$test"
    AUTOPKGTEST_TMP=$folder/tests/$test
    export AUTOPKGTEST_TMP
    mkdir -p "$AUTOPKGTEST_TMP"
    $run "debian/tests/$test" >"$AUTOPKGTEST_TMP/log" 2>&1 || { tail -n 30 "$AUTOPKGTEST_TMP/log"; exit 1; }
done
say "in $folder:"
ls "$folder"
