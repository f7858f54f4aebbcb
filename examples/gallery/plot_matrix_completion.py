r"""
Matrix completion with ratings from 1 to 5
==========================================

Viewers rate a few films each, and the other ratings are to be predicted. If tastes are made of a few types, the table
of all ratings is nearly of low rank, and a nuclear norm finds it (Candes and Recht 2009). Some of its predictions lie
below 1 or above 5, though, where no rating can be. A box forbids that.
"""

# %%
# There are 80 viewers and 50 films. Each of four types loves or hates a film, viewers are mixtures of types, and 30 %
# of the ratings are seen, with noise and rounded.
from time import perf_counter

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import trisplit as ts

rng = np.random.default_rng(0)
scores = rng.dirichlet(np.full(4, 0.1), size=80) @ rng.choice([1.0, 5.0], size=(4, 50))
ratings = np.clip(np.rint(scores + 0.3 * rng.standard_normal(scores.shape)), 1, 5)
seen = rng.random(scores.shape) < 0.3
mean = ratings[seen].mean()
Y = np.where(seen, ratings - mean, 0)

# %%
# The table is :math:`X` plus the mean of the seen ratings. Its squared error on these is the loss, and there are two
# terms: the box, and the nuclear norm. The box comes first, so that the answer lies in it to the last digit.
weight, box = 1.0, ts.terms.Box(1 - mean, 5 - mean)


def f(X):
    R = np.where(seen, X - Y, 0)
    return np.sum(R**2) / 2, R


def solve():
    return ts.minimize(f, Y, [box, ts.terms.NuclearNorm(weight)])


solve()  # warms up
begin = perf_counter()
res = solve()
ours = perf_counter() - begin

# %%
# The box is bounded, so the certificate is a bound. The problem is convex, so the objective is at most that much above
# the smallest one.
print(f"{res.certificate.kind} {res.certificate.stationarity:.1e}")

# %%
# A general solver finds the same answer, but treats the nuclear norm as a semidefinite program with 130 rows. Its point
# is put into the box before it is measured.
X = cp.Variable(Y.shape)
error = cp.sum_squares(cp.multiply(seen, X - Y)) / 2
model = cp.Problem(
    cp.Minimize(error + weight * cp.normNuc(X)), [box.lo <= X, box.hi >= X]
)
model.solve(solver=cp.SCS, eps=0.1)  # builds the model
begin = perf_counter()
model.solve(solver=cp.SCS, eps=1e-6, warm_start=False)
theirs = perf_counter() - begin
Z = box.project(X.value)
value = f(Z)[0] + weight * np.linalg.norm(Z, "nuc")
print(
    f"objective {res.fun:.5f} in {ours:.2f} s, cvxpy with SCS {value:.5f} in {theirs:.2f} s"
)
assert res.fun <= value + 1e-3

# %%
# Soft-impute (Mazumder, Hastie and Tibshirani 2010) has the same nuclear norm and no box.


def soft_impute(tol=1e-6):
    X = np.zeros_like(Y)
    while True:
        U, s, V = np.linalg.svd(np.where(seen, Y, X), full_matrices=False)
        before, X = X, (U * np.maximum(s - weight, 0)) @ V
        if np.linalg.norm(X - before) <= tol * np.linalg.norm(X):
            return X


begin = perf_counter()
free = soft_impute()
seconds = perf_counter() - begin
print(f"soft-impute in {seconds:.2f} s; root mean square errors of what was not seen:")
for name, guess in (
    ("with the box", res.x),
    ("soft-impute", free),
    ("soft-impute, clipped", box.project(free)),
):
    print(f"{name:20} {np.sqrt(np.mean((guess + mean - scores)[~seen] ** 2)):.4f}")

# %%
# The box costs next to no time, as an iteration has one singular value decomposition with it or without. To know of
# the bounds from the beginning is a little better than to clip in the end. That is so because the scores themselves lie
# between 1 and 5. Where they go beyond, and only the ratings are clipped, the box breaks the low rank, and soft-impute
# predicts better.
figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(9.6, 3.4), width_ratios=(2, 2.4, 3)
)
left.imshow(
    np.where(seen, ratings, np.nan),
    aspect="auto",
    vmin=1,
    vmax=5,
    interpolation="nearest",
)
image = middle.imshow(
    res.x + mean, aspect="auto", vmin=1, vmax=5, interpolation="nearest"
)
for axis, title in ((left, "Seen ratings"), (middle, "Completed")):
    axis.grid(False)
    axis.set(xlabel="film", ylabel="viewer", title=title)
figure.colorbar(image, ax=middle)
bins = np.arange(-0.05, 6.1, 0.1)
for guess, label in ((res.x, "with the box"), (free, "soft-impute")):
    right.hist(
        (guess + mean)[~seen],
        bins,
        histtype="step",
        linewidth=1.5,
        log=True,
        label=label,
    )
right.set(
    xlabel="predicted rating",
    ylabel="count",
    ylim=(0.5, 3000),
    title="With the box, none is below 1 or above 5",
)
right.legend(ncols=2, loc="upper center")
plt.show()
