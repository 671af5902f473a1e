# SPDX-License-Identifier: MIT
"""Softmax along an axis, cross entropy with labels, and normalization along the last axis with its gradients."""
from .arrays import Array, empty, matrix_of, vector_of
from .capi import call
from .elements import FLOAT32, FLOAT64
from .functions import as_array
from .layout import axis_of
from .streams import stream_of


def _check(name, x):
    if not isinstance(x, Array):
        raise TypeError(f"{name} of {type(x).__name__}: pass an Array (to_device)")
    if x.dtype.kind != "f" or not x.ndim:
        raise TypeError(f"{name} of {x.dtype} {x.shape}")


def _along(name, x, axis, stream):
    _check(name, x)
    stream = stream_of(stream, x.context)
    axis = axis_of(axis, x.ndim)
    order = [i for i in range(x.ndim) if i != axis] + [axis]
    rows = x if axis == x.ndim - 1 else x.permute(order, stream)
    out = empty(rows.shape, x.dtype, stream)
    call(f"cls_{name}_async", matrix_of(rows), matrix_of(out), stream.handle)
    return out if rows is x else out.permute([order.index(i) for i in range(x.ndim)], stream)


def softmax(x, /, *, axis=-1, stream=None):
    """Exponentials of the elements, divided by their sum along an axis."""
    return _along("softmax", x, axis, stream)


def log_softmax(x, /, *, axis=-1, stream=None):
    """The logarithms of softmax(x)."""
    return _along("log_softmax", x, axis, stream)


def cross_entropy(scores, labels, /, *, stream=None):
    """The losses of rows of scores: minus log_softmax(scores) at each row's label, an element of an int32 or uint32 array.
    The loss of a row with the label -1 is 0, that of one with a label that is no column NaN."""
    _check("cross_entropy", scores)
    stream = stream_of(stream, scores.context)
    labels, losses = _labels(scores, labels, stream)
    call("cls_cross_entropy_async", matrix_of(scores), vector_of(labels), vector_of(losses), stream.handle)
    return losses


def cross_entropy_gradient(scores, labels, /, *, factor=1.0, stream=None):
    """The losses, as cross_entropy(), and `factor` times their gradient by the scores, in one launch."""
    _check("cross_entropy_gradient", scores)
    stream = stream_of(stream, scores.context)
    labels, losses = _labels(scores, labels, stream)
    gradient = empty(scores.shape, scores.dtype, stream)
    call("cls_cross_entropy_gradient_async", matrix_of(scores), vector_of(labels), vector_of(losses), matrix_of(gradient),
         float(factor), stream.handle)
    return losses, gradient


def _labels(scores, labels, stream):
    """The labels as an array, and room for as many losses."""
    labels = as_array(labels, scores, stream)
    if labels.shape != scores.shape[:-1]:
        raise ValueError(f"labels {labels.shape} for scores {scores.shape}")
    if labels.dtype.kind not in "iu" or labels.dtype.itemsize != 4:
        raise TypeError(f"labels of {labels.dtype}")
    return labels, empty(labels.shape, FLOAT64 if scores.dtype == FLOAT64 else FLOAT32, stream)


def layer_norm(x, gain, shift, /, *, epsilon=1e-5, stream=None):
    """gain (x - mean) / sqrt(variance + epsilon) + shift, with mean and variance along the last axis. `gain` and `shift` have
    its length and the type of x."""
    return _normalized("layer_norm", x, (gain, shift), epsilon, stream)


def rms_norm(x, gain, /, *, epsilon=1e-5, stream=None):
    """gain x / sqrt(mean of x^2 + epsilon), with the mean along the last axis. `gain` has its length and the type of x."""
    return _normalized("rms_norm", x, (gain,), epsilon, stream)


def _normalized(name, x, weights, epsilon, stream):
    _check(name, x)
    stream = stream_of(stream, x.context)
    weights = [_beside(name, x, weight, x.shape[-1:], stream) for weight in weights]
    out = empty(x.shape, x.dtype, stream)
    call(f"cls_{name}_async", matrix_of(x), *map(vector_of, weights), float(epsilon), matrix_of(out), stream.handle)
    return out


def _beside(name, x, other, shape, stream):
    other = as_array(other, x, stream)
    if other.shape != shape or other.dtype != x.dtype:
        raise ValueError(f"{name} of {x.dtype} {x.shape} with {other.dtype} {other.shape}")
    return other


def layer_norm_gradient(x, gain, gradient, /, *, epsilon=1e-5, stream=None):
    """The gradients of layer_norm(x, gain, shift) by x, gain and shift, from the gradient of its result, an array like x."""
    return _norm_gradient("layer_norm_gradient", x, gain, gradient, 2, epsilon, stream)


def rms_norm_gradient(x, gain, gradient, /, *, epsilon=1e-5, stream=None):
    """The gradients of rms_norm(x, gain) by x and gain, from the gradient of its result, an array like x."""
    return _norm_gradient("rms_norm_gradient", x, gain, gradient, 1, epsilon, stream)


def _norm_gradient(name, x, gain, gradient, n_sums, epsilon, stream):
    _check(name, x)
    stream = stream_of(stream, x.context)
    gain, gradient = _beside(name, x, gain, x.shape[-1:], stream), _beside(name, x, gradient, x.shape, stream)
    out, *sums = (empty(shape, x.dtype, stream) for shape in [x.shape] + n_sums * [x.shape[-1:]])
    call(f"cls_{name}_async", matrix_of(x), vector_of(gain), float(epsilon), matrix_of(gradient), matrix_of(out),
         *map(vector_of, sums), stream.handle)
    return out, *sums
