# SPDX-License-Identifier: MIT
"""Random numbers."""
import sys
import unittest

import clstream as cs
import numpy as np


class Generators(unittest.TestCase):
    def test_known_answers(self):
        random = cs.Random(0)
        words = random.integers(4, dtype=np.uint32).to_host()
        np.testing.assert_array_equal(words, [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8])
        random.set_state(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88)
        words = random.integers((2, 2), dtype=np.uint32).to_host()
        np.testing.assert_array_equal(words, [[0xd16cfe09, 0x94fdcceb], [0x5001e420, 0x24126ea1]])
        self.assertEqual(random.get_state(), (0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a89))

    def test_draws(self):
        random, count = cs.Random(7), 20000
        x = random.uniform(count, -1, 3).to_host()
        self.assertTrue(((x >= -1) & (x < 3)).all() and abs(x.mean() - 1) < 0.05)
        z = random.normal((100, 200), 5, 2, dtype=np.float16).to_host().astype(np.float64)
        self.assertEqual(z.shape, (100, 200))
        self.assertTrue(abs(z.mean() - 5) < 0.1 and abs(z.std() - 2) < 0.1)
        dice = random.integers(count, 6, dtype=np.int64).to_host()
        self.assertEqual(set(dice), set(range(6)))
        mask = random.bernoulli(count, 0.25)
        self.assertEqual(mask.dtype, np.bool_)
        self.assertLess(abs(mask.to_host().mean() - 0.25), 0.02)

    def test_dropout(self):
        x = cs.ones((50, 40))
        y, mask = cs.Random(1).dropout(x, 0.5)
        np.testing.assert_array_equal(y.to_host(), mask.to_host() * np.float32(2))
        with self.assertRaises(TypeError):
            cs.Random(1).dropout(np.ones(3), 0.5)

    def test_dropout_in_a_batch(self):
        host, batch = np.arange(2000, dtype=np.float32), cs.Batch()
        y, mask = batch.dropout(cs.Random(1), batch.upload(host), 0.5, mask=True)
        z = batch.dropout(cs.Random(1), batch.upload(host), 0.5)
        batch.execute()
        wanted, kept = cs.Random(1).dropout(cs.to_device(host), 0.5)
        for value in y, z:
            np.testing.assert_array_equal(value.read(), wanted.to_host())
        np.testing.assert_array_equal(mask.read(), kept.to_host())

    def test_each_launch_draws_anew(self):
        stream, random, out = cs.Stream(), cs.Random(3), np.zeros(8, np.uint32)
        with stream.capture("draw") as capture:
            random.integers(8, dtype=np.uint32).download_async(out)
        step, seen = capture.graph.instantiate(), []
        for _ in range(2):
            step.launch(stream)
            stream.synchronize()
            seen += list(out)
        random.set_state(3, stream=stream)
        np.testing.assert_array_equal(random.integers(16, dtype=np.uint32, stream=stream).to_host(stream=stream), seen)

    def test_refused(self):
        random = cs.Random(0)
        for call in (lambda: random.uniform(3, 1, 0), lambda: random.normal(3, 0, -1),
                     lambda: random.integers(3, 300, dtype=np.uint8), lambda: random.bernoulli(3, 2)):
            with self.assertRaises(cs.Error) as caught:
                call()
            self.assertEqual(caught.exception.status, cs.Status.ERROR_INVALID_VALUE)
        for seed in (-1, 2**64, 1.5):
            with self.assertRaises((OverflowError, ValueError, TypeError)):
                cs.Random(seed)


if __name__ == "__main__":
    # Drivers write to the standard error.
    unittest.main(testRunner=unittest.TextTestRunner(sys.stdout, verbosity=2))
