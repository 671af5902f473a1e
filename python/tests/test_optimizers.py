# SPDX-License-Identifier: MIT
"""Optimizers."""
import sys
import unittest

import clstream as cs
import numpy as np


def _adamw(w, gradients, lr, betas, eps, decay):
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(gradients, 1):
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        w = w - lr * (m / (1 - betas[0]**t) / (np.sqrt(v / (1 - betas[1]**t)) + eps) + decay * w)
    return w


class Optimizers(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(5)
        self.arrays = [random.standard_normal(shape) for shape in ((3, 5), (), (0,), (70, 2))]
        self.gradients = [[random.standard_normal(x.shape) for x in self.arrays] for _ in range(3)]

    def on_device(self, arrays, dtype=np.float32):
        return [cs.to_device(np.asarray(x, dtype)) for x in arrays]

    def test_adamw(self):
        parameters = self.on_device(self.arrays)
        optimizer = cs.AdamW(parameters, lr=0.1, weight_decay=0.5)
        for gradients in self.gradients:
            optimizer.step(self.on_device(gradients))
        for i, x in enumerate(parameters):
            wanted = _adamw(self.arrays[i], [g[i] for g in self.gradients], 0.1, (0.9, 0.999), 1e-8, 0.5)
            np.testing.assert_allclose(x.to_host(), wanted, rtol=1e-5, atol=1e-6)
        self.assertEqual(optimizer.get_state(), (3, 0.1, 0))

    def test_sgd_clipped(self):
        parameters = self.on_device(self.arrays)
        optimizer = cs.SGD(parameters, lr=0.5, momentum=0.5, nesterov=True, max_norm=1)
        optimizer.step(self.on_device(self.gradients[0]))
        norm = np.sqrt(sum((g * g).sum() for g in self.gradients[0]))
        for x, w, g in zip(parameters, self.arrays, self.gradients[0]):
            np.testing.assert_allclose(x.to_host(), w - 0.5 * 1.5 * g / norm, rtol=1e-5, atol=1e-6)
        self.assertAlmostEqual(optimizer.get_state()[2], norm, 4)

    def test_small_steps_of_float16_are_kept(self):
        ones, gradient = cs.ones((4,), dtype=np.float16), cs.full((4,), 1, np.float16)
        optimizer = cs.SGD([ones], lr=2.0**-13)
        for _ in range(16):
            optimizer.step([gradient])
        np.testing.assert_array_equal(ones.to_host(), np.full(4, 1 - 2.0**-9, np.float16))

    def test_each_launch_is_a_step(self):
        stream = cs.Stream()
        x, gradient = self.on_device([[1.0, 2.0], [1.0, 1.0]])
        optimizer = cs.SGD([x], lr=0.25)
        with stream.capture("step") as capture:
            optimizer.step([gradient], stream=stream)
        graph = capture.graph.instantiate()
        graph.launch(stream)
        optimizer.set_lr(0.5, stream)
        graph.launch(stream)
        self.assertEqual(optimizer.get_state(stream), (2, 0.5, 0))
        np.testing.assert_array_equal(x.to_host(stream=stream), [0.25, 1.25])
        optimizer.set_state(7, 0.5, stream)
        self.assertEqual(optimizer.get_state(stream)[0], 7)

    def test_refused(self):
        x = cs.ones((4,))
        for call in (lambda: cs.SGD([]), lambda: cs.SGD([x]).step([cs.ones((2, 2))])):
            self.assertRaises(ValueError, call)
        for call in (lambda: cs.AdamW([x], lr=-1), lambda: cs.AdamW([x], betas=(1, 0)), lambda: cs.SGD([x]).step([])):
            self.assertRaises(cs.Error, call)
        self.assertRaises(TypeError, lambda: cs.SGD([np.ones(3)]))


if __name__ == "__main__":
    # Drivers write to the standard error.
    unittest.main(testRunner=unittest.TextTestRunner(sys.stdout, verbosity=2))
