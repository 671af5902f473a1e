# SPDX-License-Identifier: MIT
"""Batches: a recorded chain of operations runs as few kernels, and moves the data once."""
import ctypes

import numpy

from . import capi, pending
from .arrays import OPS, Array, host_array, op_number
from .capi import call, make
from .streams import context_of, stream_of
from .elements import NUMPY_TYPES, dtype_number, exact_parameter, is_number, result_type, scalar_of


def _value(name, batch, *args):
    return Value(batch, make(name, batch.handle, *args, type=ctypes.c_uint64))


class Batch(capi.Handle):
    """A recorded chain of operations. Recording computes nothing."""

    _destroy = "cls_batch_destroy"

    def __init__(self, context=None):
        self.context = context_of(None, context)
        self._memory = {}  # of inputs, by value: what the next execution uploads
        self._latest = None  # the event and the stream of the latest execution
        super().__init__(make("cls_batch_create", self.context.handle, None))

    def upload(self, host):
        """A NumPy array as an input. It is kept as long as executions may read it, and must not be changed until one has
        succeeded. A value has a number of elements, and no shape."""
        host = host_array(host)
        value = _value("cls_batch_upload", self, host.ctypes.data, dtype_number(host.dtype), host.size)
        self._memory[value.number] = host
        return value

    def array(self, array):
        """A device array as an input."""
        return _value("cls_batch_array", self, array.view)

    def scalar(self, value):
        """A constant as an input: a NumPy scalar, which says the type."""
        element = numpy.array(value)
        if element.ndim:
            raise TypeError(f"an array of the shape {element.shape} is no constant: upload() it")
        return _value("cls_batch_scalar", self, dtype_number(element.dtype), element.ctypes.data)

    def bind(self, value, to):
        """Gives another array or constant to an input, from the next execution on."""
        if isinstance(to, Array):
            call("cls_batch_bind_array", self.handle, value.number, to.view)
            return
        if value.number in self._memory:
            host = host_array(to, value.dtype)
            if host.size != value.size:
                raise ValueError(f"{host.size} elements for an input of {value.size}")
            call("cls_batch_bind_upload", self.handle, value.number, host.ctypes.data)
            self._memory[value.number] = host
        else:
            element = numpy.array(scalar_of(value.dtype, to))
            call("cls_batch_bind_scalar", self.handle, value.number, element.ctypes.data)

    def unary(self, name, x, param=None):
        """Records an operation of one array."""
        if param is None:
            return _value("cls_batch_unary", self, op_number("unary", name), x.number)
        return _value("cls_batch_unary_param", self, op_number("unary_param", name), x.number,
                      float(scalar_of(x.dtype, param)))

    def binary(self, name, a, b):
        """Records an operation of two arrays."""
        return _value("cls_batch_binary", self, op_number("binary", name), a.number, b.number)

    def where(self, condition, if_true, if_false):
        """Records a selection."""
        return _value("cls_batch_where", self, condition.number, if_true.number, if_false.number)

    def binary_rows(self, name, x, row):
        """Records an operation of an array and one row for all of its rows, as `x + row` of a matrix is in NumPy."""
        return _value("cls_batch_binary_rows", self, op_number("binary", name), x.number, row.number)

    def binary_columns(self, name, x, column):
        """Records an operation of an array and one column for all of its columns."""
        return _value("cls_batch_binary_columns", self, op_number("binary", name), x.number, column.number)

    def reduce_rows(self, name, x, columns):
        """Records a reduction of each row of `columns` elements."""
        return _value("cls_batch_reduce_rows", self, op_number("reduce", name), x.number, columns)

    def reduce_columns(self, name, x, columns):
        """Records a reduction of each of the columns of rows of `columns` elements."""
        return _value("cls_batch_reduce_columns", self, op_number("reduce", name), x.number, columns)

    def softmax(self, x, columns):
        """Records the softmax of each row of `columns` elements."""
        return _value("cls_batch_softmax", self, x.number, columns)

    def log_softmax(self, x, columns):
        """Records the logarithms of the softmax."""
        return _value("cls_batch_log_softmax", self, x.number, columns)

    def layer_norm(self, x, columns, gain, shift, epsilon=1e-5):
        """Records the normalization of each row by its mean and variance."""
        return _value("cls_batch_layer_norm", self, x.number, columns, gain.number, shift.number, epsilon)

    def rms_norm(self, x, columns, gain, epsilon=1e-5):
        """Records the normalization of each row by its mean square."""
        return _value("cls_batch_rms_norm", self, x.number, columns, gain.number, epsilon)

    def dropout(self, random, x, probability, mask=False):
        """Records a dropout by a cs.Random; each execution draws anew. With `mask`: (y, mask), else y alone."""
        kept = ctypes.c_uint64()
        y = _value("cls_batch_dropout", self, random.handle, x.number, probability,
                   ctypes.byref(kept) if mask else None)
        return (y, Value(self, kept.value)) if mask else y

    def gemm(self, a, b, rows, columns, inner):
        """Records the product of `rows` x `inner` by `inner` x `columns` elements."""
        return _value("cls_batch_gemm", self, a.number, b.number, rows, columns, inner, None)

    def execute(self, stream=None):
        """Submits an execution."""
        stream = stream_of(stream, self.context)
        used = (self, tuple(self._memory.values()))
        event = pending.submit(stream, used, "cls_batch_execute_async", self.handle, stream.handle)
        self._latest = event and (event, stream)

    def source(self, region=0):
        """The OpenCL C generated for a region."""
        return capi.text_of("cls_batch_get_source", self.handle, region)


class Value:
    """A value of a batch."""

    __array_ufunc__ = None  # NumPy's operators leave `numpy_array + value` to this class

    def __init__(self, batch, number):
        self.batch, self.number = batch, number

    @property
    def _info(self):
        info = capi.ValueInfo()
        call("cls_batch_get_value", self.batch.handle, self.number, ctypes.byref(info))
        return info

    @property
    def dtype(self):
        return NUMPY_TYPES[self._info.dtype]

    @property
    def size(self):
        return self._info.count

    def keep(self):
        """Makes it a result though an operation takes it."""
        call("cls_batch_keep", self.batch.handle, self.number)
        return self

    def store(self, array):
        """Makes it a result that executions write to a device array."""
        call("cls_batch_store", self.batch.handle, self.number, array.view)
        return self

    def read(self):
        """The result of the latest execution, as a NumPy array (without axes for a scalar). Waits."""
        info, latest = self._info, self.batch._latest
        if latest:
            pending.wait_for(*latest)
        out = numpy.empty(() if info.is_scalar else info.count, NUMPY_TYPES[info.dtype])
        call("cls_batch_read", self.batch.handle, self.number, out.ctypes.data)
        return out

    def astype(self, dtype):
        return _value("cls_batch_cast", self.batch, self.number, dtype_number(dtype))

    def dot(self, other):
        return _value("cls_batch_dot", self.batch, self.number, other.number)

    def reduce(self, name):
        """A reduction: "sum", "min", "max", "mean", "argmax", "argmin", "any" or "all"."""
        return _value("cls_batch_reduce", self.batch, op_number("reduce", name), self.number)

    def sum(self):
        return self.reduce("sum")

    def _operand(self, other):
        """Another operand as a value of the batch: a value, a device array, a NumPy array (which is copied) or a number
        of this value's type."""
        if isinstance(other, Value):
            return other
        if isinstance(other, Array):
            return self.batch.array(other)
        if isinstance(other, numpy.ndarray):
            return self.batch.upload(other.copy()) if other.size != 1 else self.batch.scalar(other.reshape(())[()])
        return self.batch.scalar(scalar_of(self.dtype, other))

    def _with(self, name, with_number, other, reflected=False):
        if not (isinstance(other, (Value, Array, numpy.ndarray)) or is_number(other)):
            return NotImplemented
        if with_number and is_number(other):
            element = scalar_of(self.dtype, other)
            if exact_parameter(element):
                return self.batch.unary(with_number, self, element)
        values = (self._operand(other), self) if reflected else (self, self._operand(other))
        dtype = result_type(*(value.dtype for value in values))
        return self.batch.binary(name, *(value if value.dtype == dtype else value.astype(dtype) for value in values))

    __hash__ = None

    def __bool__(self):
        raise TypeError("a value of a batch is not known while it is recorded")

    def __neg__(self):
        return self.batch.unary("neg", self)

    def __abs__(self):
        return self.batch.unary("abs", self)

    def __getattr__(self, name):
        """relu(), exp() ... : the operations without a parameter and, with one, elu(p), powf(p) ..."""
        if name not in OPS["unary"] and name not in OPS["unary_param"]:
            raise AttributeError(f"a value has no operation '{name}'")
        return lambda *param: self.batch.unary(name, self, *param)


_OPERATORS = {"add": "add_scalar", "sub": None, "mul": "scale", "truediv": None, "pow": "powf"}
_COMMUTE = ("add", "mul")


def _operator(name, with_number, reflected):
    def operator(self, other):
        return self._with(name, with_number, other, reflected)
    return operator


for _name, _with_number in _OPERATORS.items():
    _op = _name.replace("truediv", "div")
    setattr(Value, f"__{_name}__", _operator(_op, _with_number, False))
    setattr(Value, f"__r{_name}__", _operator(_op, _with_number if _name in _COMMUTE else None, True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Value, f"__{_name}__", _operator(_name, None, False))
