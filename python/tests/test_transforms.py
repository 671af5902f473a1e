# SPDX-License-Identifier: MIT
"""Fourier transforms, with NumPy as the reference."""
import sys
import unittest

import clstream as cs
import numpy as np


def pairs(x, dtype):
    """Complex numbers as a last axis of two elements."""
    return np.stack([x.real, x.imag], -1).astype(dtype)


def numbers(x):
    x = x.to_host().astype(np.float64)
    return x[..., 0] + 1j * x[..., 1]


@unittest.skipUnless(cs.fft_available(), "the library was built without VkFFT")
class Transforms(unittest.TestCase):
    def assert_near(self, got, want, dtype=np.float32):
        bound = 24 * np.finfo(dtype).eps / 2 * np.log2(2 * want.size)
        self.assertLessEqual(np.linalg.norm(got - want), bound * np.linalg.norm(want))

    def draw(self, shape):
        generator = np.random.default_rng(5)
        return generator.standard_normal(shape) + 1j * generator.standard_normal(shape)

    def test_complex(self):
        for shape, batches in ((1001, 3), ((12, 10), None)):
            axes = (-1,) if isinstance(shape, int) else (-2, -1)
            plan = cs.FFT(shape, batches=batches)
            x = self.draw(plan.signal_shape[:-1])
            spectrum = plan.forward(cs.to_device(pairs(x, np.float32)))
            self.assert_near(numbers(spectrum), np.fft.fftn(x, axes=axes))
            self.assert_near(numbers(plan.inverse(spectrum, out=spectrum)), x)

    def test_real(self):
        plan = cs.FFT((9, 16), real=True, batches=3, normalize=False)
        x = self.draw((3, 9, 16)).real
        spectrum = plan.forward(cs.to_device(x.astype(np.float32)))
        self.assertEqual(spectrum.shape, (3, 9, 9, 2))
        self.assert_near(numbers(spectrum), np.fft.rfftn(x, axes=(1, 2)))
        self.assert_near(plan.inverse(spectrum).to_host(), x * 9 * 16)

    def test_double(self):
        try:
            plan = cs.FFT(34, np.float64)
        except cs.Error as error:
            self.assertIn("f64", str(error))
            return
        x = self.draw(34)
        self.assert_near(numbers(plan.forward(cs.to_device(pairs(x, np.float64)))), np.fft.fft(x), np.float64)

    def test_refusals(self):
        plan = cs.FFT(100, real=True)
        with self.assertRaises(TypeError):
            plan.forward(np.ones(100, np.float32))
        with self.assertRaises(ValueError):
            plan.forward(cs.ones(99))
        with self.assertRaises(ValueError):
            plan.forward(cs.ones(100), out=cs.ones(100))
        with self.assertRaises(ValueError):
            cs.FFT((2, 2, 2, 2))
        with self.assertRaises(cs.Error):
            cs.FFT(64, np.float16)


if __name__ == "__main__":
    # Drivers write to the standard error.
    unittest.main(testRunner=unittest.TextTestRunner(sys.stdout, verbosity=2))
