#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forward transforms of complex f32 by NumPy's pocketfft, or SciPy's with its threads: microseconds, medians of rounds.

    numpy_fft.py [--logs N,N,...] [--rounds N] [--workers N]

As in bench/fft. NumPy before 2.0 computes in f64; SciPy, where there is one, in f32 and with `workers` threads."""

import argparse
import statistics
import time

import numpy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", default="10,12,14,16,18,20,22,24")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    ways = [(f"NumPy {numpy.__version__}", numpy.fft.fft)]
    try:
        import scipy
        import scipy.fft
        ways.append((f"SciPy {scipy.__version__}, {options.workers} threads",
                     lambda x: scipy.fft.fft(x, workers=options.workers)))
    except ImportError:
        pass
    for name, transform in ways:
        for log in map(int, options.logs.split(",")):
            n = 1 << log
            x = (numpy.random.rand(n, 2) - 0.5).astype(numpy.float32).view(numpy.complex64)[:, 0]
            # SciPy splits a batch among its threads, and no single transform.
            repeats = max(1, min(64, (1 << 22) // n))
            transform(x)
            times = []
            for _ in range(options.rounds):
                start = time.perf_counter()
                for _ in range(repeats):
                    transform(x)
                times.append((time.perf_counter() - start) / repeats)
            print(f"fft 2^{log} {name}: {1e6 * statistics.median(times):.1f} us", flush=True)


if __name__ == "__main__":
    main()
