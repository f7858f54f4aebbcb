r"""
Deblurring with total variation and a box
=========================================

A blurred and noisy image is to become sharp. Inverting the blur alone drowns it in noise. Total variation, the sum of
jumps between neighbours, asks for few edges (Rudin, Osher, Fatemi 1992), and a box for brightness between 0 and 1.
"""

# %%
# A test image, a blur by a Gaussian of 1.5 pixels and a little noise. The blur is its own transpose, as it wraps around.
from time import perf_counter

import copt
import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

import trisplit as ts

rng = np.random.default_rng(0)
n = 64
i, j = np.mgrid[:n, :n]
truth = np.full((n, n), 0.1)
truth[10:30, 8:26] = 0.9
truth[(i - 40) ** 2 + (j - 42) ** 2 < 14**2] = 0.6
truth[(i - 40) ** 2 + (j - 42) ** 2 < 6**2] = 1.0
truth[8:12, 34:58] = truth[16:20, 34:58] = 0.0
blur = lambda x: gaussian_filter(x, 1.5, mode="wrap")
b = blur(truth) + 0.01 * rng.standard_normal((n, n))


# %%
# The loss with its gradient, and two terms.


class Blurred:
    lipschitz = 1.0

    def value(self, x):
        return 0.5 * np.sum((blur(x) - b) ** 2)

    def grad(self, x):
        return blur(blur(x) - b)

    def value_and_grad(self, x):
        r = blur(x) - b
        return 0.5 * np.sum(r**2), blur(r)
