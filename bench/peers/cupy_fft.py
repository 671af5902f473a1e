#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forward transforms of complex f32 by cuFFT through CuPy: microseconds, medians of rounds.

    cupy_fft.py [--logs N,N,...] [--rounds N]

As in bench/fft: out of place, a plan made beforehand, a run of transforms with one wait at the end."""

import argparse
import statistics
import sys
import time


def microseconds(cupy, shape, rounds):
    count = shape[0] * shape[1]
    x = (cupy.random.rand(*shape, dtype=cupy.float32) - 0.5).astype(cupy.complex64)
    y = cupy.empty_like(x)
    plan = cupy.cuda.cufft.Plan1d(shape[1], cupy.cuda.cufft.CUFFT_C2C, shape[0])
    repeats = max(1, min(64, (1 << 24) // count))
    plan.fft(x, y, cupy.cuda.cufft.CUFFT_FORWARD)
    cupy.cuda.Device().synchronize()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeats):
            plan.fft(x, y, cupy.cuda.cufft.CUFFT_FORWARD)
        cupy.cuda.Device().synchronize()
        times.append((time.perf_counter() - start) / repeats)
    return 1e6 * statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", default="10,12,14,16,18,20,22,24")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    try:
        import cupy
        import cupy.cuda.cufft
    except ImportError:
        sys.exit("cupy_fft.py: needs CuPy")
    print(f"# {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}, CuPy {cupy.__version__}")
    for log in map(int, options.logs.split(",")):
        print(f"fft 2^{log} cuFFT: {microseconds(cupy, (1, 1 << log), options.rounds):.1f} us", flush=True)
    print(f"fft 4096 x 1024 cuFFT: {microseconds(cupy, (1024, 4096), options.rounds):.1f} us", flush=True)


if __name__ == "__main__":
    main()
