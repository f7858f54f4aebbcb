r"""
Nearly isotonic regression
==========================

A curve that should rise, and mostly does: how much is lost by insisting? With a penalty on every step down,
:math:`\lambda \sum_i \max(x_i - x_{i+1}, 0)`, a small weight lets the data speak and a large one gives the classical
isotonic regression.
"""

# %%
# Noisy measurements of a quantity that rises, but for a dip between 0.55 and 0.65, with values known to lie in [0, 1].
from time import perf_counter

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.isotonic import IsotonicRegression

import trisplit as ts

rng = np.random.default_rng(0)
t = np.linspace(0, 1, 400)
truth = 0.5 + np.arctan(12 * (t - 0.4)) / np.pi - 0.25 * ((t > 0.55) & (t < 0.65))
b = truth + 0.1 * rng.standard_normal(t.size)

# %%
# The fit, a penalty on falls and a box: one call for each weight. Every answer comes with a certificate, here the exact
# gap or a bound on it.


def fit(weight):
    f = lambda x: (0.5 * np.sum((x - b) ** 2), x - b)
    return ts.minimize(
        f,
        b,
        [ts.terms.Box(0, 1), ts.terms.NearlyIsotonic(weight)],
        step=1.0,
        tol=1e-9,
    )


weights = [0.05, 0.5, 50.0]
fit(1.0)  # compiles, once
begin = perf_counter()
results = [fit(weight) for weight in weights]
ours = perf_counter() - begin
for weight, res in zip(weights, results, strict=True):
    falls = np.maximum(-np.diff(res.x), 0).sum()
    print(
        f"weight {weight:5.2f}: {res.certificate.kind} {res.certificate.stationarity:.1e}, falls {falls:.4f}"
    )

# %%
# Two known answers. A general convex solver finds the same objective for each weight, and with the largest weight the
# answer is the isotonic regression of scikit-learn.
x, weight = cp.Variable(t.size), cp.Parameter(nonneg=True)
objective = cp.sum_squares(x - b) / 2 + weight * cp.sum(cp.pos(x[:-1] - x[1:]))
model = cp.Problem(cp.Minimize(objective), [x >= 0, x <= 1])
theirs = 0.0
for value, res in zip(weights, results, strict=True):
    weight.value = value
    begin = perf_counter()
    model.solve(solver=cp.CLARABEL)
    theirs += perf_counter() - begin
    print(f"weight {value:5.2f}: objective {res.fun:.8f}, cvxpy {model.value:.8f}")
    assert res.fun <= model.value + 1e-6
isotonic = IsotonicRegression(y_min=0, y_max=1).fit_transform(t, b)
print(
    f"largest weight against scikit-learn: {np.abs(results[-1].x - isotonic).max():.1e}"
)
print(f"{1e3 * ours:.0f} ms for three fits, cvxpy with Clarabel {1e3 * theirs:.0f} ms")

# %%
# The dip survives a moderate weight, and is flat with a large one.
figure, axis = plt.subplots()
axis.plot(t, b, ".", color="0.6", markersize=4, label="measured")
axis.plot(t, truth, color="black", linewidth=1, label="truth")
for weight, res in zip(weights, results, strict=True):
    axis.plot(t, res.x, label=f"weight {weight:g}")
axis.set(
    xlabel="t",
    ylabel="x",
    title="Falls cost: the larger their weight, the closer to isotonic",
)
axis.legend()
plt.show()
