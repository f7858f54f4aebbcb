r"""
Deblurring with total variation and a box
=========================================

A blurred and noisy image is to become sharp. To invert the blur alone drowns everything in noise. Total variation,
the sum of the jumps between neighbours, asks for few edges (Rudin, Osher, Fatemi 1992), and a box for brightness
between 0 and 1.
"""

# %%
# A test image of rectangles and discs.
from time import perf_counter

import copt.penalty
import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage, sparse

import trisplit as ts

n = 64
i, j = np.mgrid[:n, :n]
truth = np.full((n, n), 0.1)
truth[10:30, 8:26], truth[8:12, 34:58], truth[16:20, 34:58] = 0.9, 0.0, 0.0
truth[(i - 40) ** 2 + (j - 42) ** 2 < 14**2] = 0.6
truth[(i - 40) ** 2 + (j - 42) ** 2 < 6**2] = 1.0

# %%
# A Gaussian blur of 1.5 pixels that wraps around, and noise. The blur is a symmetric matrix, from both sides.
G = ndimage.gaussian_filter1d(np.eye(n), 1.5, axis=0, mode="wrap")
b = G @ truth @ G + 0.02 * np.random.default_rng(0).standard_normal((n, n))

# %%
# The loss with its gradient, total variation along columns and rows, and the box: three terms. The certificate is a
# bound, as the box is bounded: the loss is convex, so that the objective is above the smallest one by no more than
# this number, as far as the point is feasible.
weight = 0.003


def f(x):
    r = G @ x @ G - b
    return np.sum(r**2) / 2, G @ r @ G


columns, rows, box = (
    ts.terms.TotalVariation(weight, 0),
    ts.terms.TotalVariation(weight, 1),
    ts.terms.Box(0, 1),
)
ts.minimize(f, b, [columns, rows, box], max_iter=3)  # compiles, once
begin = perf_counter()
three = ts.minimize(f, b, [columns, rows, box], tol=1e-4)
three_seconds = perf_counter() - begin
print(
    f"{three.certificate.kind} {three.certificate.stationarity:.1e}, {three.nit} iterations"
)

# %%
# Two terms are quicker than three, and here there are two: a total variation in one direction and a box have a
# proximal map together, that of the first, clipped. A term of one's own says so, and what the bound needs to know
# about the box.


class Clipped(ts.terms.TotalVariation):
    def prox(self, x, gamma):
        return np.clip(super().prox(x, gamma), 0, 1)

    def support(self, u):
        return box.support(u)

    def diameter(self, shape):
        return box.diameter(shape)


begin = perf_counter()
two = ts.minimize(f, b, [Clipped(weight, 1), columns], tol=1e-4)
two_seconds = perf_counter() - begin
print(
    f"{two.certificate.kind} {two.certificate.stationarity:.1e}, {two.nit} iterations"
)

# %%
# copt for the same objective. Its three operator splitting takes two proximal maps, so this is its primal-dual
# method (Condat 2013), with differences of neighbours as a sparse matrix. The steps were chosen by hand, as its
# line search is slower here, and the tolerance so that it comes equally close.


def f_grad(x, return_gradient=True):
    value, grad = f(x.reshape(n, n))
    return (value, grad.ravel()) if return_gradient else value


D, eye = (
    sparse.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(n - 1, n)),
    sparse.eye_array(n),
)
D = sparse.vstack([sparse.kron(D, eye), sparse.kron(eye, D)]).tocsr()
clip, l1 = lambda x, step: x.clip(0, 1), copt.penalty.L1Norm(weight)
options = {
    "step_size": 1.0,
    "step_size2": 1 / 16,
    "line_search": False,
    "tol": 3e-5,
    "max_iter": 10_000,
}
begin = perf_counter()
peer = copt.minimize_primal_dual(
    f_grad, b.ravel(), clip, l1.prox, L=D, **options
).x.reshape(n, n)
peer_seconds = perf_counter() - begin

# %%
# All answers lie in the box but the one with three terms, which does so to the tolerance and is clipped here. The
# methods are about equally fast. Only the bounds above say how close to the optimum one is.
objective = lambda x: f(x)[0] + columns.value(x) + rows.value(x)
psnr = lambda x: -10 * np.log10(np.mean((x - truth) ** 2))
results = {
    "trisplit, three terms": (three.x.clip(0, 1), three_seconds),
    "trisplit, two terms": (two.x, two_seconds),
    "copt, primal-dual": (peer, peer_seconds),
}
for name, (x, seconds) in results.items():
    print(
        f"{name:21s}: objective {objective(x):.6f} in {seconds:.2f} s, PSNR {psnr(x):.1f} dB"
    )
    assert objective(x) <= objective(peer) + 1e-6

# %%
# Edges are sharp again, and flat parts are flat.
figure, axes = plt.subplots(1, 3, figsize=(7.2, 2.7))
titles = ("truth", f"measured: {psnr(b):.1f} dB", f"restored: {psnr(two.x):.1f} dB")
for axis, image, title in zip(axes, (truth, b, two.x), titles, strict=True):
    shown = axis.imshow(image, cmap="gray", vmin=0, vmax=1)
    axis.set(xticks=[], yticks=[], title=title)
    axis.grid(False)
figure.colorbar(shown, ax=axes, label="brightness", shrink=0.8)
plt.show()
