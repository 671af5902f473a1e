# SPDX-License-Identifier: MIT
"""Batches: a recorded chain of operations runs as few kernels, and moves the data once."""
import ctypes

import numpy

from . import capi
from .arrays import NUMPY_TYPES, Array, dtype_number, exact_parameter, op_number
from .capi import call, make
from .streams import default_context, stream_of


def _value(name, batch, *args):
    return Value(batch, make(name, batch.handle, *args, type=ctypes.c_uint64))


class Batch(capi.Handle):
    """A recorded chain of operations. Recording computes nothing."""

    _destroy = "cls_batch_destroy"

    def __init__(self, context=None):
        self.context = context or default_context()
        self._memory = {}  # of inputs, by value
        super().__init__(make("cls_batch_create", self.context.handle, None))

    def upload(self, host):
        """A NumPy array as an input. It must not be changed until an execution has succeeded."""
        host = numpy.ascontiguousarray(host)
        value = _value("cls_batch_upload", self, host.ctypes.data, dtype_number(host.dtype), host.size)
        self._memory[value.number] = host
        return value

    def array(self, array):
        """A device array as an input."""
        return _value("cls_batch_array", self, array.view)

    def scalar(self, value):
        """A constant as an input: a NumPy scalar, which says the type."""
        element = numpy.array(value)
        return _value("cls_batch_scalar", self, dtype_number(element.dtype), element.ctypes.data)

    def bind(self, value, to):
        """Gives another array or constant to an input, from the next execution on."""
        if isinstance(to, Array):
            call("cls_batch_bind_array", self.handle, value.number, to.view)
            return
        host = numpy.ascontiguousarray(to, value.dtype)
        if value.number in self._memory:
            if host.size != value.size:
                raise ValueError(f"{host.size} elements for an input of {value.size}")
            call("cls_batch_bind_upload", self.handle, value.number, host.ctypes.data)
            self._memory[value.number] = host
        else:
            call("cls_batch_bind_scalar", self.handle, value.number, host.ctypes.data)

    def unary(self, name, x, param=None):
        """Records an operation of one array."""
        if param is None:
            return _value("cls_batch_unary", self, op_number("unary", name), x.number)
        return _value("cls_batch_unary_param", self, op_number("unary_param", name), x.number, param)

    def binary(self, name, a, b):
        """Records an operation of two arrays."""
        return _value("cls_batch_binary", self, op_number("binary", name), a.number, b.number)

    def where(self, condition, if_true, if_false):
        """Records a selection."""
        return _value("cls_batch_where", self, condition.number, if_true.number, if_false.number)

    def gemm(self, a, b, rows, columns, inner):
        """Records the product of `rows` x `inner` by `inner` x `columns` elements."""
        return _value("cls_batch_gemm", self, a.number, b.number, rows, columns, inner, None)

    def execute(self, stream=None):
        """Submits an execution."""
        call("cls_batch_execute_async", self.handle, stream_of(stream, self.context))

    def source(self, region=0):
        """The OpenCL C generated for a region."""
        return capi.text_of("cls_batch_get_source", self.handle, region)


class Value:
    """A value of a batch."""

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
        info = self._info
        out = numpy.empty(() if info.is_scalar else info.count, NUMPY_TYPES[info.dtype])
        call("cls_batch_read", self.batch.handle, self.number, out.ctypes.data)
        return out

    def astype(self, dtype):
        return _value("cls_batch_cast", self.batch, self.number, dtype_number(dtype))

    def dot(self, other):
        return _value("cls_batch_dot", self.batch, self.number, other.number)

    def reduce(self, name):
        """A reduction: "sum", "min", "max", "mean" or "argmax"."""
        return _value("cls_batch_reduce", self.batch, op_number("reduce", name), self.number)

    def sum(self):
        return self.reduce("sum")

    def _with(self, of_values, with_number, other):
        if not isinstance(other, Value) and not (exact_parameter(self.dtype, other) and with_number):
            other = self.batch.scalar(self.dtype.type(other))
        if isinstance(other, Value):
            return self.batch.binary(of_values, self, other)
        return self.batch.unary(with_number, self, float(other))

    def __add__(self, other):
        return self._with("add", "add_scalar", other)

    __radd__ = __add__

    def __mul__(self, other):
        return self._with("mul", "scale", other)

    __rmul__ = __mul__

    def __neg__(self):
        return self.batch.unary("neg", self)

    def __sub__(self, other):
        return self._with("sub", None, other)

    def __rsub__(self, other):
        return self.batch.scalar(self.dtype.type(other)) - self

    def __truediv__(self, other):
        return self._with("div", None, other)

    def __getattr__(self, name):
        """relu(), exp() ... : the operations without a parameter and, with one, elu(p), powf(p) ..."""
        def record(*param):
            return self.batch.unary(name, self, *param)
        if name.startswith("_"):
            raise AttributeError(name)
        return record
