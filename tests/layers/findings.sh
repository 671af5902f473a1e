# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What scripts of faults/ share, which run programs on a driver that the fault layer makes up. They set $out, a file.

# findings COMMAND...: what is wrong with the run of a program, whose output is in $out then.
findings() {
    CMOCKA_MESSAGE_OUTPUT=TAP "$@" >"$out" 2>&1 || echo "it ends with $?"
    grep -B3 -A4 -e '^not ok [0-9]* -' -e '^# crashed' -e '^# hung' "$out"
}

# layer_findings COMMAND...: the same of a program that the layer announces itself to.
layer_findings() {
    findings "$@"
    grep -q '^# clstream fault layer' "$out" || echo "no layer: $(cat "$out")"
}

# default_driver_only DESCRIPTION REASON: skips the script under a driver that the environment names.
default_driver_only() {
    [ -n "${OCL_ICD_VENDORS:-}" ] || return 0
    skip "$1" "$2"
    finish
    exit 0
}
