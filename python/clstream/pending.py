# SPDX-License-Identifier: MIT
"""What submitted work still uses: host memory, and functions of Python's that threads of the library call.

submit() is the one door for work that reads or writes memory of Python's: it registers the memory, then submits. There
are no locks here, because finalizers and handlers of signals may come at any point and use the package. What is done to
the registries is atomic: dict.get, dict.pop, setting an item, deque.append, deque.remove.
"""
import atexit
import collections
import ctypes
import itertools
import sys
import time
import traceback
import weakref

from . import capi
from .capi import Status, call, lib, make

#: Seconds that the exit waits for pending functions while none runs and the device has nothing to do, and while it has.
IDLE_LIMIT, BUSY_LIMIT = 2, 30

#: Contexts, streams and timelines that exist.
live = weakref.WeakSet()


# ---- memory

class _Event(capi.Handle):
    _destroy = "cls_event_destroy"


class _Use:
    """Objects that a submission uses, until its event is done. Without an event it is being submitted, or was
    interrupted there (`abandoned`): it may have been submitted or not."""

    def __init__(self, stream, objects):
        self.stream, self.context, self.objects = stream.handle, stream.context.handle, objects
        self.event = None
        self.abandoned = False

    def record(self):
        event = _Event(make("cls_event_create", self.context, None))
        call("cls_event_record", event.handle, self.stream)
        self.event = event

    def status(self):
        """That of the event."""
        if self.event is None and self.abandoned:
            try:
                self.record()
            except capi.Error as error:
                return error.status
        return Status.NOT_READY if self.event is None else lib.cls_event_query(self.event.handle)


_uses = {}  # by stream: a deque of uses, in the order of submission
_failed = []  # uses whose work has failed: the driver may still access the memory until it has drained
_closed = set()  # streams that are closed and have uses

#: Captures that have begun and not ended (graphs.Capture).
captures = []


def captures_of(stream):
    """The captures that may record what is submitted to the stream."""
    if not captures:
        return ()
    info = capi.CaptureInfo()
    call("cls_stream_get_capture", stream.handle, ctypes.byref(info))
    return [capture for capture in captures if info.state and capture.name == info.name]


def submit(stream, objects, name, *args):
    """Calls a function that submits work which uses `objects`, and keeps these until the work is done; in a capture, as
    long as the graph. Returns an event of the work, for wait_for()."""
    recording = captures_of(stream)
    for capture in recording:
        capture.objects.append(objects)
    if recording:
        call(name, *args)
        return None
    use = _Use(stream, objects)
    _uses.setdefault(use.stream, collections.deque()).append(use)
    try:
        call(name, *args)
        use.record()
    except BaseException:
        use.abandoned = True  # a refused submission may have submitted a part
        raise
    sweep()
    return use.event


def wait_for(event, stream):
    """Waits for what submit() has returned."""
    if event is None:  # of a capture: the library refuses to wait
        stream.wait()
    else:
        try:
            capi.wait("cls_event_wait", event.handle)
        finally:
            sweep()


def sweep():
    """Drops what is no longer used."""
    for stream, queue in list(_uses.items()):
        while queue:
            try:
                use = queue[0]
                status = use.status()
                if status == Status.NOT_READY:
                    break
                if status:
                    _failed.append(use)
                queue.remove(use)
            except (IndexError, ValueError):
                pass  # another thread, or a finalizer, was faster
        if not queue and stream in _closed:
            _uses.pop(stream, None)
            _closed.discard(stream)


def stream_closed(stream):
    """A stream (a handle) gets no more submissions."""
    if stream in _uses:
        _closed.add(stream)
        sweep()


def failed(context=None, stream=None):
    """The uses of failed work of a context or a stream (handles): drop() them once it has drained."""
    return [use for use in list(_failed) if context == use.context or stream == use.stream]


def drop(uses):
    """Drops what failed() has given."""
    for use in uses:
        try:
            _failed.remove(use)
        except ValueError:
            pass
    sweep()


# ---- functions

_keys = itertools.count(1)
_functions = {}  # by the argument of the library's call
_running = {}  # those of them that have begun
_ended = itertools.count()


class _Function:
    """A function of Python's that the library calls once, or, from a graph, with each launch."""

    def __init__(self, function, what, stream):
        self.function, self.what, self.stream = function, what, stream
        self.repeats = False


class _Owner:
    """Owns the function of a graph."""

    def __init__(self, key):
        self.key = key

    def __del__(self):
        _functions.pop(self.key, None)


def calls_functions(objects):
    """Whether what a graph keeps has a function."""
    return any(isinstance(one, _Owner) for one in objects)


def submit_function(stream, function, what, name, *args):
    """Calls a function of the library that submits a call of `function`; its last argument is the key of that, which
    is returned. `what` is the name for messages, None for a function of the package itself."""
    record, key = _Function(function, what, stream), next(_keys)
    _functions[key] = record
    owner = _Owner(key)
    for capture in captures_of(stream):
        record.repeats = True
        capture.objects.append(owner)
    try:
        call(name, *args, key)
    except capi.Error:
        _functions.pop(key, None)
        raise
    finally:
        if not record.repeats:
            owner.key = None
    return key


def add_callback(stream, function, what):
    """Has function(status) called when the stream's work so far is done or has failed."""
    submit_function(stream, function, what, "cls_stream_add_callback", stream.handle, _run_callback)


def add_foreign(stream, function, label):
    """Has function(queue) called to enqueue work of its own."""
    key = submit_function(stream, function, _name(function), "cls_stream_foreign_async", stream.handle, label,
                          _run_foreign)
    if not captures_of(stream):  # if the stream fails first it is not called
        add_callback(stream, lambda status: _functions.pop(key, None), None)


def _name(function):
    return getattr(function, "__qualname__", None) or repr(function)


def launch_host(stream, function, args, keywords):
    """Has function(*args, **keywords) called unless earlier work of the stream failed."""
    def guarded(status):
        if not status:
            function(*args, **keywords)
    add_callback(stream, guarded, _name(function))


def callback(stream, function, args, keywords):
    """Has function(status, *args, **keywords) called."""
    add_callback(stream, lambda status: function(Status(status), *args, **keywords), _name(function))


def _text(error):
    """What the library keeps of an exception: 127 bytes, whatever the text is."""
    try:
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
    except BaseException:
        text = type(error).__name__
    data = text.replace("\0", "\\0").encode("utf-8", "backslashreplace")[:127]
    return data.decode(errors="ignore").encode()


def _run(key, argument):
    record = _functions.get(key)
    if record is None:
        return
    _running[key] = record
    try:
        record.function(argument)
    except BaseException as error:  # nothing may escape into C
        text = _text(error)
        capi.tracebacks.append((text.decode(), "".join(traceback.format_exception(type(error), error,
                                                                                  error.__traceback__))))
        lib.cls_host_function_fail(text)
    finally:
        _running.pop(key, None)
        if not record.repeats:
            _functions.pop(key, None)
        next(_ended)


@capi.CALLBACK
def _run_callback(_stream, status, key):
    _run(key, status)


@capi.FOREIGN
def _run_foreign(queue, key):
    _run(key, queue)
    return 0


# ---- exit

def _pending():
    return [record for record in list(_functions.values()) if not record.repeats]


def _device_is_busy():
    counters = capi.StreamCounters()
    for thing in list(live):
        for stream in thing.streams_at_exit():
            if not lib.cls_stream_get_counters(stream.handle, ctypes.byref(counters)) and counters.in_flight:
                return True
    return False


def _wait_for_functions(idle_limit, busy_limit):
    """Waits until no function is pending; until nothing ended for the time of a limit and none runs."""
    seen, since = None, time.monotonic()
    while _pending():
        state = (len(_functions), repr(_ended), bool(_running))
        now = time.monotonic()
        if _running or state != seen:
            seen, since = state, now
        elif now - since > (busy_limit if _device_is_busy() else idle_limit):
            return
        time.sleep(0.002)


@atexit.register
def _finish():
    """Lets functions of Python's run before the interpreter goes; a thread of the library could not call them then.
    Those that nothing will start are dropped, with a message."""
    _wait_for_functions(IDLE_LIMIT, BUSY_LIMIT)
    names = [f"{record.what} (stream '{record.stream.name_at_exit()}')" for record in _pending() if record.what]
    if names:
        more = f", and {len(names) - 8} more" if len(names) > 8 else ""
        print(f"clstream: the program ends while functions wait to be called: {', '.join(names[:8])}{more}. "
              "Signal what their streams wait for, or close the timelines.", file=sys.stderr)
    if _pending():
        for thing in list(live):
            thing.close_at_exit()
        _wait_for_functions(1, 1)
