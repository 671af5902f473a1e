#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The chains of bench/batch.c in other libraries: bytes moved a second, medians of rounds.

    chains.py [--count N] [--rounds N] PEER...

Peers on a GPU: torch (eager), compile (torch.compile), cupy (a fused kernel). On a CPU: numpy, numexpr,
pyopencl (its elementwise and reduction kernels, on the device that PYOPENCL_CTX names). The count is of f32
elements, by default as in bench/batch.c; bytes are counted as there: every input read once, the output
written once, whatever a library moves besides. A peer that is not installed is said to be missing."""

import argparse
import statistics
import sys
import time

# name: arrays that are read or written, of f32
CHAINS = {
    "relu(a)*2+b": 3,
    "9 operations with tanh and sigmoid": 3,
    "where and casts": 3,
    "sum of relu(a)*2+b": 2,
}


def torch_peer(compiled):
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    formulas = {
        "relu(a)*2+b": lambda a, b: torch.relu(a) * 2 + b,
        "9 operations with tanh and sigmoid": lambda a, b: torch.sigmoid(
            torch.tanh(torch.relu(a) * 2 + b) * 0.5 - 0.25
        )
        .abs()
        .sqrt(),
        "where and casts": lambda a, b: torch.where(a > b, a.to(torch.uint8).to(torch.float32), b),
        "sum of relu(a)*2+b": lambda a, b: (torch.relu(a) * 2 + b).sum(),
    }
    if compiled:
        formulas = {name: torch.compile(formula) for name, formula in formulas.items()}
    finish = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    return formulas, lambda n: torch.zeros(n, dtype=torch.float32, device=device), finish


def cupy_peer():
    import cupy

    chain = cupy.ElementwiseKernel(
        "float32 a, float32 b", "float32 y", "y = (a <= 0 ? 0 : a) * 2 + b", "relu_scale_add"
    )
    functions = cupy.ElementwiseKernel(
        "float32 a, float32 b",
        "float32 y",
        "float t = tanhf((a <= 0 ? 0 : a) * 2 + b) * 0.5f - 0.25f;"
        "y = sqrtf(fabsf(1 / (1 + expf(-t))))",
        "functions",
    )
    mixed = cupy.ElementwiseKernel(
        "float32 a, float32 b", "float32 y", "y = a > b ? (float)(unsigned char)a : b", "mixed"
    )
    total = cupy.ReductionKernel(
        "float32 a, float32 b", "float32 y", "(a <= 0 ? 0 : a) * 2 + b", "a + b", "y = a", "0", "total"
    )
    formulas = dict(zip(CHAINS, (chain, functions, mixed, total)))
    return formulas, lambda n: cupy.zeros(n, dtype="float32"), cupy.cuda.Device().synchronize


def numpy_peer():
    import numpy

    def functions(a, b):
        t = numpy.tanh(numpy.maximum(a, 0) * 2 + b) * numpy.float32(0.5) - numpy.float32(0.25)
        return numpy.sqrt(numpy.abs(1 / (1 + numpy.exp(-t))))

    formulas = {
        "relu(a)*2+b": lambda a, b: numpy.maximum(a, 0) * 2 + b,
        "9 operations with tanh and sigmoid": functions,
        "where and casts": lambda a, b: numpy.where(a > b, a.astype("u1").astype("f4"), b),
        "sum of relu(a)*2+b": lambda a, b: (numpy.maximum(a, 0) * 2 + b).sum(),
    }
    return formulas, lambda n: numpy.zeros(n, dtype="float32"), lambda: None


def numexpr_peer():
    import numexpr
    import numpy

    texts = (
        "where(a > zero, a, zero) * two + b",
        "sqrt(abs(one / (one + exp(quarter - tanh(where(a > zero, a, zero) * two + b) * half))))",
        None,  # numexpr has no u8
        "sum(where(a > zero, a, zero) * two + b)",
    )
    constants = {"zero": 0, "one": 1, "two": 2, "half": 0.5, "quarter": 0.25}
    names = {name: numpy.float32(value) for name, value in constants.items()}

    def formula(text):
        return lambda a, b: numexpr.evaluate(text, dict(names, a=a, b=b))

    formulas = {name: formula(text) for name, text in zip(CHAINS, texts) if text}
    return formulas, lambda n: numpy.zeros(n, dtype="float32"), lambda: None


def pyopencl_peer():
    import pyopencl
    import pyopencl.array
    import pyopencl.elementwise
    import pyopencl.reduction
    import numpy

    context = pyopencl.create_some_context(interactive=False)
    queue = pyopencl.CommandQueue(context)
    arguments = "const float *a, const float *b, float *y"

    def elementwise(text, name):
        kernel = pyopencl.elementwise.ElementwiseKernel(context, arguments, text, name)
        out = {}

        def run(a, b):
            if a.size not in out:
                out[a.size] = pyopencl.array.empty_like(a)
            kernel(a, b, out[a.size])

        return run

    total = pyopencl.reduction.ReductionKernel(
        context,
        numpy.float32,
        neutral="0",
        reduce_expr="a + b",
        map_expr="(a[i] <= 0 ? 0 : a[i]) * 2 + b[i]",
        arguments="const float *a, const float *b",
    )
    relu = "(a[i] <= 0 ? 0 : a[i]) * 2 + b[i]"
    formulas = {
        "relu(a)*2+b": elementwise("y[i] = " + relu, "relu_scale_add"),
        "9 operations with tanh and sigmoid": elementwise(
            "y[i] = sqrt(fabs(1 / (1 + exp(0.25f - 0.5f * tanh(" + relu + ")))))", "functions"
        ),
        "where and casts": elementwise("y[i] = a[i] > b[i] ? (float)(uchar)a[i] : b[i]", "mixed"),
        "sum of relu(a)*2+b": lambda a, b: total(a, b),
    }
    return formulas, lambda n: pyopencl.array.zeros(queue, n, numpy.float32), queue.finish


PEERS = {
    "torch": lambda: torch_peer(False),
    "compile": lambda: torch_peer(True),
    "cupy": cupy_peer,
    "numpy": numpy_peer,
    "numexpr": numexpr_peer,
    "pyopencl": pyopencl_peer,
}


def rate(formula, a, b, finish, moved, rounds):
    """GB/s: a round is as many calls as take some milliseconds."""
    for _ in range(3):
        formula(a, b)
    finish()
    start = time.perf_counter()
    formula(a, b)
    finish()
    calls = max(1, int(0.02 / max(1e-6, time.perf_counter() - start)))
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            formula(a, b)
        finish()
        times.append((time.perf_counter() - start) / calls)
    return moved / statistics.median(times) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, help="elements; default 64 Mi on a GPU, 4 Mi on a CPU")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("peers", nargs="+", choices=sorted(PEERS))
    options = parser.parse_args()
    for peer in options.peers:
        try:
            formulas, zeros, finish = PEERS[peer]()
        except ImportError as missing:
            print(f"{peer}: missing ({missing})")
            continue
        gpu = peer in ("torch", "compile", "cupy")
        count = options.count or (64 << 20 if gpu else 4 << 20)
        a, b = zeros(count), zeros(count)
        for name, formula in formulas.items():
            found = rate(formula, a, b, finish, CHAINS[name] * 4 * count, options.rounds)
            print(f"{peer:10} {name:36} {found:10.1f} GB/s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
