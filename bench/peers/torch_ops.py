#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Operations along rows in PyTorch, compiled: their bytes a second over a device copy's, medians of rounds.

    torch_ops.py [--bytes N] [--rounds N] [--ops PROGRAM]

The same arrays as bench/ops: each operation reads and writes N bytes. With --ops, bench/ops measures its rows of the same
names in the same run, before and after."""

import argparse
import statistics
import subprocess

BATCH = 8


def seconds(torch, function):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    for _ in range(BATCH):
        function()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e3


def compiled(torch, name, columns, dtype):
    """The operation on what it reads; compiled for these shapes alone."""
    nn = torch.nn.functional
    weight, bias = (torch.randn(columns, device="cuda", dtype=dtype) for _ in range(2))
    functions = {
        "softmax": lambda x: torch.softmax(x, -1),
        "layer_norm": lambda x: nn.layer_norm(x, (columns,), weight, bias),
        "add a row": lambda x: x + bias,
    }
    return torch.compile(functions[name], dynamic=False)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bytes", type=int, default=256 << 20)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--ops", help="bench/ops")
    options = options.parse_args()
    import torch

    def ours():
        for name in ("softmax", "layer_norm", "add a row"):
            if options.ops:
                subprocess.run([options.ops, "--only", name], check=False)

    ours()
    print("\n%-36s %8s %8s %8s %8s" % ("torch.compile", "GB/s", "copy", "ratio", "spread"))
    for name in ("softmax", "layer_norm", "add a row"):
        for dtype, type_name in ((torch.float32, "f32"), (torch.float16, "f16")):
            for columns in (1024, 32768):
                rows = options.bytes // columns // dtype.itemsize
                source = torch.randn(rows, columns, device="cuda", dtype=dtype)
                target = torch.empty_like(source)
                function = compiled(torch, name, columns, dtype)
                runs = (lambda: function(source)), (lambda: target.copy_(source))
                for run in runs:
                    seconds(torch, run)
                rounds = [[seconds(torch, run) for run in runs] for _ in range(options.rounds)]
                ratios = sorted(copy / own for own, copy in rounds)
                rates = [2e-9 * options.bytes * BATCH / statistics.median(times) for times in zip(*rounds)]
                label = "%s %s, rows of %d" % (name, type_name, columns)
                spread = ratios[-1] - ratios[0]
                print("%-36s %8.0f %8.0f %8.3f %8.3f" % (label, *rates, statistics.median(ratios), spread))
    ours()


if __name__ == "__main__":
    main()
