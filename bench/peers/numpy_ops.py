#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Operations in NumPy: their bytes a second, medians of rounds, and those of bench/ops beside them on a CPU device.

    numpy_ops.py [--bytes N] [--rounds N] [--ops PROGRAM]

The same arrays as bench/ops: what an operation reads and writes once is N bytes each. With --ops, bench/ops measures its rows
of the same names in the same run, before and after."""

import argparse
import statistics
import subprocess
import time

import numpy


def softmax(x):
    powers = numpy.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def layer_norm(x, gain, shift):
    away = x - x.mean(-1, keepdims=True)
    return away / numpy.sqrt((away * away).mean(-1, keepdims=True) + 1e-5) * gain + shift


def rows_of(count, columns):
    return numpy.random.default_rng(1).standard_normal((count // columns, columns), dtype=numpy.float32)


def operations(count):
    """The name in bench/ops, the bytes and the operation, made when it is asked for."""
    random = numpy.random.default_rng(2)
    x = rows_of(count, 1024)
    half, flat = x.astype(numpy.float16), x.reshape(-1)
    condition = (flat > 0).astype(numpy.uint8)
    yield "cast f32 to f16", 6 * count, lambda: x.astype(numpy.float16)
    yield "cast f16 to f32", 6 * count, lambda: half.astype(numpy.float32)
    yield "where u8, f32", 13 * count, lambda: numpy.where(condition, flat, x.reshape(-1))
    yield "neg f32", 8 * count, lambda: -flat
    yield "neg f16", 4 * count, lambda: -half
    for columns in (1024, 32768):
        rows, gain = rows_of(count, columns), numpy.ones(columns, numpy.float32)
        yield "softmax f32, rows of %d" % columns, 8 * count, lambda rows=rows: softmax(rows)
        yield "layer_norm f32, rows of %d" % columns, 8 * count, lambda rows=rows, gain=gain: layer_norm(rows, gain, gain)
    order = random.permutation(count // 256)
    source = x.reshape(-1, 256)
    target = numpy.empty_like(source)

    def scatter():
        target[order] = source

    yield "select f32", 8 * count, lambda: source[order]
    yield "scatter f32", 8 * count, scatter
    yield "normal f32", 4 * count, lambda: random.standard_normal(count, dtype=numpy.float32)


def rate(bytes_moved, operation, rounds):
    operation()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        operation()
        times.append(time.perf_counter() - start)
    return 1e-9 * bytes_moved / statistics.median(times)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bytes", type=int, default=32 << 20)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--ops", help="bench/ops")
    options = options.parse_args()

    def ours(name):
        if options.ops:
            subprocess.run([options.ops, "--quick", "--only", name], check=False)

    for name, bytes_moved, operation in operations(options.bytes // 4):
        ours(name)
        print("NumPy: %-40s %8.2f GB/s" % (name, rate(bytes_moved, operation, options.rounds)), flush=True)
        ours(name)


if __name__ == "__main__":
    main()
