# SPDX-License-Identifier: MIT
"""Fourier transforms: plans for a shape, with the conventions of NumPy's fft module."""
import ctypes

from . import capi
from .arrays import Array, empty
from .capi import call, integer, make
from .elements import FLOAT32, dtype_number, element_type
from .streams import context_of, stream_of

_FORWARD, _INVERSE, _BOTH = 1, 2, 3


def fft_available():
    """Whether the library was built with VkFFT; without it there are no plans."""
    return capi.lib.cls_fft_available() != 0


class FFT(capi.Handle):
    """A plan for transforms of `shape`, one to three dimensions, of `batches` arrays at once. Arrays of complex numbers have
    a last axis of two elements, the real and the imaginary part. With `real`, signals are real arrays, and of the
    spectrum's last dimension there are the first n // 2 + 1 numbers, as of numpy.fft.rfftn."""

    _destroy = "cls_fft_plan_destroy"

    def __init__(self, shape, dtype=FLOAT32, *, real=False, batches=None, normalize=True, context=None):
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if not 1 <= len(shape) <= 3:
            raise ValueError(f"a transform of {len(shape)} dimensions: it has one to three")
        self.context = context_of(None, context)
        self.dtype = element_type(dtype)
        lengths = [integer(n, 1, name="a length") for n in shape]
        count = 1 if batches is None else integer(batches, 1, name="batches")
        front = () if batches is None else (count,)
        half = (*lengths[:-1], lengths[-1] // 2 + 1) if real else tuple(lengths)
        self.signal_shape = front + tuple(lengths) + (() if real else (2,))
        self.spectrum_shape = front + half + (2,)
        config = capi.FftConfig(kind=int(bool(real)), dtype=dtype_number(self.dtype), directions=_BOTH,
                                dims=len(lengths), lengths=(ctypes.c_size_t * 3)(*lengths), batches=count,
                                normalize=int(bool(normalize)))
        super().__init__(make("cls_fft_plan_create", self.context.handle, ctypes.byref(config)))

    def _transform(self, x, out, shapes, direction, stream):
        if not isinstance(x, Array):
            raise TypeError(f"a transform of {type(x).__name__}: pass an Array (to_device)")
        stream = stream_of(stream, self.context)
        if x.shape != shapes[0] or x.dtype != self.dtype:
            raise ValueError(f"a transform of {x.dtype} {x.shape}: the plan takes {self.dtype} {shapes[0]}")
        if out is None:
            out = empty(shapes[1], self.dtype, stream)
        elif out.shape != shapes[1]:
            raise ValueError(f"a result of {out.shape}: the plan gives {shapes[1]}")
        call("cls_fft_async", self.handle, x.view, out.view, direction, stream.handle)
        return out

    def forward(self, x, out=None, stream=None):
        """The spectrum of a signal; only submits. `out` may be x, unless the plan is real."""
        return self._transform(x, out, (self.signal_shape, self.spectrum_shape), _FORWARD, stream)

    def inverse(self, x, out=None, stream=None):
        """The signal of a spectrum, divided by the number of its elements unless the plan was made with normalize=False."""
        return self._transform(x, out, (self.spectrum_shape, self.signal_shape), _INVERSE, stream)
