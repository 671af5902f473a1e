# SPDX-License-Identifier: MIT
"""Device memory, and pinned memory of the host."""
import ctypes
import math

import numpy

from . import capi
from .capi import integer, lib, make
from .streams import context_of


class Buffer(capi.Handle):
    """Device memory."""

    _destroy = "cls_buffer_destroy"

    def __init__(self, nbytes, context=None):
        self.context = context_of(None, context)
        super().__init__(make("cls_buffer_create", self.context.handle, nbytes))

    @classmethod
    def _of(cls, handle, context):
        buffer = cls.__new__(cls)
        capi.Handle.__init__(buffer, handle)
        buffer.context = context
        return buffer

    @classmethod
    def in_order(cls, nbytes, stream):
        """Stream-ordered memory: for work that is submitted to the stream from now on."""
        return cls._of(make("cls_malloc_async", stream.handle, max(1, nbytes)), stream.context)

    @classmethod
    def shareable(cls, nbytes, context=None):
        """Device memory that other contexts, and other processes, can open."""
        context = context_of(None, context)
        return cls._of(make("cls_buffer_create_shareable", context.handle, nbytes), context)

    @classmethod
    def from_fd(cls, fd, nbytes, context=None):
        """The memory of a buffer of `nbytes` bytes that another process has exported. The descriptor stays the
        caller's."""
        context = context_of(None, context)
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
    def pointer(self):
        """The pointer to the first byte, a number: for functions in C that take device pointers (clstream/pointer.h)."""
        return make("cls_buffer_get_pointer", self.handle)

    @property
    def address(self):
        """The address at which kernels see the first byte."""
        return make("cls_buffer_get_address", self.handle, type=ctypes.c_uint64)

    @property
    def nbytes(self):
        return make("cls_buffer_get_size", self.handle, type=ctypes.c_size_t)


def shape_of(shape):
    """A shape, from one length or a sequence of them."""
    try:
        lengths = tuple(shape)
    except TypeError:
        lengths = (shape,)
    return tuple(integer(length, 0, 2**63 - 1, "a length") for length in lengths)


def bytes_of(shape, dtype):
    """The size of an array in bytes."""
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes >= 2**63:
        raise ValueError(f"an array of the shape {shape} is too large")
    return nbytes


class _Pinned:
    """Memory of cls_host_alloc. Arrays that view it keep it."""

    def __init__(self, address, nbytes):
        self.address = address
        self.__array_interface__ = {"data": (address, False), "shape": (nbytes,), "typestr": "|u1", "version": 3}

    def __del__(self):
        lib.cls_host_free(self.address)


def pinned(shape, dtype=numpy.float32, context=None):
    """A NumPy array in pinned host memory, uninitialized: copies from and to it run at the full speed of the bus."""
    context = context_of(None, context)
    shape, dtype = shape_of(shape), numpy.dtype(dtype)
    nbytes = bytes_of(shape, dtype)
    memory = _Pinned(make("cls_host_alloc", context.handle, max(1, nbytes)), nbytes)
    return numpy.asarray(memory).view(dtype).reshape(shape)
