#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/magika refuses files that are no weights of its model. Where Python has magika, onnx and onnxruntime, its scores
# are those of onnxruntime for files of this tree, and those of NumPy in f64 for short ones too, on which onnxruntime is
# less exact. MAGIKA_PYTHON names such a Python.
set -eu
. "$srcdir/tests/tool/common.sh"
need_device

example=$top_builddir/examples/magika
script=$srcdir/examples/magika_weights.py
weights=$work/magika.weights

check "without weights it says how to get them" \
    "$(fails 77 'magika_weights.py writes the weights' "$example" --quick)"
check "no file" "$(fails 1 "$work/none: " "$example" "$work/none")"

# refuses PART LINE...: a file of those lines and 16 bytes.
refuses() {
    part=$1
    shift
    { printf '%s\n' "$@"; printf 0123456789abcdef; } >"$work/wrong"
    fails 1 "$part" "$example" "$work/wrong"
}
check "another version" "$(refuses 'no file of weights' 'weights 2' end)"
check "a header without an end" \
    "$(echo 'weights 1' >"$work/wrong"; fails 1 'the header has no end' "$example" "$work/wrong")"
check "more matrices than there is room for" \
    "$({ echo 'weights 1'; yes 'table f32 1 1 0' | head -n 33; } >"$work/wrong"
    fails 1 'more than 32 matrices' "$example" "$work/wrong")"
check "a line that is no matrix" "$(refuses 'no matrix: table f32 1' 'weights 1' 'table f32 1' end)"
check "an unknown type" "$(refuses 'no matrix: table f16 1 1 0' 'weights 1' 'table f16 1 1 0' end)"
check "an offset between elements" \
    "$(refuses 'no shape or offset' 'weights 1' 'table f32 1 1 2' end)"
check "a matrix without columns" "$(refuses 'no shape or offset' 'weights 1' 'table f32 1 0 0' end)"
check "a matrix longer than the file" \
    "$(refuses 'table ends behind the file' 'weights 1' 'table f32 2 2 4' end)"
check "a matrix behind the file" \
    "$(refuses 'table ends behind the file' 'weights 1' 'table f32 1 1 4294967292' end)"
check "no labels" "$(refuses 'has no labels' 'weights 1' 'table f32 2 2 0' end)"
check "a label without an end" "$(refuses 'row 0 of labels has no end' 'weights 1' 'labels u8 1 16 0' end)"

for python in "${MAGIKA_PYTHON:-none}" "${PYTHON:-python3}" none; do
    ! "$python" -c 'import magika, onnx, onnxruntime' 2>/dev/null || break
done
if [ "$python" = none ]; then
    skip "the scores are those of onnxruntime" "no Python with magika, onnx and onnxruntime (PyPI)"
    finish
    exit 0
fi

printf ' \n\t#include <stdio.h>\n\n\n' >"$work/blanks"
printf 12345678 >"$work/least"
head -c 1500 "$srcdir/README.md" >"$work/overlap"
set -- "$work/blanks" "$work/least" "$work/overlap"
for file in README.md configure.ac cl/rows.cl doc/timeline.svg examples/data/digits.npy examples/data/constitution.txt \
    examples/query.cc lib/stream/submit.c python/clstream/arrays.py tests/tap.sh; do
    set -- "$@" "$srcdir/$file"
done

PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
check "the weights are written" "$(succeeds "$python" "$script" "$weights")"
check "onnxruntime has scores, and the package the same" \
    "$(succeeds "$python" "$script" --scores "$@"; cp "$work/said" "$work/theirs")"
check "the example has scores" "$(succeeds "$example" "$weights" --scores "$@"; ours "$work/said" >"$work/ours")"

# differences COLUMN LIMIT FOLDER FILES: scores of a folder's files that differ by more from a column of theirs.
differences() {
    paste "$work/ours" "$work/theirs" | awk -F'\t' -v column="$1" -v limit="$2" -v folder="$3" -v files="$4" '
        $1 != $4 || $2 != $5 { print "other lines: " $0; exit }
        index($1, folder) != 1 { next }
        !seen[$1]++ { found++ }
        { sum[$1] += $3; difference = $3 - $column }
        !(difference < limit && difference > -limit) { print }
        END {
            if (found != files) print found " files of " files
            for (file in sum) if (!(sum[file] > 0.999 && sum[file] < 1.001)) print file " sums up to " sum[file]
        }' | head -20
}
check "scores of this tree's files are within 1e-4 of those of onnxruntime" "$(differences 6 1e-4 "$srcdir/" 10)"
check "all scores are within 1e-5 of those in f64" "$(differences 7 1e-5 "" $#)"

other_labels() {
    "$example" "$weights" "$@" >"$work/shown" 2>/dev/null
    for file in "$@"; do
        label=$(awk -F'\t' -v file="$file" '
            $1 == file && $3 > most { most = $3; label = $2 }
            END { print label }' "$work/theirs")
        grep -qF "$file: $label " "$work/shown" || echo "$file is $label"
    done
}
check "the label of a file is that of its greatest score" "$(other_labels "$@")"
check "files of too few bytes have no scores" "$(
    printf 1234567 >"$work/short"
    { printf '%5000s\n' ' '; cat "$srcdir/README.md"; } >"$work/late" # the first 4,096 bytes are blanks
    "$example" "$weights" "$work/late" "$work/short" /dev/null >"$work/shown" 2>/dev/null
    [ "$(grep -c 'too few bytes for the model$' "$work/shown")" = 3 ] || cat "$work/shown")"
check "a folder cannot be read" "$(fails 1 "$work " "$example" "$weights" "$work")"
check "a matrix of another shape" "$(
    sed 's/^table f32 257 64 /table f32 64 257 /' "$weights" >"$work/turned"
    fails 1 'table is 64 x 257, not 257 x 64' "$example" "$work/turned")"
finish
