# SPDX-License-Identifier: MIT
"""Shapes and strides: which elements of a dense array an index names, as an offset, lengths and strides."""
import math
import operator

import numpy


def dense_strides(shape):
    """The strides, in elements, of a dense array."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


def is_dense(shape, strides):
    """Whether elements with these strides follow one another in memory."""
    return 0 in shape or all(length == 1 or stride == dense
                             for length, stride, dense in zip(shape, strides, dense_strides(shape)))


def collapse(lengths, *stride_lists):
    """The same elements with as few axes as possible: (lengths, *strides)."""
    axes = [axis for axis in zip(lengths, *stride_lists) if axis[0] != 1]
    merged = []
    for length, *strides in axes:
        if merged and all(before == length * stride for before, stride in zip(merged[-1][1:], strides)):
            merged[-1] = (merged[-1][0] * length, *strides)
        else:
            merged.append((length, *strides))
    return [list(column) for column in zip(*merged)] or [[] for _ in range(1 + len(stride_lists))]


def broadcast_strides(shape, strides, to):
    """The strides with which an array appears in a shape that it broadcasts to."""
    if len(shape) > len(to) or any(a not in (1, b) for a, b in zip(shape[::-1], to[::-1])):
        raise ValueError(f"the shape {shape} does not broadcast to {to}")
    missing = len(to) - len(shape)
    return (0,) * missing + tuple(0 if length == 1 else stride for length, stride in zip(shape, strides))


def broadcast_shapes(*shapes):
    """The shape that arrays of these shapes broadcast to."""
    try:
        return numpy.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"the shapes {', '.join(map(str, shapes))} do not broadcast") from None


def axis_of(axis, ndim):
    """An axis from 0 on."""
    number = operator.index(axis)
    if not -ndim <= number < ndim:
        raise IndexError(f"axis {number} of an array with {ndim} axes")
    return number % ndim


def axes_of(axis, ndim):
    """Axes from 0 on, from a number, a tuple, or None for all."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis_of(one, ndim) for one in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(set(axes)) != len(axes):
        raise ValueError(f"axes {axis} repeat")
    return axes


def fit(shape, size):
    """A shape of so many elements, in which one length may be -1."""
    shape = tuple(operator.index(length) for length in shape)
    known = math.prod(length for length in shape if length != -1)
    if shape.count(-1) == 1 and known > 0 and size % known == 0:
        shape = tuple(size // known if length == -1 else length for length in shape)
    if min(shape, default=0) < 0 or math.prod(shape) != size:
        raise ValueError(f"{size} elements do not have the shape {shape}")
    return shape


def index(key, shape):
    """What a basic index (integers, slices, `...`, None) names of a dense array: (offset, lengths, strides)."""
    keys = key if isinstance(key, tuple) else (key,)
    used = sum(one is not None and one is not Ellipsis for one in keys)
    if used > len(shape):
        raise IndexError(f"{used} indices for {len(shape)} axes")
    if sum(one is Ellipsis for one in keys) > 1:
        raise IndexError("an index has more than one '...'")
    if not any(one is Ellipsis for one in keys):
        keys += (Ellipsis,)
    axes = iter(zip(shape, dense_strides(shape)))
    offset, lengths, strides = 0, [], []

    def append(length, stride):
        lengths.append(length)
        strides.append(stride)
    for one in keys:
        if one is None:
            append(1, 0)
        elif one is Ellipsis:
            for _ in range(len(shape) - used):
                append(*next(axes))
        elif isinstance(one, slice):
            length, stride = next(axes)
            start, stop, step = one.indices(length)
            count = len(range(start, stop, step))
            offset += start * stride if count else 0
            append(count, step * stride)
        else:
            length, stride = next(axes)
            offset += _position(one, length) * stride
    return offset, tuple(lengths), tuple(strides)


def _position(key, length):
    if isinstance(key, (bool, numpy.bool_)):
        raise IndexError("True and False are no indices here")
    try:
        position = operator.index(key)
    except TypeError:
        raise IndexError(f"{type(key).__name__} is no index: integers, slices, '...' and None, or one array") from None
    if not -length <= position < length:
        raise IndexError(f"{position} is not within {length}")
    return position % length
