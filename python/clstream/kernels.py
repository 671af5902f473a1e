# SPDX-License-Identifier: MIT
"""Kernels of your own."""
import ctypes

import numpy

from . import capi
from .capi import call, integer, make
from .images import Image, Sampler
from .memory import Buffer
from .streams import context_of, stream_of

_BUFFER, _VALUE, _LOCAL, _PART, _IMAGE, _SAMPLER, _ADDRESS = range(7)
_TYPES = {"f": 2, "i": 1, "u": 1}  # cls_arg_type by NumPy's kind


class Local:
    """__local memory as a kernel's argument, by its size in bytes."""

    def __init__(self, nbytes):
        self.nbytes = integer(nbytes, name="the size of __local memory")


class Address:
    """The address of a Buffer or Array as a kernel's argument, a ulong, `offset` bytes further on. The launch keeps it."""

    def __init__(self, memory, offset=0):
        self.buffer = getattr(memory, "buffer", memory)
        start = memory.offset * memory.dtype.itemsize if hasattr(memory, "dtype") else 0
        self.offset = start + integer(offset, name="an offset")


class Program(capi.Handle):
    """A built program, from OpenCL C or from a file (Program.load)."""

    _destroy = "cls_program_destroy"

    def __init__(self, source, name=None, options=None, context=None):
        self.context = context_of(None, context)
        super().__init__(make("cls_program_from_source", self.context.handle, source.encode(), name and name.encode(),
                              options and options.encode()))

    @classmethod
    def load(cls, path, options=None, context=None):
        """Builds a .cl file."""
        program = cls.__new__(cls)
        program.context = context_of(None, context)
        capi.Handle.__init__(program, make("cls_program_load", program.context.handle, str(path).encode(),
                                           options and options.encode()))
        return program

    @classmethod
    def from_il(cls, il, name=None, options=None, context=None):
        """Builds a program from SPIR-V, as bytes."""
        program = cls.__new__(cls)
        program.context = context_of(None, context)
        il = bytes(il)
        capi.Handle.__init__(program, make("cls_program_from_il", program.context.handle, il, len(il),
                                           name and name.encode(), options and options.encode()))
        return program

    @classmethod
    def from_binary(cls, binary, context=None):
        """Makes a program from the bytes of Program.binary."""
        program = cls.__new__(cls)
        program.context = context_of(None, context)
        binary = bytes(binary)
        capi.Handle.__init__(program, make("cls_program_from_binary", program.context.handle, binary, len(binary)))
        return program

    @property
    def binary(self):
        """The program as bytes, for this device and this version of its driver."""
        size = ctypes.c_size_t()
        call("cls_program_get_binary", self.handle, None, 0, ctypes.byref(size))
        memory = ctypes.create_string_buffer(size.value)
        call("cls_program_get_binary", self.handle, memory, size.value, ctypes.byref(size))
        return memory.raw

    def kernel(self, name):
        """The kernel of this name."""
        return Kernel(make("cls_kernel_create", self.handle, name.encode()), self.context)


class Kernel(capi.Handle):
    """A kernel. Calling it launches it; arguments belong to a launch, so threads may share a kernel."""

    _destroy = "cls_kernel_destroy"

    def __init__(self, handle, context):
        self.context = context
        super().__init__(handle)

    def __call__(self, size, *args, local=None, offset=None, stream=None, reaches=()):
        """Submits a launch of `size` work-items, a number or up to three, in groups of `local`, which
        get_global_id counts from `offset`. An argument is an Array, a Buffer, an Image, a Sampler, a NumPy scalar or a
        NumPy array of no axes (a value of exactly its type), bytes (a struct),
        Local, Address, or None (a null pointer). `reaches`: the Buffers and Arrays that the kernel reaches through
        addresses in memory, which are kept and checked as arguments are."""
        launch(self.handle, size, args, stream_of(stream, self.context), local, offset, reaches)

    @property
    def info(self):
        """What the driver states of the kernel, as a dictionary: most work-items of a group, memory, arguments."""
        info = capi.KernelInfo()
        call("cls_kernel_get_info", self.handle, ctypes.byref(info))
        values = {name: getattr(info, name) for name, _ in info._fields_[1:]}
        return {**values, "required_group": tuple(info.required_group)}

    def arg_info(self, position):
        """An argument as the source declares it, as a dictionary."""
        info = capi.KernelArgInfo()
        call("cls_kernel_get_arg_info", self.handle, integer(position, name="a position"), ctypes.byref(info))
        values = {name: getattr(info, name) for name, _ in info._fields_[1:]}
        return {name: value.decode(errors="replace") if isinstance(value, bytes) else value
                for name, value in values.items()}

    def suggest_local(self, size):
        """The size of work-groups that a launch of this size would have, as a tuple; None: the driver chooses."""
        local = (ctypes.c_size_t * 3)()
        shape = _shape(size, None, None)
        call("cls_kernel_suggest_local", self.handle, ctypes.byref(shape), local)
        return tuple(local[:shape.dims]) if local[0] else None


def _sizes(size, name):
    sizes = tuple(size) if isinstance(size, (tuple, list, numpy.ndarray)) and numpy.ndim(size) else (size,)
    return [integer(length, name=name) for length in sizes]


def _shape(size, local, offset):
    shape = capi.Launch()
    sizes = _sizes(size, "a number of work-items")
    locals_ = [] if local is None else _sizes(local, "a size of work-groups")
    offsets = [0] * len(sizes) if offset is None else _sizes(offset, "an offset")
    if not 1 <= len(sizes) <= 3 or len(locals_) not in (0, len(sizes)):
        raise ValueError(f"a size of {len(sizes)} dimensions, and a local size of {len(locals_)}")
    if len(offsets) != len(sizes):
        raise ValueError(f"a size of {len(sizes)} dimensions, and an offset of {len(offsets)}")
    shape.dims = len(sizes)
    getattr(shape, "global")[:] = [*sizes, 1, 1][:3]
    shape.local[:] = [*locals_, 1, 1][:3] if locals_ else [0, 0, 0]
    shape.offset[:] = [*offsets, 0, 0][:3]
    return shape


def _set_reaches(shape, reaches):
    """The list that the shape names, to be kept until the call."""
    list_ = (capi.Arg * max(1, len(reaches)))()
    for out, value in zip(list_, reaches):
        buffer = getattr(value, "buffer", value)
        if not isinstance(buffer, Buffer):
            raise TypeError(f"a kernel reaches Buffers and Arrays, not {type(value).__name__}")
        out.kind, out.u.buffer = _BUFFER, buffer.handle
    shape.reaches, shape.n_reaches = ctypes.addressof(list_), len(reaches)
    return list_


def launch(kernel, size, args, stream, local=None, offset=None, reaches=()):
    """Submits a launch of a kernel (a handle)."""
    shape, held = _shape(size, local, offset), []
    held.append(_set_reaches(shape, reaches))
    list_ = (capi.Arg * max(1, len(args)))()
    for i, (out, value) in enumerate(zip(list_, args)):
        _set(out, value, i, held)
    call("cls_kernel_launch_async", kernel, ctypes.byref(shape), list_, len(args), stream.handle)


def _set(out, value, position, held):
    if value is None or isinstance(value, Buffer):
        out.kind, out.u.buffer = _BUFFER, value.handle if value else None
    elif isinstance(value, Image):
        out.kind, out.u.image = _IMAGE, value.handle
    elif isinstance(value, Sampler):
        out.kind, out.size = _SAMPLER, ctypes.sizeof(capi.SamplerValue)
        out.u.sampler = capi.SamplerValue(*value.values)
    elif isinstance(value, Address):
        out.kind, out.type, out.size = _ADDRESS, _TYPES["u"], 8
        out.u.part = capi.Part(value.buffer.handle, value.offset)
    elif isinstance(value, Local):
        out.kind, out.size = _LOCAL, value.nbytes
    elif isinstance(value, (numpy.generic, bytes)) or isinstance(value, numpy.ndarray) and value.ndim == 0:
        if not isinstance(value, bytes):
            value = numpy.asarray(value)
            value = value.astype(value.dtype.newbyteorder("="))
        content = value if isinstance(value, bytes) else value.tobytes()
        out.kind, out.size = _VALUE, len(content)
        out.type = 0 if isinstance(value, bytes) else _TYPES.get(value.dtype.kind, 0)
        if len(content) <= ctypes.sizeof(out.u.bytes):
            ctypes.memmove(out.u.bytes, content, len(content))
        else:
            held.append(ctypes.create_string_buffer(content, len(content)))  # read during the call
            out.u.pointer = ctypes.addressof(held[-1])
    elif hasattr(value, "buffer") and hasattr(value, "offset"):  # an Array
        if value.offset:
            out.kind, out.size = _PART, value.nbytes
            out.u.part = capi.Part(value.buffer.handle, value.offset * value.dtype.itemsize)
        else:
            out.kind, out.u.buffer = _BUFFER, value.buffer.handle
    else:
        raise TypeError(f"argument {position} is {type(value).__name__}: pass an Array, Buffer or Image, or a number with its "
                        "type, such as numpy.float32(2)")
