#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The step of examples/train in PyTorch: eager, and as a CUDA graph; microseconds a step, medians of rounds.

    torch_train.py [--steps N] [--rounds N] [--train PROGRAM --data FOLDER]

The same network: 64 inputs, 128 hidden values, 10 classes, batches of 64, momentum 0.9, f32. Each step
gets another batch of those that are on the device already: eager steps read it where it lies, the graph has it
copied into its input first, as frozen addresses demand. The loss stays on the device. With --train, examples/train
--compare runs after each round; its steps include the upload of their batches. The ratio is the median over rounds
of its captured step over PyTorch's graph."""

import argparse
import re
import statistics
import subprocess
import sys
import time

BATCH, BATCHES, PIXELS, HIDDEN, CLASSES = 64, 22, 64, 128, 10


class Network:
    def __init__(self, torch):
        torch.manual_seed(7)
        self.torch = torch
        self.model = torch.nn.Sequential(
            torch.nn.Linear(PIXELS, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, CLASSES)
        ).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.criterion = torch.nn.CrossEntropyLoss()
        self.total = torch.zeros((), device="cuda")

    def step(self, inputs, targets):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.model(inputs), targets)
        loss.backward()
        self.optimizer.step()
        self.total += loss.detach()


def capture(torch, network, inputs, targets):
    """Returns a graph of the step on these tensors. PyTorch wants a few steps on another stream before."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            network.step(inputs, targets)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        network.step(inputs, targets)
    return graph


def microseconds(torch, step, steps):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for i in range(steps):
        step(i % BATCHES)
    torch.cuda.synchronize()
    return 1e6 * (time.perf_counter() - start) / steps


def run_train(program, data):
    """Returns the times of a captured and of a submitted step."""
    output = subprocess.run(
        [program, "--compare", "--data", data], capture_output=True, text=True, check=True
    ).stdout
    captured = re.search(r"([\d.]+) us a step", output)
    submitted = re.search(r"submitted: ([\d.]+) us", output)
    if not captured or not submitted:
        sys.exit(f"{program} printed no times:\n{output}")
    return float(captured[1]), float(submitted[1])


def report(name, times):
    low, middle, high = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
    print(f"{name:24} {middle:8.1f} us a step  ({low:.1f}-{high:.1f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--train", metavar="PROGRAM")
    parser.add_argument("--data", metavar="FOLDER", default="examples/data")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is not installed")
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU")

    inputs = torch.rand(BATCHES, BATCH, PIXELS, device="cuda")
    targets = torch.randint(0, CLASSES, (BATCHES, BATCH), device="cuda")
    eager, captured = Network(torch), Network(torch)
    fixed_inputs, fixed_targets = inputs[0].clone(), targets[0].clone()
    graph = capture(torch, captured, fixed_inputs, fixed_targets)

    def replay(batch):
        fixed_inputs.copy_(inputs[batch])
        fixed_targets.copy_(targets[batch])
        graph.replay()

    def submit(batch):
        eager.step(inputs[batch], targets[batch])

    microseconds(torch, submit, 100)
    microseconds(torch, replay, 100)
    times = {"PyTorch, eager": [], "PyTorch, CUDA graph": []}
    for _ in range(options.rounds):
        times["PyTorch, eager"].append(microseconds(torch, submit, options.steps))
        times["PyTorch, CUDA graph"].append(microseconds(torch, replay, options.steps))
        if options.train:
            ours = run_train(options.train, options.data)
            times.setdefault("clStream, captured", []).append(ours[0])
            times.setdefault("clStream, submitted", []).append(ours[1])
    print(f"# {torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    for name, values in times.items():
        report(name, values)
    if options.train:
        pairs = zip(times["clStream, captured"], times["PyTorch, CUDA graph"])
        print(f"captured over CUDA graph: {statistics.median(a / b for a, b in pairs):.2f}")


if __name__ == "__main__":
    main()
