# SPDX-License-Identifier: MIT
"""CUDA-style streams on every OpenCL device, from NumPy.

    import clstream as cs
    import numpy as np

    stream = cs.Stream()
    with stream:
        x = cs.to_device(np.arange(4, dtype=np.float32))
        y = cs.relu(x * 2 - 3)
        print(y.to_host())

Operations only submit; to_host(), methods that give NumPy scalars and synchronize() wait. A call that fails raises Error,
with the status and the detail of the C library. Its guide and headers say what each call promises. Functions that the
Python array API names behave as it says.
"""
from math import e, inf, nan, pi
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import functions as _functions
from .arrays import OPS, Array, empty, full, to_device
from .batches import Batch, Value
from .capi import Error, Status, lib
from .functions import binary, clip, reduce, unary, where
from .generators import Random
from .graphs import Capture, Graph, GraphExec
from .images import Image, Sampler
from .indices import add_at
from .kernels import Address, Kernel, Local, Program
from .memory import Buffer, pinned
from .optimizers import SGD, AdamW
from .pools import StreamPool
from .reductions import all, any, argmax, argmin, count_nonzero, mean, prod, std, sum, var
from .reductions import max as _greatest
from .reductions import min as _least
from .rows import (cross_entropy, cross_entropy_gradient, layer_norm, layer_norm_gradient, log_softmax, rms_norm,
                   rms_norm_gradient, softmax)
from .sorts import argsort, sort, top_k
from .histograms import histogram, searchsorted
from .scans import compact, compact_if, cumulative_sum, partition, reduce_by_key, run_length_encode, scan, unique
from .standard import (__array_namespace_info__, arange, asarray, astype, broadcast_arrays, broadcast_shapes,
                       broadcast_to, can_cast, concat, diff, empty_like, expand_dims, eye, finfo, flip, from_dlpack,
                       full_like, gemm, iinfo, isdtype, linspace, matmul, matrix_transpose, meshgrid, moveaxis, ones,
                       ones_like, permute_dims, repeat, reshape, result_type, roll, squeeze, stack, take, tensordot, tile, tril,
                       triu, unstack, vecdot, zeros, zeros_like)
from .streams import Context, Event, Stream, Timeline, current_stream, default_context, devices, has_extension
from .transforms import FFT, fft_available
from .elements import BOOL as bool
from .elements import FLOAT16 as float16
from .elements import FLOAT32 as float32
from .elements import FLOAT64 as float64
from .elements import INT8 as int8
from .elements import INT16 as int16
from .elements import INT32 as int32
from .elements import INT64 as int64
from .elements import UINT8 as uint8
from .elements import UINT16 as uint16
from .elements import UINT32 as uint32

__version__ = "0.9.0"
#: Version of the C library.
version = lib.cls_version_string().decode()
#: Version of the Python array API.
__array_api_version__ = "2023.12"
#: An index that adds an axis.
newaxis = None


def _of_one(name):
    def function(x, /, out=None, stream=None):
        return _functions.elementwise_unary(name, x, out, stream)
    return function


def _of_two(name):
    def function(a, b, /, out=None, stream=None):
        return _functions.elementwise_binary(name, a, b, out, stream)
    return function


def _c_unary(name):
    def function(x, out=None, stream=None):
        return unary(name, x, None, out, stream)
    return function


def _c_unary_param(name):
    def function(x, param, out=None, stream=None):
        return unary(name, x, param, out, stream)
    return function


def _c_binary(name):
    def function(a, b, out=None, stream=None):
        return binary(name, a, b, out, stream)
    return function


def _define(names, make, text):
    for name in names:
        if name in globals():
            continue
        function = globals()[name] = make(name)
        function.__name__ = function.__qualname__ = name
        function.__module__ = __name__
        function.__doc__ = text.format(name=name)


def max(x, other=None, /, *, axis=None, keepdims=False, out=None, stream=None):
    """The greatest elements over axes, as an Array; of two operands the greater elements, as maximum()."""
    if other is None:
        return _greatest(x, axis=axis, keepdims=keepdims, stream=stream)
    return _functions.elementwise_binary("maximum", x, other, out, stream)


def min(x, other=None, /, *, axis=None, keepdims=False, out=None, stream=None):
    """The least elements over axes, as an Array; of two operands the lesser elements, as minimum()."""
    if other is None:
        return _least(x, axis=axis, keepdims=keepdims, stream=stream)
    return _functions.elementwise_binary("minimum", x, other, out, stream)


# First the names of the Python array API, then relu(x), elu(x, 1.0), sub(a, b) ...: the operations of the C library.
_define(_functions.UNARY, _of_one, "{name}(x) of the Python array API, element by element.")
_define(_functions.BINARY, _of_two, "{name}(a, b) of the Python array API, element by element.")
_define(OPS["unary"], _c_unary, "The unary operation '{name}' of the C library.")
_define(OPS["unary_param"], _c_unary_param, "The unary operation '{name}' of the C library, which has a parameter.")
_define(OPS["binary"], _c_binary, "The binary operation '{name}' of the C library.")

if _TYPE_CHECKING:  # the names that _define makes are not in the text, where type checkers look
    from typing import Any

    def __getattr__(name: str) -> Any: ...
