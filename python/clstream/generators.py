# SPDX-License-Identifier: MIT
"""Random numbers: generators, whose draws are work of a stream like any other."""
import ctypes

from . import capi
from .arrays import Array, empty
from .capi import call, integer, make
from .streams import context_of, stream_of
from .elements import BOOL, FLOAT32, INT32


class Random(capi.Handle):
    """A generator of the C library (Philox4x32-10). Draws only submit. Element i depends on the state and i alone: not on
    the device or the shape. Streams that share a generator are to be ordered by events, as those that share an array."""

    _destroy = "cls_random_destroy"

    def __init__(self, seed, context=None):
        self.context = context_of(None, context)
        super().__init__(make("cls_random_create", self.context.handle, integer(seed, name="the seed")))

    def _draw(self, name, shape, dtype, stream, *parameters):
        stream = stream_of(stream, self.context)
        out = empty(shape, dtype, stream)
        call(name, self.handle, out.view, *parameters, stream.handle)
        return out

    def uniform(self, shape, low=0.0, high=1.0, dtype=FLOAT32, stream=None):
        """Numbers of [low, high)."""
        return self._draw("cls_random_uniform_async", shape, dtype, stream, low, high)

    def normal(self, shape, mean=0.0, deviation=1.0, dtype=FLOAT32, stream=None):
        """Normally distributed numbers."""
        return self._draw("cls_random_normal_async", shape, dtype, stream, mean, deviation)

    def integers(self, shape, n=None, dtype=INT32, stream=None):
        """Integers from 0 to n - 1; without n all values of the type."""
        n = 0 if n is None else integer(n, 1, name="n")
        return self._draw("cls_random_integers_async", shape, dtype, stream, n)

    def bernoulli(self, shape, probability=0.5, stream=None):
        """An array of bool, each True with the probability."""
        return self._draw("cls_random_bernoulli_async", shape, BOOL, stream, probability)

    def dropout(self, x, probability, stream=None):
        """(y, mask): of each element 0, with the probability, or x / (1 - probability), and whether it stayed."""
        if not isinstance(x, Array):
            raise TypeError(f"dropout of {type(x).__name__}: pass an Array (to_device)")
        stream = stream_of(stream, x.context)
        y, mask = empty(x.shape, x.dtype, stream), empty(x.shape, BOOL, stream)
        call("cls_dropout_async", self.handle, x.view, mask.view, y.view, probability, stream.handle)
        return y, mask

    def get_state(self, stream=None):
        """(seed, sequence, offset) after the stream's work so far. Waits."""
        stream, state = stream_of(stream, self.context), capi.RandomState()
        call("cls_random_get_state", self.handle, ctypes.byref(state), stream.handle)
        return state.seed, state.sequence, state.offset

    def set_state(self, seed, sequence=0, offset=0, stream=None):
        """Sets the state for later draws; only submits."""
        state = capi.RandomState(*(integer(value, name="a number of the state") for value in (seed, sequence, offset)))
        call("cls_random_set_state_async", self.handle, ctypes.byref(state), stream_of(stream, self.context).handle)
