# SPDX-License-Identifier: MIT
"""Graphs and pools of streams."""
import gc
import sys
import unittest
import weakref

import clstream as cs
import numpy as np

COUNT = 1000


class Graphs(unittest.TestCase):
    def test_launches(self):
        stream, x, out = cs.Stream(), cs.empty(COUNT), np.zeros(COUNT, np.float32)
        host = np.ones(COUNT, np.float32)
        with stream.capture("step") as capture:
            x.upload_async(host)
            (x * 2 + 1).download_async(out)
        self.assertIsNone(cs.current_stream())
        self.assertGreaterEqual(len(capture.graph), 4)
        step = capture.graph.instantiate()
        for value in (1, 5):
            host[:] = value
            step.launch(stream)
            stream.synchronize()
            np.testing.assert_array_equal(out, np.full(COUNT, 2 * value + 1))
        other = np.full(COUNT, 7, np.float32)
        step.bind(host, other)
        y = cs.empty(COUNT)
        step.bind(x, y)
        step.launch(stream)
        np.testing.assert_array_equal(y.to_host(stream=stream), other)
        np.testing.assert_array_equal(out, np.full(COUNT, 15))
        fused = capture.graph.instantiate(fuse=True)
        fused.launch(stream)
        stream.synchronize()
        np.testing.assert_array_equal(out, np.full(COUNT, 11))

    def test_float16(self):
        stream, x, out = cs.Stream(), cs.empty(COUNT, np.float16), np.zeros(COUNT, np.float16)
        host = np.linspace(-4, 4, COUNT, dtype=np.float16)
        with stream.capture() as capture:
            x.upload_async(host)
            cs.where(x > 0, x * 0.1 + 1, cs.trunc(x)).download_async(out)
        expected = np.where(host > 0, host * np.float16(0.1) + np.float16(1), np.trunc(host))
        for fuse in (False, True):
            out[:] = 0
            capture.graph.instantiate(fuse=fuse).launch(stream)
            stream.synchronize()
            np.testing.assert_array_equal(out, expected)

    def test_memory_is_kept(self):
        stream, gate, x = cs.Stream(), cs.Timeline(), cs.empty(COUNT)
        host = np.ones(COUNT, np.float32)
        watch = weakref.ref(host)
        with stream.capture() as capture:
            x.upload_async(host)
        del host
        step = capture.graph.instantiate()
        del capture
        gc.collect()
        stream.wait_timeline(gate, 1)
        step.launch(stream)
        del step
        gc.collect()
        overwritten = [np.full(COUNT, 7, np.float32) for _ in range(20)]
        self.assertIsNotNone(watch())
        gate.signal(1)
        np.testing.assert_array_equal(x.to_host(stream=stream), np.ones(COUNT))
        gc.collect()
        self.assertIsNone(watch())
        del overwritten

    def test_functions_run_with_each_launch(self):
        stream, seen = cs.Stream(), []
        with stream.capture() as capture:
            stream.launch_host(seen.append, 1)
            stream.add_callback(lambda status: seen.append(status))
        step = capture.graph.instantiate()
        self.assertEqual(seen, [])
        for _ in range(3):
            step.launch(stream)
        stream.synchronize()
        self.assertEqual(seen, [1, cs.Status.SUCCESS] * 3)

    def test_other_streams_join_by_events(self):
        first, second, x = cs.Stream(), cs.Stream(), cs.zeros(COUNT)
        cs.default_context().synchronize()
        with first.capture() as capture:
            x += 1
            second.wait_event(first.record())
            with second:
                x *= 3
            first.wait_event(second.record())
        step = capture.graph.instantiate()
        step.launch(first)
        step.launch(first)
        np.testing.assert_array_equal(x.to_host(stream=first), np.full(COUNT, 12))

    def test_update(self):
        stream, x = cs.Stream(), cs.empty(COUNT)

        def captured(value):
            with stream.capture() as capture:
                x.upload_async(np.full(COUNT, value, np.float32))
            return capture.graph
        step = captured(1).instantiate()
        step.update(captured(2))
        gc.collect()
        step.launch(stream)
        np.testing.assert_array_equal(x.to_host(stream=stream), np.full(COUNT, 2))

    def test_dependencies_by_number(self):
        stream, x, y = cs.Stream(), cs.zeros(COUNT), cs.zeros(COUNT)
        cs.default_context().synchronize()
        with stream.capture() as capture:
            self.assertEqual(stream.capture_nodes, [])
            x.fill(3, stream)
            first = stream.capture_nodes
            stream.capture_nodes = []
            y.fill(4, stream)
            stream.add_capture_nodes(first)
            self.assertEqual(len(stream.capture_nodes), 2)
            with stream:
                x += y
        with stream.capture(start=capture.graph) as longer:
            with stream:
                x += 1
        longer.graph.instantiate().launch(stream)
        np.testing.assert_array_equal(x.to_host(stream=stream), np.full(COUNT, 8))
        self.assertEqual(len(longer.graph), len(capture.graph) + 1)
        step = capture.graph.instantiate()
        self.assertIsNone(step.compare(capture.graph))
        self.assertEqual(step.compare(longer.graph), {"kind": "nodes", "node": None, "own": len(capture.graph),
                                                      "other": len(longer.graph)})
        with self.assertRaises(cs.Error):
            stream.capture_nodes

    def test_external_events(self):
        stream, other, event, x = cs.Stream(), cs.Stream(), cs.Event(), cs.zeros(COUNT)
        cs.default_context().synchronize()
        with stream.capture() as capture:
            stream.wait_external_event(event)
            with stream:
                x *= 2
        step = capture.graph.instantiate()
        for value in 1, 2:
            x.fill(value, other)
            event.record(other)
            step.launch(stream)
            np.testing.assert_array_equal(x.to_host(stream=stream), np.full(COUNT, 2 * value))

    def test_graph_memory(self):
        used, high = cs.default_context().graph_memory
        self.assertLessEqual(used, high)
        cs.default_context().reset_graph_memory_peak()
        cs.default_context().trim_graph_memory()
        self.assertEqual(cs.default_context().graph_memory[1], used)

    def test_captures_that_fail(self):
        stream, x = cs.Stream(), cs.zeros(COUNT)
        with self.assertRaises(cs.Error) as caught:
            with stream.capture():
                x.to_host()
        self.assertEqual(caught.exception.status, cs.Status.ERROR_INVALID_STATE)
        with self.assertRaises(ZeroDivisionError):
            with stream.capture() as capture:
                x.fill(1 // 0)
        self.assertIsNone(capture.graph)
        x.fill(1, stream)
        self.assertEqual(x.sum(stream), COUNT)
        self.assertEqual(cs.pending.captures, [])


class Pools(unittest.TestCase):
    def test_streams(self):
        pool = cs.StreamPool(min_streams=2, max_streams=2)
        streams = [pool.get(lease=True) for _ in range(2)]
        self.assertNotEqual(streams[0].handle, streams[1].handle)
        with self.assertRaises(cs.Error) as caught:
            pool.get()
        self.assertEqual(caught.exception.status, cs.Status.ERROR_LIMIT)
        for stream in streams:
            pool.release(stream)
        with pool.stream() as stream:
            self.assertIs(cs.current_stream(), stream)
            self.assertEqual((cs.zeros(3) + 1).sum(), 3)
        self.assertRaises(ValueError, cs.StreamPool, strategy="no such")


if __name__ == "__main__":
    # Drivers write to the standard error.
    unittest.main(testRunner=unittest.TextTestRunner(sys.stdout, verbosity=2))
