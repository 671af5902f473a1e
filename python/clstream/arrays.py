# SPDX-License-Identifier: MIT
"""Device arrays, copies from and to NumPy, and the typed operations."""
import ctypes

import numpy

from . import capi
from .capi import call, lib, make
from .streams import default_context, keep, stream_of

#: cls_dtype by NumPy's type, and the other way round.
DTYPES = {numpy.dtype(name): number for name, number in
          [("float32", 1), ("float64", 2), ("int32", 3), ("int64", 4), ("uint8", 5), ("uint32", 6)]}
NUMPY_TYPES = {number: dtype for dtype, number in DTYPES.items()}


def dtype_number(dtype):
    """The cls_dtype of a NumPy type; bool is uint8."""
    dtype = numpy.dtype(dtype)
    dtype = numpy.dtype("uint8") if dtype == bool else dtype
    if dtype not in DTYPES:
        raise TypeError(f"{dtype} is no element type of the library: {', '.join(map(str, DTYPES))}")
    return DTYPES[dtype]


class Buffer(capi.Handle):
    """Device memory."""

    _destroy = "cls_buffer_destroy"

    def __init__(self, nbytes, context=None):
        self.context = context or default_context()
        super().__init__(make("cls_buffer_create", self.context.handle, nbytes))

    @classmethod
    def _of(cls, handle, context):
        buffer = cls.__new__(cls)
        capi.Handle.__init__(buffer, handle)
        buffer.context = context
        return buffer

    @classmethod
    def shareable(cls, nbytes, context=None):
        """Device memory that other contexts, and other processes, can open."""
        context = context or default_context()
        return cls._of(make("cls_buffer_create_shareable", context.handle, nbytes), context)

    @classmethod
    def from_fd(cls, fd, nbytes, context=None):
        """The memory of a buffer of `nbytes` bytes that another process has exported. The descriptor stays the
        caller's."""
        context = context or default_context()
        return cls._of(make("cls_buffer_import", context.handle, fd, nbytes), context)

    def open(self, context):
        """The same bytes in another context, if the buffer is shareable; `context.can_share` tells whether it can."""
        return Buffer._of(make("cls_buffer_open", context.handle, self.handle), context)

    def export_fd(self):
        """A file descriptor of a shareable buffer's memory, for `from_fd` in another process. The caller closes it."""
        return make("cls_buffer_export", self.handle, type=ctypes.c_int)

    @classmethod
    def from_int_ptr(cls, memory, context):
        """A buffer of a cl_mem of the context, for example `int_ptr` of PyOpenCL's buffer. It is retained."""
        return cls._of(make("cls_buffer_wrap", context.handle, memory), context)

    @property
    def int_ptr(self):
        """The cl_mem, borrowed."""
        return make("cls_buffer_get_cl", self.handle)

    @property
    def nbytes(self):
        return make("cls_buffer_get_size", self.handle, type=ctypes.c_size_t)


def _shape(shape):
    return (shape,) if isinstance(shape, int) else tuple(int(length) for length in shape)


class Array:
    """A dense array in a buffer: `shape`, `dtype`, and the first element's `offset` in elements. Operations only
    submit; `to_host` waits. What an operation makes is stream-ordered memory of the operation's stream."""

    __array_priority__ = 1000  # numpy_array * array is left to __rmul__

    def __init__(self, buffer, shape, dtype, offset=0):
        self.buffer, self.shape, self.offset = buffer, _shape(shape), offset
        self.dtype = NUMPY_TYPES[dtype_number(dtype)]

    @property
    def context(self):
        return self.buffer.context

    @property
    def size(self):
        return int(numpy.prod(self.shape, dtype=numpy.int64))

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<clstream.Array {self.dtype} {self.shape}>"

    @property
    def view(self):
        """The array as the C functions take it."""
        return capi.Array(self.buffer.handle, DTYPES[self.dtype], self.offset, self.size)

    def reshape(self, *shape):
        """The same elements in another shape; one length may be -1."""
        shape = _shape(shape[0] if len(shape) == 1 else shape)
        shape = _fit(shape, self.size)
        return Array(self.buffer, shape, self.dtype, self.offset)

    def __getitem__(self, key):
        """A part along the first axis, of the same memory."""
        if not self.shape:
            raise IndexError("an array without axes")
        row = self.size // self.shape[0] if self.shape[0] else 0
        if isinstance(key, slice):
            start, stop, step = key.indices(self.shape[0])
            if step != 1:
                raise IndexError("only steps of 1: a part is dense")
            length = max(0, stop - start)
            return Array(self.buffer, (length, *self.shape[1:]), self.dtype, self.offset + start * row)
        index = key + self.shape[0] if key < 0 else key
        if not 0 <= index < self.shape[0]:
            raise IndexError(f"{key} is not within {self.shape[0]}")
        return Array(self.buffer, self.shape[1:], self.dtype, self.offset + index * row)

    # ---- copies

    def upload_async(self, host, stream=None):
        """Copies a NumPy array of the same size to this one. It is kept until the copy is done, and must not be
        changed until then."""
        host = numpy.ascontiguousarray(host, self.dtype)
        self._must_fit(host)
        stream = stream_of(stream, self.context)
        call("cls_copy_h2d_async", self.buffer.handle, self.offset * self.dtype.itemsize, host.ctypes.data, host.nbytes,
             stream)
        keep(stream, self.context, host)

    def download_async(self, host, stream=None):
        """Copies to a dense NumPy array of the same size and type, which must not be used until the copy is done."""
        self._must_take(host)
        stream = stream_of(stream, self.context)
        call("cls_copy_d2h_async", host.ctypes.data, self.buffer.handle, self.offset * self.dtype.itemsize, host.nbytes,
             stream)
        keep(stream, self.context, host)

    def to_host(self, out=None, stream=None):
        """The elements as a NumPy array, or in `out`. Waits."""
        out = numpy.empty(self.shape, self.dtype) if out is None else out
        self._must_take(out)
        call("cls_copy_d2h", out.ctypes.data, self.buffer.handle, self.offset * self.dtype.itemsize, out.nbytes,
             stream_of(stream, self.context))
        return out

    def __array__(self, dtype=None, copy=None):
        host = self.to_host()
        return host if dtype is None else host.astype(dtype)

    def copy(self, stream=None):
        """A copy on the device."""
        out = empty(self.shape, self.dtype, stream, self.context)
        size = self.dtype.itemsize
        call("cls_copy_d2d_async", out.buffer.handle, 0, self.buffer.handle, self.offset * size, self.nbytes,
             stream_of(stream, self.context))
        return out

    def fill(self, value, stream=None):
        """Sets all elements."""
        element = numpy.array(value, self.dtype)
        call("cls_fill_async", self.buffer.handle, self.offset * element.nbytes, self.nbytes, element.ctypes.data,
             element.nbytes, stream_of(stream, self.context))
        return self

    def _must_fit(self, host):
        if host.size != self.size:
            raise ValueError(f"{host.size} elements for an array of {self.size}")

    def _must_take(self, host):
        self._must_fit(host)
        if host.dtype != self.dtype or not host.flags.c_contiguous or not host.flags.writeable:
            raise ValueError(f"the host array is not dense, writeable and of {self.dtype}")

    # ---- operations

    def astype(self, dtype, stream=None):
        """cls_cast: truncates and saturates to integers."""
        out = empty(self.shape, NUMPY_TYPES[dtype_number(dtype)], stream, self.context)
        call("cls_cast_async", self.view, out.view, stream_of(stream, self.context))
        return out

    def __add__(self, other):
        return _arithmetic("add", "add_scalar", self, other)

    __radd__ = __add__

    def __mul__(self, other):
        return _arithmetic("mul", "scale", self, other)

    __rmul__ = __mul__

    def __sub__(self, other):
        return _arithmetic("sub", None, self, other)

    def __rsub__(self, other):
        return binary("sub", full_like(self, other), self)

    def __truediv__(self, other):
        return _arithmetic("div", None, self, other)

    def __rtruediv__(self, other):
        return binary("div", full_like(self, other), self)

    def __neg__(self):
        return unary("neg", self)

    def __abs__(self):
        return unary("abs", self)

    def __pow__(self, exponent):
        return _arithmetic("pow", "powf", self, exponent)

    def __matmul__(self, other):
        return gemm(self, other)

    def __eq__(self, other):
        return _compare("eq", self, other)

    def __ne__(self, other):
        return _compare("ne", self, other)

    def __lt__(self, other):
        return _compare("lt", self, other)

    def __le__(self, other):
        return _compare("le", self, other)

    def __gt__(self, other):
        return _compare("gt", self, other)

    def __ge__(self, other):
        return _compare("ge", self, other)

    __hash__ = None

    def sum(self, stream=None):
        """The sum, as a NumPy scalar. Waits, as the other reductions do."""
        return reduce("sum", self, stream)

    def mean(self, stream=None):
        return reduce("mean", self, stream)

    def min(self, stream=None):
        return reduce("min", self, stream)

    def max(self, stream=None):
        return reduce("max", self, stream)

    def argmax(self, stream=None):
        return reduce("argmax", self, stream)

    def dot(self, other, stream=None):
        """The sum of the products of the elements, as a NumPy scalar. Waits."""
        _same_shape(self, other)
        out = numpy.empty((), NUMPY_TYPES[make("cls_reduce_result_dtype", OPS["reduce"]["sum"], DTYPES[self.dtype],
                                          type=ctypes.c_int)])
        call("cls_dot", self.view, other.view, out.ctypes.data, stream_of(stream, self.context))
        return out[()]


def _fit(shape, size):
    known = int(numpy.prod([length for length in shape if length != -1], dtype=numpy.int64))
    if shape.count(-1) == 1 and known and size % known == 0:
        shape = tuple(size // known if length == -1 else length for length in shape)
    if -1 in shape or int(numpy.prod(shape, dtype=numpy.int64)) != size:
        raise ValueError(f"{size} elements do not have the shape {shape}")
    return shape


# ---- making arrays

def empty(shape, dtype=numpy.float32, stream=None, context=None):
    """An array with undefined contents, in memory of the stream's order."""
    context = context or (stream.context if stream else default_context())
    shape = _shape(shape)
    dtype = NUMPY_TYPES[dtype_number(dtype)]
    nbytes = max(1, int(numpy.prod(shape, dtype=numpy.int64)) * dtype.itemsize)
    return Array(Buffer._of(make("cls_malloc_async", stream_of(stream, context), nbytes), context), shape, dtype)


def full(shape, value, dtype=numpy.float32, stream=None, context=None):
    """An array with all elements set to `value`."""
    return empty(shape, dtype, stream, context).fill(value, stream)


def zeros(shape, dtype=numpy.float32, stream=None, context=None):
    """An array of zeros."""
    return full(shape, 0, dtype, stream, context)


def full_like(array, value, stream=None):
    """An array of the same shape, type and context."""
    return full(array.shape, value, array.dtype, stream, array.context)


def to_device(host, stream=None, context=None):
    """Uploads a NumPy array, without a copy on the host if it is dense. Only submits: see Array.upload_async."""
    host = numpy.asarray(host)
    array = empty(host.shape, host.dtype, stream, context)
    array.upload_async(host, stream)
    return array


def pinned(shape, dtype=numpy.float32, context=None):
    """A NumPy array in pinned host memory, uninitialized: copies from and to it run at the full speed of the bus."""
    context = context or default_context()
    shape, dtype = _shape(shape), numpy.dtype(dtype)
    count = int(numpy.prod(shape, dtype=numpy.int64))
    memory = _Pinned(make("cls_host_alloc", context.handle, max(1, count * dtype.itemsize)), count * dtype.itemsize)
    return numpy.asarray(memory).view(dtype).reshape(shape)


class _Pinned:
    """Memory of cls_host_alloc. Arrays that view it keep it."""

    def __init__(self, address, nbytes):
        self.address = address
        self.__array_interface__ = {"data": (address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}

    def __del__(self):
        lib.cls_host_free(self.address)


# ---- operations by name

def _names(function):
    """The operations of a kind, by name: their numbers begin with 1."""
    found = {}
    for number in range(1, 1000):
        name = function(number).decode()
        if name == "?":
            return found
        found[name] = number


OPS = {"unary": _names(lib.cls_unary_op_name), "unary_param": _names(lib.cls_unary_param_op_name),
       "binary": _names(lib.cls_binary_op_name), "reduce": _names(lib.cls_reduce_op_name)}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def op_number(kind, name):
    """The number of an operation of a kind."""
    if name not in OPS[kind]:
        raise ValueError(f"no {kind} operation '{name}': {', '.join(OPS[kind])}")
    return OPS[kind][name]


def _same_shape(*arrays):
    if len({array.shape for array in arrays}) != 1:
        raise ValueError(f"shapes differ: {', '.join(str(array.shape) for array in arrays)}")


def unary(name, x, param=None, out=None, stream=None):
    """out = name(x), or name(x, param) for an operation with a parameter. `out` may be x; by default it is new."""
    number = op_number("unary" if param is None else "unary_param", name)
    out = empty(x.shape, x.dtype, stream, x.context) if out is None else out
    _same_shape(x, out)
    stream = stream_of(stream, x.context)
    if param is None:
        call("cls_unary_async", number, x.view, out.view, stream)
    else:
        call("cls_unary_param_async", number, x.view, out.view, param, stream)
    return out


def binary(name, a, b, out=None, stream=None):
    """out = name(a, b), of arrays with the same shape and type. Comparisons give uint8."""
    number = op_number("binary", name)
    dtype = numpy.uint8 if name in _COMPARISONS else a.dtype
    out = empty(a.shape, dtype, stream, a.context) if out is None else out
    _same_shape(a, b, out)
    call("cls_binary_async", number, a.view, b.view, out.view, stream_of(stream, a.context))
    return out


def where(condition, if_true, if_false, out=None, stream=None):
    """Elements of `if_true` where the condition (uint8, int32 or int64) is not 0, else of `if_false`."""
    out = empty(if_true.shape, if_true.dtype, stream, if_true.context) if out is None else out
    _same_shape(condition, if_true, if_false, out)
    call("cls_where_async", condition.view, if_true.view, if_false.view, out.view, stream_of(stream, if_true.context))
    return out


def reduce(name, x, stream=None):
    """A reduction of the whole array, as a NumPy scalar. Waits."""
    number = op_number("reduce", name)
    dtype = NUMPY_TYPES[make("cls_reduce_result_dtype", number, DTYPES[x.dtype], type=ctypes.c_int)]
    out = numpy.empty((), dtype)
    call("cls_reduce", number, x.view, out.ctypes.data, stream_of(stream, x.context))
    return out[()]


def gemm(a, b, out=None, alpha=1.0, beta=0.0, transpose_a=False, transpose_b=False, stream=None):
    """out = alpha op(a) op(b) + beta out, of matrices in float32 or float64, through CLBlast."""
    def matrix(x):
        if x.ndim != 2:
            raise ValueError(f"{x.ndim} axes: not a matrix")
        rows, columns = x.shape
        return capi.Matrix(x.buffer.handle, DTYPES[x.dtype], x.offset, rows, columns, columns, rows * columns)
    if out is None:
        shape = (a.shape[-1] if transpose_a else a.shape[0], b.shape[0] if transpose_b else b.shape[-1])
        out = empty(shape, a.dtype, stream, a.context)
    config = capi.GemmConfig(transpose_a=transpose_a, transpose_b=transpose_b, alpha=alpha, beta=beta, batches=1)
    call("cls_gemm_async", matrix(a), matrix(b), matrix(out), ctypes.byref(config), stream_of(stream, a.context))
    return out


def exact_parameter(dtype, number):
    """Whether a parameter, which the C functions take as a double, means this number in the type."""
    if dtype.kind == "f":
        return True
    if number != int(number):
        raise TypeError(f"{number} with an array of {dtype}: convert the array first (astype)")
    return 0 <= number < 2**53


def _arithmetic(of_arrays, with_number, x, other):
    """By the operation with a parameter, if there is one; else by that of two arrays."""
    if isinstance(other, Array):
        return binary(of_arrays, x, other)
    if exact_parameter(x.dtype, other) and with_number:
        return unary(with_number, x, float(other))
    return binary(of_arrays, x, full_like(x, other))


def _compare(name, x, other):
    return binary(name, x, other if isinstance(other, Array) else full_like(x, other))
