"""match_large(): seeds, a similarity or surroundings -> percolation -> splitting on candidates -> assignments."""

# pyright: reportOptionalSubscript=false, reportOptionalMemberAccess=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportOptionalIterable=false
# The types of scipy.sparse are not declared, only guessed.

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits

from trisplit.errors import InputError
from trisplit.matching.large import candidates
from trisplit.matching.large.assignment import assign
from trisplit.matching.large.layers import LayerPairs, Layers, layer_pairs
from trisplit.matching.large.memory import KEPT, estimate, require_memory
from trisplit.matching.large.pattern_tos import PatternProblem, pattern_tos
from trisplit.matching.large.percolation import Percolation, percolate, witnesses
from trisplit.matching.large.profiles import from_profiles
from trisplit.matching.large.refine import complete, refine
from trisplit.options import Rng, as_generator

POOR = 0.5  # share of edges with a counterpart below which a relaxation is tried

Report = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class LargeMatch:
    """A match of two large graphs.

    Parameters
    ----------
    permutation : array of int
        The vertex of B for each vertex of A, -1 where there is none.
    iterations : int
        Rounds of all stages.
    converged : bool
        Whether the last stage ended at a fixed point.
    score : float
        Sum over layers of A[i,j] B[p_i,p_j], plus the sum of S[i,p_i].
    witnesses : csr_array of shape (n_A, n_B)
        Of the best pairs of each vertex: common matched neighbours, weights as products, plus the similarity; of graphs
        without directions, half the gradient of the score.
    """

    permutation: np.ndarray
    iterations: int
    converged: bool
    score: float
    witnesses: csr_array


def match_large(
    A: Layers,
    B: Layers,
    *,
    seeds: np.ndarray | None = None,
    similarity: csr_array | None = None,
    rng: Rng = None,
    max_iter: int = 100,
    tol: float = 1e-3,
    kept: int = KEPT,
    progress: bool | Report = False,
) -> LargeMatch:
    """Match large sparse graphs; nothing of n x n entries is held.

    Parameters
    ----------
    A, B : tuples of csr_array
        Layers, square; as many of A as of B.
    seeds : array of int, shape (m, 2), optional
        Pairs that are matched, whatever the score says.
    similarity : csr_array of shape (n_A, n_B), optional
        Adds S[i,p_i] to the score.
    rng : Generator or int, optional
        Of the features and eigenvectors of graphs without seeds and similarity; nothing else is random.
    max_iter : int
        Most rounds of each stage.
    tol : float
        Of the relaxation, see `pattern_tos`.
    kept : int
        Candidate pairs of a vertex.
    progress : bool or callable
        True prints a line for each round on standard error; a callable gets these lines.

    Returns
    -------
    LargeMatch

    Examples
    --------
    >>> import numpy as np
    >>> ring = csr_array(np.roll(np.eye(6), 1, axis=1) + np.roll(np.eye(6), -1, axis=1))
    >>> match_large((ring,), (ring,), seeds=np.array([[0, 3], [1, 4]])).permutation
    array([3, 4, 5, 0, 1, 2])
    """
    report: Report | None = _print if progress is True else progress or None
    fixed = _checked(A, B, seeds, similarity)
    _, generator = as_generator(rng)
    size = fixed.size, B[0].shape[0]
    expected = estimate(
        *size,
        sum(M.nnz for M in A),
        sum(M.nnz for M in B),
        directed=any((M != M.T).nnz > 0 for M in (*A, *B)),
        similarity=0 if similarity is None else similarity.nnz,
        kept=kept,
        seeded=bool((fixed >= 0).any()),
        products=sum(_products(a, b) for a, b in zip(A, B, strict=True)),
    )
    require_memory(expected)
    if report is not None:
        report(expected.text)
    graphs = layer_pairs(A, B, similarity)
    with threadpool_limits(1):  # the rounding of a dense product depends on the number of threads
        found = _grown(graphs, fixed, generator, max_iter, kept, report)
    rounds = found.rounds
    if _agreement(graphs, found.partner) < POOR:
        with threadpool_limits(1):
            relaxed = _relaxed(graphs, A, B, found.partner, fixed, generator, max_iter, tol, kept, report)
        rounds += relaxed.rounds
        if graphs.score(relaxed.partner) > graphs.score(found.partner):
            found = relaxed
    found = refine(graphs, complete(graphs, found.partner), fixed, max_iter=max_iter, report=report)
    partner = complete(graphs, found.partner)
    everywhere = np.full(fixed.size, -1)
    W, _ = witnesses(graphs, partner, fixed=everywhere, least=float(np.finfo(float).tiny), kept=kept, share=0.0)
    return LargeMatch(partner, rounds + found.rounds, found.converged, graphs.score(partner), W)


def _grown(
    graphs: LayerPairs, fixed: np.ndarray, rng: np.random.Generator, max_iter: int, kept: int, report: Report | None
) -> Percolation:
    """Percolate from seeds and from the best match by similarity; where there is neither, by surroundings."""
    start = fixed
    if graphs.S.nnz:
        alike = assign(candidates.from_similarity(graphs.S, fixed, kept), price=0.0).partner
        start = np.where(fixed >= 0, fixed, alike)
    if not (start >= 0).any():
        start = assign(from_profiles(graphs, fixed, kept, rng), price=0.0).partner
    return percolate(graphs, fixed, start=start, max_iter=max_iter, report=report)


def _relaxed(
    graphs: LayerPairs,
    A: Layers,
    B: Layers,
    partner: np.ndarray,
    fixed: np.ndarray,
    rng: np.random.Generator,
    max_iter: int,
    tol: float,
    kept: int,
    report: Report | None,
) -> Percolation:
    """Relax the problem on candidate pairs, round, and percolate from there."""
    patterns = [candidates.from_witnesses(graphs, partner, fixed, kept)]
    if graphs.S.nnz:
        patterns.append(candidates.from_similarity(graphs.S, fixed, kept))
    elif not (fixed >= 0).any():
        patterns += [candidates.spectral(A, B, fixed, kept, rng), from_profiles(graphs, fixed, kept, rng)]
    pattern = candidates.join(*patterns, fixed=fixed)
    turned = graphs.n_A > graphs.n_B
    if turned:
        graphs, pattern, fixed = graphs.turned(), csr_array(pattern.T), candidates.inverse(fixed, graphs.n_B)
        pattern.sort_indices()
    problem = PatternProblem(graphs, pattern)
    L = problem.curvature()
    y = pattern.data / np.repeat(np.maximum(_row_sums(pattern), 1e-30), np.diff(pattern.indptr))
    done = pattern_tos(problem, y, 1 / L if L > 0 else 1.0, max_iter=2 * max_iter, tol=tol, report=report)
    Z = csr_array((done.z + 1e-9, pattern.indices, pattern.indptr), shape=pattern.shape)
    rounded = np.where(fixed >= 0, fixed, assign(Z, price=0.0).partner)
    grown = percolate(graphs, fixed, start=rounded, max_iter=max_iter, report=report)
    best = max((rounded, grown.partner), key=graphs.score)
    if turned:
        best = candidates.inverse(best, graphs.n_B)
    return Percolation(best, done.iterations + grown.rounds, grown.converged)


def _agreement(graphs: LayerPairs, partner: np.ndarray) -> float:
    """Return <A, B matched> / (||A|| ||B matched||) over all edges of the smaller graph; 1 if there are no edges."""
    if graphs.n_A > graphs.n_B:
        graphs, partner = graphs.turned(), candidates.inverse(partner, graphs.n_B)
    matched = np.flatnonzero(partner >= 0)
    to = partner[matched]
    common = counterpart = 0.0
    for a, b in graphs.pairs:
        onto = b[to][:, to]
        common += float(a[matched][:, matched].multiply(onto).sum())
        counterpart += float(onto.power(2).sum())
    edges = float(graphs.A.power(2).sum())
    if edges == 0 or graphs.B.nnz == 0:
        return 1.0
    return common / (edges * counterpart) ** 0.5 if counterpart > 0 else 0.0


def _products(a: csr_array, b: csr_array) -> float:
    """Return the most that the sum of products of degrees of matched vertices can be, both directions."""
    total = 0.0
    for axis in (0, 1):
        d, e = (np.sort(np.bincount(_indices(M, axis), minlength=M.shape[0]))[::-1].astype(float) for M in (a, b))
        n = min(d.size, e.size)
        total += float(d[:n] @ e[:n])
    return total


def _indices(M: csr_array, axis: int) -> np.ndarray:
    return M.indices if axis else np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))


def _row_sums(M: csr_array) -> np.ndarray:
    return np.asarray(M.sum(axis=1)).ravel()


def _checked(A: Layers, B: Layers, seeds: np.ndarray | None, similarity: csr_array | None) -> np.ndarray:
    """Return the partners of seeds, -1 elsewhere, or raise an `InputError`."""
    if len(A) != len(B) or not A:
        raise InputError(f"`A` and `B` must have as many layers, got {len(A)} and {len(B)}; leave some out")
    n_A, n_B = A[0].shape[0], B[0].shape[0]
    if similarity is not None and similarity.shape != (n_A, n_B):
        raise InputError(f"`similarity` must have shape {(n_A, n_B)}, got {similarity.shape}; transpose it?")
    fixed = np.full(n_A, -1)
    pairs = np.empty((0, 2), np.int64) if seeds is None or len(seeds) == 0 else np.unique(seeds, axis=0)
    if pairs.shape[1:] != (2,) or (pairs.size and (pairs.min() < 0 or (pairs.max(axis=0) >= (n_A, n_B)).any())):
        raise InputError(f"`seeds` must be pairs of vertices below {n_A} and {n_B}; count vertices from 0")
    if any(np.unique(side).size != side.size for side in pairs.T):
        raise InputError("`seeds` match a vertex twice; leave one of the two pairs out")
    fixed[pairs[:, 0]] = pairs[:, 1]
    return fixed


def _print(line: str) -> None:
    print(f"trisplit: {line}", file=sys.stderr, flush=True)
