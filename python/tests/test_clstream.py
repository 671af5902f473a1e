# SPDX-License-Identifier: MIT
"""The Python package, with NumPy as the reference."""
import ctypes
import gc
import math
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import clstream as cs
import numpy as np
from clstream import capi

try:
    import pyopencl
except ImportError:
    pyopencl = None

FP64 = bool(cs.default_context().device["has_fp64"])
TYPES = [np.dtype(name) for name in ("float32", "float64", "float16", "int32", "int64", "uint8", "uint32",
                                    "int8", "int16", "uint16")
         if FP64 or name != "float64"]
FLOATS = [dtype for dtype in TYPES if dtype.kind == "f"]
#: Relative errors of results that are not exact; of a float16 a unit in the last place.
TOLERANCE = {dtype: 2.0**-10 if dtype == np.float16 else 1e-5 for dtype in TYPES}


def samples(dtype, count=1000, seed=1):
    generator = np.random.default_rng(seed)
    if dtype.kind == "f":
        return generator.uniform(-4, 4, count).astype(dtype)
    low = 0 if dtype.kind == "u" else -100
    return generator.integers(low, 100, count).astype(dtype)


class Arrays(unittest.TestCase):
    def test_round_trips(self):
        for dtype in TYPES:
            host = samples(dtype).reshape(10, 100)
            array = cs.to_device(host)
            self.assertEqual((array.shape, array.dtype, array.nbytes), (host.shape, host.dtype, host.nbytes))
            np.testing.assert_array_equal(array.to_host(), host)
            np.testing.assert_array_equal(np.asarray(array), host)
        np.testing.assert_array_equal(cs.to_device(np.array([True, False])).to_host(), [1, 0])
        with self.assertRaises(TypeError):
            cs.to_device(np.zeros(3, np.uint64))

    def test_what_is_not_dense_is_copied_first(self):
        host = np.arange(24, dtype=np.int32).reshape(4, 6)
        np.testing.assert_array_equal(cs.to_device(host.T).to_host(), host.T)
        np.testing.assert_array_equal(cs.to_device(host[::2, 1::3]).to_host(), host[::2, 1::3])

    def test_views(self):
        host = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
        array = cs.to_device(host)
        np.testing.assert_array_equal(array[1].to_host(), host[1])
        np.testing.assert_array_equal(array[-1][2].to_host(), host[-1][2])
        np.testing.assert_array_equal(array[1:3].to_host(), host[1:3])
        np.testing.assert_array_equal(array[3:1].to_host(), host[3:1])
        np.testing.assert_array_equal(array.reshape(-1, 8).to_host(), host.reshape(-1, 8))
        self.assertEqual(array[2].fill(7).to_host().tolist(), [[7, 7]] * 3)
        np.testing.assert_array_equal(array.to_host()[2], np.full((3, 2), 7))
        self.assertRaises(IndexError, lambda: array[4])
        np.testing.assert_array_equal(array[::2].to_host(), array.to_host()[::2])
        self.assertRaises(ValueError, array.reshape, 5, 5)

    def test_host_arrays_that_do_not_fit(self):
        array = cs.zeros(4)
        self.assertRaises(ValueError, array.to_host, np.empty(5, np.float32))
        self.assertRaises(ValueError, array.to_host, np.empty(4, np.float64))
        self.assertRaises(ValueError, array.to_host, np.empty(8, np.float32)[::2])
        self.assertRaises(ValueError, array.upload_async, np.empty(3, np.float32))

    def test_memory_of_an_upload_is_kept(self):
        gate = cs.Timeline()
        stream = cs.Stream()
        stream.wait_timeline(gate, 1)
        array = cs.empty(1000, stream=stream)
        array.upload_async(np.full(1000, 5, np.float32), stream)
        gc.collect()
        np.full(1000, 6, np.float32)
        gate.signal(1)
        self.assertEqual(array.sum(stream), 5000)

    def test_pinned(self):
        host = cs.pinned((3, 4), np.int32)
        host[:] = np.arange(12).reshape(3, 4)
        part = host[1:]
        np.testing.assert_array_equal((cs.to_device(part) + 1).to_host(), part + 1)
        del host
        gc.collect()
        self.assertEqual(part.sum(), sum(range(4, 12)))

    def test_a_pointer_is_one_number(self):
        buffer, other = cs.Buffer(64), cs.Buffer(64)
        self.assertEqual(buffer.pointer, buffer.pointer)
        self.assertNotEqual(buffer.pointer, other.pointer)


class SharedEvents(unittest.TestCase):
    def test_a_descriptor_names_the_event(self):
        here = cs.Event(shareable=True)
        fd = here.export_fd()
        there = cs.Event.from_fd(fd)
        os.close(fd)
        there.record()
        here.synchronize()
        self.assertTrue(here.query())
        self.assertRaises(cs.Error, cs.Event().export_fd)
        self.assertRaises(cs.Error, lambda: cs.Event(timed=True, shareable=True))


class SharedMemory(unittest.TestCase):
    def setUp(self):
        self.near, self.far = cs.Context(), cs.Context()
        self.found = self.near.can_share(self.far)
        if self.found["kind"] is None:
            self.assertTrue(self.found["reason"])
            self.assertRaises(cs.Error, lambda: cs.Buffer.shareable(64, self.near))
            self.skipTest("this device's memory cannot be shared")

    def test_contexts_have_one_memory(self):
        self.assertGreater(self.found["gb_per_s"], 0)
        self.assertGreater(self.found["latency_ns"], 0)
        here = cs.Array(cs.Buffer.shareable(400, self.near), 100, np.int32)
        there = cs.Array(here.buffer.open(self.far), 100, np.int32)
        here.fill(3)
        self.near.synchronize()
        self.assertEqual((there.to_host() == 3).all(), True)
        here.buffer.close()
        self.assertEqual((there.to_host() == 3).all(), True)

    def test_a_descriptor_names_the_memory(self):
        here = cs.Array(cs.Buffer.shareable(400, self.near), 100, np.int32)
        fd = here.buffer.export_fd()
        self.assertRaises(cs.Error, lambda: cs.Buffer.from_fd(fd, 399, self.far))
        there = cs.Array(cs.Buffer.from_fd(fd, 400, self.far), 100, np.int32)
        os.close(fd)
        here.fill(5)
        self.near.synchronize()
        self.assertEqual((there.to_host() == 5).all(), True)

    def test_plain_memory_is_refused(self):
        plain = cs.Buffer(64, self.near)
        for call in (lambda: plain.open(self.far), plain.export_fd):
            with self.assertRaises(cs.Error) as caught:
                call()
            self.assertEqual(caught.exception.status, cs.Status.ERROR_INVALID_VALUE)


class Operations(unittest.TestCase):
    def test_casts(self):
        with np.errstate(invalid="ignore"):
            for source in TYPES:
                for target in TYPES:
                    host = samples(source)
                    if source.kind == "f":
                        host[:4] = [np.nan, np.inf, -np.inf, 3e9]
                    expected = host
                    if target.kind != "f":  # saturated, truncated, NaN is 0
                        info = np.iinfo(target)
                        expected = np.array([0 if x != x else min(max(int(x) if abs(x) != np.inf else
                                             (info.max if x > 0 else info.min), info.min), info.max) for x in host])
                    np.testing.assert_array_equal(cs.to_device(host).astype(target).to_host(),
                                                  expected.astype(target), f"{source} to {target}")

    def test_unary(self):
        references = {"exp": np.exp, "sin": np.sin, "tanh": np.tanh, "ceil": np.ceil, "floor": np.floor, "abs": np.abs,
                      "sqr": np.square, "relu": lambda x: np.maximum(x, 0), "sign": np.sign,
                      "sigmoid": lambda x: 1 / (1 + np.exp(-x))}
        for dtype in FLOATS:
            host = samples(dtype)
            for name, reference in references.items():
                result = getattr(cs, name)(cs.to_device(host))
                expected = reference(host.astype(np.float64)).astype(dtype)
                np.testing.assert_allclose(result.to_host(), expected, TOLERANCE[dtype], 1e-6, err_msg=f"{name} {dtype}")
        x = cs.to_device(samples(TYPES[0]))
        self.assertIs(cs.relu(x, out=x), x)
        np.testing.assert_array_equal(x.to_host(), np.maximum(samples(TYPES[0]), 0))
        np.testing.assert_allclose(cs.leaky_relu(cs.to_device(np.float32([-2, 2])), 0.5).to_host(), [-1, 2])
        self.assertRaises(ValueError, cs.unary, "no such", x)
        self.assertRaises(TypeError, cs.exp, cs.zeros(3, np.int32))
        with self.assertRaises(cs.Error) as caught:
            cs.unary("exp", cs.zeros(3, np.int32))
        self.assertEqual(caught.exception.status, cs.Status.ERROR_TYPE_MISMATCH)

    def test_gradients_of_activations(self):
        def gated(t, w):
            s = 1 / (1 + np.exp(-t))
            return s * (1 + w * (1 - s))
        k = np.sqrt(8 / np.pi)
        density = lambda x: np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
        normcdf = np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2)
        slopes = {"relu": lambda x: np.where(x > 0, 1, 0), "silu": lambda x: gated(x, x),
                  "gelu": lambda x: gated(k * (x + 0.044715 * x**3), k * (x + 3 * 0.044715 * x**3)),
                  "gelu_erf": lambda x: normcdf(x) + x * density(x),
                  "sigmoid": lambda x: 1 / (1 + np.exp(-x)) / (1 + np.exp(x)), "tanh": lambda x: 1 / np.cosh(x)**2}
        for dtype in FLOATS:
            x, d = np.linspace(-9, 9, 1001).astype(dtype), np.linspace(-2, 3, 1001).astype(dtype)
            for name, slope in slopes.items():
                function = getattr(cs, f"{name}_gradient")
                expected = (d.astype(np.float64) * slope(x.astype(np.float64))).astype(dtype)
                np.testing.assert_allclose(function(cs.to_device(x), cs.to_device(d)).to_host(), expected,
                                           TOLERANCE[dtype], 1e-6, err_msg=f"{name} {dtype}")
        ends = cs.to_device(np.float32([np.inf, -np.inf]))
        np.testing.assert_array_equal(cs.silu_gradient(ends, cs.to_device(np.float32([3, 3]))).to_host(), [3, 0])
        with self.assertRaises(cs.Error) as caught:
            cs.binary("relu_gradient", cs.zeros(3, np.int32), cs.zeros(3, np.int32))
        self.assertEqual(caught.exception.status, cs.Status.ERROR_TYPE_MISMATCH)

    def test_operators(self):
        for dtype in TYPES:
            a, b = samples(dtype, seed=2), samples(dtype, seed=3)
            b[b == 0] = 1
            x, y = cs.to_device(a), cs.to_device(b)
            for name in ("__add__", "__sub__", "__mul__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
                np.testing.assert_array_equal(getattr(x, name)(y).to_host(), getattr(a, name)(b), f"{dtype} {name}")
            np.testing.assert_array_equal((2 * x + 1).to_host(), 2 * a + dtype.type(1))
            np.testing.assert_array_equal((x - 1).to_host(), a - dtype.type(1))
        a = samples(FLOATS[0])
        x = cs.to_device(a)
        np.testing.assert_allclose((1 / (x + 5)).to_host(), 1 / (a + 5), 1e-6)
        np.testing.assert_allclose((3 - x / 2).to_host(), 3 - a / 2, 1e-6)
        np.testing.assert_allclose((abs(x) ** 1.5).to_host(), np.abs(a) ** 1.5, 1e-5)
        np.testing.assert_array_equal(cs.where(x > 0, x, -x).to_host(), np.abs(a))
        self.assertRaises(ValueError, lambda: x + cs.zeros(3))
        big = np.int64([2**53 + 1, -5])
        np.testing.assert_array_equal((cs.to_device(big) + (2**53 + 1)).to_host(), big + (2**53 + 1))
        np.testing.assert_array_equal((7 - cs.to_device(big) * -3).to_host(), 7 - big * -3)
        self.assertRaises(TypeError, lambda: cs.to_device(big) * 2.5)

    def test_reductions(self):
        for dtype in TYPES:
            host = samples(dtype)
            x = cs.to_device(host)
            self.assertEqual((x.min(), x.max(), x.argmax()), (host.min(), host.max(), host.argmax()))
            np.testing.assert_allclose(x.sum(), host.sum(dtype=np.float64), TOLERANCE[dtype], 1e-3)
            if FP64 or dtype.kind == "f":
                np.testing.assert_allclose(x.mean(), host.mean(dtype=np.float64), TOLERANCE[dtype], 1e-5)
            np.testing.assert_allclose(x.dot(x), (host.astype(np.float64) ** 2).sum(), TOLERANCE[dtype])
        self.assertEqual(cs.to_device(np.int32([2**31 - 1] * 3)).sum(), 3 * (2**31 - 1))

    def test_reductions_over_axes(self):
        whole = np.arange(720, dtype=np.int64).reshape(2, 3, 4, 5, 6) * 37 % 101
        for dtype in (np.float32, np.float16, np.int32, np.uint8, np.bool_):
            host = whole.astype(dtype)
            x, wide = cs.to_device(host), whole.astype(dtype).astype(np.int64)  # the sums of float16 are rounded once
            for axis in (1, 2, 4, -1, (0, 2), (1, 3), (0, 2, 4), (1, 2, 3), (0, 1, 2, 3, 4)):
                for keepdims in (False, True):
                    for name in ("sum", "min", "max", "any", "all"):
                        ours = getattr(cs, name)(x, axis=axis, keepdims=keepdims).to_host()
                        wanted = getattr(np, name)(wide, axis=axis, keepdims=keepdims)
                        self.assertEqual(ours.shape, wanted.shape)
                        np.testing.assert_array_equal(ours, wanted.astype(ours.dtype), f"{name} of {dtype} over {axis}")
                    if FP64 or dtype in (np.float32, np.float16):
                        ours = cs.mean(x, axis=axis, keepdims=keepdims).to_host()
                        wanted = np.mean(host, axis=axis, keepdims=keepdims, dtype=np.float64)
                        np.testing.assert_allclose(ours, wanted, 2.0**-10 if dtype == np.float16 else 1e-6)
            for axis in (0, 1, 2, 3, 4):
                for name in ("argmin", "argmax"):
                    ours = getattr(cs, name)(x, axis=axis).to_host()
                    np.testing.assert_array_equal(ours, getattr(np, name)(wide, axis=axis))

    def test_softmax(self):
        for dtype in FLOATS:
            host = samples(np.dtype(dtype), 60).reshape(3, 4, 5)
            x, wide = cs.to_device(host), host.astype(np.float64)
            error = 2.0**-10 if host.dtype == np.float16 else 1e-6
            for axis in (-1, 0, 1):
                powers = np.exp(wide - wide.max(axis, keepdims=True))
                share = powers / powers.sum(axis, keepdims=True)
                np.testing.assert_allclose(cs.softmax(x, axis=axis).to_host(), share, error, error)
                np.testing.assert_allclose(cs.log_softmax(x, axis=axis).to_host(), np.log(share), error, 1e2 * error)
        self.assertRaises(TypeError, lambda: cs.softmax(cs.zeros(4, np.int32)))
        self.assertRaises(TypeError, lambda: cs.softmax(host))

    def test_truth_and_least(self):
        for dtype in (np.float32, np.float16, np.int32, np.bool_):
            host = (np.arange(60).reshape(3, 4, 5) % 7).astype(dtype)
            host[1, 2] = 0
            host[2, 1, 3] = dtype(-1 if dtype != np.bool_ else 0)
            x = cs.to_device(host)
            for axis in (None, 0, 1, 2, (0, 2)):
                for name in ("any", "all"):
                    ours, wanted = getattr(x, name)(axis=axis), getattr(host, name)(axis=axis)
                    np.testing.assert_array_equal(np.asarray(ours), wanted)
                    self.assertEqual(np.asarray(ours).dtype, np.bool_)
                if dtype != np.bool_ and axis != (0, 2):
                    np.testing.assert_array_equal(np.asarray(x.argmin(axis=axis)), host.argmin(axis=axis))
        self.assertTrue(cs.to_device(np.array([np.nan], np.float32)).all())
        self.assertEqual((cs.zeros((0, 3)).any(axis=0).to_host().any(), cs.zeros((0, 3)).all(axis=0).to_host().all()),
                         (False, True))

    def test_vectors_of_matrices(self):
        host = samples(np.dtype(np.float32), 60, 1).reshape(3, 4, 5)
        x = cs.to_device(host)
        for shape in [(5,), (4, 5), (1, 4, 5), (3, 1, 1), (3, 4, 1), (4, 1), (1, 4, 1), (1,), ()]:
            other = samples(np.dtype(np.float32), 60, 2)[:int(np.prod(shape))].reshape(shape)
            y = cs.to_device(other)
            for function in (np.add, np.subtract, np.less, np.maximum):
                ours = getattr(cs, function.__name__)
                np.testing.assert_array_equal(ours(x, y).to_host(), function(host, other))
                np.testing.assert_array_equal(ours(y, x).to_host(), function(other, host))
            np.testing.assert_array_equal(cs.binary("sub", y, x).to_host(), other - host)
        x -= x[1, 2]
        np.testing.assert_array_equal(x.to_host(), host - host[1, 2])
        self.assertEqual((cs.zeros((0, 5)) + cs.zeros(5)).shape, (0, 5))

    def test_transposes(self):
        for dtype in (np.float16, np.float64, np.uint8, np.int32):
            host = np.arange(7 * 130 * 3).reshape(7, 130, 3).astype(dtype)
            x = cs.to_device(host)
            for axes in [(1, 2, 0), (2, 0, 1), (2, 1, 0), (0, 2, 1), (0, 1, 2)]:
                np.testing.assert_array_equal(x.permute(axes).to_host(), host.transpose(axes))
        np.testing.assert_array_equal(x[0].T.to_host(), host[0].T)
        self.assertEqual(cs.zeros((0, 5)).T.shape, (5, 0))

    def test_norms(self):
        for dtype in FLOATS:
            host, gain, shift = (samples(np.dtype(dtype), n, n) for n in (60, 5, 6))
            host, shift = host.reshape(3, 4, 5), shift[:5]
            x, wide = cs.to_device(host), host.astype(np.float64)
            error = 2.0**-9 if host.dtype == np.float16 else 1e-5
            away = wide - wide.mean(-1, keepdims=True)
            normal = away / np.sqrt((away**2).mean(-1, keepdims=True) + 1e-5)
            np.testing.assert_allclose(cs.layer_norm(x, gain, shift).to_host(), normal * gain + shift, error, 10 * error)
            size = np.sqrt((wide**2).mean(-1, keepdims=True) + 0.5)
            np.testing.assert_allclose(cs.rms_norm(x, gain, epsilon=0.5).to_host(), wide / size * gain, error, error)
        self.assertRaises(ValueError, lambda: cs.rms_norm(x, gain[:4]))

    def test_gradients_of_norms(self):
        for dtype in FLOATS:
            host, gradient, gain = (samples(np.dtype(dtype), n, n) for n in (60, 60, 5))
            host, gradient = host.reshape(3, 4, 5), gradient.reshape(3, 4, 5)[::-1]
            x, wide = cs.to_device(host), host.astype(np.float64)
            error = 2.0**-9 if host.dtype == np.float16 else 1e-5
            for by_mean in (True, False):
                mean = by_mean * wide.mean(-1, keepdims=True)
                scale = 1 / np.sqrt(((wide - mean)**2).mean(-1, keepdims=True) + 0.5)
                normal, h = (wide - mean) * scale, gradient * gain.astype(np.float64)
                by_x = h - normal * (h * normal).mean(-1, keepdims=True)
                if by_mean:
                    by_x -= h.mean(-1, keepdims=True)
                expected = by_x * scale, (gradient * normal).sum((0, 1)), gradient.astype(np.float64).sum((0, 1))
                gradients = (cs.layer_norm_gradient if by_mean else cs.rms_norm_gradient)(x, gain, gradient, epsilon=0.5)
                self.assertEqual(len(gradients), 3 if by_mean else 2)
                for got, want in zip(gradients, expected):
                    np.testing.assert_allclose(got.to_host(), want, error, 20 * error)
        self.assertRaises(ValueError, lambda: cs.rms_norm_gradient(x, gain, gradient[0]))

    def test_cross_entropy(self):
        host = samples(np.dtype("float32"), 20).reshape(4, 5)
        labels = np.int32([3, -1, 0, 4])
        share = np.exp(host - host.max(1, keepdims=True))
        share /= share.sum(1, keepdims=True)
        losses = np.where(labels < 0, 0, -np.log(share[np.arange(4), labels]))
        x = cs.to_device(host)
        np.testing.assert_allclose(cs.cross_entropy(x, labels).to_host(), losses, 1e-5, 1e-5)
        got, gradient = cs.cross_entropy_gradient(x, cs.to_device(labels), factor=0.25)
        np.testing.assert_allclose(got.to_host(), losses, 1e-5, 1e-5)
        share[np.arange(4), labels] -= 1
        share[1] = 0
        np.testing.assert_allclose(gradient.to_host(), share / 4, 1e-5, 1e-6)
        self.assertRaises(ValueError, lambda: cs.cross_entropy(x, labels[:3]))
        self.assertRaises(TypeError, lambda: cs.cross_entropy(x, labels.astype(np.int64)))

    def test_products_of_float16(self):
        a, b = samples(np.dtype("float16"), 12).reshape(3, 4), samples(np.dtype("float16"), 20, 5).reshape(4, 5)
        x, y, exact = cs.to_device(a), cs.to_device(b), a.astype(np.float64) @ b.astype(np.float64)
        for out, error in ((x @ y, 2.0**-10), (cs.gemm(x, y, cs.empty((3, 5), np.float16)), 2.0**-10),
                           (cs.gemm(x, y, cs.empty((3, 5))), 1e-6)):
            np.testing.assert_allclose(out.to_host(), exact, error, 1e-6)
            self.assertEqual(out.dtype, np.float32 if error == 1e-6 else np.float16)
        bias = samples(np.dtype("float16"), 5, 6)
        layer = cs.gemm(x, y, bias=bias, activation="relu")
        np.testing.assert_allclose(layer.to_host(), np.maximum(exact + bias, 0), 2.0**-10, 2.0**-10)
        np.testing.assert_allclose((x @ b.astype(np.float32)).to_host(), exact, 1e-6, 1e-6)
        np.testing.assert_allclose((np.stack([a, -a]) @ y).to_host(), np.stack([exact, -exact]), 2.0**-10, 1e-6)
        self.assertRaises(cs.Error, lambda: cs.gemm(x, y.astype(np.float32)))
        with self.assertRaises(cs.Error):
            cs.gemm(x, y, cs.empty((3, 5), np.int32))

    def test_products(self):
        a, b = samples(FLOATS[0], 12).reshape(3, 4), samples(FLOATS[0], 20, 5).reshape(4, 5)
        x, y = cs.to_device(a), cs.to_device(b)
        np.testing.assert_allclose((x @ y).to_host(), a @ b, 1e-4, 1e-5)
        np.testing.assert_allclose(cs.gemm(y, x, transpose_a=True, transpose_b=True).to_host(), b.T @ a.T, 1e-4, 1e-5)
        out = cs.full((3, 5), 1)
        np.testing.assert_allclose(cs.gemm(x, y, out, alpha=2, beta=3).to_host(), 2 * (a @ b) + 3, 1e-4, 1e-5)
        bias = samples(FLOATS[0], 5, 6)
        layer = cs.gemm(x, y, bias=cs.to_device(bias), activation="relu")
        np.testing.assert_allclose(layer.to_host(), np.maximum(a @ b + bias, 0), 1e-4, 1e-5)
        self.assertRaises(ValueError, lambda: cs.gemm(x, y, activation="relux"))
        self.assertRaises(cs.Error, lambda: cs.gemm(x, y, bias=cs.zeros(4)))
        np.testing.assert_allclose((x @ y[:, 1]).to_host(), a @ b[:, 1], 1e-4, 1e-5)
        np.testing.assert_allclose((a[0] @ y).to_host(), a[0] @ b, 1e-4, 1e-5)
        pair = np.stack([a, -a])
        np.testing.assert_allclose((cs.to_device(pair) @ y).to_host(), pair @ b, 1e-4, 1e-5)
        self.assertRaises(ValueError, lambda: x @ cs.zeros(5))
        self.assertRaises(TypeError, lambda: x @ cs.zeros((4, 5), np.int32))


class Streams(unittest.TestCase):
    def test_order(self):
        first, second, gate = cs.Stream(name="first"), cs.Stream(), cs.Timeline()
        self.assertEqual(first.name, "first")
        first.wait_timeline(gate, 1)
        x = cs.full(100, 2, stream=first)
        event = first.record()
        second.wait_event(event)
        with second:
            self.assertIs(cs.current_stream(), second)
            y = x * 3
        self.assertIsNone(cs.current_stream())
        second.signal_timeline(gate, 2)
        self.assertFalse(first.query() or event.query() or gate.query(1))
        self.assertFalse(second.wait(0.001) or event.wait(0.001) or gate.wait(2, 0))
        gate.signal(1)
        self.assertTrue(gate.wait(2))
        np.testing.assert_array_equal(y.to_host(stream=second), np.full(100, 6))
        self.assertTrue(first.query() and event.query())
        cs.default_context().synchronize()
        self.assertIn("first", cs.default_context().explain())

    def test_time(self):
        stream = cs.Stream(timing=True)
        start, end = cs.Event(timed=True), cs.Event(timed=True)
        start.record(stream)
        cs.zeros(1000, stream=stream)
        end.record(stream)
        stream.synchronize()
        self.assertGreaterEqual(end.elapsed_since(start), 0)

    def test_host_functions(self):
        stream, seen = cs.Stream(), []
        stream.launch_host(seen.append, 1)
        stream.add_callback(lambda status, more: seen.append((status, more)), 2)
        stream.synchronize()
        self.assertEqual(seen, [1, (cs.Status.SUCCESS, 2)])

        def fail():
            raise OSError("the disk is full")
        stream.launch_host(fail)
        stream.launch_host(seen.append, "not run")
        stream.add_callback(lambda status: seen.append(status))
        with self.assertRaises(cs.Error) as caught:
            stream.synchronize()
        self.assertEqual(caught.exception.status, cs.Status.ERROR_COMMAND_FAILED)
        self.assertIn("OSError: the disk is full", str(caught.exception))
        self.assertEqual(seen[2:], [cs.Status.ERROR_COMMAND_FAILED])
        stream.reset()
        caught = []

        def wait():
            try:
                stream.synchronize()
            except cs.Error as error:
                caught.append(error.status)
        stream.launch_host(wait)
        stream.synchronize()
        self.assertEqual(caught, [cs.Status.ERROR_WOULD_DEADLOCK])

    def test_threads(self):
        results = [None] * 4

        def work(i):
            with cs.Stream():
                x = cs.to_device(np.full(1000, i, np.float32))
                for _ in range(20):
                    x = x + 1
                results[i] = x.sum()
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [1000 * (i + 20) for i in range(4)])

    def test_errors(self):
        self.assertRaises(cs.Error, cs.Context, "no such device")
        stream = cs.Stream()
        stream.close()
        stream.close()
        self.assertRaises(ValueError, cs.zeros, 3, stream=stream)
        with self.assertRaises(cs.Error) as caught:
            cs.empty(2**60)
        self.assertTrue(caught.exception.detail)

    def test_exit_with_work_pending(self):
        program = ("import time\nimport clstream as cs\nstream = cs.Stream()\nx = cs.zeros(100000, stream=stream)\n"
                   "stream.launch_host(time.sleep, 0.2)\nstream.launch_host(print, 'called')\n")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, "called\n"), done.stderr)


class Kernels(unittest.TestCase):
    SOURCE = ("typedef struct { int a[5]; float b; } pair;\n"
              "kernel void f(global float *x, float a, int b, pair p, local float *s, global float *none) {\n"
              "    size_t i = get_global_id(0) + get_global_size(0) * get_global_id(1);\n"
              "    s[0] = a; x[i] = s[0] * i + b + p.a[4] * p.b + (none != 0);\n}\n")

    def test_device_facts(self):
        for index, device in enumerate(cs.devices()):
            for name in device["extensions"].split():
                self.assertTrue(cs.has_extension(index, name))
            self.assertFalse(cs.has_extension(index, "cl_khr"))
            self.assertEqual((len(device["max_work_items"]), len(device["uuid"])), (3, 16))
            self.assertGreaterEqual(device["opencl_version"], 120)

    def test_launch(self):
        kernel = cs.Program(self.SOURCE, "f.cl").kernel("f")
        pair = np.array((list(range(5)), 0.5), [("a", np.int32, 5), ("b", np.float32)])
        x = cs.zeros(6)
        args = (np.float32(2), np.int32(-1), pair, cs.Local(4), None)
        kernel((3, 2), x, *args, local=(1, 1))
        np.testing.assert_array_equal(x.to_host(), [2 * i + 1 for i in range(6)])
        kernel(6, x.buffer, *args, local=1)
        align = cs.default_context().device["base_align"] // 4
        part = cs.zeros(2 * align)
        kernel(2, part[align:], *args, local=1)
        np.testing.assert_array_equal(part.to_host()[align:align + 2], [1, 3])
        y = cs.zeros(6)
        kernel(2, y, *args, local=1, offset=3)
        np.testing.assert_array_equal(y.to_host(), [0, 0, 0, 7, 9, 0])
        self.assertRaises(ValueError, kernel, 6, x, *args, offset=(1, 2))
        info = kernel.info
        self.assertEqual((info["arguments"], info["required_group"]), (6, (0, 0, 0)))
        self.assertGreaterEqual(info["max_group"], 1)
        try:
            self.assertEqual([kernel.arg_info(i)["space"] for i in range(6)], [1, 0, 0, 0, 3, 1])
        except cs.Error as error:
            self.assertEqual(error.status, cs.Status.ERROR_UNSUPPORTED)
        self.assertRaises(cs.Error, kernel.arg_info, 6)
        self.assertIsNone(kernel.suggest_local(4))
        self.assertRaises(TypeError, kernel, 6, x, 2.0)
        self.assertRaises(cs.Error, kernel, 6, x)
        self.assertRaises(cs.Error, kernel, 6, x, np.int64(2), *args[1:])
        self.assertRaises(cs.Error, cs.Program("kernel void f() {}").kernel, "g")
        with self.assertRaises(cs.Error) as caught:
            cs.Program("no program")
        self.assertEqual(caught.exception.status, cs.Status.ERROR_BUILD_FAILED)

    def test_addresses(self):
        source = ("kernel void add(global const ulong *rows, global int *sum) {\n"
                  "    size_t i = get_global_id(0);\n"
                  "    sum[i] = ((global int *)rows[0])[i] + ((global int *)rows[1])[i];\n}\n"
                  "kernel void set(ulong at, global int *one) { *(global int *)at = *one; }\n")
        program = cs.Program(source, "rows.cl")
        a, b, total = cs.to_device(np.arange(8, dtype=np.int32)), cs.full(8, 10, np.int32), cs.zeros(8, np.int32)
        try:
            rows = cs.to_device(np.array([a.buffer.address, b.buffer.address], np.int64))
        except cs.Error as error:
            self.assertEqual(error.status, cs.Status.ERROR_UNSUPPORTED)
            self.skipTest(str(error))
        program.kernel("add")(8, rows, total, reaches=(a, b.buffer))
        np.testing.assert_array_equal(total.to_host(), np.arange(8) + 10)
        program.kernel("set")(1, cs.Address(a[2:], 4), b, reaches=[])
        np.testing.assert_array_equal(a.to_host(), [0, 1, 2, 10, 4, 5, 6, 7])
        self.assertRaises(TypeError, program.kernel("add"), 8, rows, total, reaches=(a, 3))
        self.assertRaises(cs.Error, program.kernel("set"), 1, cs.Address(a, 33), b)

    def test_reached_memory_is_kept(self):
        gate, stream = cs.Timeline(), cs.Stream()
        kernel = cs.Program("kernel void f(global const ulong *at, global int *to) { *to = *(global int *)*at; }").kernel("f")
        held, to = cs.full(1 << 12, 5, np.int32), cs.zeros(1, np.int32)
        try:
            at = cs.to_device(np.array([held.buffer.address], np.int64))
        except cs.Error as error:
            self.skipTest(str(error))
        cs.default_context().synchronize()
        stream.wait_timeline(gate, 1)
        kernel(1, at, to, stream=stream, reaches=[held])
        del held
        others = [cs.full(1 << 12, 7, np.int32) for _ in range(20)]
        gate.signal(1)
        stream.synchronize()
        self.assertEqual(to.to_host()[0], 5)
        del others

    def test_pointers(self):
        x = cs.to_device(np.arange(4, dtype=np.int32))
        buffer, offset = ctypes.c_void_p(), ctypes.c_size_t()
        find = capi.lib.cls_pointer_get_buffer  # as a function in C is handed the pointer
        self.assertEqual(find(ctypes.c_void_p(x.buffer.pointer + 5), ctypes.byref(buffer), ctypes.byref(offset)), 0)
        self.assertEqual((buffer.value, offset.value), (x.buffer.handle, 5))

    def test_load(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "one.cl")
            with open(path, "w", encoding="ascii") as file:
                file.write("kernel void one(global int *x) { x[get_global_id(0)] = 1; }")
            x = cs.zeros(3, np.int32)
            cs.Program.load(path).kernel("one")(3, x)
            np.testing.assert_array_equal(x.to_host(), [1, 1, 1])

    def test_binary(self):
        binary = cs.Program("kernel void two(global int *x) { x[get_global_id(0)] = 2; }").binary
        x = cs.zeros(3, np.int32)
        cs.Program.from_binary(binary).kernel("two")(3, x)
        np.testing.assert_array_equal(x.to_host(), [2, 2, 2])
        with self.assertRaises(cs.Error) as caught:
            cs.Program.from_binary(binary[:-1])
        self.assertEqual(caught.exception.status, cs.Status.ERROR_INVALID_VALUE)
        self.assertRaisesRegex(cs.Error, "no SPIR-V", cs.Program.from_il, b"x" * 20)


class Images(unittest.TestCase):
    def test_through_a_kernel(self):
        host = np.arange(5 * 7 * 4, dtype=np.uint8).reshape(5, 7, 4)
        try:
            image = cs.Image.from_host(host)
        except cs.Error as error:
            if error.status == cs.Status.ERROR_UNSUPPORTED:
                self.skipTest("the device has no such images")
            raise
        np.testing.assert_array_equal(image.to_host(), host)
        out = cs.Image(host.shape, host.dtype)
        kernel = cs.Program("""kernel void f(read_only image2d_t from, sampler_t s, write_only image2d_t to) {
            const int2 at = (int2)(get_global_id(0), get_global_id(1));
            write_imageui(to, at, read_imageui(from, s, at - (int2)(1, 0)) + 1u);
        }""").kernel("f")
        kernel((7, 5), image, cs.Sampler("edge"), out)
        wanted = np.concatenate([host[:, :1], host[:, :-1]], axis=1) + 1
        np.testing.assert_array_equal(out.to_host(), wanted)
        stream = cs.Stream()
        with stream.capture() as capture:
            kernel((7, 5), image, cs.Sampler("edge"), out, stream=stream)
        other = cs.Image(host.shape, host.dtype)
        steps = capture.graph.instantiate()
        steps.bind(out, other)
        steps.launch(stream)
        stream.synchronize()
        np.testing.assert_array_equal(other.to_host(), wanted)
        with self.assertRaises(ValueError):
            cs.Image((5, 7, 3), np.uint8)
        with self.assertRaises(ValueError):
            image.upload(host[:4])


class Batches(unittest.TestCase):
    def test_chain(self):
        host, other = samples(FLOATS[0]), samples(FLOATS[0], seed=9)
        batch = cs.Batch()
        x, bias = batch.upload(host), batch.array(cs.to_device(other))
        y = ((x * 2).relu() + bias - 1).keep()
        total = y.sum()
        batch.execute()
        expected = np.maximum(host * 2, 0) + other - np.float32(1)
        np.testing.assert_allclose(y.read(), expected, 1e-6, 1e-6)
        np.testing.assert_allclose(total.read(), expected.sum(dtype=np.float64), 1e-4)
        self.assertIn("op_relu", batch.source())
        batch.bind(x, other)
        batch.execute(cs.Stream())
        np.testing.assert_allclose(y.read(), np.maximum(other * 2, 0) + other - np.float32(1), 1e-6, 1e-6)
        self.assertRaises(ValueError, batch.bind, x, other[:3])

    def test_float16(self):
        host, other = samples(np.dtype("float16")), samples(np.dtype("float16"), seed=9)
        batch = cs.Batch()
        x, y, limit = batch.upload(host), batch.array(cs.to_device(other)), batch.scalar(np.float16(1))
        out = cs.empty(host.shape, np.float16)
        chain = ((x * 2).relu() + y - 1).store(out)
        least = batch.where(chain < limit, chain, limit)
        wide, total = x.astype(np.float32) + x, chain.sum()
        product = batch.gemm(batch.upload(host[:6]), batch.upload(other[:6]), 2, 2, 3)
        batch.execute()
        expected = np.maximum(host * np.float16(2), 0) + other - np.float16(1)
        np.testing.assert_array_equal(out.to_host(), expected)
        np.testing.assert_array_equal(least.read(), np.minimum(expected, np.float16(1)))
        np.testing.assert_array_equal(wide.read(), 2 * host.astype(np.float32))
        np.testing.assert_allclose(total.read(), expected.sum(dtype=np.float64), 2.0**-10)
        np.testing.assert_allclose(product.read().reshape(2, 2), host[:6].astype(np.float32).reshape(2, 3) @
                                   other[:6].astype(np.float32).reshape(3, 2), 2.0**-10, 2.0**-10)
        self.assertEqual({value.dtype for value in (x, chain, least, total, product)}, {np.dtype("float16")})
        self.assertEqual(wide.dtype, np.float32)
        self.assertRaises(OverflowError, lambda: x + 65520)
        batch.bind(limit, 0.1)
        batch.bind(x, other)
        batch.execute()
        np.testing.assert_array_equal(least.read(), np.minimum(
            np.maximum(other * np.float16(2), 0) + other - np.float16(1), np.float16(0.1)))

    def test_rows_and_columns(self):
        host = samples(FLOATS[0])[:12].reshape(4, 3)
        row, column = host[1].copy(), host[:, 2].copy()
        batch = cs.Batch()
        x, gain, shift = batch.upload(host), batch.upload(row), batch.upload(row[::-1].copy())
        chain = batch.binary_columns("sub", batch.binary_rows("add", x, gain).relu(), batch.upload(column))
        sums, most = batch.reduce_rows("sum", x, 3), batch.reduce_columns("max", x, 3)
        soft, logs = batch.softmax(x, 3), batch.log_softmax(x, 3)
        normal, scaled = batch.layer_norm(x, 3, gain, shift), batch.rms_norm(x, 3, gain)
        batch.execute()
        np.testing.assert_array_equal(chain.read().reshape(4, 3), np.maximum(host + row, 0) - column[:, None])
        np.testing.assert_allclose(sums.read(), host.sum(1), 1e-5, 1e-5)
        np.testing.assert_array_equal(most.read(), host.max(0))
        device = cs.to_device(host)
        for value, single in ((soft, cs.softmax(device)), (logs, cs.log_softmax(device)),
                              (normal, cs.layer_norm(device, cs.to_device(row), cs.to_device(row[::-1].copy()))),
                              (scaled, cs.rms_norm(device, cs.to_device(row)))):
            np.testing.assert_array_equal(value.read().reshape(4, 3), single.to_host())
        self.assertRaises(cs.Error, batch.softmax, x, 5)

    def test_scalars_and_selection(self):
        host = samples(FLOATS[0])
        batch = cs.Batch()
        x, limit = batch.upload(host), batch.scalar(np.float32(1))
        out = cs.empty(host.shape)
        batch.where(batch.binary("gt", x, limit), limit, x).store(out)
        batch.execute()
        np.testing.assert_array_equal(out.to_host(), np.minimum(host, 1))
        batch.bind(limit, 2)
        batch.execute()
        np.testing.assert_array_equal(out.to_host(), np.minimum(host, 2))


@unittest.skipUnless(pyopencl, "no pyopencl")
class PyOpenCL(unittest.TestCase):
    def test_objects_in_and_out(self):
        theirs = pyopencl.Context([pyopencl.get_platforms()[0].get_devices()[0]])
        queue = pyopencl.CommandQueue(theirs)
        host = np.arange(8, dtype=np.float32)
        memory = pyopencl.Buffer(theirs, pyopencl.mem_flags.COPY_HOST_PTR, hostbuf=host)
        context = cs.Context.from_int_ptr(theirs.int_ptr, theirs.devices[0].int_ptr)
        self.assertEqual((context.int_ptr, context.device_int_ptr), (theirs.int_ptr, theirs.devices[0].int_ptr))
        stream = cs.Stream.from_int_ptr(queue.int_ptr, context)
        x = cs.Array(cs.Buffer.from_int_ptr(memory.int_ptr, context), 8, np.float32)
        y = cs.sqr(x, stream=stream)
        back = np.empty(8, np.float32)
        event = cs.Event(context)
        event.record(stream)
        done = pyopencl.Event.from_int_ptr(event.get_cl(), retain=False)
        pyopencl.enqueue_copy(queue, back, pyopencl.Buffer.from_int_ptr(y.buffer.int_ptr), wait_for=[done])
        np.testing.assert_array_equal(back, host * host)
        marker = pyopencl.enqueue_marker(queue)
        stream.wait_cl(marker.int_ptr)

        def fill(pointer):
            mine = pyopencl.CommandQueue.from_int_ptr(pointer)
            pyopencl.enqueue_fill_buffer(mine, memory, np.float32(3), 0, 32)
        stream.foreign(fill, "fill")
        np.testing.assert_array_equal(x.to_host(stream=stream), [3] * 8)


if __name__ == "__main__":
    # Drivers write to the standard error.
    unittest.main(testRunner=unittest.TextTestRunner(sys.stdout, verbosity=2))
