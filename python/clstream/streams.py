# SPDX-License-Identifier: MIT
"""Contexts, streams, events and timelines."""
import atexit
import collections
import ctypes
import itertools
import threading
import traceback

from . import capi
from .capi import Status, call, make, unless


def devices():
    """The OpenCL devices of this machine, as dictionaries."""
    found = []
    for index in range(make("cls_device_count", type=ctypes.c_size_t)):
        info = capi.DeviceInfo()
        call("cls_device_get_info", index, ctypes.byref(info))
        values = {name: getattr(info, name) for name, _ in info._fields_[1:]}
        found.append({name: value.decode(errors="replace") if isinstance(value, bytes) else value
                      for name, value in values.items()})
    return found


class Context(capi.Handle):
    """A device with its default stream. `device` is an index, a type ("cpu", "gpu") or a part of a name."""

    _destroy = "cls_context_destroy"

    def __init__(self, device=None):
        config = capi.ContextConfig(device=None if device is None else str(device).encode())
        super().__init__(make("cls_context_create", ctypes.byref(config)))

    @classmethod
    def _of(cls, handle, owned):
        context = cls.__new__(cls)
        capi.Handle.__init__(context, handle, owned)
        return context

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
    def device(self):
        """The device, as in devices()."""
        return devices()[make("cls_context_get_device", self.handle, type=ctypes.c_size_t)]

    def can_share(self, other):
        """How `other` reaches shareable buffers of this context: a dict with `kind` (None, "host memory" or
        "direct link"), the measured `gb_per_s` and `latency_ns`, and, where it does not, the `reason`."""
        info = capi.ShareInfo()
        call("cls_context_can_share", self.handle, other.handle, ctypes.byref(info))
        return {"kind": (None, "host memory", "direct link")[info.kind], "gb_per_s": info.gb_per_s,
                "latency_ns": info.latency_ns, "reason": info.reason.decode(errors="replace")}

    def synchronize(self):
        """Waits for all work submitted to the context's streams so far."""
        call("cls_context_synchronize", self.handle)
        _drop_finished()

    def explain(self):
        """What the streams are doing and wait for, as text."""
        return capi.text_of("cls_context_explain", self.handle)


_default = None


def default_context():
    """The process-wide default context."""
    global _default
    if _default is None:
        _default = Context._of(make("cls_context_default"), owned=False)
    return _default


_current = threading.local()


class Stream(capi.Handle):
    """A sequence of commands that take effect in order. `with stream:` makes it the thread's current stream, which
    calls without a stream use; without one they use the default stream of the context."""

    _destroy = "cls_stream_destroy"

    def __init__(self, context=None, name=None, priority=0, timing=False):
        context = context or default_context()
        config = capi.StreamConfig(name=name and name.encode(), priority=priority, timing=timing)
        self.context = context
        super().__init__(make("cls_stream_create", context.handle, ctypes.byref(config)))

    @classmethod
    def _of(cls, handle, context, owned):
        stream = cls.__new__(cls)
        capi.Handle.__init__(stream, handle, owned)
        stream.context = context
        return stream

    @classmethod
    def from_int_ptr(cls, queue, context):
        """A stream on a cl_command_queue of the context, for example `int_ptr` of PyOpenCL's queue."""
        return cls._of(make("cls_stream_wrap", context.handle, queue), context, owned=True)

    def __enter__(self):
        _current.__dict__.setdefault("streams", []).append(self)
        return self

    def __exit__(self, *unused):
        _current.streams.pop()

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
        call("cls_stream_synchronize", self.handle)
        _drop_finished()

    def wait(self, timeout=None):
        """Like synchronize(), for at most `timeout` seconds. False: the timeout came first."""
        return unless(Status.ERROR_TIMEOUT, "cls_stream_wait", self.handle, capi.nanoseconds(timeout))

    def reset(self):
        """Makes a poisoned stream usable again."""
        call("cls_stream_reset", self.handle)

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

    def launch_host(self, function, *args):
        """Runs function(*args) in the stream's order on a thread of the library; not if earlier work failed. An
        exception in it poisons the stream, with its text. Blocking calls inside raise Error."""
        def guarded(status):
            if not status:
                function(*args)
        self._add_callback(guarded)

    def add_callback(self, function, *args):
        """Calls function(status, *args) when the work so far is done or has failed. As launch_host()."""
        self._add_callback(lambda status: function(Status(status), *args))

    def _add_callback(self, function):
        key = next(_keys)
        _functions[key] = (self, function)
        try:
            call("cls_stream_add_callback", self.handle, _run_callback, key)
        except capi.Error:
            del _functions[key]
            raise

    def foreign(self, function, label=None):
        """Calls function(queue) on a thread of the library, which enqueues OpenCL commands of its own on `queue`, the
        cl_command_queue as an integer. They are one command of the stream."""
        key = next(_keys)
        _functions[key] = (self, function)
        try:
            call("cls_stream_foreign_async", self.handle, label and label.encode(), _run_foreign, key)
        except capi.Error:
            del _functions[key]
            raise
        self._add_callback(lambda status: _functions.pop(key, None))  # of one that was not called


class Event(capi.Handle):
    """A point in a stream's work."""

    _destroy = "cls_event_destroy"

    def __init__(self, context=None, timed=False):
        config = capi.EventConfig(timed=timed)
        self.context = context or default_context()
        super().__init__(make("cls_event_create", self.context.handle, ctypes.byref(config)))

    def record(self, stream=None):
        """Makes the event stand for the work submitted to the stream so far."""
        call("cls_event_record", self.handle, stream_of(stream, self.context))

    def query(self):
        """Whether the recorded work is done."""
        return unless(Status.NOT_READY, "cls_event_query", self.handle)

    def synchronize(self):
        """Waits for the recorded work."""
        call("cls_event_synchronize", self.handle)

    def wait(self, timeout=None):
        """Waits for at most `timeout` seconds. False: the timeout came first."""
        return unless(Status.ERROR_TIMEOUT, "cls_event_wait", self.handle, capi.nanoseconds(timeout))

    def elapsed_since(self, start):
        """Milliseconds on the device from the record of `start` to that of this event."""
        return make("cls_event_elapsed", start.handle, self.handle, type=ctypes.c_double)

    def get_cl(self, timeout=None):
        """A cl_event that completes with the record, as an integer; the caller releases it. Waits until the work is
        with the driver."""
        return make("cls_event_wait_cl", self.handle, capi.nanoseconds(timeout))


class Timeline(capi.Handle):
    """A 64-bit counter that streams and the host signal and wait for."""

    _destroy = "cls_timeline_destroy"

    def __init__(self, initial=0, name=None):
        config = capi.TimelineConfig(name=name and name.encode(), initial=initial)
        super().__init__(make("cls_timeline_create", ctypes.byref(config)))

    def signal(self, value):
        """Signals from the host, at once."""
        call("cls_timeline_signal", self.handle, value)

    def query(self, value):
        """Whether the timeline has reached `value`."""
        return unless(Status.NOT_READY, "cls_timeline_query", self.handle, value)

    def wait(self, value, timeout=None):
        """Waits until it has, for at most `timeout` seconds. False: the timeout came first."""
        return unless(Status.ERROR_TIMEOUT, "cls_timeline_wait", self.handle, value, capi.nanoseconds(timeout))


def current_stream():
    """The stream of the innermost `with stream:` of this thread, or None."""
    streams = _current.__dict__.get("streams")
    return streams[-1] if streams else None


def stream_of(stream, context):
    """The handle of a stream argument: it, the current stream, or the default stream of the context."""
    stream = stream or current_stream() or context.default_stream
    return stream.handle


# ---- functions of Python's that threads of the library call

_keys = itertools.count(1)
_functions = {}


def _guarded(function, *args):
    try:
        function(*args)
    except BaseException:  # nothing may escape into C
        text = traceback.format_exc(limit=-1).strip().splitlines()[-1]
        capi.lib.cls_host_function_fail(text.encode())


@capi.CALLBACK
def _run_callback(_stream, status, key):
    _guarded(_functions.pop(key)[1], status)


@capi.FOREIGN
def _run_foreign(queue, key):
    _guarded(_functions.pop(key)[1], queue)
    return 0


# ---- host memory that copies use

_kept = collections.deque()
_kept_lock = threading.Lock()


def keep(stream, context, memory):
    """Keeps host memory alive until the work that is now on the stream (a handle) is done."""
    event = Event(context)
    call("cls_event_record", event.handle, stream)
    with _kept_lock:
        _kept.append((event, memory))
    _drop_finished()


def _drop_finished():
    """Drops what is no longer used. Copies end about in the order in which they began."""
    with _kept_lock:
        while _kept and capi.lib.cls_event_query(_kept[0][0].handle) != Status.NOT_READY:
            _kept.popleft()


@atexit.register
def _finish():
    """Waits for functions of Python's before the interpreter goes: a thread of the library could not call them then."""
    for stream, _ in list(_functions.values()):
        capi.lib.cls_stream_wait(stream.handle, capi.nanoseconds(30))
