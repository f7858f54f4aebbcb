r"""
Sparse and of low rank: modules of genes
========================================

Which of 32 regulators drive which of 32 genes? Regulators and genes come in modules, so that the matrix of effects is
zero in most places (sparse) and made of few blocks (of low rank). The L1 norm knows the first fact, the nuclear norm
the second. Richard, Savalle and Vayatis (2012) take both; only 30 experiments are at hand, fewer than there are
regulators.
"""

# %%
# Two modules. An experiment sees activities of all regulators, a row of :math:`A`, and of all genes, with noise.
from time import perf_counter

import copt.penalty
import matplotlib.pyplot as plt
import numpy as np

import trisplit as ts

rng = np.random.default_rng(0)
n, shape = 30, (32, 32)
truth, A = np.zeros(shape), rng.standard_normal((n, 32))
for rows, columns in ((slice(3, 11), slice(2, 10)), (slice(20, 28), slice(16, 24))):
    truth[rows, columns] = np.outer(
        rng.uniform(0.6, 1.4, 8), rng.choice([-1, 1], 8) * rng.uniform(0.6, 1.4, 8)
    )
B = A @ truth + 0.7 * rng.standard_normal((n, 32))

# %%
# Least squares, and two terms that share all entries. The L1 norm comes first, so that zeros are exact. Each
# penalty gets the best of a few weights, those that come closest to the truth.


def fit(sparse, low_rank, tol=1e-4):
    f = lambda X: (np.sum((A @ X - B) ** 2) / (2 * n), A.T @ (A @ X - B) / n)
    return ts.minimize(
        f,
        np.zeros(shape),
        [ts.terms.L1(sparse), ts.terms.NuclearNorm(low_rank)],
        tol=tol,
    )


error = lambda X: np.linalg.norm(X - truth) / np.linalg.norm(truth)
some, few = (0.03, 0.06, 0.12, 0.24), (0.12, 0.25, 0.5, 1.0)
grids = {
    "L1 norm": [(a, 0.0) for a in some],
    "nuclear norm": [(0.0, b) for b in few],
    "both": [(a, b) for a in some[:3] for b in few[:3]],
}
best = {
    name: min(grid, key=lambda pair: error(fit(*pair).x))
    for name, grid in grids.items()
}

# %%
# The model with both, to a tight tolerance. Neither norm is bounded, so that the certificate is a residual, the
# norm of an element of the subdifferential; ``tol`` is relative to the slopes of f and of the norms. copt minimises
# the same objective, with its own penalties, and stops where that norm is 1e-6. Both spend most of their time on
# singular values, so that fewer iterations save little.
begin = perf_counter()
res = fit(*best["both"], tol=1e-7)
ours = perf_counter() - begin
print(
    f"{res.certificate.kind} {res.certificate.stationarity:.1e}, {np.mean(res.x == 0):.0%} zeros"
)


def f_grad(x, return_gradient=True):
    r = A @ x.reshape(shape) - B
    value = np.sum(r**2) / (2 * n)
    return (value, (A.T @ r / n).ravel()) if return_gradient else value


# %%
sparse, low_rank = (
    copt.penalty.L1Norm(best["both"][0]),
    copt.penalty.TraceNorm(best["both"][1], shape),
)
begin = perf_counter()
peer = copt.minimize_three_split(
    f_grad, np.zeros(1024), sparse.prox, low_rank.prox, tol=1e-6, max_iter=20_000
)
theirs = perf_counter() - begin
objective = lambda x: f_grad(x, False) + sparse(x) + low_rank(x)
print(
    f"trisplit: objective {objective(res.x.ravel()):.8f} in {ours:.2f} s, {res.nit} iterations"
)
print(
    f"copt:     objective {objective(peer.x):.8f} in {theirs:.2f} s, {peer.nit} iterations"
)
assert objective(res.x.ravel()) <= objective(peer.x) + 1e-6

# %%
# The L1 norm misses parts of the blocks, the nuclear norm leaves noise everywhere. Both together do better than
# either.
found = {name: fit(*pair).x for name, pair in best.items()}
assert error(found["both"]) < min(error(found["L1 norm"]), error(found["nuclear norm"]))
figure, axes = plt.subplots(1, 4, figsize=(7.2, 2.4))
for axis, (name, X) in zip(axes, ({"truth": truth} | found).items(), strict=True):
    print(
        f"{name:12s}: error {error(X):.0%}, {np.mean(X == 0):.0%} zeros, rank {np.linalg.matrix_rank(X, tol=1e-2)}"
    )
    image = axis.imshow(X, cmap="RdBu_r", vmin=-1.5, vmax=1.5, interpolation="nearest")
    axis.set(
        xticks=[],
        yticks=[],
        xlabel="gene",
        title=name if X is truth else f"{name}\nerror {error(X):.0%}",
    )
    axis.grid(False)
axes[0].set_ylabel("regulator")
figure.colorbar(image, ax=axes, label="effect", shrink=0.8)
plt.show()
