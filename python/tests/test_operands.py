# SPDX-License-Identifier: MIT
"""Operands and parts of arrays: what is computed is what NumPy computes, or is refused."""
import unittest
import sys

import clstream as cs
import numpy as np

F, H, I = np.float32, np.float16, np.int32


class Operands(unittest.TestCase):
    def same(self, got, expected):
        got = got.to_host() if isinstance(got, cs.Array) else got
        self.assertEqual((got.shape, got.dtype), (expected.shape, expected.dtype))
        np.testing.assert_array_equal(got, expected)

    def test_broadcast(self):
        a, b = np.arange(24, dtype=F).reshape(2, 1, 3, 4), np.arange(40, dtype=F).reshape(5, 2, 4)[:, :1]
        condition = np.arange(8).reshape(2, 1, 1, 4) % 3 == 0
        x, y, c = cs.to_device(a), cs.to_device(b), cs.to_device(condition)
        self.same(x - y, a - b)
        self.same(y < x, b < a)
        self.same(cs.where(c, x, y), np.where(condition, a, b))
        self.same(cs.where(c, 7, y), np.where(condition, F(7), b))
        self.same(cs.maximum(x, y[0, 0, 1]), np.maximum(a, b[0, 0, 1]))
        self.same(x[:0] - y, a[:0] - b)

    def test_an_output_that_is_an_operand(self):
        for part in (0, 1, (0, 1), slice(0, 1)):
            a = np.arange(12, dtype=F).reshape(3, 4)
            x = cs.to_device(a)
            self.assertIs(cs.subtract(x, x[part], out=x), x)
            self.same(x, a - a[part])

    def test_a_mask_and_a_number_of_the_array_itself(self):
        a = np.arange(4, dtype=F).reshape(2, 2)
        x, chosen = cs.to_device(a), np.array([[True, False], [False, True]])
        x[cs.to_device(a > 1)] = x[1, 1]
        a[a > 1] = 3
        self.same(x, a)
        mask = cs.to_device(chosen)
        mask[mask[0]] = True
        chosen[chosen[0]] = True
        self.same(mask, chosen)
        y = cs.to_device(a)
        self.same(cs.where(cs.to_device(chosen[:1]), y[1], y, out=y), np.where(chosen[:1], a[1], a))

    def test_numpy_arrays(self):
        a, column, row = np.arange(1, 5, dtype=F).reshape(2, 2), F([[10], [20]]), F([10, 20])
        x = cs.to_device(a)
        for other in (column, row, a + 1, F(3).reshape(1, 1), column[:, ::-1], a.T):
            for name in ("add", "sub", "mul", "truediv", "lt", "le", "gt", "ge", "eq", "ne"):
                self.same(getattr(x, f"__{name}__")(other), getattr(a, f"__{name}__")(other))
            for function in (np.add, np.subtract, np.multiply, np.divide, np.less):
                with self.assertRaises(TypeError):
                    function(x, other)  # never on the host in silence
            self.same(other - x, other - a)
            self.same(other / x, other / a)
            self.same(other > x, other > a)
        self.same(x ** F([[1], [2]]), a ** F([[1], [2]]))
        for other in (F([1, 2, 3]), np.zeros((3, 2), F)):
            self.assertRaises(ValueError, lambda: x - other)
            self.assertRaises(ValueError, lambda: other - x)
        for other in ([1, 2], "1", None, {}, 1j, object(), np.array(["a"]), np.ma.array([1, 2], mask=[0, 1])):
            self.assertRaises(TypeError, lambda: x - other)
            self.assertRaises(TypeError, lambda: other - x)

    def test_what_is_given_may_be_changed_at_once(self):
        gate, stream = cs.Timeline(), cs.Stream()
        stream.wait_timeline(gate, 1)
        with stream:
            other = np.ones(4096, F)
            x = cs.zeros(4096) + other
            other[:] = 9
            gate.signal(1)
            self.same(x, np.ones(4096, F))

    def test_broadcasting_and_types(self):
        a, b = np.arange(24, dtype=F).reshape(2, 3, 4), np.arange(3, dtype=F).reshape(3, 1)
        x, y = cs.to_device(a), cs.to_device(b)
        self.same(x - y, a - b)
        self.same(y - x, b - a)
        self.same(cs.maximum(x, cs.to_device(F(7))), np.maximum(a, F(7)))
        self.same(x[:, :1] * x[:1, :, :1], a[:, :1] * a[:1, :, :1])
        self.assertRaises(ValueError, lambda: x + cs.zeros((3, 3)))
        integers = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint32)
        for one in integers:
            for two in integers:
                a, b = np.arange(3, dtype=one), np.arange(3, dtype=two)
                self.same(cs.to_device(a) + cs.to_device(b), a + b)
            for other in (np.float32, bool):
                self.assertRaises(TypeError, lambda: cs.to_device(a) + cs.zeros(3, other))
        a, b = H([1, 2.5, 65504]), F([1e-3, 1e6, 1])
        x = cs.to_device(a)
        self.same(x + cs.to_device(b), a + b)
        self.same(b * x, b * a)
        self.same(x < b, a < b)
        self.same(cs.where(x > 2, x, cs.to_device(b)), np.where(a > 2, a, b))
        self.same(cs.concat([x, cs.to_device(b)]), np.concatenate([a, b]))
        self.assertRaises(TypeError, lambda: x + I([1, 2, 3]))
        self.assertRaises(TypeError, x.__setitem__, 0, F(1).reshape(1))
        self.assertRaises(ValueError, x.__iadd__, b)
        if cs.default_context().device["has_fp64"]:
            self.same(cs.ones(3) + cs.ones(3, np.float64), np.full(3, 2.0))
            self.same(x + cs.ones(3, np.float64), a + np.ones(3))

    def test_numbers(self):
        a = np.arange(-1, 3, dtype=I)
        x = cs.to_device(a)
        for number in (0.5, -0.5, 2.0, np.nan, np.inf, np.float64(1), 2**31, -2**31 - 1, 2**40, np.int64(2**33)):
            for call in (lambda: x + number, lambda: number - x, lambda: x > number, lambda: x == number,
                         lambda: x * number, lambda: x.fill(number), lambda: cs.full(3, number, I)):
                self.assertRaises(TypeError if isinstance(number, float) else OverflowError, call)
        for number in (2**31 - 1, -2**31, np.int64(-3), np.uint8(3), True):
            number = int(number)
            self.same(x + number, a + I(number))
            self.same(x * number, a * I(number))
            self.same(number - x, I(number) - a)
            self.same(x > number, a > number)
        b = np.uint8([1, 200])
        y = cs.to_device(b)
        for number in (300, -1):
            for call in (lambda: y + number, lambda: y - number, lambda: y > number, lambda: number * y):
                self.assertRaises(OverflowError, call)
        self.same(y + 255, b + np.uint8(255))
        z = cs.ones(3)
        self.same(z * np.float64(2), np.full(3, 2, F))
        self.same(z + np.int64(2), np.full(3, 3, F))
        self.same(z * np.inf, np.full(3, np.inf, F))
        for number in (1e300, 10**400):
            self.assertRaises(OverflowError, lambda: z * number)
        a = H([-1, 0.5, 60000])
        h = cs.to_device(a)
        for number in (0.1, np.float32(0.1), 3, 65504, 65519, -65504, 1e-9, np.nan, np.inf):
            with np.errstate(over="ignore"):
                self.same(h + number, a + H(number))
                self.same(number - h, H(number) - a)
                self.same(h * number, a * H(number))
                self.same(h > number, a > H(number))
                self.same(cs.full(2, number, H), np.full(2, number, H))
        for number in (65520, -65520.0, 1e5, 10**400, np.float64(1e300)):
            for call in (lambda: h + number, lambda: number * h, lambda: h > number, lambda: h.fill(number),
                         lambda: cs.full(3, number, H), lambda: cs.elu(h, number)):
                self.assertRaises(OverflowError, call)
        self.assertRaises(TypeError, lambda: (z > 0) == 1)
        self.assertRaises(TypeError, z.fill, [1, 2])

    def test_batches(self):
        a = np.arange(1, 5, dtype=F)

        def run(function):
            batch = cs.Batch()
            value = function(batch.upload(a))
            batch.execute()
            return value.read()
        b = F([4, 3, 2, 1])
        for other in (b, F([[4, 3], [2, 1]]).reshape(4), F(2).reshape(1), 2.5, np.int64(2), cs.to_device(b)):
            reference = other.to_host() if isinstance(other, cs.Array) else F(other)
            for function in (lambda x, y: x - y, lambda x, y: y - x, lambda x, y: x / y, lambda x, y: y * x,
                             lambda x, y: y / x, lambda x, y: x ** y):
                np.testing.assert_allclose(run(lambda x: function(x, other)), function(a, reference), 1e-5)
            np.testing.assert_array_equal(run(lambda x: x > other), a > reference)
            np.testing.assert_array_equal(run(lambda x: x == other), a == reference)
        for other in (F([1, 2]), np.zeros(5, F)):
            self.assertRaises(cs.Error, run, lambda x: x - other)
        for other in ([1, 2, 3, 4], "1", None):
            self.assertRaises(TypeError, run, lambda x: x - other)
        batch = cs.Batch()
        value = batch.upload(np.uint8([1, 200]))
        for call in (lambda: value + 300, lambda: value * -1, lambda: 300 - value, lambda: batch.unary("scale", value, 300)):
            self.assertRaises(OverflowError, call)
        for call in (lambda: 2.5 - value, lambda: value + 2.0, lambda: bool(value == value), lambda: {value}):
            self.assertRaises(TypeError, call)
        self.assertRaises(AttributeError, lambda: value.no_such_operation)

    def test_truth(self):
        x, y = cs.to_device(F([1, 2, 3])), cs.to_device(F([1, 2, 4]))
        self.assertRaises(ValueError, bool, x == y)
        self.assertRaises(ValueError, lambda: cs.to_device(F([7, 8, 9])) in [x, y])
        self.assertFalse((x == y).all())
        self.assertTrue((x == y).any())
        self.assertIs(x == None, False)  # noqa: E711
        for value in (0, 2):
            for shape in ((), (1,), (1, 1)):
                x = cs.full(shape, value)
                self.assertEqual((bool(x), float(x), int(x), complex(x)), (bool(value), value, value, value))
        self.assertEqual([10, 20, 30][cs.full((), 1, np.int64)], 20)
        self.assertRaises(TypeError, lambda: [10, 20][cs.full((), 1)])
        self.assertRaises(TypeError, hash, x)

    def test_in_place(self):
        a = np.arange(8, dtype=F)
        x = cs.to_device(a)
        same = x
        x += 1
        x *= cs.to_device(a)
        x -= F(2)
        self.assertIs(x, same)
        self.same(x, (a + 1) * a - 2)
        x = cs.to_device(a)
        part, all_but = x[1:], x[:-1]
        part += all_but  # of the elements before, as NumPy
        b = a.copy()
        b[1:] += b[:-1]
        self.same(x, b)
        with self.assertRaises(ValueError):
            x += np.zeros((2, 8), F)
        with self.assertRaises(TypeError):
            x += cs.zeros(8, I)

    def test_numbers_in_functions(self):
        a = np.arange(-3, 3, dtype=F)
        x = cs.to_device(a)
        self.same(cs.where(x > 0, x, 0.0), np.where(a > 0, a, F(0)))
        self.same(cs.where(x > 0, 1, x), np.where(a > 0, F(1), a))
        self.same(cs.max(x, 0), np.maximum(a, F(0)))
        self.same(cs.minimum(1, x), np.minimum(a, F(1)))
        self.same(cs.clip(x, -1, 1), np.clip(a, -1, 1))
        self.same(2 ** x, F(2) ** a)
        self.same(x // 2, a // 2)
        self.same(-7 % x[:3], -7 % a[:3])
        self.same(~(x > 0) & (x != -1) | (x == 2), ~(a > 0) & (a != -1) | (a == 2))
        for function in (np.exp, np.sum, np.concatenate, np.sort):
            self.assertRaises(TypeError, function, [x] if function is np.concatenate else x)


class Parts(unittest.TestCase):
    def setUp(self):
        self.a = np.arange(120, dtype=I).reshape(4, 5, 6)
        self.x = cs.to_device(self.a)

    KEYS = [0, -1, np.int64(2), (1, 2), (1, 2, 3), slice(1, 3), slice(3, 1), slice(None, None, -1), slice(None, None, 2),
            (slice(None), 1), (slice(None), slice(1, 4, 2), slice(5, None, -2)), Ellipsis, (Ellipsis, 1), (1, Ellipsis, 2),
            None, (slice(None), None, 2), (slice(0, 0), 1), (2, slice(1, 3)), (slice(None), slice(0, 0))]

    def test_get(self):
        for key in self.KEYS:
            got = self.x[key].to_host()
            self.assertEqual(got.shape, self.a[key].shape, key)
            np.testing.assert_array_equal(got, self.a[key])
        for key in (4, -5, (0, 5), (0, 0, 0, 0), 1.0, True, "a", (Ellipsis, Ellipsis), ([0], 1)):
            self.assertRaises(IndexError, lambda: self.x[key])
        self.assertEqual([row.shape for row in self.x], [(5, 6)] * 4)
        self.assertRaises(TypeError, iter, cs.zeros(())[()].__len__)

    def test_arrays_as_indices(self):
        for key in ([0, 2], np.int64([3, -1, 0]), self.a % 7 == 0, self.a[:, :, 0] > 50, self.a[:, 0, 0] > 20,
                    np.zeros(4, bool), [], np.int64([[0, 1], [2, 3]])):
            expected = self.a[key]
            np.testing.assert_array_equal(self.x[key].to_host(), expected)
            self.assertEqual(self.x[key].shape, expected.shape)
            if np.size(key):
                np.testing.assert_array_equal(self.x[cs.to_device(np.array(key))].to_host(), expected)
        np.testing.assert_array_equal(self.x[self.x > 50].to_host(), self.a[self.a > 50])
        for key in ([4], [0, -5], np.zeros((4, 4), bool), np.float32([1])):
            self.assertRaises((IndexError, TypeError), lambda: self.x[key])

    def test_set(self):
        for key in self.KEYS:
            for value in (7, np.arange(6, dtype=I)[: self.a[key].shape[-1] if self.a[key].ndim else 1], None):
                expected, x = self.a.copy(), cs.to_device(self.a)
                if value is None:
                    value = -self.a[key]
                elif np.ndim(value) and not self.a[key].ndim:
                    value = value[0]
                expected[key] = value
                x[key] = value
                np.testing.assert_array_equal(x.to_host(), expected, str(key))
                x = cs.to_device(self.a)
                x[key] = cs.to_device(np.array(value, I))
                np.testing.assert_array_equal(x.to_host(), expected, str(key))
        x, b = cs.to_device(self.a), self.a.copy()
        x[1:] = x[:-1]  # of the elements before
        b[1:] = b[:-1].copy()
        np.testing.assert_array_equal(x.to_host(), b)
        x[x > 50], b[b > 50] = -1, -1
        x[b[:, 0, 0] == 0], b[b[:, 0, 0] == 0] = 5, 5
        np.testing.assert_array_equal(x.to_host(), b)
        for key, value, error in [(0, np.zeros(7, I), ValueError), (0, 1.5, TypeError), (0, 2**31, OverflowError),
                                  (0, np.zeros(6, F), TypeError), (9, 1, IndexError), ([0, 9], 1, IndexError),
                                  (0, "a", TypeError), (b > 0, np.zeros(3, I), TypeError)]:
            self.assertRaises(error, x.__setitem__, key, value)

    def test_set_at_indices(self):
        a = np.arange(20, dtype=F).reshape(5, 4)
        for key in ([3, -1], np.uint8([0, 2]), np.int64([[1], [-5]]), np.array([], I)):
            for value in (7.5, F([1, 2, 3, 4]), np.full((2, 1), 9, F) if np.size(key) and np.ndim(key) == 1 else 2):
                x, expected = cs.to_device(a), a.copy()
                x[key], expected[key] = value, value
                np.testing.assert_array_equal(x.to_host(), expected)
        x = cs.to_device(np.arange(6, dtype=I))
        x[cs.to_device(I([1, -1, 6, -7, 4]))] = cs.to_device(I([10, 20, 30, 40, 50]))
        np.testing.assert_array_equal(x.to_host(), [0, 10, 2, 3, 50, 20])
        x[np.int64([0, 1])] = x[4:]
        np.testing.assert_array_equal(x.to_host(), [50, 20, 2, 3, 50, 20])
        with self.assertRaises(IndexError):
            x[[6]] = 1
        with self.assertRaises(ValueError):
            x[[1, 2]] = F([1, 2, 3]).astype(I)
        with self.assertRaises(TypeError):
            x[[1, 2]] = F([1, 2])

    def test_add_at(self):
        for dtype in (F, np.float64, I, np.uint8):
            a, indices = np.ones((4, 3), dtype), np.array([3, 0, 3, -1, 1])
            values = np.arange(15).reshape(5, 3).astype(dtype)
            x, expected = cs.to_device(a), a.copy()
            cs.add_at(x, indices, values)
            np.add.at(expected, indices, values)
            np.testing.assert_array_equal(x.to_host(), expected)
        x = cs.zeros((), F)
        self.assertRaises(IndexError, cs.add_at, x, np.array([0]), 1)
        self.assertRaises(TypeError, cs.add_at, np.zeros(3), np.array([0]), 1)

    def test_elements_of_two_bytes(self):
        a = np.arange(24, dtype=H).reshape(4, 6)
        x = cs.to_device(a)
        self.assertEqual((x.nbytes, x[1:].nbytes), (48, 36))
        for key in (1, (2, 3), slice(None, None, 2), (slice(None), slice(5, None, -2)), slice(1, 3), [0, -1], a > 11):
            np.testing.assert_array_equal(x[key].to_host(), a[key], str(key))
        np.testing.assert_array_equal(x.T.to_host(), a.T)
        x[1:3], x[:, ::2], x[a == 23] = -1, H([7, 8, 9]), 0
        a[1:3], a[:, ::2], a[a == 23] = -1, H([7, 8, 9]), 0
        np.testing.assert_array_equal(x.to_host(), a)
        x.upload_async(a.astype(">f2") + H(1))
        np.testing.assert_array_equal(x.to_host(), a + H(1))
        self.assertRaises(ValueError, x.to_host, np.empty((4, 6), F))
        x[3, 1:].fill(0.1)
        self.assertEqual(x[3, 2].item(), float(H(0.1)))
        self.assertEqual(np.asarray(x, F).dtype, F)
        x.upload_async(F([0.1]).repeat(24))  # NumPy calls that cast "same kind"
        np.testing.assert_array_equal(x.to_host(), np.full((4, 6), 0.1, H))

    def test_dense_parts_are_views(self):
        x = cs.zeros((3, 4))
        x[1].fill(1)
        x[2][1:3].fill(2)
        x[0, 1:2].fill(3)
        np.testing.assert_array_equal(x.to_host(), [[0, 3, 0, 0], [1] * 4, [0, 2, 2, 0]])
        np.testing.assert_array_equal(x.T.to_host(), x.to_host().T)
        np.testing.assert_array_equal(x.reshape(4, 3).T.T.to_host(), x.to_host().reshape(4, 3))

    def test_data_of_the_host(self):
        x = cs.zeros(3, I)
        for data in (np.array([0.7, 1e30, np.nan]), np.ma.array([1, 2, 3], mask=[0, 1, 0])):
            self.assertRaises(TypeError, x.upload_async, data)
        x.upload_async(I([1, 2, 3]).astype(">i4"))
        np.testing.assert_array_equal(x.to_host(), [1, 2, 3])
        np.testing.assert_array_equal(cs.to_device(F([1, 2]).astype(">f4")).to_host(), [1, 2])
        self.assertEqual(cs.to_device(np.array([True])).to_host().dtype, bool)
        self.assertRaises(ValueError, np.asarray, x, copy=False) if np.__version__ >= "2" else None
        self.assertEqual(np.asarray(x, np.float64).dtype, np.float64)


if __name__ == "__main__":
    # Drivers write to the standard error.
    unittest.main(testRunner=unittest.TextTestRunner(sys.stdout, verbosity=2))
