# SPDX-License-Identifier: MIT
"""The names of the Python array API, with NumPy as the reference. What is not offered is listed here and in README.md."""
import inspect
import pathlib
import sys
import unittest

import clstream as cs
import numpy as np

try:
    import array_api_strict
except ImportError:
    array_api_strict = None

# Version 2023.12, without its extensions (linalg, fft).
NAMES = """e inf nan newaxis pi
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like
astype can_cast finfo iinfo isdtype result_type
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift
bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag
isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum
minimum multiply negative not_equal positive pow real remainder round sign signbit sin sinh square sqrt subtract tan tanh
trunc
matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
argmax argmin nonzero searchsorted where
unique_all unique_counts unique_inverse unique_values
argsort sort
cumulative_sum max mean min prod std sum var
all any
take
__array_namespace_info__ __array_api_version__""".split()
NOT_OFFERED = """uint64 complex64 complex128 conj imag real nonzero unique_all unique_counts
unique_inverse unique_values""".split()
# NumPy before version 2 has these under other names.
OLD = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
       "atanh": "arctanh", "bitwise_left_shift": "left_shift", "bitwise_invert": "invert", "pow": "power",
       "bitwise_right_shift": "right_shift", "concat": "concatenate", "permute_dims": "transpose"}

FLOATS = np.float32([-np.inf, -7.5, -2.5, -1, -0.5, -0.0, 0.0, 0.25, 0.5, 1, 1.5, 2.5, 7, np.inf, np.nan])
VALUES = {"f": FLOATS, "i": np.int32([-2**31, -7, -2, -1, 0, 1, 2, 3, 7, 2**31 - 1]), "u": np.uint8([0, 1, 2, 7, 200, 255]),
          "b": np.array([False, True]),
          "e": np.float16([*FLOATS, 1e-7, -6e-5, 6.1e-5, 0.1, 2049, 65504])}


def reference(name):
    return getattr(np, name, None) or getattr(np, OLD[name])


class Standard(unittest.TestCase):
    def test_names(self):
        self.assertEqual([name for name in NAMES if not hasattr(cs, name)], NOT_OFFERED)
        readme = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
        said = f"{len(NAMES) - len(NOT_OFFERED)} of its {len(NAMES)} names"
        self.assertIn(said, " ".join(readme.split()))
        for name in NOT_OFFERED:
            self.assertIn(f"`{name}`", readme)
        self.assertIs(cs.zeros(3).__array_namespace__(api_version="2023.12"), cs)

    @unittest.skipUnless(array_api_strict, "no array_api_strict")
    def test_signatures(self):
        # What may be passed by position or by name there may be so here.
        for name in NAMES:
            theirs = getattr(array_api_strict, name, None)
            if name in NOT_OFFERED or not inspect.isfunction(theirs) or name == "result_type":
                continue
            ours = inspect.signature(getattr(cs, name)).parameters
            positional = [p for p in ours.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            for place, parameter in enumerate(inspect.signature(theirs).parameters.values()):
                if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                    self.assertLess(place, len(positional), f"{name}: {parameter}")
                if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                    self.assertIn(parameter.name, ours, name)

    def same(self, got, expected, name, exact=True):
        got = got.to_host() if isinstance(got, cs.Array) else got
        expected = np.asarray(expected)
        self.assertEqual((got.shape, got.dtype), (expected.shape, expected.dtype), name)
        if exact:
            np.testing.assert_array_equal(got, expected, name)
        else:
            error = 2.0**-10 if expected.dtype == np.float16 else 1e-5
            np.testing.assert_allclose(got, expected, error, 1e-6, err_msg=name)

    def elementwise(self, table, operands):
        for name, kinds in table.items():
            for kind in "".join(kinds).replace("f", "fe"):
                if kind == "u" and kinds[next(k for k in kinds if "u" in k)].split()[0] in ("unary", "binary"):
                    continue  # the C library's tests have all types
                host = operands(VALUES[kind])
                if name in ("pow", "bitwise_left_shift", "bitwise_right_shift") and kind in "iu":
                    host = (host[0], host[1] % host[1].dtype.type(7))
                with np.errstate(all="ignore"):
                    expected = reference(name)(*host)
                if kind in "iu" and name in ("ceil", "floor", "round", "trunc"):  # a float64 before NumPy 2.1
                    expected = expected.astype(host[0].dtype)
                exact = kind not in "fe" or name in ("floor_divide", "remainder", "round", "trunc", "copysign", "nextafter")
                result = getattr(cs, name)(*(cs.to_device(one) for one in host))
                if kind in "fe" and not exact:  # infinity and NaN as they are
                    finite = np.isfinite(expected)
                    np.testing.assert_array_equal(result.to_host()[~finite], expected[~finite], name)
                if kind in "iu" and name in ("floor_divide", "remainder"):  # undefined: by 0, and of the least by -1
                    defined = (host[1] != 0) & ((host[1] != -1) if kind == "i" else True)
                    np.testing.assert_array_equal(result.to_host()[defined], expected[defined], name)
                else:
                    self.same(result, expected, f"{name} of {kind}", exact)

    def test_unary(self):
        self.elementwise({name: kinds for name, kinds in cs._functions.UNARY.items()
                          if name not in ("abs", "negative")}, lambda values: (values,))
        for kind in "fie":
            for name in ("abs", "negative"):
                self.same(getattr(cs, name)(cs.to_device(VALUES[kind])), reference(name)(VALUES[kind]), name)
        self.assertRaises(TypeError, cs.exp, cs.zeros(3, np.int32))
        self.assertRaises(TypeError, cs.bitwise_invert, cs.zeros(3))
        self.assertRaises(TypeError, cs.exp, np.zeros(3, np.float32))

    def test_binary(self):
        self.elementwise(cs._functions.BINARY, lambda values: np.broadcast_arrays(values[:, None], values[None, :]))
        self.assertRaises(TypeError, cs.divide, cs.ones(3, np.int32), cs.ones(3, np.int32))
        self.assertRaises(TypeError, cs.logical_and, cs.ones(3), cs.ones(3))
        self.assertRaises(TypeError, cs.add, 1, 2)

    def test_reductions(self):
        shapes = [((2, 3, 4), (None, 0, 1, -1, (0, 2), (0, 1, 2), ())), ((5000,), (None, 0)), ((), (None,)),
                  ((0, 3), (0, 1))]
        for kind in "fibe":
            for shape, axes in shapes:
                values = FLOATS[1:-2].astype(np.float16 if kind == "e" else np.float32) if kind in "fe" else VALUES[kind] if kind == "b" else np.arange(-3, 4, dtype=np.int32)
                a = np.random.default_rng(1).choice(values, shape).astype(values.dtype)
                x = cs.to_device(a)
                for axis in axes:
                    self.reductions(a, x, kind, axis, axis == 1 or axis == (0, 2))
        a = np.float32([[1, np.nan, 3], [4, 0, np.nan]])
        x = cs.to_device(a)
        for name in ("max", "min", "argmax", "argmin", "sum"):
            for axis in (None, 0, 1):
                self.same(getattr(cs, name)(x, axis=axis), reference(name)(a, axis=axis), name)
        for name in ("max", "min", "argmax", "argmin"):
            self.assertRaises(ValueError, getattr(cs, name), cs.zeros(0))
        self.assertRaises(IndexError, cs.sum, x, axis=2)
        self.assertEqual((x[0].sum(axis=0).ndim, type(x[1, :2].sum())), (0, np.float32))

    def reductions(self, a, x, kind, axis, keep):
        empty = not a.size
        names = ["sum", "prod", "all", "any"] + ([] if empty else ["max", "min"])
        if not empty and not isinstance(axis, tuple):
            names += ["argmax", "argmin"]
        if kind in "fe" and not empty:
            names += ["mean", "var", "std"]
        for name in names:
            wide = kind == "e" and name in ("sum", "prod", "mean", "var", "std")  # NumPy rounds more than once
            with np.errstate(over="ignore"):
                expected = np.asarray(reference(name)(a.astype(np.float32) if wide else a, axis=axis, keepdims=keep))
            expected = expected.astype(np.float16) if wide else expected
            got = getattr(cs, name)(x, axis=axis, keepdims=keep)
            if name in ("sum", "prod") and kind not in "fe":
                expected = np.asarray(expected, np.int64)
            exact = kind not in "fe" or name in ("max", "min", "argmax", "argmin")
            self.same(got, expected, f"{name} {a.shape} {axis}", exact)

    def test_all_float16(self):
        a = np.arange(2**16).astype(np.uint16).view(np.float16)
        b = np.random.default_rng(1).permutation(a)
        x, y = cs.to_device(a), cs.to_device(b)
        with np.errstate(all="ignore"):
            for got, expected in [(cs.copysign(x, x), a), (cs.trunc(x), np.trunc(a)), (cs.nextafter(x, x), a),
                                  (cs.nextafter(x, y), np.nextafter(a, b)), (cs.stack([x, y]).prod(axis=0), a * b),
                                  (cs.stack([x, y]).max(axis=0), np.maximum(a, b)), (cs.isnan(x), np.isnan(a)),
                                  (cs.signbit(x), np.signbit(a)), (x // y, a // b)]:
                self.same(got, expected, "of all elements")
                number = ~np.isnan(expected)
                np.testing.assert_array_equal(np.signbit(got.to_host())[number], np.signbit(expected)[number])

    def test_sorts(self):
        for kind, values in VALUES.items():
            for shape, axis in (((7,), 0), ((3, 50), 1), ((40, 6), 0), ((2, 0), 1), ((3000,), -1)):
                a = np.random.default_rng(2).choice(values, shape).astype(values.dtype)
                x = cs.to_device(a)
                self.same(cs.sort(x, axis=axis), np.sort(a, axis=axis, kind="stable"), "sort")
                self.same(cs.argsort(x, axis=axis), np.argsort(a, axis=axis, kind="stable"), "argsort")
                down = cs.argsort(x, axis=axis, descending=True).to_host()
                ranks = np.unique(a, return_inverse=True)[1].reshape(a.shape)
                np.testing.assert_array_equal(down, np.argsort(-ranks, axis=axis, kind="stable"))
                if x.ndim == 1:
                    values_of, indices = cs.top_k(x, 5)
                    self.same(indices, down[:5], "top_k")
                    self.same(values_of, a[down[:5]], "top_k")
                    self.same(cs.top_k(x, 3, largest=False)[0], np.sort(a)[:3], "top_k")
        self.assertRaises(TypeError, cs.sort, VALUES["f"])
        self.assertRaises(ValueError, cs.top_k, cs.zeros(3), -1)

    def test_scans(self):
        numbers = np.random.default_rng(5)
        for kind in "fiube":
            for shape, axis in (((7,), 0), ((3, 50), 1), ((40, 6), 0), ((2, 0), 1), ((30000,), -1)):
                a = numbers.choice([0, 1, 2, 3], shape, p=[0.9, 0.06, 0.02, 0.02]).astype(VALUES[kind].dtype)
                x, wide = cs.to_device(a), np.float32 if kind == "e" else a.dtype if kind == "f" else np.int64
                sums = np.cumsum(a, axis=axis, dtype=wide).astype(np.float16 if kind == "e" else wide)
                self.same(cs.cumulative_sum(x, axis=axis), sums, "cumulative_sum")
                first = np.zeros_like(a.take([0], axis) if a.size else a[:, :0], sums.dtype)
                if a.size:
                    self.same(cs.cumulative_sum(x, axis=axis, include_initial=True),
                              np.concatenate([first, sums], axis), "cumulative_sum")
                if kind != "b":
                    self.same(cs.scan(x, "max", axis=axis), np.maximum.accumulate(a, axis), "scan")
        self.same(cs.scan(cs.to_device(np.int32([3, 1, 2])), exclusive=True), np.int32([0, 3, 4]), "scan")
        self.assertRaises(ValueError, cs.scan, cs.zeros(3), "mean")
        self.assertRaises(ValueError, cs.cumulative_sum, cs.zeros((3, 3)))

    def test_selections(self):
        numbers = np.random.default_rng(6)
        for kind in "fiue":
            for n in (0, 1, 30, 20000):
                a = numbers.choice([0, 1, 2, 3], n).astype(VALUES[kind].dtype)
                x, flags = cs.to_device(a), a > 1
                head = np.ones(n, bool)
                head[1:] = a[1:] != a[:-1]
                at = np.flatnonzero(head)
                out, count = cs.compact(x, cs.to_device(flags))
                self.same(out[:int(count)], a[flags], "compact")
                self.same(cs.partition(x, cs.to_device(flags))[0], np.concatenate([a[flags], a[~flags][::-1]]), "partition")
                big, count = cs.compact_if(x, "greater_equal", 2)
                self.same(big[:int(count)], a[a >= 2], "compact_if")
                distinct, number = cs.unique(big, length=count)
                b = a[a >= 2]
                self.same(distinct[:int(number)], b[np.append(True, b[1:] != b[:-1])[:b.size]], "unique")
                runs, lengths, number = cs.run_length_encode(x)
                self.same(runs[:int(number)], a[at], "run_length_encode")
                self.same(lengths[:int(number)], np.diff(np.append(at, n)), "run_length_encode")
                values = numbers.integers(-9, 9, n).astype(np.int32)
                keys, sums, number = cs.reduce_by_key(x, cs.to_device(values))
                self.same(keys[:int(number)], a[at], "reduce_by_key")
                self.same(sums[:int(number)], np.add.reduceat(values, at).astype(np.int32) if n else values, "reduce_by_key")
        self.assertRaises(ValueError, cs.compact_if, cs.zeros(3), "is", 0)

    def test_histograms(self):
        numbers = np.random.default_rng(7)
        for kind in "fiue":
            for n in (0, 1, 300, 20000):
                a = numbers.integers(0, 100, n).astype(VALUES[kind].dtype)
                edges = np.array([3, 10, 11, 50, 90], a.dtype)
                x = cs.to_device(a)
                # NumPy's last bin has its upper end, which is left out here.
                inside = a[a < 90]
                self.same(cs.histogram(x, cs.to_device(edges)), np.histogram(inside, edges)[0], "histogram")
                self.same(cs.histogram(x, 16, (0, 64)), np.histogram(a[a < 64], 16, (0, 64))[0], "histogram")
                ordered, values = np.sort(a), numbers.integers(-5, 120, 77).astype(np.int8).astype(a.dtype)
                for side in ("left", "right"):
                    self.same(cs.searchsorted(cs.to_device(ordered), cs.to_device(values), side=side),
                              np.searchsorted(ordered, values, side), "searchsorted")
                    self.same(cs.searchsorted(x, cs.to_device(values), side=side, sorter=cs.argsort(x)),
                              np.searchsorted(ordered, values, side), "searchsorted")
        big, count = cs.compact_if(cs.to_device(np.int32([5, 1, 7, 9])), "greater", 4)
        self.same(cs.histogram(big, 5, (0, 10), length=count), np.int64([0, 0, 1, 1, 1]), "histogram")
        self.same(cs.searchsorted(cs.to_device(np.float32([1, np.nan])), cs.to_device(np.float32([np.nan, 2]))),
                  np.int64([1, 1]), "searchsorted")
        self.assertRaises(ValueError, cs.searchsorted, cs.zeros(3), cs.zeros(3), side="up")
        self.assertRaises(TypeError, cs.histogram, np.zeros(3), 3, (0, 1))

    def test_reductions_of_float16(self):
        # One rounding, at the end: what is between has the range and the digits of a float32.
        a = np.float16([[60000, 60000, -60000, 1], [2048, 1, 1, 0.5]])
        x, wide = cs.to_device(a), a.astype(np.float32)
        for axis in (None, 0, 1, (0, 1), (1, 0)):
            for name in ("sum", "mean", "std"):
                expected = np.asarray(getattr(np, name)(wide, axis=axis), np.float16)
                self.same(getattr(cs, name)(x, axis=axis), expected, name, False)
        small = np.float16(0.01)
        self.same(cs.prod(cs.to_device(np.float16([300, 300, small]))), np.float16(90000 * float(small)), "prod")
        self.same(cs.vecdot(x, x / 4), np.float16((wide * wide / 4).sum(-1)), "vecdot")
        ones = cs.ones(100000, np.float16)
        for reshaped in (ones, ones.reshape(100, 1000)):
            self.assertEqual((cs.mean(reshaped).item(), cs.var(reshaped).item(), ones.mean()), (1, 0, 1))
            self.assertEqual(cs.sum(reshaped, dtype=np.float32).item(), 100000)
            self.assertEqual(cs.sum(reshaped).item(), np.inf)
            self.assertEqual(cs.count_nonzero(reshaped).item(), 100000)
        self.assertEqual((type(ones.sum()), type(ones.mean()), ones.argmax()), (np.float16, np.float16, 0))

    def test_shapes(self):
        a = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
        b = -a[:, :1]
        x, y = cs.to_device(a), cs.to_device(b)
        calls = {
            "reshape": [((6, 4),), ((-1,),)], "permute_dims": [((2, 0, 1),)], "moveaxis": [(0, 2), ((0, 1), (1, 0))],
            "flip": [(), {"axis": 0}, {"axis": (0, -1)}], "roll": [(5,), (1, {"axis": 1}), ((1, -1), {"axis": (0, 2)})],
            "expand_dims": [{"axis": 0}, {"axis": -1}], "tile": [((2, 1, 2),), ((2, 1, 1, 1),), ((2,),)],
            "repeat": [(2, {"axis": 1}), (3,)], "take": [(np.int64([2, 0]), {"axis": 1})],
            "broadcast_to": [((5, 2, 3, 4),)], "tril": [(), {"k": 1}], "triu": [(), {"k": -1}],
        }
        for name, several in calls.items():
            for call in several:
                call = (call,) if isinstance(call, dict) else call
                keywords = call[-1] if call and isinstance(call[-1], dict) else {}
                arguments = call[:-1] if keywords else call
                ours = [cs.to_device(one) if isinstance(one, np.ndarray) else one for one in arguments]
                self.same(getattr(cs, name)(x, *ours, **keywords), reference(name)(a, *arguments, **keywords), name)
        self.same(cs.concat([x, y], axis=1), np.concatenate([a, b], axis=1), "concat")
        self.same(cs.concat([x, y], axis=None), np.concatenate([a, b], axis=None), "concat")
        self.same(cs.stack([x, x], axis=-1), np.stack([a, a], axis=-1), "stack")
        self.same(cs.squeeze(y, 1), b[:, 0], "squeeze")
        self.same(cs.matrix_transpose(x), a.swapaxes(1, 2), "matrix_transpose")
        self.same(x.T, a.T, "T")
        self.same(cs.diff(x, axis=1), np.diff(a, axis=1), "diff")
        for i, part in enumerate(cs.unstack(x, axis=1)):
            self.same(part, a[:, i], "unstack")
        for got, expected in zip(cs.broadcast_arrays(x, y), np.broadcast_arrays(a, b)):
            self.same(got, expected, "broadcast_arrays")
        for indexing in ("xy", "ij"):
            for got, expected in zip(cs.meshgrid(x[0, 0], y[0, 0, :2], x[0, :, 0], indexing=indexing),
                                     np.meshgrid(a[0, 0], b[0, 0, :2], a[0, :, 0], indexing=indexing)):
                self.same(got, expected, "meshgrid")
        self.same(cs.where(x > 5, x, y), np.where(a > 5, a, b), "where")

    def test_making(self):
        for got, expected in [
                (cs.arange(5), np.arange(5)), (cs.arange(1, 9, 3), np.arange(1, 9, 3)), (cs.eye(2, 3, k=1),
                 np.eye(2, 3, 1, np.float32)), (cs.arange(0, 1, 0.25), np.arange(0, 1, 0.25, np.float32)),
                (cs.linspace(0, 1, 5), np.linspace(0, 1, 5, dtype=np.float32)), (cs.ones(3, dtype=cs.bool), np.ones(3, bool)),
                (cs.full((2, 2), 7, dtype=cs.uint8), np.full((2, 2), 7, np.uint8)), (cs.full(2, 7, None), np.full(2, 7)),
                (cs.zeros_like(cs.arange(3)), np.zeros(3, np.int64)), (cs.asarray([[1, 2], [3, 4]]), np.int64([[1, 2], [3, 4]])),
                (cs.asarray([1.5]), np.float32([1.5])), (cs.asarray(True), np.array(True)),
                (cs.asarray(np.arange(3), dtype=cs.float32), np.arange(3, dtype=np.float32)),
                (cs.zeros(3, cs.float16), np.zeros(3, np.float16)), (cs.asarray(np.float16([0.1])), np.float16([0.1])),
                (cs.linspace(0, 1, 3, dtype=cs.float16), np.float16([0, 0.5, 1])),
                (cs.ones_like(cs.ones(2, "float16")), np.ones(2, np.float16)),
                (cs.full_like(cs.ones(2), 3), np.full(2, 3, np.float32)), (cs.from_dlpack(np.arange(3)), np.arange(3))]:
            self.same(got, expected, "making")
        self.assertEqual(cs.empty_like(cs.ones((2, 3))).shape, (2, 3))
        x = cs.ones(3)
        self.assertIs(cs.asarray(x), x)
        self.assertIsNot(cs.asarray(x, copy=True), x)
        self.same(np.from_dlpack(x.to_host()), np.ones(3, np.float32), "dlpack")
        self.assertRaises(BufferError, x.__dlpack__)
        self.assertEqual(x.__dlpack_device__()[0], 4)
        other = cs.Context()
        moved = x.to_device(other)
        self.assertEqual((moved.device, x.to_device(x.device) is x), (other, True))
        self.same(moved + 1, np.full(3, 2, np.float32), "to_device")

    def test_types(self):
        self.assertEqual(cs.result_type(cs.int32, cs.uint32), cs.int64)
        self.assertEqual(cs.result_type(cs.int8, cs.uint8), cs.int16)
        self.assertEqual(cs.result_type(cs.int16, cs.uint16), cs.int32)
        self.assertEqual(cs.result_type(cs.int8, cs.int16), cs.int16)
        self.assertRaises(OverflowError, cs.result_type, cs.int8, 128)
        self.assertEqual(cs.result_type(cs.ones(3), 1.5), cs.float32)
        self.assertRaises(TypeError, cs.result_type, cs.int32, cs.float32)
        self.assertTrue(cs.can_cast(cs.int32, cs.int64) and not cs.can_cast(cs.float64, cs.float32))
        self.assertTrue(cs.isdtype(cs.uint8, "integral") and cs.isdtype(cs.bool, ("bool", "numeric")))
        self.assertFalse(cs.isdtype(cs.float32, ("integral", cs.bool)))
        self.assertEqual((cs.iinfo(cs.int32).max, cs.finfo(cs.float32).bits), (2**31 - 1, 32))
        info = cs.__array_namespace_info__()
        self.assertEqual(set(info.dtypes(kind="integral")), {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"})
        # float16 is no type of the standard, whose list info.dtypes() is, but of its kind.
        self.assertEqual(set(info.dtypes(kind="real floating")), {"float32", "float64"})
        self.assertNotIn("float16", info.dtypes())
        self.assertTrue(cs.isdtype(cs.float16, "real floating") and not cs.isdtype(cs.float16, cs.float32))
        self.assertEqual((cs.finfo(cs.float16).bits, cs.finfo(cs.ones(1, cs.float16)).max), (16, 65504))
        for other in (cs.float16, cs.float32, cs.float64):
            self.assertEqual(cs.result_type(cs.float16, other), np.result_type(np.float16, other))
        self.assertEqual(cs.result_type(cs.ones(3, cs.float16), 1.5), cs.float16)
        self.assertRaises(OverflowError, cs.result_type, cs.float16, 1e5)
        self.assertRaises(TypeError, cs.result_type, cs.float16, cs.uint8)
        self.assertTrue(cs.can_cast(cs.float16, cs.float32) and not cs.can_cast(cs.float32, cs.float16))
        self.assertIs(info.default_device(), cs.default_context())

    def test_products(self):
        a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        x = cs.to_device(a)
        self.same(cs.matmul(x, x.mT), a @ a.swapaxes(1, 2), "matmul", False)
        self.same(cs.vecdot(x, x), (a * a).sum(-1), "vecdot", False)
        self.same(cs.tensordot(x, x, axes=((0, 2), (0, 2))), np.tensordot(a, a, ((0, 2), (0, 2))), "tensordot", False)


if __name__ == "__main__":
    # Drivers write to the standard error.
    unittest.main(testRunner=unittest.TextTestRunner(sys.stdout, verbosity=2))
