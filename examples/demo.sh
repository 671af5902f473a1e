#!/bin/sh
# SPDX-License-Identifier: MIT
# What `./quickstart demo` shows: files streamed through a chain of operations in chunks, with upload,
# compute and download on streams of their own, and every element compared with a host reference.
#
#   CLSTREAM=path/of/clstream sh examples/demo.sh [FOLDER]    FOLDER: for the files made (default: demo)
set -eu

clstream=${CLSTREAM:-clstream}
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-demo}
mkdir -p "$out"
trap 'rm -f "$out/random.npy" "$out/random.out.npy"' EXIT

# A command as one would type it: the tool with its path, since it need not be installed.
typed() {
    for word in "$@"; do
        case $word in
        *[\ \|]*) printf " '%s'" "$word" ;;
        *) printf ' %s' "$word" ;;
        esac
    done
}

# Shows a command and runs it.
step() {
    printf '\n$%s\n' "$(typed "$clstream" "$@")"
    "$clstream" "$@"
}

echo '1,797 images of handwritten digits (examples/data), pixels 0..16 brought to 0..1, then GELU. The'
echo 'file is small, so the chunks are too: each takes its turn on the upload, compute and download streams.'
step run -i "$here/data/digits.npy" -o "$out/digits.npy" --chunk 32K --verify \
    'cast f32 | scale 0.0625 | gelu'

echo
echo 'A generated file of 256 MiB, in the default chunks of 8 MiB. The check takes longer than the run:'
echo 'the host computes every element again, by itself.'
step gen -o "$out/random.npy" --dtype f32 --bytes 256M
step run -i "$out/random.npy" -o "$out/random.out.npy" --verify \
    'scale 0.5 | gelu | add_scalar 1 | cast u8'

echo
echo "What is known of this machine's devices:$(typed "$clstream" info)"
echo "The result for the digits: $out/digits.npy"
