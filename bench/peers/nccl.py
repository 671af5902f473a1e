#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""NCCL's all-reduce of f32 sums, for the rows of bench/devices: one process a GPU, medians of rounds.

    nccl.py [--gpus N] [--rounds N] [--repeats N] [MIB...]

The sizes are in MiB, by default those of bench/devices: 1, 16 and 192. Each line has the time of one all-reduce of a
round of repeats that are submitted one behind the other, and the rate by which NCCL's own tests go: 2 (n - 1) / n times
the size, divided by the time. Needs PyTorch with CUDA and NCCL, and at least two GPUs; exits with 77 where there are
none."""

import argparse
import os
import socket
import statistics
import sys
import time


def measure(dist, torch, mib, rounds, repeats):
    """Times of an all-reduce in s, one of each round."""
    data = torch.zeros(mib << 18, dtype=torch.float32, device="cuda")
    times = []
    for number in range(rounds + 1):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(repeats):
            dist.all_reduce(data)
        torch.cuda.synchronize()
        if number:  # the first makes NCCL's connections
            times.append((time.perf_counter() - start) / repeats)
    return times


def run(rank, options, port):
    import torch
    import torch.distributed as dist

    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=options.gpus)
    if rank == 0:
        version = ".".join(map(str, torch.cuda.nccl.version()))
        print(f"{options.gpus} x {torch.cuda.get_device_name(0)}, NCCL {version}, PyTorch {torch.__version__}")
    for mib in options.mib:
        times = sorted(measure(dist, torch, mib, options.rounds, options.repeats))
        if rank == 0:
            middle = statistics.median(times)
            rate = 2 * (options.gpus - 1) / options.gpus * mib * 1048576 / middle / 1e9
            print(f"all-reduce of {mib} MiB: {1e3 * middle:.3f} ms ({1e3 * times[0]:.3f} to {1e3 * times[-1]:.3f}), "
                  f"{rate:.0f} GB/s")
    dist.destroy_process_group()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("mib", type=int, nargs="*", default=[1, 16, 192])
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("PyTorch is missing")
        return 77
    if not torch.cuda.is_available() or torch.cuda.device_count() < options.gpus:
        print(f"no {options.gpus} GPUs")
        return 77
    torch.multiprocessing.spawn(run, (options, free_port()), options.gpus)
    return 0


if __name__ == "__main__":
    sys.exit(main())
