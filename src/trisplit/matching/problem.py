"""Two graphs to be matched, with what is known of the match: validated, seeds taken out, sizes made equal.

With seeds s -> t, rows r of A and columns c of B that are free, the score of a match is a constant plus that of the
free part, with the linear term

    C = A[r,s] B[c,t]' + A[s,r]' B[t,c] + AB[r,t] BA[c,s]' + BA[t,r]' AB[s,c] + S[r,c].

Graphs of unequal size are filled up with vertices that have no edges. "adopted" padding first turns weights w into
2 w - 1, so that a missing edge speaks against a match more than an added vertex does.

References: D. E. Fishkind et al., Seeded graph matching, Pattern Recognition 87 (2019).
B. D. Pedigo et al., Bisected graph matching improves automated pairing of bilaterally homologous neurons (2023).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp, log2
from typing import NamedTuple

import numpy as np
from scipy import sparse

from trisplit.errors import InputError
from trisplit.matching.edges import numbers
from trisplit.matching.graphs import Graph, as_graph, is_frame
from trisplit.matching.objective import MatchObjective, inner
from trisplit.qap.fixed import in_range
from trisplit.qap.matrices import Matrix, as_dense, is_sparse

PADDINGS = ("naive", "adopted")
COMMON = 24  # binary exponents of weights that are left as they are
RANGE = 1000  # binary exponents of scores


@dataclass(frozen=True, eq=False)
class MatchingProblem:
    """What is given: two graphs, what joins them, and seeds.

    Attributes
    ----------
    A, B : Graph
    AB, BA : tuple of matrices
        None or one for each layer.
    S : matrix or None
    seeds : array of int, shape (m, 2), sorted by the first column
    maximize : bool
    """

    A: Graph
    B: Graph
    AB: tuple[Matrix, ...]
    BA: tuple[Matrix, ...]
    S: Matrix | None
    seeds: np.ndarray
    maximize: bool = True

    @property
    def n(self) -> int:
        """The number of vertices of the larger graph."""
        return max(self.A.n, self.B.n)

    def score(self, indices_A: np.ndarray, indices_B: np.ndarray) -> float:
        """Return the score of a match, over the vertices that it matches, in the numbers that were given."""
        total = 0.0
        for A, B in zip(self.A.layers, self.B.layers, strict=True):
            total += _sum_of_products(_block(A, indices_A, indices_A), _block(B, indices_B, indices_B))
        for AB, BA in zip(self.AB, self.BA, strict=True):
            total += _sum_of_products(_block(AB, indices_A, indices_B), _block(BA, indices_B, indices_A))
        if self.S is not None:
            total += float(np.asarray(self.S[indices_A, indices_B]).sum())
        return total


@dataclass(frozen=True, eq=False)
class Reduced:
    """The problem of the free vertices: `rows` of A and `columns` of B, which may be beyond the graph's own.

    Its score is `scale` times that in the numbers that were given.
    """

    objective: MatchObjective
    rows: np.ndarray
    columns: np.ndarray
    scale: float


def as_problem(
    A: object,
    B: object,
    *,
    AB: object = None,
    BA: object = None,
    S: object = None,
    partial_match: object = None,
    maximize: bool = True,
) -> MatchingProblem:
    """Return what was given in one form, or raise an `InputError` that names the argument."""
    first, second = as_graph(A, "A"), as_graph(B, "B")
    if len(first.layers) != len(second.layers):
        layers = len(first.layers), len(second.layers)
        raise InputError(
            f"`A` and `B` must have as many layers, got {layers[0]} and {layers[1]}; pass lists of one length"
        )
    shape = first.n, second.n
    if (AB is None) != (BA is None):
        given, missing = ("AB", "BA") if BA is None else ("BA", "AB")
        raise InputError(f"`{given}` needs `{missing}` beside it, got None; pass both, or neither")
    crossed = [
        _rectangles(value, name, *ends, len(first.layers))
        for value, name, ends in ((AB, "AB", (first, second)), (BA, "BA", (second, first)))
    ]
    similarity = None if S is None else _rectangles(S, "S", first, second, 1)[0]
    seeds = as_seeds(partial_match, shape)
    problem = MatchingProblem(first, second, crossed[0], crossed[1], similarity, seeds, maximize)
    _check_products(problem)
    return problem


def as_seeds(partial_match: object, shape: tuple[int, int]) -> np.ndarray:
    """Return seeds as an (m, 2) array in ascending order; pairs that are listed twice count once."""
    if partial_match is None:
        return np.empty((0, 2), dtype=np.int64)
    value = list(partial_match.items()) if isinstance(partial_match, dict) else partial_match
    if isinstance(value, set | frozenset | zip):
        value = list(value)
    if isinstance(value, tuple) and len(value) == 2:
        sides = [np.asarray(side) for side in value]
        if any(side.ndim != 1 for side in sides) or len(sides[0]) != len(sides[1]):
            lengths = " and ".join(str(np.shape(side)) for side in sides)
            raise InputError(f"`partial_match` must have as many vertices of A as of B, got {lengths}; pair them up")
        value = np.stack(sides, axis=1) if len(sides[0]) else np.empty((0, 2), dtype=np.int64)
    names: list[str] = []
    if getattr(value, "dtype", np.dtype(object)).kind in "OU":
        names = [name for name in np.ravel(np.asarray(value, dtype=object)) if isinstance(name, str)]
    if names:
        remedy = "pass places, counted from 0; `read_seeds` finds those of names in a file"
        raise InputError(f"`partial_match` must hold places of vertices, got the name {names[0]!r}; {remedy}")
    pairs = np.unique(in_range(value, shape, name="partial_match"), axis=0)  # pyright: ignore[reportArgumentType]
    for side, name in enumerate("AB"):
        vertices, counts = np.unique(pairs[:, side], return_counts=True)
        if len(pairs) and counts.max() > 1:
            twice = vertices[counts.argmax()]
            partners = ", ".join(map(str, pairs[pairs[:, side] == twice, 1 - side][:3]))
            raise InputError(
                f"`partial_match` contradicts itself: vertex {twice} of {name} goes with {partners}; keep one pair"
            )
    return pairs


def reduce(problem: MatchingProblem, padding: str, dtype: type, rng: np.random.Generator | None) -> Reduced:
    """Take out the seeds and fill up the smaller graph; with `rng`, in a random order of the vertices."""
    n, seeds = problem.n, problem.seeds
    rows, columns = (np.setdiff1d(np.arange(n), seeds[:, side]) for side in (0, 1))
    if rng is not None:
        rows, columns = rng.permutation(rows), rng.permutation(columns)
    sign = 1.0 if problem.maximize else -1.0
    adopted = padding == "adopted" and problem.A.n != problem.B.n
    scale = Scale.of(problem, adopted)
    layers, crossed, C = [], [], None

    def parts(M: Matrix, ends: Sequence[np.ndarray], seeded: Sequence[np.ndarray], factor: float) -> list[Matrix]:
        """Return M for free and free, free and seeded, seeded and free vertices."""
        M = _filled(M, n, adopted)
        choice = (ends[0], ends[1]), (ends[0], seeded[1]), (seeded[0], ends[1])
        return [_typed(factor * _block(M, i, j), dtype) for i, j in choice]

    s, t = seeds.T
    for A, B in zip(problem.A.layers, problem.B.layers, strict=True):
        A_rr, A_rs, A_sr = parts(A, (rows, rows), (s, s), sign * scale.A)
        B_cc, B_ct, B_tc = parts(B, (columns, columns), (t, t), scale.B)
        layers.append((A_rr, B_cc))
        C = _plus(C, [A_rs @ B_ct.T, A_sr.T @ B_tc] if len(seeds) else [])
    for AB, BA in zip(problem.AB, problem.BA, strict=True):
        AB_rc, AB_rt, AB_sc = parts(AB, (rows, columns), (s, t), sign * scale.AB)
        BA_cr, BA_cs, BA_tr = parts(BA, (columns, rows), (t, s), scale.BA)
        crossed.append((AB_rc, BA_cr))
        C = _plus(C, [AB_rt @ BA_cs.T, BA_tr.T @ AB_sc] if len(seeds) else [])
    if problem.S is not None:
        C = _plus(C, [_typed(sign * scale.S * _block(_filled(problem.S, n, False), rows, columns), dtype)])
    return Reduced(MatchObjective(tuple(layers), tuple(crossed), C), rows, columns, scale.S)


class Scale(NamedTuple):
    """Powers of two by which weights are multiplied, so that they suit float32; the score is multiplied by that of S.

    All are 1 for weights of common sizes: integers stay such.
    """

    A: float = 1.0
    B: float = 1.0
    AB: float = 1.0
    BA: float = 1.0
    S: float = 1.0

    @classmethod
    def of(cls, problem: MatchingProblem, adopted: bool) -> "Scale":
        """Return the powers for a problem, with its weights as padding leaves them."""
        *largest, similarity = map(_largest, _matrices(problem))
        largest = [2.0 * one + 1.0 if adopted and one else one for one in largest]
        a, b, ab, ba, s = (frexp(one)[1] for one in (*largest, similarity))  # 0 where there are no weights
        if max(map(abs, (a, b, ab, ba, s))) <= COMMON:
            return cls()
        parts = ((a + b, min(largest[:2])), (ab + ba, min(largest[2:])), (s, similarity))
        whole = max((power for power, there in parts if there), default=0)
        return cls(*(2.0**-power for power in (a, whole - a, ab, whole - ab, whole)))


def _matrices(problem: MatchingProblem) -> tuple[Sequence[Matrix], ...]:
    """Return the matrices of each kind: A, B, AB, BA and S."""
    similarity = () if problem.S is None else (problem.S,)
    return problem.A.layers, problem.B.layers, problem.AB, problem.BA, similarity


def _largest(matrices: Sequence[Matrix]) -> float:
    return max((float(abs(M).max()) for M in matrices if 0 not in M.shape), default=0.0)


def _check_products(problem: MatchingProblem) -> None:
    """Raise an `InputError` where scores leave the range of float64."""
    a, b, ab, ba, s = map(_largest, _matrices(problem))
    for (first, second), names in (((a, b), ("A", "B")), ((ab, ba), ("AB", "BA"))):
        if first == 0.0 or second == 0.0:
            continue
        power = log2(first) + log2(second) + 2 * log2(max(problem.n, 1))
        if max(map(abs, (log2(first), log2(second), power))) > RANGE:
            remedy = "divide all weights of a graph by one number" if power > 0 else "multiply them by one number"
            found = f"up to {first:.3g} and {second:.3g}"
            raise InputError(
                f"`{names[0]}` and `{names[1]}` have weights {found}, whose products no score holds; {remedy}"
            )
    if s > 2.0**RANGE:
        raise InputError(f"`S` has entries up to {s:.3g}, of which no score holds the sum; divide them by one number")


def _plus(C: np.ndarray | None, terms: list[Matrix]) -> np.ndarray | None:
    for term in terms:
        C = as_dense(term) if C is None else C + as_dense(term)
    return C


def _filled(M: Matrix, n: int, adopted: bool) -> Matrix:
    """Return M with zeros up to n rows and columns."""
    if M.shape == (n, n):
        return 2.0 * as_dense(M) - 1.0 if adopted else M
    if is_sparse(M) and not adopted:
        entries = sparse.coo_array(M)
        return sparse.csr_array((entries.data, (entries.row, entries.col)), shape=(n, n))  # pyright: ignore
    filled = np.zeros((n, n))
    filled[: M.shape[0], : M.shape[1]] = 2.0 * as_dense(M) - 1.0 if adopted else as_dense(M)
    return filled


def _block(M: Matrix, rows: np.ndarray, columns: np.ndarray) -> Matrix:
    return M[rows][:, columns] if is_sparse(M) else M[np.ix_(rows, columns)]


def _typed(M: Matrix, dtype: type) -> Matrix:
    return M.astype(dtype)


def _sum_of_products(X: Matrix, Y: Matrix) -> float:
    if is_sparse(X) or is_sparse(Y):
        return float((sparse.csr_array(X) * sparse.csr_array(Y)).sum())
    return inner(X, Y)


def _rectangles(value: object, name: str, rows: Graph, columns: Graph, layers: int) -> tuple[Matrix, ...]:
    """Return matrices over the vertices of two graphs, one for each layer."""
    if value is None:
        return ()
    several = isinstance(value, np.ndarray) and value.ndim == 3
    if isinstance(value, list | tuple) and value:
        several = is_sparse(value[0]) or is_frame(value[0]) or np.ndim(value[0]) >= 2  # else a list of rows
    matrices = list(value) if several else [value]  # pyright: ignore[reportArgumentType]
    if len(matrices) != layers:
        raise InputError(
            f"`{name}` must have {layers} layer{'s' * (layers > 1)}, got {len(matrices)}; pass as many as A has"
        )
    return tuple(_rectangle(_in_order(matrix, name, rows, columns), name, (rows.n, columns.n)) for matrix in matrices)


def _in_order(value: object, name: str, rows: Graph, columns: Graph) -> object:
    """Return a table of pandas with its rows and columns in the order of the vertices after which they are named."""
    if not is_frame(value):
        return value
    places = []
    for found, graph, what in ((value.index, rows, "rows"), (value.columns, columns, "columns")):  # pyright: ignore
        labels = list(range(graph.n) if graph.labels is None else graph.labels)
        if list(found) == list(range(graph.n)):  # not named
            places.append(np.arange(graph.n))
            continue
        if not found.is_unique or set(found) != set(labels):
            other = next((label for label in found if label not in set(labels)), None)
            said = "are not all the vertices" if other is None else f"are named, such as {other!r}, as no vertex is"
            raise InputError(f"`{name}` has {what} that {said}; name them after vertices, or pass `{name}.to_numpy()`")
        places.append(found.get_indexer(labels))
    return value.to_numpy()[np.ix_(*places)]  # pyright: ignore[reportAttributeAccessIssue]


def _rectangle(value: object, name: str, shape: tuple[int, int]) -> Matrix:
    what = f"`{name}`"
    if is_sparse(value):
        numbers(np.zeros(0, value.dtype), what)  # pyright: ignore[reportAttributeAccessIssue]
        M: Matrix = sparse.csr_array(value, dtype=float)  # pyright: ignore
    else:
        try:
            M = np.asarray(value)
        except ValueError:
            raise InputError(f"{what} must be a matrix, got rows of different lengths; pass an array") from None
        if np.ma.is_masked(value):
            raise InputError(f"{what} has masked entries; fill them, by 0 for instance")
        M = numbers(M, what)
    if M.shape != shape:
        raise InputError(f"{what} must have shape {shape}, vertices of both graphs, got {M.shape}; check its axes")
    if not np.isfinite(M.data if is_sparse(M) else M).all():
        raise InputError(f"{what} must be finite, got NaN or infinite entries; replace them, by 0 for instance")
    return M
