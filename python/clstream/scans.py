# SPDX-License-Identifier: MIT
"""Scans along an axis, and selections from vectors, whose counts stay on the device: an array of as many elements as there may
be, and the number of those that were selected as an int64 array without axes."""
import ctypes

import numpy

from . import capi
from .arrays import Array, empty
from .capi import call
from .elements import BOOL, INT64, UINT8, element_type, scalar_of
from .functions import as_array
from .layout import axis_of
from .streams import stream_of

_OPS = {"sum": 1, "product": 2, "min": 3, "max": 4}
_COMPARISONS = {"less": 1, "less_equal": 2, "greater": 3, "greater_equal": 4, "equal": 5, "not_equal": 6}
_ROWS = 3


def _check(name, x):
    if not isinstance(x, Array):
        raise TypeError(f"{name} of {type(x).__name__}: pass an Array (to_device)")


def _number(table, name):
    try:
        return table[name]
    except KeyError:
        raise ValueError(f"{name!r} is none of {', '.join(table)}") from None


def scan(x, op="sum", /, *, axis=-1, exclusive=False, dtype=None, stream=None):
    """For each element what those up to it along an axis come to by "sum", "product", "min" or "max"; `exclusive`: those before
    it. Integers may be of another integer type afterwards."""
    _check("scan", x)
    stream = stream_of(stream, x.context)
    axis = axis_of(axis, x.ndim)
    order = [i for i in range(x.ndim) if i != axis] + [axis]
    rows = x if axis == x.ndim - 1 else x.permute(order, stream)
    out = empty(rows.shape, x.dtype if dtype is None else dtype, stream)
    if out.size:
        config = capi.ScanConfig(exclusive=bool(exclusive), segments=_ROWS, segment=rows.shape[-1])
        call("cls_scan_async", _number(_OPS, op), rows.view, out.view, ctypes.byref(config), stream.handle)
    return out if rows is x else out.permute([order.index(i) for i in range(x.ndim)], stream)


def _selection(x, stream):
    return empty(x.shape, x.dtype, stream), empty((), INT64, stream)


def _vector(name, x):
    _check(name, x)
    if x.ndim != 1:
        raise TypeError(f"{name} of an array of {x.ndim} axes")


def _length(length):
    return capi.Array() if length is None else length.view


def _flags(name, x, flags, stream):
    _vector(name, x)
    flags = as_array(flags, x, stream)
    if flags.dtype not in (BOOL, UINT8):
        raise TypeError(f"flags of {flags.dtype}")
    return flags


def _by_flags(name, x, flags, length, stream):
    stream = stream_of(stream, x.context if isinstance(x, Array) else None)
    flags = _flags(name, x, flags, stream)
    out, count = _selection(x, stream)
    call(f"cls_{name}_async", x.view, flags.view, out.view, count.view, _length(length), stream.handle)
    return out, count


def compact(x, flags, /, *, length=None, stream=None):
    """The elements of a vector whose flag is not 0, and their number. `length` is that of x, if it is on the device."""
    return _by_flags("compact", x, flags, length, stream)


def partition(x, flags, /, *, length=None, stream=None):
    """As compact(), and then the other elements, the last one first."""
    return _by_flags("partition", x, flags, length, stream)


def compact_if(x, comparison, value, /, *, length=None, stream=None):
    """The elements that are "less", "less_equal", "greater", "greater_equal", "equal" or "not_equal" to a number, and theirs."""
    _vector("compact_if", x)
    stream = stream_of(stream, x.context)
    value = numpy.array(scalar_of(x.dtype, value), x.dtype)
    out, count = _selection(x, stream)
    call("cls_compact_if_async", x.view, _number(_COMPARISONS, comparison), value.ctypes.data, out.view, count.view,
         _length(length), stream.handle)
    return out, count


def unique(x, /, *, length=None, stream=None):
    """One of each run of equal elements of a vector, and the number of runs."""
    _vector("unique", x)
    stream = stream_of(stream, x.context)
    out, count = _selection(x, stream)
    call("cls_unique_async", x.view, out.view, count.view, _length(length), stream.handle)
    return out, count


def run_length_encode(x, /, *, length=None, stream=None):
    """One of each run of equal elements of a vector, how many elements each has, and the number of runs."""
    _vector("run_length_encode", x)
    stream = stream_of(stream, x.context)
    out, count = _selection(x, stream)
    lengths = empty(x.shape, INT64, stream)
    call("cls_run_length_encode_async", x.view, out.view, lengths.view, count.view, _length(length), stream.handle)
    return out, lengths, count


def reduce_by_key(keys, values, op="sum", /, *, length=None, stream=None):
    """The key of each run of equal keys, what its values come to, and the number of runs."""
    _vector("reduce_by_key", keys)
    stream = stream_of(stream, keys.context)
    values = as_array(values, keys, stream)
    if values.shape != keys.shape:
        raise ValueError(f"{values.shape} values for {keys.shape} keys")
    out, count = _selection(keys, stream)
    sums = empty(values.shape, values.dtype, stream)
    call("cls_reduce_by_key_async", _number(_OPS, op), keys.view, values.view, out.view, sums.view, count.view,
         _length(length), stream.handle)
    return out, sums, count


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False, stream=None):
    """The sums of the elements up to each one along an axis; those of integers are int64."""
    from .standard import concat, zeros
    _check("cumulative_sum", x)
    if axis is None and x.ndim != 1:
        raise ValueError(f"cumulative_sum of an array of {x.ndim} axes needs one")
    stream = stream_of(stream, x.context)
    axis = axis_of(-1 if axis is None else axis, x.ndim)
    dtype = (x.dtype if x.dtype.kind == "f" else INT64) if dtype is None else element_type(dtype)
    if x.dtype != dtype and "f" in (x.dtype.kind, dtype.kind):
        x = x.astype(dtype, stream)
    sums = scan(x, axis=axis, dtype=dtype, stream=stream)
    if not include_initial:
        return sums
    first = zeros([1 if i == axis else n for i, n in enumerate(x.shape)], dtype, stream)
    return concat([first, sums], axis=axis, stream=stream)
