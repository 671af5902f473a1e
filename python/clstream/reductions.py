# SPDX-License-Identifier: MIT
"""Reductions over axes, as the Python array API has them: each gives an Array, and only submits."""
import builtins
import math

from . import device_code, layout
from .arrays import Array, empty, op_number, reduce_result, reduction_views
from .capi import call
from .functions import elementwise_binary, elementwise_unary, filled, reduce_async
from .streams import stream_of
from .elements import BOOL, FLOAT16, FLOAT32, FLOAT64, INT64, element_type, scalar_of

# What the C library computes, of a whole array or over axes.
_LIBRARY = {"sum", "mean", "min", "max", "argmax", "argmin", "any", "all"}
# From how many elements of one row on they are folded in two steps, the first of which has so many work-items.
_LONG, _LANES = 4096, 256


def _between(name, dtype):
    """The type of what a reduction holds before its end: sums and products of float16 are float32 until then."""
    return FLOAT32 if dtype == FLOAT16 and name in ("sum", "prod") else dtype


def _fold_axis(name, x, axis, dtype, stream):
    """Folds one axis, which goes."""
    shape, count = x.shape[:axis] + x.shape[axis + 1:], x.shape[axis]
    inner = math.prod(x.shape[axis + 1:])
    if name in ("any", "all"):
        name, x = {"any": "max", "all": "min"}[name], x if x.dtype == BOOL else x.astype(BOOL, stream)
    how = "float_sum" if name == "sum" and x.dtype.kind == "f" else name
    if x.ndim == 1 and count >= _LONG and not name.startswith("arg"):
        lanes = count // _LANES * _LANES
        parts = empty((_LANES + count - lanes,), _between(name, dtype), stream)
        device_code.fold(stream, how, parts, x, _LANES, lanes // _LANES, _LANES)
        if count > lanes:
            rest = x[lanes:]
            parts._set(_LANES, rest.shape, (1,), rest.astype(parts.dtype, stream), stream)
        x, count, how = parts, parts.size, "float_sum" if how == "float_sum" else name
    out = empty(shape, dtype, stream)
    if out.size:
        device_code.fold(stream, how, out, x, out.size, count, inner)
    return out


def _is_of_library(name, x, dtype):
    return name in _LIBRARY and x.size and (reduce_result(name, x.dtype) == dtype or x.dtype == dtype == BOOL)


def _reduce(name, x, axis, dtype, keepdims, stream):
    stream = stream_of(stream, x.context)
    axes = layout.axes_of(axis, x.ndim)
    if not math.prod(x.shape[a] for a in axes) and name in ("min", "max", "argmin", "argmax"):
        raise ValueError(f"{name} of no elements")
    shape = tuple(1 if i in axes else length for i, length in enumerate(x.shape))
    if len(axes) == x.ndim and name in _LIBRARY and x.size:
        out = reduce_async(name, x, stream)
        out = out if out.dtype == dtype else out.astype(dtype, stream)
    elif axes and _is_of_library(name, x, dtype):
        out = empty(shape, dtype, stream)
        call("cls_strided_reduce_async", op_number("reduce", name), *reduction_views(x, out), stream.handle)
    else:
        out = x
        if len(axes) == x.ndim:
            out, axes = x.reshape(x.size), (0,)
        first = builtins.min(axes, default=0)  # which is the last to be folded
        for a in sorted(axes, reverse=True):
            out = _fold_axis(name, out, a, dtype if a == first else _between(name, dtype), stream)
        if not axes:
            out = x.astype(dtype, stream)
    return out.reshape(shape if keepdims else tuple(n for i, n in enumerate(x.shape)
                                                    if i not in layout.axes_of(axis, x.ndim)))


def _total_dtype(x, dtype):
    if dtype is not None:
        return element_type(dtype)
    return x.dtype if x.dtype.kind == "f" else INT64


def sum(x, /, *, axis=None, dtype=None, keepdims=False, stream=None):
    """The sums over axes; of integers and bool in int64."""
    dtype = _total_dtype(x, dtype)
    x = x if x.dtype.kind != "f" or dtype == x.dtype else x.astype(dtype, stream)
    return _reduce("sum", x, axis, dtype, keepdims, stream)


def prod(x, /, *, axis=None, dtype=None, keepdims=False, stream=None):
    """The products over axes; of integers and bool in int64."""
    return _reduce("prod", x, axis, _total_dtype(x, dtype), keepdims, stream)


def min(x, /, *, axis=None, keepdims=False, stream=None):
    """The least elements over axes; NaN if there is one."""
    return _reduce("min", x, axis, x.dtype, keepdims, stream)


def max(x, /, *, axis=None, keepdims=False, stream=None):
    """The greatest elements over axes; NaN if there is one."""
    return _reduce("max", x, axis, x.dtype, keepdims, stream)


def all(x, /, *, axis=None, keepdims=False, stream=None):
    """Whether all elements over axes are not 0."""
    return _logical(x, "all", "prod", axis, keepdims, stream)


def any(x, /, *, axis=None, keepdims=False, stream=None):
    """Whether any element over axes is not 0."""
    return _logical(x, "any", "sum", axis, keepdims, stream)


def _logical(x, name, of_nothing, axis, keepdims, stream):
    stream = stream_of(stream, x.context)
    count = math.prod(x.shape[a] for a in layout.axes_of(axis, x.ndim))
    if count:
        return _reduce(name, x, axis, BOOL, keepdims, stream)
    return _reduce(of_nothing, x if x.dtype == BOOL else x.astype(BOOL, stream), axis, BOOL, keepdims, stream)


def argmax(x, /, *, axis=None, keepdims=False, stream=None):
    """The index of the first greatest element along an axis, or of the whole array; that of the first NaN."""
    return _argument("argmax", x, axis, keepdims, stream)


def argmin(x, /, *, axis=None, keepdims=False, stream=None):
    """The index of the first least element along an axis, or of the whole array; that of the first NaN."""
    return _argument("argmin", x, axis, keepdims, stream)


def _argument(name, x, axis, keepdims, stream):
    if isinstance(axis, tuple):
        raise TypeError(f"{name} along one axis")
    return _reduce(name, x, axis, INT64, keepdims, stream)


def mean(x, /, *, axis=None, keepdims=False, stream=None):
    """The means over axes; of integers and bool in float64. Of float16 they are rounded once, at the end."""
    if x.size:
        return _reduce("mean", x, axis, x.dtype if x.dtype.kind == "f" else FLOAT64, keepdims, stream)
    if x.dtype == FLOAT16:
        return mean(x.astype(FLOAT32, stream), axis=axis, keepdims=keepdims, stream=stream).astype(FLOAT16, stream)
    x = x if x.dtype.kind == "f" else x.astype(FLOAT64, stream)
    count = math.prod(x.shape[a] for a in layout.axes_of(axis, x.ndim))
    return _quotient(sum(x, axis=axis, keepdims=keepdims, stream=stream), count, stream)


def _quotient(x, number, stream):
    stream = stream_of(stream, x.context)
    return elementwise_binary("divide", x, filled(scalar_of(x.dtype, number), x.shape, stream), stream=stream)


def var(x, /, *, axis=None, correction=0.0, keepdims=False, stream=None):
    """The variances over axes, with a divisor of the count less `correction`. Of float16 they are rounded once."""
    if x.dtype == FLOAT16:
        wide = var(x.astype(FLOAT32, stream), axis=axis, correction=correction, keepdims=keepdims, stream=stream)
        return wide.astype(FLOAT16, stream)
    x = x if x.dtype.kind == "f" else x.astype(FLOAT64, stream)
    count = math.prod(x.shape[a] for a in layout.axes_of(axis, x.ndim))
    away = elementwise_binary("subtract", x, mean(x, axis=axis, keepdims=True, stream=stream), stream=stream)
    squares = sum(elementwise_unary("square", away, stream=stream), axis=axis, keepdims=keepdims, stream=stream)
    return _quotient(squares, builtins.max(count - correction, 0), stream)


def std(x, /, *, axis=None, correction=0.0, keepdims=False, stream=None):
    """The standard deviations over axes. Of float16 they are rounded once."""
    if x.dtype == FLOAT16:
        wide = std(x.astype(FLOAT32, stream), axis=axis, correction=correction, keepdims=keepdims, stream=stream)
        return wide.astype(FLOAT16, stream)
    return elementwise_unary("sqrt", var(x, axis=axis, correction=correction, keepdims=keepdims, stream=stream),
                             stream=stream)


def count_nonzero(x, /, *, axis=None, keepdims=False, stream=None):
    """How many elements over axes are not 0."""
    return sum(x if x.dtype == BOOL else x.astype(BOOL, stream), axis=axis, keepdims=keepdims, stream=stream)


def _method(function):
    def method(self, axis=None, *, keepdims=False, stream=None):
        if hasattr(axis, "synchronize"):  # x.sum(stream)
            axis, stream = None, axis
        stream = stream_of(stream, self.context)
        out = function(self, axis=axis, keepdims=keepdims, stream=stream)
        return out.to_host(stream=stream)[()] if axis is None and not keepdims else out
    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__ + " Of the whole array: a NumPy scalar, for which it waits."
    return method


for _function in (sum, prod, min, max, all, any, argmax, argmin, mean, var, std):
    setattr(Array, _function.__name__, _method(_function))
