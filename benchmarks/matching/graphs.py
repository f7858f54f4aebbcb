"""Pairs of graphs whose match is known.

B is a noisy copy of A whose vertices are in another order. An edge of A with probability p is one of B with
p + r (1 - p), and another pair with p (1 - r): then each graph by itself has the same distribution, and edges of both
have the correlation r. Where edges are not drawn independently, a part of them is moved elsewhere: of power-law graphs
(1 - r) (1 - p), p the density, which leaves the correlation r, of real graphs a tenth.

All is NumPy's, and drawn once for all contestants.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from . import real
from .lines import BETWEEN, BLOCKS, BROUGHT, DEGREE, DENSITY, INSIDE, REWIRED, Line

Array = np.ndarray
Matrix = np.ndarray | sparse.csr_array


class Pair(NamedTuple):
    """Vertex i of A is vertex `truth[i]` of B; `seeds` has a row (i, truth[i]) for each that is told."""

    A: Matrix
    B: Matrix
    truth: Array
    seeds: Array

    def score(self, p: Array) -> float:
        """Return sum_ij A[i,j] B[p_i,p_j]; a vertex with p_i = -1 counts nothing."""
        there = np.flatnonzero(p >= 0)
        if sparse.issparse(self.A):
            return float((self.A[there][:, there] * self.B[p[there]][:, p[there]]).sum())
        return float(np.vdot(self.A[np.ix_(there, there)], self.B[np.ix_(p[there], p[there])]))

    def accuracy(self, p: Array) -> float:
        """Return which part of the vertices without seed is right."""
        free = np.setdiff1d(np.arange(len(self.truth)), self.seeds[:, 0])
        return float(np.mean(p[free] == self.truth[free]))


def draw(line: Line, seed: int) -> Pair:
    """Return the pair of a line and a seed."""
    rng = np.random.default_rng([seed, line.n, round(100 * (line.correlation or 0)), line.seeds])
    A, B = COPIES[line.part](line, rng)
    order = rng.permutation(line.n)  # vertex j of the shuffled B is order[j] of the copy
    truth = np.argsort(order)
    B = B[order][:, order]
    told = np.sort(rng.choice(line.n, line.hints, replace=False))
    return Pair(A, B, truth, np.column_stack([told, truth[told]]))


def bernoulli(P: Array | float, n: int, r: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return two symmetric graphs whose edges have the probabilities P and the correlation r."""
    upper = np.triu(np.ones((n, n), dtype=bool), 1)
    A = (rng.random((n, n)) < P) & upper
    B = (rng.random((n, n)) < np.where(A, P + r * (1 - P), P * (1 - r))) & upper
    return (A | A.T).astype(float), (B | B.T).astype(float)


def erdos_renyi(line: Line, rng: np.random.Generator) -> tuple[Array, Array]:
    assert line.correlation is not None
    return bernoulli(DENSITY.get(line.n, 0.5), line.n, line.correlation, rng)


def block_model(line: Line, rng: np.random.Generator) -> tuple[Array, Array]:
    assert line.correlation is not None
    block = np.arange(line.n) * BLOCKS // line.n
    P = np.where(block[:, None] == block, INSIDE, BETWEEN)
    return bernoulli(P, line.n, line.correlation, rng)


def attached(n: int, m: int, rng: np.random.Generator) -> Array:
    """Return a graph of Barabasi and Albert: m + 1 joined vertices, and each further one with m edges, by degrees."""
    A = np.zeros((n, n))
    A[: m + 1, : m + 1] = 1 - np.eye(m + 1)
    for i in range(m + 1, n):
        degrees = A[:i].sum(axis=1)
        neighbours = rng.choice(i, m, replace=False, p=degrees / degrees.sum())
        A[i, neighbours] = A[neighbours, i] = 1
    return A


def power_law(line: Line, rng: np.random.Generator) -> tuple[Array, Array]:
    assert line.correlation is not None
    A = attached(line.n, min(BROUGHT, line.n // 4), rng)
    density = A.sum() / (line.n * (line.n - 1))
    return A, rewired(A, (1 - line.correlation) * (1 - density), rng)


def real_graph(line: Line, rng: np.random.Generator) -> tuple[Array, Array]:
    A = real.adjacency(line.graph)
    return A, rewired(A, REWIRED, rng)


def rewired(A: Array, part: float, rng: np.random.Generator) -> Array:
    """Return a copy in which a part of the edges was moved, with their weights, to pairs that have none."""
    symmetric = bool((A == A.T).all())
    allowed = np.triu(np.ones(A.shape, dtype=bool), 1) if symmetric else ~np.eye(len(A), dtype=bool)
    edges, free = np.argwhere((A != 0) & allowed), np.argwhere((A == 0) & allowed)
    count = min(round(part * len(edges)), len(free))
    gone = edges[rng.choice(len(edges), count, replace=False)]
    come = free[rng.choice(len(free), count, replace=False)]
    B = A.copy()
    B[tuple(come.T)] = A[tuple(gone.T)]
    B[tuple(gone.T)] = 0
    if symmetric:
        B = np.triu(B) + np.triu(B, 1).T
    return B


def sparse_graphs(line: Line, rng: np.random.Generator) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return Erdos-Renyi graphs of a given degree, without ever holding all pairs."""
    assert line.correlation is not None
    n, r = line.n, line.correlation
    pairs = n * (n - 1) // 2
    p = DEGREE / (n - 1)
    of_A = other(np.empty(0, dtype=np.int64), rng.binomial(pairs, p), pairs, rng)
    kept = of_A[rng.random(of_A.size) < p + r * (1 - p)]
    added = other(of_A, rng.binomial(pairs - of_A.size, p * (1 - r)), pairs, rng)
    return from_numbers(of_A, n), from_numbers(np.concatenate([kept, added]), n)


def other(taken: Array, count: int, pairs: int, rng: np.random.Generator) -> Array:
    """Return so many numbers of pairs that are not taken, each once."""
    found = np.empty(0, dtype=np.int64)
    while found.size < count:
        more = rng.integers(pairs, size=2 * (count - found.size) + 10)
        fresh = np.unique(np.concatenate([found, more[~np.isin(more, taken)]]))
        found = fresh if fresh.size <= count else np.sort(rng.choice(fresh, count, replace=False))
    return found


def from_numbers(numbers: Array, n: int) -> sparse.csr_array:
    """Return the graph whose edges are (i, j), i < j, with number j (j - 1) / 2 + i."""
    j = ((1 + np.sqrt(1 + 8 * numbers.astype(float))) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > numbers  # rounding of the root
    j += (j + 1) * j // 2 <= numbers
    i = numbers - j * (j - 1) // 2
    upper = sparse.coo_array((np.ones(i.size), (i, j)), shape=(n, n))
    return sparse.csr_array(upper + upper.T)


COPIES = {
    "er": erdos_renyi,
    "sbm": block_model,
    "power": power_law,
    "real": real_graph,
    "sparse": sparse_graphs,
}


def save(path: str, pair: Pair) -> None:
    """Write what contestants may know: A, B and the seeds, but not the truth."""
    arrays: dict[str, Array] = {"seeds": pair.seeds}
    for name, M in (("A", pair.A), ("B", pair.B)):
        if isinstance(M, np.ndarray):
            arrays[name] = M.astype(np.uint8) if bool(np.isin(M, (0, 1)).all()) else M
        else:
            arrays |= {f"{name}_data": M.data, f"{name}_indices": M.indices, f"{name}_indptr": M.indptr}
    np.savez(path, **arrays)  # pyright: ignore
