#!/bin/sh
# SPDX-License-Identifier: MIT
# clstream tune: a short search, what it leaves in the disk cache, and what clstream info says of it. How many sets of
# parameters are measured depends on the driver's compiler, so that the search may find nothing.
set -eu
. "$srcdir/tests/tool/common.sh"

for words in 12 12,13 0,1,1 1,1,99999 '1,1,1x' '8,8,8 8,8,8 8,8,8 8,8,8 8,8,8 8,8,8 8,8,8 8,8,8 8,8,8'; do
    # shellcheck disable=SC2086
    check "no products: $words" "$(fails 2 'is no product M,N,K' "$clstream" tune $words)"
done
check "a bad --limit" "$(fails 2 "'0' is no number from 1" "$clstream" tune --limit 0)"
check "a bad --dtype" "$(fails 2 "'i32' is not f32 or f64" "$clstream" tune --dtype i32)"
need_device
check "no such device" "$(fails 1 'f32: ' "$clstream" tune --device nobodys --dtype f32)"
CLSTREAM_CACHE_DIR=$work/cache
export CLSTREAM_CACHE_DIR
if ! "$clstream" info | grep -q '  products by CLBlast'; then
    skip "the rest" "this library was built without CLBlast"
    finish
    exit 0
fi
tuned=$top_builddir/tests/tool/tuned
[ -x "$tuned" ] || { skip "the rest" "the test programs are not built"; finish; exit 0; }

says() {
    "$clstream" info >"$work/info" 2>"$work/said" || cat "$work/said"
    sed -n '/products by CLBlast/,/^  its memory/p' "$work/info" | grep -q "$1" || { echo "no '$1' in:"; cat "$work/info"; }
}
states() {
    (cd "$work/cache" && cksum ./*.clsb)
}

check "info: nothing is tuned" "$(says 'f32: its own parameters')"
check "info shows what is kept" \
    "$(succeeds "$tuned" XGEMM_MIN_INDIRECT_SIZE=777
    says 'f32: tuned on 2.*1.25 times as fast as its own'
    says XGEMM_MIN_INDIRECT_SIZE=777)"
check "what is malformed is not kept" \
    "$(fails 1 'no parameters for this device' "$tuned" XGEMM_MIN_INDIRECT_SIZE=0
    says XGEMM_MIN_INDIRECT_SIZE=777)"
heed=
if env --default-signal=INT true 2>/dev/null; then heed='env --default-signal=INT'; fi
states >"$work/before"
# shellcheck disable=SC2016 # the inner shell's
check "an interrupted search leaves what was there" \
    "$(rc=0
    $heed sh -c '(sleep 2; kill -INT $$) >/dev/null 2>&1 & exec "$@"' sh "$clstream" tune --dtype f32 40,40,40 \
        >"$work/out" 2>&1 || rc=$?
    [ $rc = 130 ] || { echo "exit status $rc, not 130"; cat "$work/out"; }
    states | diff "$work/before" -)"
check "--reset keeps CLBlast's own" \
    "$(succeeds "$clstream" tune --reset --dtype f32
    says 'f32: its own parameters')"
check "a short search ends in time, and keeps what gains" \
    "$(succeeds "$clstream" tune --quick --dtype f32 --products 40,41,42 56,56,56
    for part in '^f32: [0-9]* sets' '  40 x  *41 x  *42 '; do
        grep -q "$part" "$work/said" || { echo "no '$part' in:"; cat "$work/said"; }
    done
    if grep -q 'kept, ' "$work/said"; then
        says 'f32: tuned on'
    else
        grep -q 'nothing is kept: ' "$work/said" || cat "$work/said"
        says 'f32: its own parameters'
    fi)"
finish
