# SPDX-License-Identifier: MIT
"""Histograms of vectors, and binary search; counts and positions are int64 arrays on the device."""
import ctypes

from . import capi
from .arrays import Array, empty
from .capi import call
from .elements import INT64
from .functions import as_array
from .streams import stream_of


def _check(name, x):
    if not isinstance(x, Array):
        raise TypeError(f"{name} of {type(x).__name__}: pass an Array (to_device)")


def _length(length):
    return capi.Array() if length is None else length.view


def histogram(x, bins, /, range=None, *, length=None, stream=None):
    """How many elements are in each bin. `bins` is a number, with `range` the two bounds, or an array of edges. The last bin
    lacks its upper end too, which numpy.histogram counts. `length` is that of x, if it is on the device."""
    _check("histogram", x)
    stream = stream_of(stream, x.context)
    if range is None:
        edges = as_array(bins, x, stream)
        counts = empty((max(edges.size - 1, 0),), INT64, stream)
        call("cls_histogram_range_async", x.view, edges.view, counts.view, _length(length), stream.handle)
        return counts
    bound = ctypes.c_double if x.dtype.kind == "f" else ctypes.c_int64
    lower, upper = (bound(end) for end in range)
    counts = empty((bins,), INT64, stream)
    call("cls_histogram_even_async", x.view, ctypes.byref(lower), ctypes.byref(upper), counts.view, _length(length),
         stream.handle)
    return counts


def searchsorted(x1, x2, /, *, side="left", sorter=None, length=None, stream=None):
    """Where each element of x2 belongs in a vector that ascends: before those that equal it, or with side="right" behind them.
    NaN is behind all numbers. `length` is that of x1, if it is on the device."""
    _check("searchsorted", x1)
    if x1.ndim != 1:
        raise ValueError(f"searchsorted in an array of {x1.ndim} axes")
    if side not in ("left", "right"):
        raise ValueError(f"{side!r} is neither left nor right")
    stream = stream_of(stream, x1.context)
    if sorter is not None:
        from .standard import take
        x1 = take(x1, sorter, axis=0, stream=stream)
    values = as_array(x2, x1, stream)
    positions = empty(values.shape, INT64, stream)
    call(f"cls_{'lower' if side == 'left' else 'upper'}_bound_async", x1.view, values.view, positions.view, _length(length),
         stream.handle)
    return positions
