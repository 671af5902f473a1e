#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Square matrix products in PyTorch, which are cuBLAS's: microseconds and TFLOP/s, medians of rounds.

    torch_gemm.py [--sizes N,N,...] [--rounds N]

Random numbers, as in bench/gemm; f32, f32 by TF32, f16 and bf16. A round is a run of products with one wait at the end."""

import argparse
import statistics
import sys
import time


def seconds(torch, product, repeats, rounds):
    product()
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(repeats):
            product()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / repeats)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1024,2048,4096,8192")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("torch_gemm.py: needs PyTorch")
    if not torch.cuda.is_available():
        sys.exit("torch_gemm.py: needs a CUDA device")
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    for name, dtype, tf32 in (("f32", torch.float32, False), ("TF32", torch.float32, True),
                              ("f16", torch.float16, False), ("bf16", torch.bfloat16, False)):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        for size in map(int, options.sizes.split(",")):
            a, b = ((torch.rand(size, size, device="cuda") * 2 - 1).to(dtype) for _ in range(2))
            c = torch.empty_like(a)
            time_of = seconds(torch, lambda: torch.mm(a, b, out=c), 64 if size <= 2048 else 8, options.rounds)
            print(f"gemm {size} {name}: {1e6 * time_of:.1f} us, {2e-12 * size**3 / time_of:.1f} TFLOP/s", flush=True)


if __name__ == "__main__":
    main()
