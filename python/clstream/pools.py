# SPDX-License-Identifier: MIT
"""Pools of streams."""
import contextlib
import ctypes

from . import capi
from .capi import call, integer, make
from .streams import Stream, context_of

STRATEGIES = ("round robin", "load balanced", "priority", "workload")


class StreamPool(capi.Handle):
    """Streams that are given out by a strategy: "round robin", "load balanced", "priority" or "workload". The pool grows
    to `max_streams` while all of its streams are busy."""

    _destroy = "cls_pool_destroy"

    def __init__(self, context=None, strategy="round robin", min_streams=4, max_streams=16):
        self.context = context_of(None, context)
        if strategy not in STRATEGIES:
            raise ValueError(f"no strategy '{strategy}': {', '.join(STRATEGIES)}")
        config = capi.PoolConfig(strategy=STRATEGIES.index(strategy),
                                 min_streams=integer(min_streams, 0, 65536, "min_streams"),
                                 max_streams=integer(max_streams, 0, 65536, "max_streams"))
        super().__init__(make("cls_pool_create", self.context.handle, ctypes.byref(config)))

    def get(self, lease=False):
        """The stream that the strategy prefers; with `lease` one that nobody holds, for this caller alone. Give it
        back with release()."""
        handle = make("cls_pool_lease" if lease else "cls_pool_get", self.handle)
        return Stream._of(handle, self.context, owned=False)

    def release(self, stream):
        """Gives a stream back, when the piece of work is submitted."""
        call("cls_pool_release", self.handle, stream.handle)

    @contextlib.contextmanager
    def stream(self, lease=False):
        """`with pool.stream() as stream:` gets a stream, makes it the current one, and gives it back."""
        stream = self.get(lease)
        try:
            with stream:
                yield stream
        finally:
            self.release(stream)
