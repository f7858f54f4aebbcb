"""Transport polytopes: nonnegative matrices with given row and column sums; with unit sums, the Birkhoff polytope.

The projection of V is X = max(V + s 1' + 1 t', 0) where s and t maximise a concave function of m + n numbers, whose
gradient is what X lacks in its row and column sums, and whose generalised Hessian is the graph of the positive entries.
Newton's method ends as soon as it finds the right graph; each step is safeguarded by a line search. W = V + s 1' + 1 t'
is kept instead of s and t: however large V is, the entries of W that become those of X are not.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from trisplit.arrays import Array, Shape
from trisplit.arrays.batched import inner
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet
from trisplit.terms.blocks import Matrices, SquareMatrices, on_the_host
from trisplit.terms.sets.sums import check_totals, sums_of

__all__ = ["Birkhoff", "TransportPolytope"]

STEPS = 500  # of Newton's method, at most
LARGE = 100.0  # times the largest sum: beyond, a linear program finds out where to start
ROUNDS = 40  # of linear programs, at most; each one takes away some fifteen digits


class Transports(Matrices, ConvexSet):
    """What the two share: the projection."""

    def sums(self, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of the rows and of the columns."""
        raise NotImplementedError(f"{type(self).__name__} must define `sums`")

    def project(self, x: Array) -> Array:
        """Return the nearest matrix of the polytope, computed on the host."""
        m, n = self.sides(x.shape)
        rows, columns = self.sums(m, n)

        def compute(host: np.ndarray) -> np.ndarray:
            each = [project(V, rows, columns) for V in host.reshape(-1, m, n).astype(float)]
            return np.stack(each).reshape(host.shape)

        return on_the_host(self, compute, x)

    def support(self, u: Array) -> float:
        """Return the largest <u, X>, by the linear oracle."""
        return inner(u, self.lmo(-u), self.batch_ndim)  # pyright: ignore[reportAttributeAccessIssue]


@dataclass(frozen=True, eq=False)
class TransportPolytope(Transports):
    """Indicator of the transport polytope {X >= 0 : X 1 = rows, X' 1 = columns}.

    prox(X) = max(X + s 1' + 1 t', 0) with s and t such that the sums are right, found by a semismooth Newton method on
    the host. The linear oracle is a linear program, by HiGHS.

    Parameters
    ----------
    rows : float or array of shape (m,)
    columns : float or array of shape (n,)
        Nonnegative; both must add up to the same positive number.

    References
    ----------
    Li, Sun, Toh (2020), On the efficient computation of a generalized Jacobian of the projector over the Birkhoff
    polytope.

    Examples
    --------
    >>> import numpy as np
    >>> TransportPolytope([1.0, 2.0], [1.5, 1.5]).prox(np.zeros((2, 2)), gamma=1.0)
    array([[0.5, 0.5],
           [1. , 1. ]])
    """

    rows: float | Array = 1.0
    columns: float | Array = 1.0
    broadcast = ()
    cost = "n^1.5"
    accuracy = 100.0
    diameter_exact = False
    host = "the graph of the positive entries changes from step to step"

    def __post_init__(self) -> None:
        for name in ("rows", "columns"):
            given = sums_of(getattr(self, name), name)
            if np.any(np.asarray(given) < 0) or not np.any(given):
                raise InputError(f"`{name}` must be >= 0 and not all 0, got {np.min(given)}; nothing else is a sum")
            object.__setattr__(self, name, given)
        if isinstance(self.rows, np.ndarray) and isinstance(self.columns, np.ndarray):
            check_totals(self.rows, self.columns, self.rows.size, self.columns.size)

    def sides(self, shape: Shape) -> tuple[int, int]:
        """Return the numbers of rows and columns, for which the given sums must agree."""
        m, n = super().sides(shape)
        check_totals(self.rows, self.columns, m, n)
        return m, n

    def sums(self, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of the rows and of the columns."""
        return np.broadcast_to(self.rows, m), np.broadcast_to(self.columns, n)

    def lmo(self, u: Array) -> Array:
        """Return a matrix that minimises <u, X>, by linear programming on the host."""
        m, n = self.sides(u.shape)
        rows, columns = self.sums(m, n)

        def compute(host: np.ndarray) -> np.ndarray:
            each = [cheapest(costs, rows, columns)[0] for costs in host.reshape(-1, m, n).astype(float)]
            return np.stack(each).reshape(host.shape)

        return on_the_host(self, compute, u)

    def diameter(self, shape: Shape) -> float:
        """Return an upper bound: two such matrices have no entry larger than the sums of its row and column."""
        rows, columns = self.sums(*self.sides(shape))
        by_rows = float(np.sum(rows * np.minimum(rows, columns.max())))
        by_columns = float(np.sum(columns * np.minimum(columns, rows.max())))
        return sqrt(2.0 * min(by_rows, by_columns)) if min(rows.size, columns.size) > 1 else 0.0

    @classmethod
    def examples(cls) -> list[tuple["TransportPolytope", Shape]]:
        return [
            (cls(np.array([1.0, 2.0, 0.5]), np.array([2.0, 1.5])), (3, 2)),
            (cls(0.5, np.array([1.0, 0.0, 1.0])), (4, 3)),
        ]


@dataclass(frozen=True)
class Birkhoff(SquareMatrices, Transports):
    """Indicator of the Birkhoff polytope, the doubly stochastic matrices {X >= 0 : X 1 = 1, X' 1 = 1}.

    prox(X) = max(X + s 1' + 1 t', 0) with s and t such that the sums are one, found by a semismooth Newton method on
    the host. The linear oracle is an assignment problem. Splitting the rows from the columns, or signs from sums, is
    cheaper where a method allows for two terms.

    References
    ----------
    Li, Sun, Toh (2020), On the efficient computation of a generalized Jacobian of the projector over the Birkhoff
    polytope.

    Examples
    --------
    >>> import numpy as np
    >>> Birkhoff().prox(np.array([[3.0, 0.0], [0.0, 2.5]]), gamma=1.0).round(12)
    array([[1., 0.],
           [0., 1.]])
    """

    broadcast = ()
    cost = "n^1.5"
    accuracy = 100.0
    host = "the graph of the positive entries changes from step to step"

    def sums(self, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ones."""
        return np.ones(m), np.ones(n)

    def lmo(self, u: Array) -> Array:
        """Return the permutation matrix that minimises <u, X>, on the host."""
        from trisplit.terms.joint import assignment  # which knows terms itself

        self.sides(u.shape)
        return assignment(u)

    def diameter(self, shape: Shape) -> float:
        """Return sqrt(2 n), the distance of two permutations without a common place."""
        n, _ = self.sides(shape)
        return sqrt(2.0 * n) if n > 1 else 0.0

    @classmethod
    def examples(cls) -> list[tuple["Birkhoff", Shape]]:
        return [(cls(), (3, 3)), (cls(), (1, 1))]


def project(V: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the nearest nonnegative matrix with these sums.

    Examples
    --------
    >>> project(np.array([[3.0, 0.0], [0.0, 0.0]]), np.ones(2), np.array([0.5, 1.5]))
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    if not np.isfinite(V).all():
        return np.full(V.shape, np.nan)
    top = max(rows.max(), columns.max())
    rows, columns = rows / top, columns / top
    W = started(filled(V / top, rows), rows, columns)
    W = filled(filled(W, rows).T, columns).T
    best, least, waited = W, np.inf, 0
    rounding = 4 * np.finfo(float).eps * sqrt(sum(V.shape))
    for _ in range(STEPS):
        X = np.maximum(W, 0.0)
        g = np.concatenate([rows - X.sum(axis=1), columns - X.sum(axis=0)])
        miss = float(np.linalg.norm(g))
        if miss < least:
            best, least, waited = W, miss, 0
        if miss <= rounding or (waited := waited + 1) > (5 if miss <= 1e3 * rounding else 50):
            break
        moved = climbed(W, X, g, miss)
        # Where no step along Newton's direction helps, all rows and then all columns are put right.
        W = filled(filled(W, rows).T, columns).T if moved is None else moved
    return top * np.maximum(best, 0.0)


def climbed(W: np.ndarray, X: np.ndarray, g: np.ndarray, miss: float) -> np.ndarray | None:
    """Return W after a step of Newton's method, None if there is none that helps."""
    m = W.shape[0]
    graph = (W > 0).astype(float)
    H = np.diag(np.concatenate([graph.sum(axis=1), graph.sum(axis=0)]))
    H[:m, m:], H[m:, :m] = graph, graph.T
    H[np.diag_indices_from(H)] += 1e-7 + min(1e-3, 0.1 * miss)  # H is singular, in one direction at least
    d = np.linalg.solve(H, g)
    D, slope, step = d[:m, None] + d[m:], float(g @ d), 1.0
    for _ in range(30):
        moved = W + step * D
        Y = np.maximum(moved, 0.0)
        # What the function lacks of its tangent, entry by entry: near the end a difference of values would drown.
        stays = 0.5 * (step * D) ** 2
        lack = np.where(X > 0, np.where(Y > 0, stays, -X * (0.5 * X + step * D)), 0.5 * Y**2)
        if step * slope - float(np.sum(lack)) >= 1e-4 * step * slope:
            return moved
        step *= 0.5
    return None


def filled(W: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return W with a number subtracted from each row so that the positive entries have the given sum."""
    W = W - W.max(axis=1, keepdims=True)
    excess = np.cumsum(-np.sort(-W, axis=1), axis=1) - sums[:, None]
    return W - np.max(excess / np.arange(1, W.shape[1] + 1), axis=1, keepdims=True)


def started(W: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return W plus the prices of a linear program, if it is far from the polytope: else Newton's method takes long."""
    far = scale = float(np.abs(W).max())
    for _ in range(ROUNDS):
        if far <= LARGE:
            break
        # Entries that are far below the others take no part.
        X, s, t = cheapest(-np.maximum(W, -scale) / scale, rows, columns)
        W = W + scale * (s[:, None] + t)
        far, before = max(float(W.max()), -float(W[X > 0].min())), far
        if not far <= 0.5 * before:
            break
        scale = 2.0 * sum(W.shape) * far
    return W


def cheapest(costs: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a matrix that minimises <costs, X>, and the prices s, t of its sums: costs >= s 1' + 1 t'."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    m, n = costs.shape
    sums = vstack([kron(eye_array(m), np.ones((1, n))), kron(np.ones((1, m)), eye_array(n))]).tocsr()
    size = float(np.abs(costs).max()) or 1.0
    found = linprog(np.ravel(costs / size), A_eq=sums, b_eq=np.concatenate([rows, columns]), method="highs-ds")
    if found.x is None:
        raise InputError(f"the linear program of a transport polytope failed ({found.message}); check for NaN")
    prices = size * found.eqlin.marginals
    return np.maximum(found.x, 0.0).reshape(m, n), prices[:m], prices[m:]
