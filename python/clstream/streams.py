# SPDX-License-Identifier: MIT
"""Contexts, streams, events and timelines."""
import contextvars
import ctypes

from . import capi, pending
from .capi import Error, Status, call, integer, make, unless


def devices():
    """The OpenCL devices of this machine, as dictionaries."""
    found = []
    for index in range(make("cls_device_count", type=ctypes.c_size_t)):
        info = capi.DeviceInfo()
        call("cls_device_get_info", index, ctypes.byref(info))
        values = {name: getattr(info, name) for name, _ in info._fields_[1:]}
        found.append({name: _plain(value) for name, value in values.items()})
    return found


def _plain(value):
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return tuple(value) if isinstance(value, ctypes.Array) else value


def has_extension(index, name):
    """Whether the device of this index has an extension, such as "cl_khr_fp16"."""
    return bool(make("cls_device_has_extension", index, name.encode(), type=ctypes.c_int))


class Context(capi.Handle):
    """A device with its default stream. `device` is an index, a type ("cpu", "gpu") or a part of a name."""

    _destroy = "cls_context_destroy"

    def __init__(self, device=None):
        config = capi.ContextConfig(device=None if device is None else str(device).encode())
        super().__init__(make("cls_context_create", ctypes.byref(config)))
        pending.live.add(self)

    @classmethod
    def _of(cls, handle, owned):
        context = cls.__new__(cls)
        capi.Handle.__init__(context, handle, owned)
        pending.live.add(context)
        return context

    def __eq__(self, other):
        return isinstance(other, Context) and self._handle == other._handle

    def __hash__(self):
        return hash(self._handle)

    @classmethod
    def from_int_ptr(cls, context, device):
        """A context on a cl_context and one of its devices, for example `int_ptr` of PyOpenCL's objects."""
        return cls._of(make("cls_context_wrap", context, device), True)

    @property
    def int_ptr(self):
        """The cl_context, borrowed."""
        return self._cl()[0]

    @property
    def device_int_ptr(self):
        """The cl_device_id."""
        return self._cl()[1]

    def _cl(self):
        context, device = ctypes.c_void_p(), ctypes.c_void_p()
        call("cls_context_get_cl", self.handle, ctypes.byref(context), ctypes.byref(device))
        return context.value, device.value

    @property
    def default_stream(self):
        return Stream._of(make("cls_context_default_stream", self.handle), self, owned=False)

    @property
    def device_index(self):
        """The device's index in devices()."""
        return make("cls_context_get_device", self.handle, type=ctypes.c_size_t)

    @property
    def device(self):
        """The device, as in devices()."""
        return devices()[self.device_index]

    def can_share(self, other):
        """How `other` reaches shareable buffers of this context: a dict with `kind` (None, "host memory" or
        "direct link"), the measured `gb_per_s` and `latency_ns`, and, where it does not, the `reason`."""
        info = capi.ShareInfo()
        call("cls_context_can_share", self.handle, other.handle, ctypes.byref(info))
        return {"kind": (None, "host memory", "direct link")[info.kind], "gb_per_s": info.gb_per_s,
                "latency_ns": info.latency_ns, "reason": info.reason.decode(errors="replace")}

    def synchronize(self):
        """Waits for all work submitted to the context's streams so far."""
        failed = pending.failed(context=self.handle)
        try:
            capi.wait_aside("cls_context_synchronize", self.handle)
        except Error as error:
            if error.status == Status.ERROR_WOULD_DEADLOCK:
                raise
            pending.drop(failed)
            raise
        pending.drop(failed)

    def explain(self):
        """What the streams are doing and wait for, as text."""
        return capi.text_of("cls_context_explain", self.handle)

    @property
    def graph_memory(self):
        """Bytes of device memory that graphs of the context take now, and the most since reset_graph_memory_peak()."""
        memory = capi.GraphMemory()
        call("cls_context_get_graph_memory", self.handle, ctypes.byref(memory))
        return memory.used, memory.used_high

    def reset_graph_memory_peak(self):
        call("cls_context_reset_graph_memory_peak", self.handle)

    def trim_graph_memory(self):
        """Gives back what no launch uses; the next launch of each graph takes it again."""
        call("cls_context_trim_graph_memory", self.handle)

    def streams_at_exit(self):
        return [self.default_stream] if self._handle else []

    def close_at_exit(self):
        """Nothing: work that is with the device completes."""


_default = None


def default_context():
    """The process-wide default context."""
    global _default
    if _default is None:
        _default = Context._of(make("cls_context_default"), owned=False)
    return _default


# The streams of "with stream:", the innermost last. A task of asyncio has its own.
_current = contextvars.ContextVar("clstream.streams", default=())


def _numbers(nodes):
    nodes = [integer(node, 0, 2**64 - 1, "a node") for node in nodes]
    return (ctypes.c_uint64 * max(1, len(nodes)))(*nodes), len(nodes)


class Stream(capi.Handle):
    """A sequence of commands that take effect in order. `with stream:` makes it the current stream of the thread or of
    the asyncio task, which calls without a stream use; without one they use the default stream of the context."""

    _destroy = "cls_stream_destroy"

    def __init__(self, context=None, name=None, priority=0, timing=False):
        context = context_of(None, context)
        config = capi.StreamConfig(name=name and name.encode(), timing=timing,
                                   priority=integer(priority, -2**31, 2**31 - 1, "the priority"))
        self.context = context
        super().__init__(make("cls_stream_create", context.handle, ctypes.byref(config)))
        pending.live.add(self)

    @classmethod
    def _of(cls, handle, context, owned):
        stream = cls.__new__(cls)
        capi.Handle.__init__(stream, handle, owned)
        stream.context = context
        if owned:
            pending.live.add(stream)
        return stream

    @classmethod
    def from_int_ptr(cls, queue, context):
        """A stream on a cl_command_queue of the context, for example `int_ptr` of PyOpenCL's queue."""
        return cls._of(make("cls_stream_wrap", context.handle, queue), context, owned=True)

    def close(self):
        """Destroys the handle; submitted work still completes, functions included."""
        handle = self._handle
        super().close()
        if handle and self._owned:
            pending.stream_closed(handle)

    def __enter__(self):
        _current.set((*_current.get(), self))
        return self

    def __exit__(self, *unused):
        streams = _current.get()
        last = len(streams) - 1 - streams[::-1].index(self)  # not the innermost one if generators took turns
        _current.set(streams[:last] + streams[last + 1:])

    @property
    def name(self):
        info = capi.StreamInfo()
        call("cls_stream_get_info", self.handle, ctypes.byref(info))
        return info.name.decode()

    def query(self):
        """Whether all work submitted so far is done."""
        return unless(Status.NOT_READY, "cls_stream_query", self.handle)

    def synchronize(self):
        """Waits for all work submitted so far."""
        self.wait()

    def wait(self, timeout=None):
        """Like synchronize(), for at most `timeout` seconds. False: the timeout came first."""
        try:
            return capi.wait("cls_stream_wait", self.handle, timeout=timeout)
        finally:
            pending.sweep()

    def reset(self):
        """Makes a poisoned stream usable again, once its work has drained."""
        failed = pending.failed(stream=self.handle)
        capi.wait_aside("cls_stream_reset", self.handle)
        pending.drop(failed)

    def wait_event(self, event):
        """Makes later work wait for the event's latest record."""
        call("cls_stream_wait_event", self.handle, event.handle)

    def wait_timeline(self, timeline, value):
        """Makes later work wait until the timeline has reached `value`."""
        call("cls_stream_wait_timeline", self.handle, timeline.handle, value)

    def signal_timeline(self, timeline, value):
        """Signals the timeline once the work so far is done."""
        call("cls_stream_signal_timeline", self.handle, timeline.handle, value)

    def wait_cl(self, event):
        """Makes later work wait for a cl_event, for example `int_ptr` of PyOpenCL's event."""
        call("cls_stream_wait_cl", self.handle, event)

    def record(self, event=None):
        """Records an event, by default a new one, and returns it."""
        event = event or Event(self.context)
        call("cls_event_record", event.handle, self.handle)
        return event

    def launch_host(self, function, *args, **keywords):
        """Runs function(*args, **keywords) in the stream's order on a thread of the library; not if earlier work failed. An
        exception in it poisons the stream, with its text. Blocking calls inside raise Error."""
        pending.launch_host(self, function, args, keywords)

    def add_callback(self, function, *args, **keywords):
        """Calls function(status, *args, **keywords) when the work so far is done or has failed. As launch_host()."""
        pending.callback(self, function, args, keywords)

    def foreign(self, function, label=None):
        """Calls function(queue) on a thread of the library, which enqueues OpenCL commands of its own on `queue`, the
        cl_command_queue as an integer. They are one command of the stream."""
        pending.add_foreign(self, function, label and label.encode())

    def capture(self, name="graph", start=None):
        """`with stream.capture() as capture:` records what is submitted to the stream, and to those that join it by
        events, instead of running it; `capture.graph` is the Graph afterwards. With `start`, a Graph, it begins with the
        nodes of that."""
        from .graphs import Capture
        return Capture(self, name, start)

    @property
    def capture_nodes(self):
        """The numbers of the nodes of the capture that the stream's next one comes after; they can be set."""
        count = ctypes.c_uint()
        call("cls_stream_get_capture_nodes", self.handle, None, 0, ctypes.byref(count))
        numbers = (ctypes.c_uint64 * max(1, count.value))()
        call("cls_stream_get_capture_nodes", self.handle, numbers, count.value, ctypes.byref(count))
        return list(numbers[:count.value])

    @capture_nodes.setter
    def capture_nodes(self, nodes):
        call("cls_stream_set_capture_nodes", self.handle, *_numbers(nodes))

    def add_capture_nodes(self, nodes):
        """Has the stream's next node come after these too."""
        call("cls_stream_add_capture_nodes", self.handle, *_numbers(nodes))

    def wait_external_event(self, event):
        """On a captured stream: each launch of the graph waits for the event's latest record then."""
        call("cls_stream_wait_external_event", self.handle, event.handle)

    def streams_at_exit(self):
        return [self] if self._handle else []

    def name_at_exit(self):
        return self.name if self._handle else "closed"

    def close_at_exit(self):
        """Nothing: work that is with the device completes."""


class Event(capi.Handle):
    """A point in a stream's work."""

    _destroy = "cls_event_destroy"

    def __init__(self, context=None, timed=False, shareable=False):
        config = capi.EventConfig(timed=timed, shareable=shareable)
        self.context = context_of(None, context)
        super().__init__(make("cls_event_create", self.context.handle, ctypes.byref(config)))

    @classmethod
    def from_fd(cls, fd, context=None):
        """The shareable event that another process has exported. The descriptor stays the caller's."""
        event = cls.__new__(cls)
        event.context = context_of(None, context)
        capi.Handle.__init__(event, make("cls_event_import", event.context.handle, fd))
        return event

    def export_fd(self):
        """A file descriptor of a shareable event, for `from_fd` in another process. The caller closes it."""
        return make("cls_event_export", self.handle, type=ctypes.c_int)

    def record(self, stream=None):
        """Makes the event stand for the work submitted to the stream so far."""
        call("cls_event_record", self.handle, stream_of(stream, self.context).handle)

    def query(self):
        """Whether the recorded work is done."""
        return unless(Status.NOT_READY, "cls_event_query", self.handle)

    def synchronize(self):
        """Waits for the recorded work."""
        self.wait()

    def wait(self, timeout=None):
        """Waits for at most `timeout` seconds. False: the timeout came first."""
        try:
            return capi.wait("cls_event_wait", self.handle, timeout=timeout)
        finally:
            pending.sweep()

    def elapsed_since(self, start):
        """Milliseconds on the device from the record of `start` to that of this event."""
        return make("cls_event_elapsed", start.handle, self.handle, type=ctypes.c_double)

    def get_cl(self, timeout=None):
        """A cl_event that completes with the record, as an integer; the caller releases it. Waits until the work is
        with the driver."""
        out = ctypes.c_void_p()
        if not capi.wait("cls_event_wait_cl", self.handle, timeout=timeout, out=(ctypes.byref(out),)):
            raise Error(Status.ERROR_TIMEOUT)
        return out.value


class Timeline(capi.Handle):
    """A 64-bit counter that streams and the host signal and wait for."""

    _destroy = "cls_timeline_destroy"

    def __init__(self, initial=0, name=None):
        config = capi.TimelineConfig(name=name and name.encode(), initial=integer(initial, name="the initial value"))
        super().__init__(make("cls_timeline_create", ctypes.byref(config)))
        pending.live.add(self)

    def signal(self, value):
        """Signals from the host, at once."""
        call("cls_timeline_signal", self.handle, value)

    def query(self, value):
        """Whether the timeline has reached `value`."""
        return unless(Status.NOT_READY, "cls_timeline_query", self.handle, value)

    def wait(self, value, timeout=None):
        """Waits until it has, for at most `timeout` seconds. False: the timeout came first."""
        try:
            return capi.wait("cls_timeline_wait", self.handle, value, timeout=timeout)
        finally:
            pending.sweep()

    def streams_at_exit(self):
        return []

    def close_at_exit(self):
        """What waits for a value fails, and its callbacks are called."""
        self.close()


def current_stream():
    """The stream of the innermost `with stream:` of this thread or asyncio task, or None."""
    streams = _current.get()
    return streams[-1] if streams else None


def context_of(stream, context=None):
    """The context of a call: `context`, that of the stream, that of the current stream, or the default context."""
    if context is not None:
        return context
    stream = current_stream() if stream is None else stream
    return default_context() if stream is None else stream.context


def stream_of(stream, context):
    """The Stream of a call on objects of a context: `stream`, the current one, or the context's default stream."""
    stream = current_stream() if stream is None else stream
    if stream is None:
        return context.default_stream
    if stream.context != context:
        raise Error(Status.ERROR_WRONG_CONTEXT, "the stream and the objects of the call are of different contexts", 0)
    return stream
