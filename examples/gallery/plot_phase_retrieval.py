r"""
Phase retrieval
===============

A detector counts light: it sees :math:`b_i = (a_i^\top x)^2` and not the sign of :math:`a_i^\top x`, or for light the
phase. Which image :math:`x` was it? The problem is not convex, and usually takes several measurements for each pixel.
With what is known about the image, fewer than one are enough: it is not dark, it lies in a round aperture, and it has few
edges.
"""

# %%
# A satellite behind a plate that scatters at random, in real numbers: 400 pixels, 280 measurements, a little noise. The
# aperture is the upper bound of a box, 1 within and 0 elsewhere.
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import trisplit as ts

shape = (20, 20)
v, h = np.mgrid[:20, :20] - 9.5
aperture = (v**2 + h**2 <= 90).astype(float).ravel()
truth = np.zeros(shape)
truth[9:11, 1:19], truth[8:12, 1:6], truth[8:12, 14:19] = 0.3, 1.0, 1.0  # solar panels
truth[7:13, 7:13], truth[4:7, 9:11], truth[3, 7:13] = 0.6, 0.3, 0.8  # body, mast, dish
rng = np.random.default_rng(0)
A = rng.standard_normal((280, 400))
b = (A @ truth.ravel() + 0.05 * rng.standard_normal(280)) ** 2

# %%
# Two terms: the box and the total variation. The weight of the latter is large at first, which leads to an image with few
# edges, and small at last. The start is an aperture that is evenly lit, as bright as the measurements say. The loss has
# no smoothness constant; the step adapts.
f = ts.losses.PhaseIntensity(A, b)
start = aperture * np.sqrt(b.mean() / aperture.sum())
weights = (10.0, 0.5)


def splitting(x):
    for weight in weights:
        variation = ts.terms.ImageTotalVariation(weight, isotropic=False)
        terms = [ts.terms.Box(0, aperture), ts.terms.Reshape(variation, shape)]
        res = ts.minimize(f, x, terms, tol=1e-4)
        x = res.x
    return res


# %%
# *Wirtinger flow* (Candès, Li and Soltanolkotabi 2015) is gradient descent with a step that grows to a limit. It gets the
# box as well, but has no place for the total variation.
def wirtinger_flow(x):
    for t in range(1, 3001):
        step = min(1 - np.exp(-t / 330), 0.1) / b.mean()
        x = np.clip(x - step * f.grad(x), 0, aperture)
    return x


# %%
# SciPy's L-BFGS-B takes a box, and the total variation if its corners are rounded, :math:`|d| \approx \sqrt{d^2 + \mu^2}`.
def rounded(x, weight, mu=1e-5):
    value, slope = f.value_and_grad(x)
    grad = slope.reshape(shape)
    for axis in (0, 1):
        d = np.diff(x.reshape(shape), axis=axis)
        size = np.sqrt(d**2 + mu**2)
        value += weight * size.sum()
        grad -= weight * np.diff(d / size, axis=axis, prepend=0, append=0)
    return value, grad.ravel()


def lbfgs(x):
    box = [(0, upper) for upper in aperture]
    limits = {"maxiter": 10_000, "maxfun": 20_000, "ftol": 1e-10, "gtol": 1e-6}
    for weight in weights:
        options = {"method": "L-BFGS-B", "bounds": box, "options": limits}
        x = minimize(rounded, x, (weight,), jac=True, **options).x
    return x


# %%
# The objective is that of the small weight, for all. The certificate is a bound: to first order, no move within the box
# lowers the objective by more than that.
methods = {
    "splitting": lambda x: splitting(x).x,
    "L-BFGS-B": lbfgs,
    "Wirtinger flow": wirtinger_flow,
}
images, objectives = {"truth": truth}, {}
print(splitting(start).certificate)  # loads compiled code
for name, method in methods.items():
    begin = perf_counter()
    x = method(start)
    seconds = perf_counter() - begin
    image = images[name] = x.reshape(shape)
    jumps = sum(np.abs(np.diff(image, axis=axis)).sum() for axis in (0, 1))
    objectives[name] = f.value(x) + weights[-1] * jumps
    error = np.linalg.norm(image - truth) / np.linalg.norm(truth)
    result = f"objective {objectives[name]:8.4f}, error {error:5.1%}, {seconds:.2f} s"
    print(f"{name:14}: {result}")
assert objectives["splitting"] <= min(objectives.values()) + 1e-4

# %%
# L-BFGS-B takes about as long, for an objective that is a little larger as the corners are rounded; less rounding takes
# longer. Without the total variation, what fits the measurements is another image.
figure, axes = plt.subplots(1, 4, figsize=(7.2, 2.3))
figure.suptitle("A satellite, from 0.7 measurements a pixel without signs", fontsize=10)
for axis, (name, image) in zip(axes, images.items(), strict=True):
    axis.imshow(image, vmin=0, vmax=1)
    axis.set(xlabel=name, xticks=[], yticks=[])
plt.show()
