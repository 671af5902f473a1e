# SPDX-License-Identifier: MIT
"""CUDA-style streams on every OpenCL device, from NumPy.

    import clstream as cs
    import numpy as np

    stream = cs.Stream()
    with stream:
        x = cs.to_device(np.arange(4, dtype=np.float32))
        y = cs.relu(x * 2 - 3)
        print(y.to_host())

Operations only submit; to_host(), reductions and synchronize() wait. A call that fails raises Error, with the status and
the detail of the C library. Its guide and headers say what each call promises.
"""
from .arrays import (OPS, Array, Buffer, binary, empty, full, full_like, gemm, pinned, reduce, to_device, unary, where,
                     zeros)
from .batches import Batch, Value
from .capi import Error, Status, lib
from .kernels import Kernel, Local, Program
from .streams import Context, Event, Stream, Timeline, current_stream, default_context, devices

#: Version of the C library.
version = lib.cls_version_string().decode()


def _named(kind, name):
    if kind == "binary":
        def operation(a, b, out=None, stream=None):
            return binary(name, a, b, out, stream)
    elif kind == "unary_param":
        def operation(x, param, out=None, stream=None):
            return unary(name, x, param, out, stream)
    else:
        def operation(x, out=None, stream=None):
            return unary(name, x, None, out, stream)
    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = f"The {kind} operation '{name}' of the C library, as {kind.split('_')[0]}(\"{name}\", ...)."
    return operation


# relu(x), elu(x, 1.0), add(a, b) ...: the operations by their names.
for _kind in ("unary", "unary_param", "binary"):
    for _name in OPS[_kind]:
        globals()[_name] = _named(_kind, _name)
del _kind, _name
