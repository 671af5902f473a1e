# SPDX-License-Identifier: MIT
"""The rest of the Python array API: making arrays, their shapes, their types, products."""
import builtins
import ctypes
import math

import numpy

from . import capi, elements, layout
from .arrays import Array, empty, full, host_array, op_number, place, to_device
from .capi import call
from .functions import as_array, dot_async, elementwise_binary, operands
from .reductions import sum as _sum
from .streams import default_context, stream_of
from .elements import DTYPES, FLOAT16, FLOAT32, INT64, element_type

# ---- making arrays


def _make(host, dtype, device, stream):
    stream = place(stream, None, device)
    return to_device(numpy.array(host, element_type(dtype), order="C"), stream)


def asarray(obj, /, *, dtype=None, device=None, copy=None, stream=None):
    """An Array of an Array, a NumPy array, numbers or nested lists of them. Data of the host is copied first."""
    if isinstance(obj, Array):
        target = obj.dtype if dtype is None else element_type(dtype)
        if device is not None and device != obj.context:
            if copy is False:
                raise ValueError("another device's array is a copy")
            obj = obj.to_device(device)
        if target != obj.dtype and copy is False:
            raise ValueError("another type's array is a copy")
        return obj.astype(target, stream) if target != obj.dtype or copy else obj
    if copy is False:
        raise ValueError("data of the host is copied")
    if dtype is None and not isinstance(obj, (numpy.ndarray, numpy.generic)):
        host = numpy.array(obj)
        dtype = FLOAT32 if host.dtype.kind == "f" else host.dtype
    host = host_array(obj) if dtype is None else obj
    return _make(host, host.dtype if dtype is None else dtype, device, stream)


def from_dlpack(x, /, *, device=None, copy=None, stream=None):
    """An Array of what is in host memory and speaks DLPack."""
    if isinstance(x, Array):
        return asarray(x, device=device, copy=copy, stream=stream)
    return asarray(numpy.from_dlpack(x), device=device, stream=stream)


def zeros(shape, dtype=FLOAT32, stream=None, context=None, *, device=None):
    """An array of zeros."""
    dtype = FLOAT32 if dtype is None else element_type(dtype)
    return full(shape, dtype.type(0), dtype, stream, context, device=device)


def ones(shape, dtype=FLOAT32, stream=None, context=None, *, device=None):
    """An array of ones."""
    dtype = FLOAT32 if dtype is None else element_type(dtype)
    return full(shape, dtype.type(1), dtype, stream, context, device=device)


def full_like(x, /, fill_value, stream=None, *, dtype=None, device=None):
    """An array of the same shape, type and context, with all elements set to a number."""
    return full(x.shape, fill_value, dtype or x.dtype, stream, device or x.context)


def empty_like(x, /, *, dtype=None, device=None, stream=None):
    """An array of the same shape, type and context, with undefined contents."""
    return empty(x.shape, dtype or x.dtype, stream, device or x.context)


def zeros_like(x, /, *, dtype=None, device=None, stream=None):
    """An array of zeros of the same shape, type and context."""
    return zeros(x.shape, dtype or x.dtype, stream, device or x.context)


def ones_like(x, /, *, dtype=None, device=None, stream=None):
    """An array of ones of the same shape, type and context."""
    return ones(x.shape, dtype or x.dtype, stream, device or x.context)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None, stream=None):
    """Numbers at equal steps: int64, or float32 if one of the arguments is a float."""
    if dtype is None:
        dtype = FLOAT32 if any(isinstance(value, float) for value in (start, stop, step)) else INT64
    start, stop = (0, start) if stop is None else (start, stop)
    count = builtins.max(0, math.ceil((stop - start) / step))
    return _make(start + step * numpy.arange(count), dtype, device, stream)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True, stream=None):
    """`num` numbers at equal distances."""
    return _make(numpy.linspace(start, stop, num, endpoint=endpoint), dtype or FLOAT32, device, stream)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None, stream=None):
    """A matrix with ones on one diagonal."""
    return _make(numpy.eye(n_rows, n_cols, k), dtype or FLOAT32, device, stream)


def tril(x, /, *, k=0, stream=None):
    """The lower triangle of matrices, and zeros."""
    return _triangle(numpy.tri(*x.shape[-2:], k, bool), x, stream)


def triu(x, /, *, k=0, stream=None):
    """The upper triangle of matrices, and zeros."""
    return _triangle(~numpy.tri(*x.shape[-2:], k - 1, bool), x, stream)


def _triangle(mask, x, stream):
    stream = stream_of(stream, x.context)
    mask = to_device(mask, stream).broadcast_to(x.shape, stream)
    out = zeros(x.shape, x.dtype, stream)
    call("cls_where_async", mask.view, x.view, out.view, out.view, stream.handle)
    return out


def meshgrid(*arrays, indexing="xy"):
    """Arrays of coordinates from vectors."""
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing is 'xy' or 'ij'")
    count = len(arrays)
    axes = [1, 0, *range(2, count)] if indexing == "xy" and count > 1 else list(range(count))
    shape = [0] * count
    for array, axis in zip(arrays, axes):
        shape[axis] = array.size
    return tuple(array.reshape([-1 if i == axis else 1 for i in range(count)] if array.size else
                               [array.size if i == axis else 1 for i in range(count)]).broadcast_to(tuple(shape))
                 for array, axis in zip(arrays, axes))


# ---- shapes

def reshape(x, /, shape, *, copy=None):
    """The same elements in another shape; one length may be -1."""
    x = x.copy() if copy else x
    return x.reshape(tuple(shape) if isinstance(shape, (tuple, list)) else (shape,))


def permute_dims(x, /, axes):
    """The array with its axes in another order."""
    axes = layout.axes_of(tuple(axes), x.ndim)
    if len(axes) != x.ndim:
        raise ValueError(f"{len(axes)} axes for an array with {x.ndim}")
    return x.permute(axes)


def matrix_transpose(x, /):
    """The array with its last two axes exchanged."""
    return x.mT


def moveaxis(x, source, destination, /):
    """The array with axes moved to other places."""
    sources, destinations = layout.axes_of(source, x.ndim), layout.axes_of(destination, x.ndim)
    if len(sources) != len(destinations):
        raise ValueError("as many sources as destinations")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place_, axis in sorted(zip(destinations, sources)):
        order.insert(place_, axis)
    return x.permute(order)


def broadcast_to(x, /, shape):
    """The array in a shape that it broadcasts to."""
    return x.broadcast_to(tuple(shape))


def broadcast_arrays(*arrays):
    """The arrays in the shape that they broadcast to."""
    shape = layout.broadcast_shapes(*(array.shape for array in arrays))
    return [array.broadcast_to(shape) for array in arrays]


def broadcast_shapes(*shapes):
    """The shape that arrays of these shapes broadcast to."""
    return layout.broadcast_shapes(*shapes)


def expand_dims(x, /, axis=0):
    """The array with one more axis, of length 1."""
    axis = layout.axis_of(axis, x.ndim + 1)
    return x.reshape((*x.shape[:axis], 1, *x.shape[axis:]))


def squeeze(x, /, axis):
    """The array without axes of length 1."""
    axes = layout.axes_of(axis, x.ndim)
    if any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"axes {axis} of the shape {x.shape} are not all of length 1")
    return x.reshape(tuple(length for i, length in enumerate(x.shape) if i not in axes))


def flip(x, /, *, axis=None):
    """The array with axes in reverse order."""
    axes = layout.axes_of(axis, x.ndim)
    return x[tuple(slice(None, None, -1 if i in axes else 1) for i in range(x.ndim))]


def roll(x, /, shift, *, axis=None):
    """The array with its elements moved along axes; what leaves at the end comes in at the start."""
    if axis is None:
        return roll(x.reshape(x.size), shift, axis=0).reshape(x.shape)
    shifts = shift if isinstance(shift, tuple) else (shift,)
    axes = axis if isinstance(axis, tuple) else (axis,)
    for by, a in zip(shifts * len(axes) if len(shifts) == 1 else shifts, axes):
        a = layout.axis_of(a, x.ndim)
        by = by % x.shape[a] if x.shape[a] else 0
        lead = (slice(None),) * a
        x = concat([x[(*lead, slice(x.shape[a] - by, None))], x[(*lead, slice(0, x.shape[a] - by))]], axis=a)
    return x


def concat(arrays, /, *, axis=0, stream=None):
    """Arrays one after the other along an axis; as one vector with `axis=None`."""
    arrays = list(arrays)
    if axis is None:
        arrays, axis = [array.reshape(array.size) for array in arrays], 0
    axis = layout.axis_of(axis, arrays[0].ndim)
    dtype = elements.result_type(*(array.dtype for array in arrays))
    shape = list(arrays[0].shape)
    if any(array.ndim != len(shape) or array.shape[:axis] + array.shape[axis + 1:] != (*shape[:axis], *shape[axis + 1:])
           for array in arrays):
        raise ValueError(f"the shapes {', '.join(str(array.shape) for array in arrays)} differ in more than axis {axis}")
    shape[axis] = builtins.sum(array.shape[axis] for array in arrays)
    stream = stream_of(stream, arrays[0].context)
    out, start = empty(shape, dtype, stream), 0
    for array in arrays:
        key = (*(slice(None),) * axis, slice(start, start + array.shape[axis]))
        out._set(*layout.index(key, out.shape), array, stream)
        start += array.shape[axis]
    return out


def stack(arrays, /, *, axis=0, stream=None):
    """Arrays of one shape along a new axis."""
    arrays = list(arrays)
    if len({array.shape for array in arrays}) != 1:
        raise ValueError(f"the shapes {', '.join(str(array.shape) for array in arrays)} differ")
    return concat([expand_dims(array, axis=axis) for array in arrays],
                  axis=layout.axis_of(axis, arrays[0].ndim + 1), stream=stream)


def unstack(x, /, *, axis=0):
    """The parts of an array along an axis."""
    axis = layout.axis_of(axis, x.ndim)
    return tuple(x[(*(slice(None),) * axis, i)] for i in range(x.shape[axis]))


def tile(x, repetitions, /):
    """The array repeated along its axes."""
    repetitions = (1,) * (x.ndim - len(repetitions)) + tuple(repetitions)
    shape = (1,) * (len(repetitions) - x.ndim) + x.shape
    mixed = x.reshape(tuple(length for pair in zip((1,) * len(shape), shape) for length in pair))
    wide = tuple(length for pair in zip(repetitions, shape) for length in pair)
    return mixed.broadcast_to(wide).reshape(tuple(a * b for a, b in zip(repetitions, shape)))


def repeat(x, repeats, /, *, axis=None, stream=None):
    """The array with each element repeated so many times along an axis; as one vector with `axis=None`."""
    if axis is None:
        x, axis = x.reshape(x.size), 0
    axis = layout.axis_of(axis, x.ndim)
    repeats = capi.integer(repeats, name="the number of repeats")
    wide = (*x.shape[:axis + 1], repeats, *x.shape[axis + 1:])
    return (x.reshape((*x.shape[:axis + 1], 1, *x.shape[axis + 1:])).broadcast_to(wide, stream)
            .reshape((*x.shape[:axis], x.shape[axis] * repeats, *x.shape[axis + 1:])))


def take(x, indices, /, *, axis=None, stream=None):
    """The elements at a vector of indices along an axis."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError("an array of several axes: name one")
        axis = 0
    return x.take(as_array(indices, x, stream), axis, stream)


def diff(x, /, *, axis=-1, n=1):
    """The differences of neighbours along an axis, n times."""
    axis = layout.axis_of(axis, x.ndim)
    lead = (slice(None),) * axis
    for _ in range(n):
        x = x[(*lead, slice(1, None))] - x[(*lead, slice(None, -1))]
    return x


# ---- types

def astype(x, dtype, /, *, copy=True, device=None, stream=None):
    """cls_cast: truncates and saturates to integers."""
    x = x if device is None else x.to_device(device)
    return x if not copy and element_type(dtype) == x.dtype else x.astype(dtype, stream)


def result_type(*arrays_and_dtypes):
    """The type of an operation on arrays, or types, and numbers."""
    arrays = [value for value in arrays_and_dtypes if not elements.is_number(value)]
    found = elements.result_type(*(value.dtype if isinstance(value, Array) else element_type(value) for value in arrays))
    for value in arrays_and_dtypes:
        if elements.is_number(value):
            elements.scalar_of(found, value)
    return found


def can_cast(from_, to, /):
    """Whether operations convert the one type to the other."""
    from_ = from_.dtype if isinstance(from_, Array) else element_type(from_)
    return bool(numpy.can_cast(from_, element_type(to)))


def isdtype(dtype, kind):
    """Whether a type is of a kind ("bool", "signed integer", "unsigned integer", "integral", "real floating",
    "complex floating", "numeric"), another type, or one of a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    kinds = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
             "complex floating": "c", "numeric": "iufc"}
    if isinstance(kind, str):
        if kind not in kinds:
            raise ValueError(f"no kind of types '{kind}'")
        return element_type(dtype).kind in kinds[kind]
    return element_type(dtype) == element_type(kind)


def finfo(type, /):
    """Limits of a floating-point type."""
    return numpy.finfo(type.dtype if isinstance(type, Array) else type)


def iinfo(type, /):
    """Limits of an integer type."""
    return numpy.iinfo(type.dtype if isinstance(type, Array) else type)


class _Info:
    """What __array_namespace_info__() gives."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self):
        return default_context()

    def devices(self):
        return [default_context()]

    def default_dtypes(self, *, device=None):
        return {"real floating": FLOAT32, "integral": INT64, "indexing": INT64}

    def dtypes(self, *, device=None, kind=None):
        """The types of the standard, of which float16 is none."""
        return {dtype.name: dtype for dtype in DTYPES if dtype != FLOAT16 and (kind is None or isdtype(dtype, kind))}


def __array_namespace_info__():
    """The Python array API's description of the package."""
    return _Info()


def _array_namespace(self, *, api_version=None):
    """This package, as the namespace of the Python array API."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"no version {api_version} of the array API")
    import clstream
    return clstream


Array.__array_namespace__ = _array_namespace


# ---- products

def _matrix(x, shape, batches):
    rows, columns = shape
    matrix = capi.Matrix(x.buffer.handle, DTYPES[x.dtype], x.offset, rows, columns, columns,
                         rows * columns if batches > 1 else 0)
    matrix.owner = x.buffer
    return matrix


def gemm(a, b, out=None, alpha=1.0, beta=0.0, transpose_a=False, transpose_b=False, bias=None, activation=None,
         stream=None):
    """out = activation(alpha op(a) op(b) + beta out + bias), of matrices in float32, float64 or float16; that of float16
    may be in float32 by `out`, and is rounded once from there. Axes before the last two count the matrices of a batch.
    `bias`, of the type of `out`, has an element for each column; `activation` names a function, as "relu"."""
    a, b = (a, as_array(b, a, stream)) if isinstance(a, Array) else (as_array(a, b, stream), b)
    if a.ndim < 2 or b.ndim < 2 or a.shape[:-2] != b.shape[:-2]:
        raise ValueError(f"the shapes {a.shape} and {b.shape} are not those of matrices, or of equal batches")
    stream = stream_of(stream, a.context)
    batches = math.prod(a.shape[:-2])
    shape = (*a.shape[:-2], a.shape[-1 if transpose_a else -2], b.shape[-2 if transpose_b else -1])
    out = empty(shape, a.dtype, stream) if out is None else out
    if out.shape != shape:
        raise ValueError(f"the output has the shape {out.shape}, the product {shape}")
    config = capi.GemmConfig(transpose_a=transpose_a, transpose_b=transpose_b, alpha=alpha, beta=beta,
                             batches=builtins.max(1, batches))
    if bias is not None:
        bias = as_array(bias, out, stream)
        if bias.ndim != 1:
            raise ValueError(f"the bias has the shape {bias.shape}")
        config.bias = capi.Vector(bias.buffer.handle, DTYPES[bias.dtype], bias.offset, bias.size, 1)
    if activation is not None:
        config.activation = op_number("unary", activation)
    if batches:
        call("cls_gemm_async", *(_matrix(x, x.shape[-2:], batches) for x in (a, b, out)), ctypes.byref(config),
             stream.handle)
    return out


def matmul(a, b, /, *, stream=None):
    """The product of matrices or vectors, by gemm(); batches broadcast."""
    if not isinstance(a, (Array, numpy.ndarray)) or not isinstance(b, (Array, numpy.ndarray)):
        raise TypeError(f"the product of {type(a).__name__} and {type(b).__name__}")
    like = a if isinstance(a, Array) else b
    stream = stream_of(stream, like.context)
    a, b = as_array(a, like, stream), as_array(b, like, stream)
    dtype = elements.result_type(a.dtype, b.dtype)
    if dtype.kind != "f":
        raise TypeError(f"the product of matrices of {dtype}: convert them first (astype)")
    a, b = (x if x.dtype == dtype else x.astype(dtype, stream) for x in (a, b))
    if not a.ndim or not b.ndim:
        raise ValueError("the product of an array without axes")
    left, right = a.ndim == 1, b.ndim == 1
    a = a.reshape((1, a.size)) if left else a
    b = b.reshape((b.size, 1)) if right else b
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"the inner lengths {a.shape[-1]} and {b.shape[-2]} differ")
    batches = layout.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = gemm(a.broadcast_to((*batches, *a.shape[-2:]), stream), b.broadcast_to((*batches, *b.shape[-2:]), stream),
               stream=stream)
    shape = (*batches, *(() if left else out.shape[-2:-1]), *(() if right else out.shape[-1:]))
    return out.reshape(shape)


def vecdot(x1, x2, /, *, axis=-1, stream=None):
    """The sums of the products along an axis. Of float16 they are rounded once, at the end."""
    (x1, x2), dtype, _, stream = operands((x1, x2), stream)
    if dtype == FLOAT16:
        x1, x2 = x1.astype(FLOAT32, stream), x2.astype(FLOAT32, stream)
    total = _sum(elementwise_binary("multiply", x1, x2, stream=stream), axis=axis, stream=stream)
    return total.astype(FLOAT16, stream) if dtype == FLOAT16 else total


def tensordot(x1, x2, /, *, axes=2, stream=None):
    """The sums of the products over pairs of axes, by gemm()."""
    if isinstance(axes, int):
        axes = (tuple(range(x1.ndim - axes, x1.ndim)), tuple(range(axes)))
    first, second = (layout.axes_of(tuple(one), x.ndim) for one, x in zip(axes, (x1, x2)))
    rest1 = [i for i in range(x1.ndim) if i not in first]
    rest2 = [i for i in range(x2.ndim) if i not in second]
    inner = math.prod(x1.shape[i] for i in first)
    shape = (*(x1.shape[i] for i in rest1), *(x2.shape[i] for i in rest2))
    a = x1.permute((*rest1, *first), stream).reshape((math.prod(x1.shape[i] for i in rest1), inner))
    b = x2.permute((*second, *rest2), stream).reshape((inner, math.prod(x2.shape[i] for i in rest2)))
    return matmul(a, b, stream=stream).reshape(shape)


def dot(self, other, stream=None):
    """The sum of the products of the elements, as a NumPy scalar. Waits."""
    stream = stream_of(stream, self.context)
    return dot_async(self, other, stream).to_host(stream=stream)[()]


Array.dot = dot
Array.__matmul__ = lambda self, other: matmul(self, other) if isinstance(other, (Array, numpy.ndarray)) else NotImplemented
Array.__rmatmul__ = lambda self, other: matmul(other, self) if isinstance(other, numpy.ndarray) else NotImplemented
