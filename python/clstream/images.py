# SPDX-License-Identifier: MIT
"""Images, which kernels read through samplers."""
import ctypes

import numpy

from . import capi
from .capi import call, make
from .streams import context_of, stream_of

_KINDS = {1: 1, 2: 2, 3: 3}  # cls_image_kind by the number of dimensions
_ARRAYS = {2: 4, 3: 5}
_ORDERS = {1: 1, 2: 3, 4: 6}  # cls_channel_order by the number of channels
_TYPES = {"int8": 8, "int16": 9, "int32": 10, "uint8": 11, "uint16": 12, "uint32": 13, "float16": 14, "float32": 15}
_NORMALIZED = {"int8": 1, "int16": 2, "uint8": 3, "uint16": 4}  # read as -1 to 1, or 0 to 1

ADDRESSING = {"none": 0, "border": 1, "edge": 2, "repeat": 3, "mirror": 4}
FILTERS = {"nearest": 0, "linear": 1}


class Sampler:
    """A sampler_t as a kernel's argument. `addressing` says what is outside the image: "none", "border", "edge", "repeat"
    or "mirror"; with `normalized` coordinates go from 0 to 1."""

    def __init__(self, addressing="edge", filter="nearest", normalized=False):  # pylint: disable=redefined-builtin
        self.values = (int(normalized), ADDRESSING[addressing], FILTERS[filter])


class Image(capi.Handle):
    """Device memory of texels, with undefined contents. The shape is NumPy's: (height, width, channels), with fewer or more
    dimensions before the channels, of which there are 1, 2 or 4. Integers are read by read_imagei and read_imageui, and as
    floats if `normalized`; with `layers` the first dimension counts the layers of an array of images."""

    _destroy = "cls_image_destroy"

    def __init__(self, shape, dtype, normalized=False, layers=False, context=None):
        self.context = context_of(None, context)
        self.shape, self.dtype = tuple(shape), numpy.dtype(dtype)
        *extents, channels = self.shape
        kind = (_ARRAYS if layers else _KINDS).get(len(extents))
        type_ = (_NORMALIZED if normalized else _TYPES).get(self.dtype.name)
        if not kind or not type_ or channels not in _ORDERS:
            raise ValueError(f"no image has the shape {self.shape} of {self.dtype.name}")
        width, height, depth = [*reversed(extents), 1, 1][:3]
        what = capi.ImageShape(kind, capi.ImageFormat(_ORDERS[channels], type_), 0, width, height, depth)
        super().__init__(make("cls_image_create", self.context.handle, ctypes.byref(what)))

    @classmethod
    def from_host(cls, array, normalized=False, layers=False, stream=None, context=None):
        """An image of the texels of an array."""
        array = numpy.ascontiguousarray(array)
        stream = stream_of(stream, context_of(stream, context))
        image = cls(array.shape, array.dtype, normalized, layers, stream.context)
        image.upload(array, stream)
        return image

    def upload(self, array, stream=None):
        """Copies an array of the image's shape and type to it, and waits for the copy."""
        array = numpy.ascontiguousarray(array)
        if array.shape != self.shape or array.dtype != self.dtype:
            raise ValueError(f"an array of {array.shape} for an image of {self.shape}")
        call("cls_image_from_host", self.handle, array.ctypes.data, None, stream_of(stream, self.context).handle)

    def to_host(self, stream=None):
        """The texels, as an array. Waits for the copy."""
        array = numpy.empty(self.shape, self.dtype)
        call("cls_image_to_host", array.ctypes.data, self.handle, None, stream_of(stream, self.context).handle)
        return array
