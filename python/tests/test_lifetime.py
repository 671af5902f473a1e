# SPDX-License-Identifier: MIT
"""What submitted work uses is kept until it is done, whatever happens meanwhile; waits end by Ctrl-C; the exit."""
import asyncio
import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref

import clstream as cs
import numpy as np
from clstream import pending

COUNT = 1 << 14


def host(value):
    return np.full(COUNT, value, np.float32)


def held_stream(context=None):
    """A stream that waits for a timeline."""
    gate, stream = cs.Timeline(), cs.Stream(context)
    stream.wait_timeline(gate, 1)
    return gate, stream


def overwrite():
    """Reuses memory that was freed too early."""
    gc.collect()
    return [np.full(COUNT, 7, np.float32) for _ in range(50)]


class Memory(unittest.TestCase):
    def read_by_batch(self, meanwhile):
        out = cs.zeros(COUNT)
        cs.default_context().synchronize()
        gate, stream = held_stream()
        batch = cs.Batch()
        value = batch.upload(host(1))
        (value + 0).store(out)
        batch.execute(stream)
        watch = weakref.ref(batch._memory[value.number])
        meanwhile(batch, value)
        del batch, value
        overwritten = overwrite()
        self.assertIsNotNone(watch())
        gate.signal(1)
        stream.synchronize()
        np.testing.assert_array_equal(out.to_host(stream=stream), np.ones(COUNT))
        gc.collect()
        self.assertIsNone(watch())
        del overwritten

    def test_batch_that_is_dropped(self):
        self.read_by_batch(lambda batch, value: None)

    def test_input_that_is_bound_anew(self):
        self.read_by_batch(lambda batch, value: batch.bind(value, host(2)))

    def test_loop_over_temporary_inputs(self):
        batch, out = cs.Batch(), cs.empty(COUNT)
        value = batch.upload(host(0))
        (value * 2).store(out)
        stream, results = cs.Stream(), []
        for i in range(20):
            batch.bind(value, host(i))
            batch.execute(stream)
            results.append(out.copy(stream=stream))
        for i, result in enumerate(results):
            np.testing.assert_array_equal(result.to_host(stream=stream), np.full(COUNT, 2 * i))

    def test_upload_that_is_interrupted(self):
        gate, stream = held_stream()
        x, call = cs.empty(COUNT, stream=stream), pending.call

        def interrupted(name, *args):
            call(name, *args)
            if name == "cls_copy_h2d_async":
                raise KeyboardInterrupt
        memory = host(1)
        watch = weakref.ref(memory)
        pending.call = interrupted
        try:
            self.assertRaises(KeyboardInterrupt, x.upload_async, memory, stream)
        finally:
            pending.call = call
        del memory
        overwritten = overwrite()
        self.assertIsNotNone(watch())
        gate.signal(1)
        np.testing.assert_array_equal(x.to_host(stream=stream), np.ones(COUNT))
        self.assertIsNone(watch())
        del overwritten

    def test_current_stream_of_another_context(self):
        context = cs.Context()
        gate, stream = held_stream(context)
        with stream:
            x = cs.to_device(host(5))
            objects = [x, cs.zeros(3), cs.Batch(), cs.Event(), cs.Program("kernel void f() {}")]
            self.assertEqual(cs.pinned(3).shape, (3,))
        self.assertTrue(all(thing.context is context for thing in objects))
        overwritten = overwrite()
        gate.signal(1)
        np.testing.assert_array_equal(x.to_host(stream=stream), np.full(COUNT, 5))
        elsewhere, memory = cs.zeros(COUNT), host(1)
        watch = weakref.ref(memory)
        with stream:
            for call in (lambda: elsewhere + 1, lambda: elsewhere.upload_async(memory)):
                with self.assertRaises(cs.Error) as caught:
                    call()
                self.assertEqual(caught.exception.status, cs.Status.ERROR_WRONG_CONTEXT)
        del memory, call, caught
        gc.collect()
        self.assertIsNone(watch())
        del overwritten

    def test_finished_uploads_are_dropped_while_another_stream_waits(self):
        gate, held = held_stream()
        stream, x, y = cs.Stream(), cs.empty(COUNT), cs.empty(COUNT)
        waits = weakref.ref(self.upload(x, held))
        done = [weakref.ref(self.upload(y, stream)) for _ in range(5)]
        stream.synchronize()
        gc.collect()
        self.assertEqual([watch() for watch in done], [None] * 5)
        self.assertIsNotNone(waits())
        gate.signal(1)
        held.synchronize()
        gc.collect()
        self.assertIsNone(waits())

    def upload(self, x, stream):
        memory = host(1)
        x.upload_async(memory, stream)
        return memory

    def test_failed_upload_is_kept_until_the_context_has_drained(self):
        context = cs.Context()
        gate, stream = held_stream(context)
        x = cs.empty(COUNT, stream=stream)
        watch = weakref.ref(self.upload(x, stream))
        gate.close()  # the wait fails
        self.assertRaises(cs.Error, stream.synchronize)
        gc.collect()
        self.assertIsNotNone(watch())
        self.assertRaises(cs.Error, context.synchronize)
        gc.collect()
        self.assertIsNone(watch())
        stream.reset()

    def test_finalizer_that_waits(self):
        gate, stream = held_stream()
        x, memory, seen = cs.empty(COUNT), host(1), []

        def finalizer():
            stream.synchronize()
            x.upload_async(np.zeros(COUNT, np.float32), stream)
            seen.append("done")
        weakref.finalize(memory, finalizer)
        x.upload_async(memory, stream)
        del memory
        gate.signal(1)
        thread = threading.Thread(target=stream.synchronize, daemon=True)
        thread.start()
        thread.join(60)
        self.assertFalse(thread.is_alive())
        pending.sweep()
        self.assertEqual(seen, ["done"])


class Waits(unittest.TestCase):
    def test_ctrl_c_ends_them(self):
        gate, stream = held_stream()
        event, x = stream.record(), cs.zeros(10, stream=stream)
        batch = cs.Batch()
        value = batch.upload(np.ones(3, np.float32)) * 2
        batch.execute(stream)
        waits = [stream.synchronize, stream.context.synchronize, event.synchronize, event.get_cl, value.read,
                 lambda: stream.wait(60), lambda: event.wait(60), lambda: gate.wait(1), lambda: x.to_host(stream=stream),
                 lambda: x.sum(stream), lambda: x.any(stream=stream), lambda: x.dot(x, stream)]
        for wait in waits:
            # A wait that signals do not end would end by the gate, and raise nothing.
            timers = [threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)), threading.Timer(60, gate.signal, (1,))]
            for timer in timers:
                timer.start()
            try:
                with self.assertRaises(KeyboardInterrupt):
                    wait()
                    timers[0].join()
            finally:
                timers[1].cancel()
        gate.signal(1)
        np.testing.assert_array_equal(x.to_host(stream=stream), np.zeros(10))
        np.testing.assert_array_equal(value.read(), [2, 2, 2])

    def test_handlers_of_signals_wait_too(self):
        stream, x, memory = cs.Stream(), cs.empty(4), np.zeros(4, np.float32)
        calls = []

        def tick(*_):
            calls.append(stream.synchronize())
            if len(calls) < 200:
                signal.setitimer(signal.ITIMER_REAL, 0.0005)
        before = signal.signal(signal.SIGALRM, tick)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            while len(calls) < 200:
                x.upload_async(memory, stream)
        finally:
            signal.signal(signal.SIGALRM, before)
        stream.synchronize()

    def test_timeouts(self):
        gate, stream = held_stream()
        self.assertFalse(stream.wait(0) or stream.wait(0.12) or stream.wait(-1))
        self.assertRaises(ValueError, stream.wait, float("nan"))
        gate.signal(1)
        self.assertTrue(stream.wait(float("inf")) and stream.wait())


class Functions(unittest.TestCase):
    def test_text_of_an_exception(self):
        class Odd(Exception):
            def __str__(self):
                raise RuntimeError
        for error, text in [(ValueError("bad \udcff"), "ValueError: bad \\udcff"), (ValueError("a\nb"), "ValueError: a\nb"),
                            (ValueError("nul\0"), "ValueError: nul\\0"), (KeyError(), "KeyError"), (Odd(), "Odd"),
                            (ValueError("é" * 300), "ValueError: é"), (SystemExit(3), "SystemExit: 3")]:
            def fail(*_):
                raise error
            for submit in (cs.Stream.launch_host, cs.Stream.add_callback, cs.Stream.foreign):
                stream, seen = cs.Stream(), []
                submit(stream, fail)
                stream.launch_host(seen.append, "not run")
                with self.assertRaises(cs.Error) as caught:
                    stream.synchronize()
                self.assertIn(text, caught.exception.detail)
                self.assertIn("in fail", caught.exception.traceback)
                self.assertEqual(seen, [])

    def test_keywords(self):
        stream, seen = cs.Stream(), {}
        stream.launch_host(seen.update, a=1)
        stream.add_callback(lambda status, **more: seen.update(more), b=2)
        stream.synchronize()
        self.assertEqual(seen, {"a": 1, "b": 2})


class Exit(unittest.TestCase):
    def run_program(self, program, arguments=()):
        return subprocess.run([sys.executable, "-c", "import sys, time\nimport clstream as cs\n" + program, *arguments],
                              capture_output=True, text=True, check=False, timeout=120)

    def test_function_that_has_begun_ends(self):
        with tempfile.NamedTemporaryFile("r") as file:
            done = self.run_program("import threading\nbegun, stream = threading.Event(), cs.Stream()\n"
                                    "def save():\n    begun.set()\n    for i in range(10):\n        time.sleep(0.05)\n"
                                    "    with open(sys.argv[1], 'w') as file: file.write('saved')\n"
                                    "stream.launch_host(save)\nbegun.wait()\n", [file.name])
            self.assertEqual((done.returncode, done.stderr, file.read()), (0, "", "saved"))

    def test_stream_that_is_closed(self):
        done = self.run_program("s = cs.Stream()\ns.launch_host(time.sleep, 0.3)\ns.launch_host(print, 'called')\ns.close()\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "called\n", ""))

    def test_functions_that_nothing_starts(self):
        done = self.run_program("t = cs.Timeline()\nstreams = [cs.Stream(name=f's{i}') for i in range(4)]\n"
                                "def save(): print('save')\n"
                                "for s in streams: s.wait_timeline(t, 1); s.launch_host(save)\n"
                                "streams[0].add_callback(lambda status: print(status.name))\n"
                                "start = time.monotonic()\nimport atexit\n"
                                "atexit._run_exitfuncs()\nprint(time.monotonic() - start < 15)\n")
        self.assertEqual((done.returncode, done.stdout), (0, "ERROR_COMMAND_FAILED\nTrue\n"), done.stderr)
        self.assertIn("save (stream 's0')", done.stderr)
        self.assertIn("save (stream 's3')", done.stderr)


class Handles(unittest.TestCase):
    def test_copies(self):
        for copied in (copy.copy, copy.deepcopy, lambda array: pickle.loads(pickle.dumps(array))):
            x = cs.to_device(np.float32([1, 2, 3]))
            y = copied(x)
            x.fill(9)
            del x
            gc.collect()
            np.testing.assert_array_equal(y.to_host(), [1, 2, 3])
        batch = cs.Batch()
        for thing in (cs.Stream(), cs.Event(), cs.Timeline(), cs.default_context(), cs.Buffer(8), batch,
                      batch.upload(np.zeros(2))):
            self.assertRaises(TypeError, copy.deepcopy, thing)
            self.assertRaises(TypeError, pickle.dumps, thing)
        with self.assertRaises(cs.Error) as caught:
            cs.Context("no such device")
        error = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((error.status, str(error)), (caught.exception.status, str(caught.exception)))

    def test_current_stream_of_a_task(self):
        async def work(stream, turn, other):
            with stream:
                turn.set()
                await other.wait()
                own = cs.current_stream() is stream
                await asyncio.sleep(0)  # the other task has its turn inside its own "with"
                return own

        async def both():
            turns = [asyncio.Event(), asyncio.Event()]
            return await asyncio.gather(work(cs.Stream(), *turns), work(cs.Stream(), *reversed(turns)))
        self.assertEqual(asyncio.run(both()), [True, True])
        self.assertIsNone(cs.current_stream())

    def test_streams_of_generators(self):
        def work(stream):
            with stream:
                yield
        later = cs.Stream()
        first, second = work(cs.Stream()), work(later)
        next(first), next(second)
        self.assertRaises(StopIteration, next, first)
        self.assertIs(cs.current_stream(), later)
        self.assertRaises(StopIteration, next, second)
        self.assertIsNone(cs.current_stream())

    def test_integers(self):
        kernel, x = cs.Program("kernel void f(global float *x) { x[get_global_id(0)] = 1; }").kernel("f"), cs.zeros(8)
        for size in (-1, 2**64 + 3, (1, -1), 1.5, "1"):
            self.assertRaises((ValueError, OverflowError, TypeError), kernel, size, x)
        kernel(np.int64(2), x, local=np.int32(1))
        kernel((np.int64(3),), x)
        np.testing.assert_array_equal(x.to_host(), [1, 1, 1, 0, 0, 0, 0, 0])
        timeline = cs.Timeline()
        timeline.signal(np.int64(5))
        for value in (2**64, -1, 1.0):
            for call in (timeline.signal, timeline.query, timeline.wait, cs.Timeline):
                self.assertRaises((ValueError, OverflowError, TypeError), call, value)
        self.assertFalse(timeline.query(6))
        for shape in (-1, (-2, 3), (2.5,), (2**61 + 1, 8), (2**32, 2**32)):
            for make in (cs.empty, cs.zeros, cs.pinned):
                self.assertRaises((ValueError, TypeError), make, shape)
        self.assertEqual(cs.zeros(np.prod((2, 3))).shape, (6,))
        self.assertEqual(cs.empty((np.int64(2), 3)).reshape(np.int64(6)).shape, (6,))
        self.assertRaises((ValueError, OverflowError), cs.Buffer, -1)


if __name__ == "__main__":
    # Drivers write to the standard error.
    unittest.main(testRunner=unittest.TextTestRunner(sys.stdout, verbosity=2))
