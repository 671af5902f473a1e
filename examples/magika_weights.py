#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Weights of Magika's model for examples/magika.c, and the scores that onnxruntime gives.

    pip install magika onnx onnxruntime
    python3 magika_weights.py WEIGHTS              writes the file; weights.h has its format
    python3 magika_weights.py --scores FILE...     prints lines of file, label and score, as magika does, and of the
                                                   score that NumPy calculates in f64

onnxruntime is exact to about 1e-6 on long files. In short ones most tokens are padding, and the channels hardly vary.
The model takes the variance as a difference of two sums, which cancel: its score of 8 bytes is off by 4e-4.
"""
import argparse
import json
import pathlib
import sys

import magika
import numpy
import onnx
import onnxruntime

ALIGNMENT = 64  # bytes
BLANKS = b" \t\n\v\f\r"


def model_folder(classifier):
    return pathlib.Path(magika.__file__).parent / "models" / classifier.get_model_name()


class Model:
    """The ONNX graph, whose layers have names and whose constants have none that say much."""

    def __init__(self, path):
        self.graph = onnx.load(path).graph
        self.constants = {c.name: onnx.numpy_helper.to_array(c) for c in self.graph.initializer}

    def operand(self, layer, operation, shape):
        """The constant, of more than one number, that an operation of a layer reads."""
        found = {
            name: self.constants[name]
            for node in self.graph.node
            for name in node.input
            if node.op_type == operation and f"/{layer}/" in node.output[0]
            and name in self.constants and self.constants[name].size > 1
        }
        if len(found) != 1:
            sys.exit(f"{operation} of {layer} has {len(found)} constants: not the expected model")
        array, = found.values()
        if array.size != numpy.prod(shape):
            sys.exit(f"{operation} of {layer} is {array.shape}, not {shape}: not the expected model")
        return array.reshape(shape)


def padded(labels):
    """A row of bytes for each label, with at least one zero at its end."""
    rows = numpy.array([label.encode() for label in labels])
    width = rows.dtype.itemsize + 1
    return rows.astype(f"S{width}").view(numpy.uint8).reshape(len(labels), width)


def matrices(model, labels):
    count = len(labels)
    filters = model.operand("Conv_0", "Conv", (512, 256, 5))
    return {
        "table": model.operand("Dense_0", "MatMul", (257, 64)),
        "table_bias": model.operand("Dense_0", "Add", (1, 64)),
        "gain_1": model.operand("LayerNorm_0", "Mul", (1, 512)),
        "shift_1": model.operand("LayerNorm_0", "Add", (1, 512)),
        "filters": filters.transpose(2, 0, 1).reshape(5 * 512, 256),
        "filters_bias": model.operand("Conv_0", "Add", (1, 512)),
        "gain_2": model.operand("LayerNorm_1", "Mul", (1, 512)),
        "shift_2": model.operand("LayerNorm_1", "Add", (1, 512)),
        "scores": model.operand("Dense_1", "MatMul", (512, count)),
        "scores_bias": model.operand("Dense_1", "Add", (1, count)),
        "labels": padded(labels),
    }


def write(path, arrays):
    lines, parts, offset = ["weights 1"], [], 0
    for name, array in arrays.items():
        kind = "u8" if array.dtype == numpy.uint8 else "f32"
        data = array.astype({"u8": numpy.uint8, "f32": numpy.float32}[kind]).tobytes()
        data += bytes(-len(data) % ALIGNMENT)
        lines.append(f"{name} {kind} {array.shape[0]} {array.shape[1]} {offset}")
        parts.append(data)
        offset += len(data)
    with open(path, "wb") as file:
        file.write("\n".join([*lines, "end", ""]).encode())
        file.writelines(parts)


def tokens_of(path, config):
    """What the package makes of a file."""
    data, block, padding = pathlib.Path(path).read_bytes(), config["block_size"], [config["padding_token"]]
    begin = list(data[:block].lstrip(BLANKS)[: config["beg_size"]])
    end = list(data[-block:].rstrip(BLANKS)[-config["end_size"] :])
    return begin + padding * (config["beg_size"] - len(begin)) + padding * (config["end_size"] - len(end)) + end


def normalized(rows, gain, shift):
    distances = rows - rows.mean(-1, keepdims=True)
    return gain * distances / numpy.sqrt((distances**2).mean(-1, keepdims=True) + 1e-6) + shift


def gelu(x):
    return x * (1 + numpy.tanh(numpy.sqrt(2 / numpy.pi) * (x + 0.044715 * x**3))) / 2


def exact_scores(arrays, tokens):
    """The forward pass of magika.c, in f64."""
    w = {name: array.astype(float) for name, array in arrays.items() if name != "labels"}
    channels = gelu(w["table"] + w["table_bias"])[tokens].reshape(512, 256).T
    channels = normalized(channels, w["gain_1"], w["shift_1"])
    features = sum(f @ channels[:, k : k + 508] for k, f in enumerate(w["filters"].reshape(5, 512, 256)))
    greatest = gelu(features + w["filters_bias"].T).max(1)
    logits = normalized(greatest, w["gain_2"], w["shift_2"]) @ w["scores"] + w["scores_bias"]
    powers = numpy.exp(logits - logits.max())
    return (powers / powers.sum())[0]


def print_scores(classifier, folder, config, arrays, paths):
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    labels = config["target_labels_space"]
    for path in paths:
        tokens = numpy.array(tokens_of(path, config), numpy.int32)
        scores, = session.run(None, {"bytes": tokens[None]})[0]
        said = classifier.identify_path(path).prediction
        if said.dl.label != labels[scores.argmax()] or abs(said.score - scores.max()) > 1e-6:
            sys.exit(f"{path}: the package says {said.dl.label} {said.score}, its model {scores.max()}")
        for label, score, exact in zip(labels, scores, exact_scores(arrays, tokens)):
            print(f"{path}\t{label}\t{score:.9f}\t{exact:.9f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", nargs="?", help="the file to write")
    parser.add_argument("--scores", nargs="+", default=[], metavar="FILE", help="files for onnxruntime")
    options = parser.parse_args()
    classifier = magika.Magika()
    folder = model_folder(classifier)
    config = json.loads((folder / "config.min.json").read_text())
    arrays = matrices(Model(folder / "model.onnx"), config["target_labels_space"])
    if options.weights:
        write(options.weights, arrays)
    print_scores(classifier, folder, config, arrays, options.scores)


if __name__ == "__main__":
    main()
