# SPDX-License-Identifier: MIT
"""Device arrays: memory, parts of it, and copies from and to NumPy. functions.py adds the operators."""
import ctypes
import math

import numpy

from . import capi, device_code, layout, pending
from .capi import call, integer
from .memory import Buffer, bytes_of, shape_of
from .streams import Context, context_of, stream_of
from .elements import BOOL, DTYPES, INT64, element_type, is_number, result_type, scalar_of


def host_array(host, dtype=None):
    """What is given as data of the host, as a dense NumPy array; of `dtype`, if NumPy calls that cast "same kind"."""
    if isinstance(host, numpy.ma.MaskedArray):
        raise TypeError("a masked array: its mask would be lost")
    host = numpy.asarray(host)
    if dtype is None:
        dtype = element_type(host.dtype)
    elif not numpy.can_cast(host.dtype, dtype, "same_kind"):
        raise TypeError(f"{host.dtype} for an array of {dtype}: convert it first (astype)")
    return numpy.asarray(host, dtype, order="C")


def place(stream, context, device=None):
    """The Stream on which an array is made."""
    return stream_of(stream, context_of(stream, context if device is None else device))


class Array:
    """A dense array in a buffer: `shape`, `dtype`, and the first element's `offset` in elements. Operations only
    submit; `to_host` waits. What an operation makes is stream-ordered memory of the operation's stream."""

    __array_ufunc__ = None  # NumPy's functions refuse an Array, and its operators leave `numpy_array + array` to this class
    __hash__ = None

    def __init__(self, buffer, shape, dtype, offset=0):
        self.buffer, self.shape, self.dtype = buffer, shape_of(shape), element_type(dtype)
        self.offset = integer(offset, name="the offset")
        bytes_of(self.shape, self.dtype)

    def __array_function__(self, function, types, args, kwargs):
        raise TypeError(f"numpy.{function.__name__} does not take a clstream.Array: use clstream.{function.__name__}, if "
                        "there is one, or to_host()")

    @property
    def context(self):
        return self.buffer.context

    #: The Python array API's name.
    device = context

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    def __len__(self):
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return f"<clstream.Array {self.dtype} {self.shape}>"

    @property
    def view(self):
        """The array as the C functions take it."""
        view = capi.Array(self.buffer.handle, DTYPES[self.dtype], self.offset, self.size)
        view.owner = self.buffer  # the handle is valid as long as the view is there
        return view

    # ---- parts and other shapes

    def reshape(self, *shape):
        """The same elements in another shape; one length may be -1."""
        if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
            shape = shape[0]
        return Array(self.buffer, layout.fit(shape, self.size), self.dtype, self.offset)

    def strided(self, offset, lengths, strides, stream=None):
        """Elements at strides from `offset`, counted from the first one: a part of the same memory if they are dense,
        else a copy."""
        if layout.is_dense(lengths, strides):
            return Array(self.buffer, lengths, self.dtype, self.offset + (0 if 0 in lengths else offset))
        stream = stream_of(stream, self.context)
        out = empty(lengths, self.dtype, stream)
        _copy_strided(stream, out, 0, layout.dense_strides(lengths), self, offset, strides, lengths)
        return out

    def broadcast_to(self, shape, stream=None):
        """The array in a shape that it broadcasts to: itself, or a copy."""
        strides = layout.broadcast_strides(self.shape, layout.dense_strides(self.shape), shape)
        return self if shape == self.shape else self.strided(0, shape, strides, stream)

    def permute(self, axes, stream=None):
        """The array with its axes in another order."""
        strides, axes = layout.dense_strides(self.shape), tuple(axes)
        lengths, strides = (tuple(of[axis] for axis in axes) for of in (self.shape, strides))
        first = axes[0] if axes else 0
        if axes != (*range(first, self.ndim), *range(first)) or layout.is_dense(lengths, strides):
            return self.strided(0, lengths, strides, stream)
        stream = stream_of(stream, self.context)
        out = empty(lengths, self.dtype, stream)  # the last axes exchanged with the others: a transposition
        rows = math.prod(self.shape[:first])
        call("cls_transpose_async", matrix_of(self, self.size // rows), matrix_of(out, rows), stream.handle)
        return out

    @property
    def T(self):
        """The array with its axes in reverse order; a copy, unless it has at most one."""
        return self.permute(range(self.ndim)[::-1])

    @property
    def mT(self):
        """The array with its last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError(f"{self.ndim} axes: not a matrix")
        return self.permute((*range(self.ndim - 2), self.ndim - 1, self.ndim - 2))

    def __getitem__(self, key):
        """Integers, slices, `...` and None: a part of the same memory if it is dense, else a copy. An array of bool
        selects elements, which waits for it; an array of integers takes them along the first axis."""
        key = self._array_key(key)
        if isinstance(key, Array) and key.dtype == BOOL:
            flat = self._under(key)
            return flat.take(to_device(numpy.flatnonzero(key.to_host()), context=self.context))
        if isinstance(key, Array) and key.ndim:
            return self.take(key)
        return self.strided(*layout.index(key, self.shape))

    def _array_key(self, key):
        if not isinstance(key, (list, numpy.ndarray)) or not numpy.ndim(key):
            return key
        key = numpy.array(key, None if numpy.size(key) else numpy.int64)
        length = self.shape[0] if self.shape else 0
        if key.dtype.kind in "iu" and key.size and not -length <= key.min() <= key.max() < length:
            raise IndexError(f"indices are not all within {length}")
        return to_device(key, context=self.context)

    def _under(self, mask):
        """With the axes that a mask covers as one."""
        if mask.shape != self.shape[:mask.ndim]:
            raise IndexError(f"a mask of the shape {mask.shape} for an array of {self.shape}")
        return self.reshape(mask.size, *self.shape[mask.ndim:])

    def take(self, indices, axis=0, stream=None):
        """The elements at an array of indices along an axis. One that is not within the axis takes the
        nearest element."""
        axis = layout.axis_of(axis, self.ndim)
        if indices.size and not self.shape[axis]:
            raise IndexError("an axis of no elements")
        if indices.dtype.kind not in "iu":
            raise IndexError(f"an array of {indices.dtype} is no index")
        stream = stream_of(stream, self.context)
        out = empty((*self.shape[:axis], *indices.shape, *self.shape[axis + 1:]), self.dtype, stream)
        if out.size:
            indices = indices.astype(INT64, stream) if indices.dtype != INT64 or indices.offset else indices
            device_code.take(stream, out, self, indices, math.prod(self.shape[:axis]), self.shape[axis],
                             math.prod(self.shape[axis + 1:]))
        return out

    def __setitem__(self, key, value):
        """Sets what a basic index or an array of integers names, or what an array of bool selects, to a number or to an
        array that broadcasts to it."""
        key = self._array_key(key)
        stream = stream_of(None, self.context)
        if isinstance(key, Array) and key.dtype == BOOL:
            self._set_where(key, value, stream)
        elif isinstance(key, Array) and key.ndim:
            from .indices import set_at
            set_at(self, key, self.operand(value, stream), stream)
        else:
            self._set(*layout.index(key, self.shape), value, stream)

    def _set_where(self, mask, value, stream):
        self._under(mask)
        value = self.operand(value, stream)
        if value.size != 1:
            raise TypeError("what a mask selects is set to one number")
        mask = mask.reshape(*mask.shape, *(1,) * (self.ndim - mask.ndim))
        mask, value = apart(mask, self, stream), apart(value.reshape(()), self, stream)
        call("cls_strided_where_async", *broadcast_views(self.shape, mask, value, self, self), stream.handle)

    def operand(self, value, stream):
        """A value for elements of this array, as an Array of its type."""
        if is_number(value):
            return empty((), self.dtype, stream).fill(value, stream)
        if isinstance(value, (list, tuple)):
            value = numpy.array(value, None if numpy.size(value) else self.dtype)
        if isinstance(value, numpy.ndarray):
            value = to_device(value.copy(), stream)
        if not isinstance(value, Array):
            raise TypeError(f"{type(value).__name__} for elements of an Array")
        if result_type(value.dtype, self.dtype) != self.dtype:
            raise TypeError(f"{value.dtype} for an array of {self.dtype}: convert it first (astype)")
        return value if value.dtype == self.dtype else value.astype(self.dtype, stream)

    def _set(self, offset, lengths, strides, value, stream):
        dense = layout.is_dense(lengths, strides)
        if 0 in lengths:
            offset = 0
        if dense and is_number(value):
            Array(self.buffer, lengths, self.dtype, self.offset + offset).fill(value, stream)
            return
        value = self.operand(value, stream)
        while value.ndim > len(lengths) and value.shape[0] == 1:
            value = value.reshape(value.shape[1:])
        from_strides = layout.broadcast_strides(value.shape, layout.dense_strides(value.shape), lengths)
        if value.buffer is self.buffer:
            value = value.copy(stream)
        if dense and value.shape == lengths:
            size = self.dtype.itemsize
            call("cls_copy_d2d_async", self.buffer.handle, (self.offset + offset) * size, value.buffer.handle,
                 value.offset * size, value.nbytes, stream.handle)
        else:
            _copy_strided(stream, self, offset, strides, value, 0, from_strides, lengths)

    # ---- copies

    def upload_async(self, host, stream=None):
        """Copies a NumPy array of the same size to this one. It is kept until the copy is done, and must not be
        changed until then."""
        host = host_array(host, self.dtype)
        self._must_fit(host)
        stream = stream_of(stream, self.context)
        pending.submit(stream, host, "cls_copy_h2d_async", self.buffer.handle, self.offset * self.dtype.itemsize,
                       host.ctypes.data, host.nbytes, stream.handle)

    def download_async(self, host, stream=None):
        """Copies to a dense NumPy array of the same size and type, which must not be used until the copy is done."""
        self._download(host, stream_of(stream, self.context))

    def _download(self, host, stream):
        self._must_fit(host)
        if host.dtype != self.dtype or not host.flags.c_contiguous or not host.flags.writeable:
            raise ValueError(f"the host array is not dense, writeable and of {self.dtype}")
        return pending.submit(stream, host, "cls_copy_d2h_async", host.ctypes.data, self.buffer.handle,
                              self.offset * self.dtype.itemsize, host.nbytes, stream.handle)

    def to_host(self, out=None, stream=None):
        """The elements as a NumPy array, or in `out`. Waits."""
        out = numpy.empty(self.shape, self.dtype) if out is None else out
        stream = stream_of(stream, self.context)
        pending.wait_for(self._download(out, stream), stream)
        return out

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("device memory reaches NumPy as a copy only")
        host = self.to_host()
        return host if dtype is None else host.astype(dtype)

    def item(self):
        """The only element, as a number of Python's. Waits."""
        if self.size != 1:
            raise ValueError(f"an array of {self.size} elements is no number")
        return self.to_host().item()

    def __bool__(self):
        if self.size != 1:
            raise ValueError(f"the truth of an array of {self.size} elements: use any() or all()")
        return bool(self.item())

    def __int__(self):
        return int(self.item())

    def __float__(self):
        return float(self.item())

    def __complex__(self):
        return complex(self.item())

    def __index__(self):
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError("only an array of integers without axes is an index")
        return self.item()

    def copy(self, stream=None):
        """A copy on the device."""
        stream = stream_of(stream, self.context)
        out = empty(self.shape, self.dtype, stream)
        size = self.dtype.itemsize
        call("cls_copy_d2d_async", out.buffer.handle, 0, self.buffer.handle, self.offset * size, self.nbytes,
             stream.handle)
        return out

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        """Pickles the elements, for which it waits; they come to the default context of the process that reads them."""
        return to_device, (self.to_host(),)

    def to_device(self, device, stream=None):
        """The array in another context. `stream` is one of that."""
        if not isinstance(device, Context):
            raise ValueError(f"{device!r} is no context")
        if device == self.context:
            return self
        stream = device.default_stream if stream is None else stream
        stream.wait_event(stream_of(None, self.context).record())
        out = empty(self.shape, self.dtype, stream)
        size = self.dtype.itemsize
        call("cls_copy_d2d_async", out.buffer.handle, 0, self.buffer.handle, self.offset * size, self.nbytes,
             stream.handle)
        return out

    def __dlpack_device__(self):
        return 4, self.context.device_index  # kDLOpenCL

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A copy in host memory (`dl_device=(1, 0)`). There is no form for the OpenCL memory itself."""
        if dl_device is None or dl_device[0] != 1 or copy is False:
            raise BufferError("only copies in host memory: dl_device=(1, 0)")
        return self.to_host().__dlpack__()

    def fill(self, value, stream=None):
        """Sets all elements."""
        element = numpy.array(scalar_of(self.dtype, value))
        call("cls_fill_async", self.buffer.handle, self.offset * element.nbytes, self.nbytes, element.ctypes.data,
             element.nbytes, stream_of(stream, self.context).handle)
        return self

    def astype(self, dtype, stream=None):
        """cls_cast: truncates and saturates to integers. To bool: what is not 0."""
        dtype = element_type(dtype)
        stream = stream_of(stream, self.context)
        if dtype == self.dtype:
            return self.copy(stream)
        out = empty(self.shape, dtype, stream)
        if dtype == BOOL:
            zero = empty(self.shape, self.dtype, stream).fill(0, stream)
            call("cls_binary_async", NOT_EQUAL, self.view, zero.view, out.view, stream.handle)
        else:
            call("cls_cast_async", self.view, out.view, stream.handle)
        return out

    def _must_fit(self, host):
        if host.size != self.size:
            raise ValueError(f"{host.size} elements for an array of {self.size}")


def apart(x, out, stream):
    """An input, or a copy of one that overlaps the output without being the same elements."""
    if not isinstance(x, Array) or x.buffer is not out.buffer or (x.offset, x.shape) == (out.offset, out.shape):
        return x
    return x.copy(stream) if x.offset < out.offset + out.size and out.offset < x.offset + x.size else x


def strided_view(array, offset, lengths, strides):
    """Elements at strides from `offset`, counted from the first one, as the C functions take them."""
    view = capi.Strided(array.buffer.handle, DTYPES[array.dtype], len(lengths), array.offset + offset)
    view.shape[:len(lengths)] = lengths
    view.strides[:len(lengths)] = strides
    view.owner = array.buffer  # the handle is valid as long as the view is there
    return view


def _collapse(lengths, *stride_lists):
    lengths, *stride_lists = layout.collapse(lengths, *stride_lists)
    if len(lengths) > capi.MAX_DIMENSIONS:
        raise ValueError(f"more than {capi.MAX_DIMENSIONS} axes that are not dense in memory")
    return lengths, *stride_lists


def broadcast_views(shape, *arrays):
    """Arrays as the C functions take them, in a shape that they broadcast to."""
    lengths, *strides = _collapse(shape, *(layout.broadcast_strides(array.shape, layout.dense_strides(array.shape), shape)
                                           for array in arrays))
    return [strided_view(array, 0, lengths, own) for array, own in zip(arrays, strides)]


def reduction_views(x, out):
    """An array and what its axes are reduced to, of the same number of axes, as cls_strided_reduce takes them."""
    own = layout.dense_strides(x.shape)
    to = layout.broadcast_strides(out.shape, layout.dense_strides(out.shape), x.shape)
    lengths, own, to = _collapse(x.shape, own, to)
    return (strided_view(x, 0, lengths, own),
            strided_view(out, 0, [length if stride else 1 for length, stride in zip(lengths, to)], to))


def _copy_strided(stream, to, to_offset, to_strides, from_, from_offset, from_strides, lengths):
    if 0 in lengths:
        return
    lengths, to_strides, from_strides = _collapse(lengths, to_strides, from_strides)
    call("cls_strided_cast_async", strided_view(from_, from_offset, lengths, from_strides),
         strided_view(to, to_offset, lengths, to_strides), stream.handle)


# ---- as operands of the C library's operations on matrices

def matrix_of(x, columns=None):
    """All but the last axis together are rows, unless the columns are given of what has elements."""
    columns, rows = (x.shape[-1], math.prod(x.shape[:-1])) if columns is None else (columns, x.size // columns)
    matrix = capi.Matrix(x.buffer.handle, DTYPES[x.dtype], x.offset, rows, columns, columns, 0)
    matrix.owner = x.buffer
    return matrix


def vector_of(x):
    vector = capi.Vector(x.buffer.handle, DTYPES[x.dtype], x.offset, x.size, 1)
    vector.owner = x.buffer
    return vector


# ---- operations of the C library by name

def _names(function):
    """The operations of a kind, by name: their numbers begin with 1."""
    found = {}
    for number in range(1, 1000):
        name = function(number).decode()
        if name == "?":
            return found
        found[name] = number


OPS = {"unary": _names(capi.lib.cls_unary_op_name), "unary_param": _names(capi.lib.cls_unary_param_op_name),
       "binary": _names(capi.lib.cls_binary_op_name), "reduce": _names(capi.lib.cls_reduce_op_name)}
NOT_EQUAL = OPS["binary"]["ne"]


def op_number(kind, name):
    """The number of an operation of a kind."""
    if name not in OPS[kind]:
        raise ValueError(f"no {kind} operation '{name}': {', '.join(OPS[kind])}")
    return OPS[kind][name]


# ---- making arrays

def empty(shape, dtype=numpy.float32, stream=None, context=None, *, device=None):
    """An array with undefined contents, in memory of the stream's order."""
    stream = place(stream, context, device)
    shape, dtype = shape_of(shape), element_type(numpy.float32 if dtype is None else dtype)
    return Array(Buffer.in_order(bytes_of(shape, dtype), stream), shape, dtype)


def full(shape, fill_value, dtype=numpy.float32, stream=None, context=None, *, device=None):
    """An array with all elements set to a number. With `dtype=None` its type is that of the number."""
    if dtype is None:
        dtype = BOOL if isinstance(fill_value, bool) else INT64 if isinstance(fill_value, int) else numpy.float32
    stream = place(stream, context, device)
    return empty(shape, dtype, stream).fill(fill_value, stream)


def to_device(host, stream=None, context=None, *, device=None):
    """Uploads a NumPy array, without a copy on the host if it is dense. Only submits: see Array.upload_async."""
    host = host_array(host)
    stream = place(stream, context, device)
    array = empty(host.shape, host.dtype, stream)
    array.upload_async(host, stream)
    return array


def reduce_result(name, dtype):
    """The type of a reduction of the C library."""
    number = capi.make("cls_reduce_result_dtype", op_number("reduce", name), DTYPES[dtype], type=ctypes.c_int)
    if name in ("any", "all"):
        return BOOL
    return next(found for found, value in DTYPES.items() if value == number and found != BOOL)
