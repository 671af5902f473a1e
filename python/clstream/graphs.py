# SPDX-License-Identifier: MIT
"""Graphs: capture once what streams do, then launch all of it again with one call. graph.h of the C library says what a
capture records, and what it refuses."""
import ctypes

import numpy

from . import capi, pending
from .arrays import Array
from .capi import call, integer, make
from .images import Image
from .streams import stream_of


class Capture:
    """What `with stream.capture() as capture:` gives; `graph` is there afterwards. An exception inside ends the capture
    without a graph."""

    def __init__(self, stream, name, start=None):
        self.stream, self.name = stream, name.encode()[:63]
        self.start = start
        self.graph = None
        self.objects = [*start._objects] if start else []  # host memory and functions of the nodes

    def __enter__(self):
        pending.captures.append(self)  # before it begins: what it records is kept from the first submission on
        try:
            if self.start:
                call("cls_stream_begin_capture_from", self.stream.handle, self.name, self.start.handle)
            else:
                call("cls_stream_begin_capture", self.stream.handle, self.name)
        except BaseException:
            pending.captures.remove(self)
            raise
        self._stream = self.stream.__enter__()
        return self

    def __exit__(self, kind, error, trace):
        self.stream.__exit__(kind, error, trace)
        try:
            graph = Graph(make("cls_stream_end_capture", self.stream.handle), self.objects, self.stream.context)
        except capi.Error:
            if kind is None:
                raise
        else:
            self.graph = graph if kind is None else None
        finally:
            pending.captures.remove(self)


class Graph(capi.Handle):
    """What a capture has recorded. It keeps the host memory and the functions of its nodes."""

    _destroy = "cls_graph_destroy"

    def __init__(self, handle, objects, context):
        super().__init__(handle)
        self._objects, self.context = objects, context

    def __len__(self):
        """The number of nodes."""
        return make("cls_graph_get_nodes", self.handle, type=ctypes.c_uint64)

    def instantiate(self, fuse=False, background=False, streams=0):
        """Makes a graph that can be launched. With `fuse`, chains of element-wise operations become kernels; with
        `background`, a thread of the library gives launches to the driver."""
        config = capi.GraphConfig(fuse=fuse, background=background, streams=integer(streams, 0, 16, "streams"))
        return GraphExec(make("cls_graph_instantiate", self.handle, ctypes.byref(config)), self._objects, self.context)


class GraphExec(capi.Handle):
    """A graph that can be launched."""

    _destroy = "cls_graph_exec_destroy"

    def __init__(self, handle, objects, context):
        super().__init__(handle)
        self._objects, self.context = objects, context

    def launch(self, stream=None):
        """Submits a launch: one command of the stream."""
        stream = stream_of(stream, self.context)
        pending.submit(stream, (self, self._objects), "cls_graph_launch_async", self.handle, stream.handle)
        if pending.calls_functions(self._objects) and not pending.captures_of(stream):
            pending.add_callback(stream, lambda status: None, None)  # the exit waits for it

    def bind(self, captured, other):
        """Has later launches use another array (or Buffer, or Image) where `captured` was captured, device arrays or
        NumPy arrays both. The other NumPy array is kept."""
        if isinstance(captured, Image):
            call("cls_graph_bind_image", self.handle, captured.handle, other.handle)
            return
        if isinstance(captured, numpy.ndarray):
            if (captured.dtype, captured.size) != (other.dtype, other.size) or not other.flags.c_contiguous:
                raise ValueError("the other array is not dense, or of another type or size")
            self._objects = [*self._objects, other]
            call("cls_graph_bind_host", self.handle, captured.ctypes.data, other.ctypes.data)
            return
        buffers = []
        for array in (captured, other):
            if isinstance(array, Array) and array.offset:
                raise ValueError("a part of a buffer cannot be bound")
            buffers.append(array.buffer if isinstance(array, Array) else array)
        call("cls_graph_bind", self.handle, *(buffer.handle for buffer in buffers))

    def compare(self, graph):
        """What keeps update() from taking over another graph: None, or the first difference as a dict with `kind` ("nodes",
        "command", "dependencies" or "fusion"), `node` (None: none in particular), and the numbers `own` and `other`, which
        graph.h explains."""
        found = capi.GraphDifference()
        call("cls_graph_compare", self.handle, graph.handle, ctypes.byref(found))
        if not found.kind:
            return None
        return {"kind": (None, "nodes", "command", "dependencies", "fusion")[found.kind],
                "node": None if found.node == 2**64 - 1 else found.node, "own": found.own, "other": found.other}

    def update(self, graph):
        """Takes over the arguments, buffers and host memory of another graph of the same shape."""
        before = self._objects
        self._objects = graph._objects
        try:
            call("cls_graph_update", self.handle, graph.handle)
        except capi.Error:
            self._objects = before
            raise
