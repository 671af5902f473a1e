# SPDX-License-Identifier: MIT
"""Sorts along an axis, and the first elements of an order. NaN are behind all numbers; equal elements keep their order."""
import ctypes

from . import capi
from .arrays import Array, empty, matrix_of
from .capi import call
from .elements import DTYPES, INT64
from .layout import axis_of
from .streams import stream_of


def _config(descending):
    return capi.SortConfig(descending=bool(descending), length=capi.Array(None, DTYPES[INT64], 0, 0))


def _along(name, x, axis, descending, dtype, stream):
    if not isinstance(x, Array):
        raise TypeError(f"{name} of {type(x).__name__}: pass an Array (to_device)")
    stream = stream_of(stream, x.context)
    axis = axis_of(axis, x.ndim)
    order = [i for i in range(x.ndim) if i != axis] + [axis]
    rows = x if axis == x.ndim - 1 else x.permute(order, stream)
    out = empty(rows.shape, dtype, stream)
    call(f"cls_{name}_rows_async", matrix_of(rows), matrix_of(out), ctypes.byref(_config(descending)), stream.handle)
    return out if rows is x else out.permute([order.index(i) for i in range(x.ndim)], stream)


def sort(x, /, *, axis=-1, descending=False, stable=True, stream=None):
    """The elements in order along an axis; always stable."""
    return _along("sort", x, axis, descending, x.dtype if isinstance(x, Array) else None, stream)


def argsort(x, /, *, axis=-1, descending=False, stable=True, stream=None):
    """The indices of the elements in order along an axis, as int64; always stable."""
    return _along("argsort", x, axis, descending, INT64, stream)


def top_k(x, k, /, *, largest=True, stream=None):
    """The k greatest, or least, elements of a vector in order, and their indices; of equal ones the first."""
    if not isinstance(x, Array) or x.ndim != 1:
        raise TypeError("top_k of what is no vector")
    stream = stream_of(stream, x.context)
    k = capi.integer(k, 0, x.size, "k")
    values, indices = empty((k,), x.dtype, stream), empty((k,), INT64, stream)
    call("cls_top_k_async", x.view, values.view, indices.view, ctypes.byref(_config(largest)), stream.handle)
    return values, indices
