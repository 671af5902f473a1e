# SPDX-License-Identifier: MIT
"""Elements at an array of indices along the first axis, set or added to."""
import math

from . import capi
from .arrays import Array, matrix_of, vector_of
from .capi import call
from .elements import BOOL, INT64
from .functions import as_array, elementwise_binary, where
from .streams import stream_of


def _scatter(name, x, indices, values, stream):
    """Rows are what one index names. Indices below 0 count from the end; others that name nothing are passed over."""
    if not x.ndim or indices.dtype.kind not in "iu" or indices.dtype == BOOL:
        raise IndexError(f"an array of {indices.dtype} is no index of an array of {x.ndim} axes")
    length, columns = x.shape[0], math.prod(x.shape[1:])
    if indices.size and not length:
        raise IndexError("an axis of no elements")
    values = values.broadcast_to((*indices.shape, *x.shape[1:]), stream)
    if not values.size:
        return
    if indices.dtype.kind == "i":
        indices = indices.astype(INT64, stream)
        from_end = elementwise_binary("add", indices, length, None, stream)
        indices = where(elementwise_binary("less", indices, 0, None, stream), from_end, indices, stream=stream)
    if values.buffer is x.buffer:
        values = values.copy(stream)
    call(f"cls_{name}_rows_async", matrix_of(values, columns), vector_of(indices), matrix_of(x, columns), capi.Array(),
         stream.handle)


def set_at(x, indices, values, stream):
    """x[indices] = values; of several values for one index one is set, of rows element by element."""
    _scatter("scatter", x, indices, values, stream)


def add_at(x, indices, values, /, *, stream=None):
    """Adds values to x[indices], as numpy.add.at: also where an index occurs several times, in the order of the indices."""
    if not isinstance(x, Array):
        raise TypeError(f"add_at of {type(x).__name__}: pass an Array (to_device)")
    stream = stream_of(stream, x.context)
    if x.dtype == BOOL:
        raise TypeError("add_at of bool")
    _scatter("scatter_add", x, as_array(indices, x, stream), x.operand(values, stream), stream)
