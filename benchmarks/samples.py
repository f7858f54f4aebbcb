"""The problems of the stochastic benchmark: seeded tables that are like two well-known ones, and a robust regression.

1. *Like rcv1*, news as bags of words: sparse, 20,000 rows of about 70 words out of 47,000, whose frequencies fall like
   1 / rank; logarithms of counts and of frequencies, rows of length one.
2. *Like covtype*, patches of forest: dense, 580,000 rows with ten correlated measurements, one of four areas and one of
   forty soils as zeros and ones.

Both are for logistic regression with groups of ten neighbouring features that share two with the next group. The weight
is 10^-1.5 of the largest one that is of any use: among half powers of ten, held-out accuracy was best there on both.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

import trisplit as ts

Array = np.ndarray

WEIGHT = 10**-1.5  # of the least weight with which zero is a solution
GROUP, SHARED = 10, 2


@dataclass(eq=False)
class Problem:
    """A finite sum f and two terms; `groups` are those of the terms, each with `weight`."""

    name: str
    f: ts.losses.Logistic
    terms: list[ts.terms.GroupL2]
    groups: tuple[list[Array], list[Array]]
    weight: float

    @property
    def x0(self) -> Array:
        return np.zeros(self.f.shape)

    def phi(self, x: Array) -> float:
        """Return f + g + h."""
        return float(self.f.value(x) + sum(term.value(x) for term in self.terms))


def group_lasso(name: str, A: Array, seed: int, ridge: float = 0.0) -> Problem:
    """Return the logistic regression on a table, with labels of a model with few groups."""
    n, d = A.shape
    starts = range(0, d - SHARED, GROUP - SHARED)
    groups = [np.arange(start, min(start + GROUP, d)) for start in starts]
    rng, model = np.random.default_rng(seed), np.zeros(d)
    for k in rng.choice(len(groups), max(2, len(groups) // 10), replace=False):
        model[groups[k]] = rng.standard_normal(groups[k].size)
    p = A @ model
    labels = np.where(rng.random(n) < 1 / (1 + np.exp(-3 * p / p.std())), 1.0, -1.0)
    f = ts.losses.Logistic(A, labels, ridge=ridge)
    slope = f.grad(np.zeros(d))
    weight = WEIGHT * max(float(np.linalg.norm(slope[group])) for group in groups)
    two = groups[::2], groups[1::2]
    return Problem(name, f, [ts.terms.GroupL2(part, weight) for part in two], two, weight)


def like_rcv1(n: int = 20_000, d: int = 47_000, seed: int = 0) -> sparse.csr_array:
    """Return a sparse table of words."""
    rng = np.random.default_rng(seed)
    chance = np.cumsum(1 / (np.arange(d) + 10.0))
    columns = rng.permutation(d)
    lengths = np.maximum(5, rng.lognormal(np.log(65), 0.5, n).astype(int))
    rows = np.repeat(np.arange(n), lengths)
    words = np.searchsorted(chance, chance[-1] * rng.random(rows.size)).clip(max=d - 1)
    A = sparse.csr_array((np.ones(rows.size), (rows, columns[words])), shape=(n, d))
    A.sum_duplicates()
    documents = np.bincount(A.indices, minlength=d)
    A.data = (1 + np.log(A.data)) * np.log((n + 1) / np.maximum(documents, 1))[A.indices]
    lengths = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1 / lengths) @ A)


def like_covtype(n: int = 580_000, seed: int = 0) -> Array:
    """Return a dense table of measurements and categories."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((10, 10))
    root = np.linalg.cholesky(mixing @ mixing.T / 10 + 0.3 * np.eye(10))
    measured = rng.standard_normal((n, 10)) @ root.T
    A = np.zeros((n, 54))
    A[:, :10] = (measured - measured.mean(axis=0)) / measured.std(axis=0)
    A[np.arange(n), 10 + rng.choice(4, n, p=[0.45, 0.05, 0.44, 0.06])] = 1
    soils = 1 / (np.arange(40) + 1.0)
    A[np.arange(n), 14 + rng.permutation(40)[rng.choice(40, n, p=soils / soils.sum())]] = 1
    return A


@dataclass(eq=False)
class Robust:
    """Tukey's regression with an L1 norm and a box; a tenth of the samples is far off."""

    name: str
    f: ts.losses.Tukey
    terms: list

    @property
    def x0(self) -> Array:
        return np.zeros(self.f.shape)


def robust(n: int = 20_000, d: int = 100, seed: int = 0) -> Robust:
    """Return a nonconvex problem."""
    rng = np.random.default_rng(seed)
    A, model = rng.standard_normal((n, d)), np.zeros(d)
    model[:10] = rng.uniform(-1, 1, 10)
    b = A @ model + 0.5 * rng.standard_normal(n)
    b[: n // 10] += 20.0
    order = rng.permutation(n)
    f = ts.losses.Tukey(A[order], b[order])
    return Robust("Tukey regression, L1 and box", f, [ts.terms.L1(0.01), ts.terms.Box(-1, 1)])
