"""The nuclear norm, of a matrix or of its blocks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from trisplit.arrays import Array, Shape, constant_like, namespace, positive_part
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm, ConvexFunction
from trisplit.terms.blocks import Matrices
from trisplit.terms.checks import nonnegative, nonnegative_weight
from trisplit.terms.matrix.spectra import SingularValues, of_spectrum, on_spectrum
from trisplit.terms.numbers import safe_norm

__all__ = ["NuclearBlocks", "NuclearNorm"]

LARGE = 64  # rows and columns from which it pays to look at the spectrum before it is computed
RATIO = 4.0  # of the largest singular value and the threshold, up to which X'X is accurate enough


@dataclass(frozen=True)
class NuclearNorm(SingularValues, ConvexFunction):
    """The nuclear norm, weight * (sum of the singular values of the matrix X).

    prox(X, gamma) = U diag(max(s - gamma weight, 0)) V' for X = U diag(s) V'. On a GPU, libraries wait for the
    device in the singular value decomposition.

    Parameters
    ----------
    weight : float
        Nonnegative.

    References
    ----------
    Cai, Candes, Shen (2010), A singular value thresholding algorithm for matrix completion.

    Examples
    --------
    >>> import numpy as np
    >>> NuclearNorm(1.0).prox(np.diag([3.0, 0.5]), gamma=1.0)
    array([[2., 0.],
           [0., 0.]])
    """

    weight: float = 1.0
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))

    @of_spectrum
    def value(self, s: Array) -> Array:
        """Return weight times the sum of the singular values."""
        return self.weight * namespace(s).sum(s, axis=-1)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x` with its singular values lowered by gamma * weight, not below 0."""
        if type(x) is np.ndarray and x.ndim == 2 and not self.batch_ndim and min(x.shape) >= LARGE:
            return _lower_large(x, float(gamma) * self.weight)
        return self._prox(x, gamma)

    @on_spectrum
    def _prox(self, s: Array, t: float) -> Array:
        return positive_part(s - t * self.weight)

    def lipschitz(self, shape: Shape) -> float:
        """Return weight * sqrt(rank), the constant with respect to the Frobenius norm."""
        return self.weight * min(self.sides(shape)) ** 0.5

    def conjugate(self) -> BaseTerm:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the indicator of the matrices whose singular values are at most weight."""
        from trisplit.terms.matrix.balls import SpectralBall
        from trisplit.terms.sets.box import Box

        dual = SpectralBall(self.weight) if self.weight > 0 else Box(0.0, 0.0)
        return dual.batched(self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["NuclearNorm", Shape]]:
        return [(cls(0.6), (3, 4)), (cls(1.2), (4, 2))]


@dataclass(frozen=True, eq=False)
class NuclearBlocks(Matrices, ConvexFunction):
    """A sum of nuclear norms of blocks, sum_kl weight_kl ||X[rows[k], columns[l]]||_*.

    prox(X, gamma) is that of the nuclear norm in each block; entries in no block stay.

    Parameters
    ----------
    rows, columns : sequence of sequences of int
        Disjoint sets of indices of rows, and of columns.
    weight : float or array
        Nonnegative; an array has the shape (len(rows), len(columns)).

    References
    ----------
    Lewis (1995), The convex analysis of unitarily invariant matrix functions.

    Examples
    --------
    >>> import numpy as np
    >>> NuclearBlocks([[0], [1, 2]], [[0, 1]]).prox(np.array([[3.0, 4.0], [2.0, 0.0], [0.0, 0.5]]), gamma=1.0)
    array([[2.4, 3.2],
           [1. , 0. ],
           [0. , 0. ]])
    """

    rows: Sequence[Sequence[int]]
    columns: Sequence[Sequence[int]]
    weight: float | Array = 1.0
    broadcast = ()
    cost = "n^1.5"
    _weights: Array = field(init=False, repr=False)
    _layouts: dict[tuple[int, int], tuple[list[Array], list[Array], Array, Array]] = field(
        init=False, repr=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        rows, columns = _as_parts(self.rows, "rows"), _as_parts(self.columns, "columns")
        weight = nonnegative(self.weight)
        if isinstance(weight, np.ndarray) and weight.shape != (len(rows), len(columns)):
            wanted = f"there are {len(rows)} groups of rows and {len(columns)} of columns"
            raise InputError(f"`weight` has shape {weight.shape} but {wanted}; give one number for each block")
        # What is in no group makes up one more, whose blocks weigh nothing.
        weights = np.zeros((len(rows) + 1, len(columns) + 1))
        weights[:-1, :-1] = weight
        for name, value in (("rows", rows), ("columns", columns), ("weight", weight), ("_weights", weights)):
            object.__setattr__(self, name, value)

    def value(self, x: Array) -> float:
        """Return the weighted sum of the nuclear norms of the blocks."""
        k, norms = self.batch_ndim, NuclearNorm(1.0).batched(self.batch_ndim)
        found = [weight * norms.value(block) for row in self._blocks(self.blocks(x)) for block, weight in row if weight]
        return sum(found[1:], found[0]) if found else NuclearNorm(0.0).batched(k).value(x)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return `x` with the singular values of each block lowered by gamma times its weight."""
        xp, norms = namespace(x), NuclearNorm(1.0).batched(self.batch_ndim)
        lowered = [
            xp.concat([norms.prox(block, gamma * weight) if weight else block for block, weight in row], axis=-1)
            for row in self._blocks(self.blocks(x))
        ]
        *_, rows, columns = self._layout(x)
        put_back = xp.take(xp.concat(lowered, axis=-2), constant_like(rows, x, indices=True), axis=-2)
        return xp.take(put_back, constant_like(columns, x, indices=True), axis=-1)

    def lipschitz(self, shape: Shape) -> float:
        """Return the square root of the sum of weight^2 * rank over the blocks."""
        self._layout(np.broadcast_to(0.0, shape))
        ranks = [[min(len(row), len(column)) for column in self.columns] for row in self.rows]
        return float(np.sum(self._weights[:-1, :-1] ** 2 * np.array(ranks))) ** 0.5

    def conjugate_value(self, u: Array) -> float:
        """Return 0 if no block has a singular value above its weight, and all else is zero, up to rounding."""
        from trisplit.terms.matrix.balls import SpectralBall
        from trisplit.terms.sets.box import Box

        k = self.batch_ndim
        blocks = (each for row in self._blocks(self.blocks(u)) for each in row)
        found = [
            (SpectralBall(weight) if weight else Box(0.0, 0.0)).batched(k).value(block)
            for block, weight in blocks
            if 0 not in block.shape[k:]
        ]
        return sum(found[1:], found[0])

    def _blocks(self, x: Array) -> Iterator[list[tuple[Array, float]]]:
        """Give the rows of blocks, each with its weight."""
        xp = namespace(x)
        rows, columns, _, _ = self._layout(x)
        for k, row in enumerate(rows):
            taken = xp.take(x, constant_like(row, x, indices=True), axis=-2)
            yield [
                (xp.take(taken, constant_like(column, x, indices=True), axis=-1), float(self._weights[k, j]))
                for j, column in enumerate(columns)
            ]

    def _layout(self, x: Array) -> tuple[list[Array], list[Array], Array, Array]:
        """Return the members of each group of rows and columns, and where each row and column went."""
        shape = self.sides(x.shape)
        if shape not in self._layouts:
            both = []
            for name, groups, size in (("rows", self.rows, shape[0]), ("columns", self.columns, shape[1])):
                last = max(max(group) for group in groups)
                if last >= size:
                    raise InputError(f"`{name}` reach index {last} but x has shape {shape}; give a larger matrix")
                named = np.concatenate([np.asarray(group) for group in groups])
                both.append([*(np.asarray(group) for group in groups), np.setdiff1d(np.arange(size), named)])
            self._layouts[shape] = (*both, *(np.argsort(np.concatenate(groups)) for groups in both))  # pyright: ignore
        return self._layouts[shape]

    @classmethod
    def examples(cls) -> list[tuple["NuclearBlocks", Shape]]:
        weights = np.array([[0.5, 1.5], [0.0, 0.3]])
        return [(cls([[0, 2], [1]], [[0, 1], [2, 3]], weights), (3, 4)), (cls([[1, 2]], [[0], [2]], 0.8), (4, 3))]


def _as_parts(groups: Iterable[Iterable[int]], name: str) -> tuple[tuple[int, ...], ...]:
    """Return disjoint nonempty groups of indices, checked."""
    try:
        arrays = [np.asarray(list(group)) for group in groups]
    except (TypeError, ValueError):
        raise InputError(f"`{name}` must be a list of lists of indices; for example [[0, 1], [2]]") from None
    if not arrays or any(each.ndim != 1 or not each.size or each.dtype.kind not in "iu" for each in arrays):
        raise InputError(f"`{name}` must hold nonempty lists of indices; for example [[0, 1], [2]]")
    members = np.concatenate(arrays).astype(int)
    if members.min() < 0 or len(np.unique(members)) != len(members):
        raise InputError(f"`{name}` hold a negative index or one twice: {members.tolist()}; list each once, from 0")
    return tuple(tuple(int(i) for i in each) for each in arrays)


def _lower_large(x: np.ndarray, threshold: float) -> np.ndarray:
    """Return the proximal map of a NumPy matrix, by the cheapest way that keeps the accuracy.

    With h(l) = max(1 - threshold / sqrt(l), 0) it is X h(X'X), and the eigenvalues of X'X take half the time of the
    singular values of X. They are known up to eps ||X||^2, and h has slopes up to 1 / (2 threshold^2): the error is
    eps ||X|| (||X|| / threshold)^2 / 2, a few units of rounding if the threshold is not far below ||X||.
    """
    if safe_norm(x) <= threshold:
        return np.zeros_like(x)
    if _at_least(x) <= RATIO * threshold:
        wide = x.T if x.shape[0] < x.shape[1] else x
        scale = np.abs(wide).max()
        values, vectors = np.linalg.eigh((wide / scale).T @ (wide / scale))
        sizes = scale * np.sqrt(np.maximum(values, 0))
        if sizes[-1] <= RATIO * threshold:  # the first look saw a lower bound only
            kept = sizes > threshold
            chosen = vectors[:, kept]
            low = ((wide @ chosen) * (1 - threshold / sizes[kept]).astype(x.dtype)) @ chosen.T
            return low.T if wide is not x else low
    left, sizes, right = np.linalg.svd(x, full_matrices=False)
    rank = np.count_nonzero(sizes > threshold)
    return (left[:, :rank] * (sizes[:rank] - x.dtype.type(threshold))) @ right[:rank]


def _at_least(x: np.ndarray) -> float:
    """Return a lower bound of the largest singular value, by a few steps of the power method."""
    v = np.random.default_rng(0).standard_normal(x.shape[1]).astype(x.dtype)
    for _ in range(6):
        v = x.T @ (x @ (v / safe_norm(v)))
    return safe_norm(x @ (v / safe_norm(v)))
