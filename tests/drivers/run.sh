#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the suite on every OpenCL driver that is found, and prints the table of what has been run: `make
# check-drivers`.
#
#   DRIVERS="intel ..."        some of rows.sh
#   DRIVER_TESTS="tests/..."   some tests; the table keeps earlier results of the others
#   DRIVER_INSTALL=1           installs what is missing (root; network)
#   DRIVER_HOME=FOLDER         where Intel's runtime, PoCL-Remote and the Debian roots are
#   DRIVER_MAKE="make -j2"     how make is run; with TEST_PATIENCE=4 on a busy machine
#   DRIVER_RECORD=1            puts the counts into tests/drivers/recorded, from which README's table comes
set -eu
. "$srcdir/tests/drivers/rows.sh"
results=$top_builddir/tests/driver-results

say() { printf '%s\n' "$*"; }

# Whether the driver is here; says on standard output what the loader takes.
find_driver() {
    library=$(driver_field "$1" 4)
    case $(driver_field "$1" 2) in
    host) ;;
    venv | served) library=$(driver_home)/$1/$library ;;
    *) library=$(driver_home)/$(driver_field "$1" 2)/.complete ;;
    esac
    [ -e "$library" ] && say "$library"
}

tests_for() {
    prefix=$(driver_field "$1" 6)
    for test in ${DRIVER_TESTS:-$SUITE}; do
        case $test in
        "$prefix"*) say "$test" ;;
        esac
    done
}

# Keeps one test's log and result under the driver's name.
keep() {
    kept=$results/$1/$(say "$2" | tr / _)
    rm -f "$kept.log" "$kept.trs"
    [ ! -e "$2.log" ] || cp "$2.log" "$kept.log"
    [ ! -e "$2.trs" ] || cp "$2.trs" "$kept.trs"
}

# The default device's lines of `clstream info`.
describe() {
    $through ./tools/clstream info | awk '
        /^ +(name|platform|driver) / && !($1 in value) {
            key = $1
            sub(/^ +[a-z]+ +/, "")
            value[key] = $0
        }
        END { print value["platform"] "|" value["driver"] "|" value["name"] }' >"$results/$1/device"
}

run_here() {
    tests=$(tests_for "$1" | tr '\n' ' ')
    mkdir -p "$results/$1"
    through= # what the driver's programs are started by
    [ "$(driver_field "$1" 2)" != served ] ||
        through="sh $srcdir/tests/drivers/pocl_remote.sh run $(driver_home)/$1"
    (
        export OCL_ICD_VENDORS="$2"
        for setting in $(driver_field "$1" 5); do
            export "${setting?}"
        done
        [ "$(driver_field "$1" 2)" != venv ] ||
            export LD_LIBRARY_PATH="${2%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
        cd "$top_builddir"
        for test in $tests; do
            base=${test%.sh}
            rm -f "$base.log" "$base.trs"
        done
        describe "$1"
        $through ${DRIVER_MAKE:-make} -k check TESTS="$tests" >"$results/$1/make.log" 2>&1 || true
        for test in $tests; do
            keep "$1" "${test%.sh}"
        done
    )
}

# In a root of its own: this tree is seen there, read-only, and built in the root's /build.
run_in_root() {
    root=$(driver_home)/$(driver_field "$1" 2)
    inner=${1%-*}
    mkdir -p "$root/source" "$root/build" "$results/$1"
    ROOT=$root SOURCE=$(cd "$srcdir" && pwd) unshare --mount --propagation private sh -c '
        mount --bind "$SOURCE" "$ROOT/source" && mount -o remount,bind,ro "$ROOT/source" &&
        mount -t proc proc "$ROOT/proc" && mount --rbind /sys "$ROOT/sys" &&
        mount --rbind /dev "$ROOT/dev" &&
        exec chroot "$ROOT" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            DRIVERS="$1" DRIVER_TESTS="$2" DRIVER_MAKE="$3" sh -c "
                cd /build && { [ -e Makefile ] || /source/configure -q; } &&
                ${DRIVER_MAKE:-make} -s && make -s check-drivers"' \
        run "$inner" "${DRIVER_TESTS:-}" "${DRIVER_MAKE:-make}" >"$results/$1/make.log" 2>&1 || true
    cp "$root/build/tests/driver-results/$inner"/*.* "$root/build/tests/driver-results/$inner/device" \
        "$results/$1/" 2>/dev/null || say "$1: nothing came of it, see $results/$1/make.log"
}

for name in ${DRIVERS:-$(driver_rows | cut -d'|' -f1)}; do
    if ! library=$(find_driver "$name") && [ -n "${DRIVER_INSTALL:-}" ]; then
        sh "$srcdir/tests/drivers/install.sh" "$name"
    fi
    if ! library=$(find_driver "$name"); then
        say "$name: not here (make check-drivers DRIVERS=$name DRIVER_INSTALL=1)"
        continue
    fi
    say "$name: $library"
    case $(driver_field "$name" 2) in
    host | venv | served) run_here "$name" "$library" ;;
    *) run_in_root "$name" ;;
    esac
done
say ''
exec sh "$srcdir/tests/drivers/table.sh" "$results" ${DRIVER_RECORD:+record}
