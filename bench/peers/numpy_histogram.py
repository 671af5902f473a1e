# SPDX-License-Identifier: MIT
"""NumPy's histograms and searches on elements as bench/select has them, in G elements a second:

    python3 bench/peers/numpy_histogram.py [elements]
"""
import statistics
import sys
import time

import numpy as np

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 24
ROUNDS = 7
numbers = np.random.default_rng(1)
ELEMENTS = numbers.integers(0, 1 << 24, COUNT).astype(np.uint32)
FLAGS = numbers.integers(0, 2, COUNT).astype(np.uint8)
KEYS = np.cumsum(numbers.integers(0, 8, COUNT) == 0).astype(np.uint32)
EDGES = np.arange(257, dtype=np.uint32) << 16


def report(name, work):
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    print(f"{name:40} {1e-9 * COUNT / statistics.median(times):8.4f} G elements/s", flush=True)


report("histogram, 256 even bins of u32", lambda: np.histogram(ELEMENTS, 256, (0, 1 << 24)))
report("bincount of the upper bits", lambda: np.bincount(ELEMENTS >> 16, minlength=256))
report("bincount of u8", lambda: np.bincount(FLAGS, minlength=256))
report("histogram, 256 bins of u32 by edges", lambda: np.histogram(ELEMENTS, EDGES))
report("lower bounds of u32 in as many", lambda: np.searchsorted(KEYS, ELEMENTS))
