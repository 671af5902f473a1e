#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sorts of bench/sort.c by NumPy, in Mkeys/s: medians of rounds.

    numpy_sort.py [--log2 N] [--rounds N] [--library libclstream.so]

NumPy sorts on one core. With --library cls_sort and np.sort take turns on the same keys, on the device that CLSTREAM_DEVICE
names; their results are compared first, and the ratio of rates is the median over pairs of rounds. The library's
Python package is to be installed, or on PYTHONPATH."""

import argparse
import ctypes
import statistics
import time

import numpy


def keys_of(dtype, count, generator):
    if numpy.issubdtype(dtype, numpy.floating):
        return generator.standard_normal(count).astype(dtype)
    info = numpy.iinfo(dtype)
    return generator.integers(info.min, info.max, count, dtype=dtype, endpoint=True)


class Array(ctypes.Structure):
    _fields_ = [
        ("buffer", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("offset", ctypes.c_size_t),
        ("count", ctypes.c_size_t),
    ]


NUMBERS = {"uint32": 6, "float32": 1, "int64": 4, "uint8": 5}


class Library:
    def __init__(self, path):
        self.calls = ctypes.CDLL(path)
        self.calls.cls_last_error_detail.restype = ctypes.c_char_p
        self.calls.cls_sort.argtypes = [Array, Array, ctypes.c_void_p, ctypes.c_void_p]

    def call(self, name, *arguments):
        if getattr(self.calls, name)(*arguments):
            raise RuntimeError(f"{name}: {self.calls.cls_last_error_detail().decode()}")

    def buffer(self, count_bytes):
        made = ctypes.c_void_p()
        self.call("cls_buffer_create", None, ctypes.c_size_t(count_bytes), ctypes.byref(made))
        return made

    def sort_of(self, keys):
        """A function that sorts, and one that returns the sorted keys."""
        size, kind = ctypes.c_size_t(keys.nbytes), NUMBERS[keys.dtype.name]
        inside, outside = self.buffer(keys.nbytes), self.buffer(keys.nbytes)
        zero, here = ctypes.c_size_t(0), keys.ctypes.data_as(ctypes.c_void_p)
        self.call("cls_copy_h2d", inside, zero, here, size, None)
        source = Array(inside, kind, 0, keys.size)
        target = Array(outside, kind, 0, keys.size)

        def result():
            made = numpy.empty_like(keys)
            there = made.ctypes.data_as(ctypes.c_void_p)
            self.call("cls_copy_d2h", there, outside, zero, size, None)
            return made

        return lambda: self.call("cls_sort", source, target, None, None), result


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--log2", type=int, default=22)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--library")
    options = parser.parse_args()
    count, generator = 1 << options.log2, numpy.random.default_rng(1)
    library = Library(options.library) if options.library else None
    print(f"NumPy {numpy.__version__}, 2^{options.log2} keys")
    for name in NUMBERS:
        keys = keys_of(numpy.dtype(name), count, generator)
        ours, result = library.sort_of(keys) if library else (None, None)
        if ours:
            ours()
            assert (result() == numpy.sort(keys)).all(), name
        theirs, rates = [], []
        for _ in range(options.rounds):
            theirs.append(seconds(lambda: numpy.sort(keys)))
            if ours:
                rates.append(theirs[-1] / seconds(ours))
        line = f"{name:10} np.sort {1e-6 * count / statistics.median(theirs):8.1f} Mkeys/s"
        if ours:
            line += f"   clStream over NumPy {statistics.median(rates):6.2f}"
        print(line)


if __name__ == "__main__":
    main()
