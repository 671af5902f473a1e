#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The chains of bench/batch.c in other libraries: bytes moved a second, medians of rounds.

    chains.py [--count N] [--rounds N] [--library libclstream.so] PEER...

Peers on a GPU: torch (eager), compile (torch.compile), cupy (a fused kernel). On a CPU: numpy, numexpr,
pyopencl (its elementwise and reduction kernels, on the device that PYOPENCL_CTX names). The count is of f32
elements, by default as in bench/batch.c; bytes are counted as there: every input read once, the output
written once, whatever a library moves besides. A peer that is not installed is said to be missing.

With --library a peer and a batch of clStream, on the device that CLSTREAM_DEVICE names, take turns in this
process on the same data; their results are compared first, and the ratio of their rates is the median over
pairs of rounds, with its quartiles. Without, arrays on a GPU are zeros. Debian's packages:
python3-numpy, python3-numexpr, python3-pyopencl."""

import argparse
import ctypes
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
    return formulas, lambda data: torch.from_numpy(data).to(device), finish


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
    return formulas, cupy.asarray, cupy.cuda.Device().synchronize


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
    return formulas, lambda data: data, lambda: None


def numexpr_peer():
    import numexpr
    import numpy

    relu = "where(a > 0, a, 0)"
    texts = (
        f"{relu} * 2 + b",
        f"sqrt(abs(1 / (1 + exp(quarter - half * tanh({relu} * 2 + b)))))",
        None,  # numexpr has no u8
        f"sum({relu} * 2 + b)",
    )
    # Fractions as literals would be doubles.
    names = {"half": numpy.float32(0.5), "quarter": numpy.float32(0.25)}

    def formula(text):
        return lambda a, b: numexpr.evaluate(text, dict(names, a=a, b=b))

    formulas = {name: formula(text) for name, text in zip(CHAINS, texts) if text}
    return formulas, lambda data: data, lambda: None


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
            return out[a.size]

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
        "sum of relu(a)*2+b": lambda a, b: total(a, b).get(),
    }
    return formulas, lambda data: pyopencl.array.to_device(queue, data), queue.finish


class Array(ctypes.Structure):
    """cls_array"""

    _fields_ = [
        ("buffer", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("offset", ctypes.c_size_t),
        ("count", ctypes.c_size_t),
    ]


class ClStream:
    """The chains as batches on the default context."""

    F32, U8 = 1, 5
    UNARY = {"relu": 19, "tanh": 8, "sigmoid": 22, "abs": 14, "sqrt": 16}
    SCALE, ADD_SCALAR = 4, 5
    ADD, GT = 1, 12
    SUM = 1

    def __init__(self, path, a, b):
        self.library = ctypes.CDLL(path)
        self.library.cls_last_error_detail.restype = ctypes.c_char_p
        self.count = a.size
        self.a, self.b = self.upload(a), self.upload(b)

    def call(self, name, *arguments):
        if getattr(self.library, "cls_" + name)(*arguments):
            raise RuntimeError(f"cls_{name}: {self.library.cls_last_error_detail().decode()}")

    def make(self, name, *arguments, of=ctypes.c_uint64):
        """Calls what gives a handle or a value in its last argument."""
        out = of()
        self.call(name, *arguments, ctypes.byref(out))
        return out

    def upload(self, data):
        pointer, size = ctypes.c_void_p(data.ctypes.data), ctypes.c_size_t(data.nbytes)
        buffer = self.make("buffer_from_host", None, pointer, size, of=ctypes.c_void_p)
        return Array(buffer, self.F32, 0, data.size)

    def values(self, batch):
        return self.make("batch_array", batch, self.a), self.make("batch_array", batch, self.b)

    def scaled_sum(self, batch):
        a, b = self.values(batch)
        x = self.make("batch_unary", batch, self.UNARY["relu"], a)
        x = self.make("batch_unary_param", batch, self.SCALE, x, ctypes.c_double(2))
        return self.make("batch_binary", batch, self.ADD, x, b)

    def functions(self, batch):
        x = self.make("batch_unary", batch, self.UNARY["tanh"], self.scaled_sum(batch))
        x = self.make("batch_unary_param", batch, self.SCALE, x, ctypes.c_double(0.5))
        x = self.make("batch_unary_param", batch, self.ADD_SCALAR, x, ctypes.c_double(-0.25))
        for name in ("sigmoid", "abs", "sqrt"):
            x = self.make("batch_unary", batch, self.UNARY[name], x)
        return x

    def mixed(self, batch):
        a, b = self.values(batch)
        mask = self.make("batch_binary", batch, self.GT, a, b)
        narrow = self.make("batch_cast", batch, a, self.U8)
        narrow = self.make("batch_cast", batch, narrow, self.F32)
        return self.make("batch_where", batch, mask, narrow, b)

    def total(self, batch):
        return self.make("batch_reduce", batch, self.SUM, self.scaled_sum(batch))

    def formulas(self, fetch):
        chains = (self.scaled_sum, self.functions, self.mixed, self.total)
        return {name: self.prepare(chain, fetch) for name, chain in zip(CHAINS, chains)}

    def prepare(self, chain, fetch):
        """A function that runs the chain, and fetches a sum if so said, and one that gives its result."""
        import numpy

        batch = self.make("batch_create", None, None, of=ctypes.c_void_p)
        value = chain(batch)
        result = numpy.zeros(1 if chain == self.total else self.count, dtype="float32")
        pointer = ctypes.c_void_p(result.ctypes.data)
        self.call("batch_prepare", batch)

        def run(*_):
            self.call("batch_execute_async", batch, None)
            if fetch and chain == self.total:
                self.call("batch_read", batch, value, pointer)

        def read():
            run()
            self.call("batch_read", batch, value, pointer)
            return result

        return run, read

    def finish(self):
        self.call("stream_synchronize", None)


PEERS = {
    "torch": lambda: torch_peer(False),
    "compile": lambda: torch_peer(True),
    "cupy": cupy_peer,
    "numpy": numpy_peer,
    "numexpr": numexpr_peer,
    "pyopencl": pyopencl_peer,
}


ON_GPU = ("torch", "compile", "cupy")


def calls_of(formula, a, b, finish):
    """As many calls as take some milliseconds."""
    for _ in range(3):
        formula(a, b)
    finish()
    start = time.perf_counter()
    formula(a, b)
    finish()
    return max(1, int(0.02 / max(1e-6, time.perf_counter() - start)))


def seconds(formula, a, b, finish, calls):
    start = time.perf_counter()
    for _ in range(calls):
        formula(a, b)
    finish()
    return (time.perf_counter() - start) / calls


def rate(formula, a, b, finish, moved, rounds):
    """GB/s."""
    calls = calls_of(formula, a, b, finish)
    times = [seconds(formula, a, b, finish, calls) for _ in range(rounds)]
    return moved / statistics.median(times) / 1e9


def contest(ours, theirs, moved, rounds):
    """GB/s of both, and the quartiles of the ratio over pairs of rounds; each is (formula, a, b, finish)."""
    calls = [calls_of(*side) for side in (ours, theirs)]
    times = ([], [])
    for i in range(rounds):
        for k in (0, 1) if i % 2 else (1, 0):
            times[k].append(seconds(*(ours, theirs)[k], calls[k]))
    ratios = [their / our for our, their in zip(*times)]
    rates = [moved / statistics.median(side) / 1e9 for side in times]
    return rates, statistics.quantiles(ratios, n=4)


def made_up(count):
    """Two arrays whose values go through every branch of the chains, and fit a u8 where they are cast."""
    import numpy

    i = numpy.arange(count, dtype="int64")
    return ((i % 1000) / 256).astype("float32"), ((i * 7 % 999) / 250 - 1).astype("float32")


def check(name, got, wanted):
    import numpy

    got = got.get() if hasattr(got, "get") else got.cpu() if hasattr(got, "cpu") else got
    if not numpy.allclose(got, wanted, rtol=1e-4, atol=1e-6):
        raise SystemExit(f"{name}: the results differ")


def compare(peer, options, count):
    """A peer against clStream on the same data. Sums stay on a GPU, on both sides."""
    formulas, upload, finish = PEERS[peer]()
    data = made_up(count)
    a, b = map(upload, data)
    clstream = ClStream(options.library, *data)
    for name, (run, read) in clstream.formulas(peer not in ON_GPU).items():
        if name not in formulas:
            continue
        check(name, formulas[name](a, b), read())
        rates, (low, middle, high) = contest(
            (run, a, b, clstream.finish),
            (formulas[name], a, b, finish),
            CHAINS[name] * 4 * count,
            options.rounds,
        )
        print(
            f"{peer:10} {name:36} {rates[1]:8.2f} GB/s, clStream {rates[0]:8.2f} GB/s:"
            f" {middle:.2f} ({low:.2f}-{high:.2f}) times as fast",
            flush=True,
        )


def measure(peer, options, count, gpu):
    import numpy

    formulas, upload, finish = PEERS[peer]()
    a, b = map(upload, (numpy.zeros(count, dtype="float32"),) * 2 if gpu else made_up(count))
    for name, formula in formulas.items():
        found = rate(formula, a, b, finish, CHAINS[name] * 4 * count, options.rounds)
        print(f"{peer:10} {name:36} {found:10.1f} GB/s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, help="elements; default 64 Mi on a GPU, 4 Mi on a CPU")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--library", help="libclstream.so, to take turns with")
    parser.add_argument("peers", nargs="+", choices=sorted(PEERS))
    options = parser.parse_args()
    for peer in options.peers:
        gpu = peer in ON_GPU
        count = options.count or (64 << 20 if gpu else 4 << 20)
        try:
            if options.library:
                compare(peer, options, count)
            else:
                measure(peer, options, count, gpu)
        except ImportError as missing:
            print(f"{peer}: missing ({missing})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
