"""Bounds from the eigenvalues of the centred matrices: projection, and the convex quadratic bound over the polytope.

Let A, B be symmetric (else A + A', B + B' stand in, at four times the costs), P = I - 1 1' / n, and T = X - 1 1' / n
the centred part of a permutation matrix X, with T T' = T' T = P. With the eigenvalues a_i of P A P and b_j of P B P, in
bases U and W of the centred vectors, and numbers s_i + t_j <= a_i b_j, the form

    K(T) = <A T B - S T - T R, T>,    S = U diag(s) U',  R = W diag(t) W',

is convex, and <A T B, T> = K(T) + sum s + sum t. So the cost is a convex quadratic function of X, and any of its
tangent planes bounds it from below: the minimum of a plane over permutations is an assignment problem. The plane at the
barycentre gives the projection bound, the plane at the minimiser over doubly stochastic matrices the convex one.

The certificate holds U, W, s, t, the eigenvalues, the point X0 of the plane and the dual variables of the assignment
problem, rounded to integers times 2^-BITS. As rounded numbers they are no exact eigenvectors: how far K is from convex,
at most `eps` times ||T||^2, is computed from them in integers and subtracted.

References: S. W. Hadley, F. Rendl, H. Wolkowicz, A new lower bound via projection for the quadratic assignment problem,
Mathematics of Operations Research 17 (1992) 727-739; K. M. Anstreicher, N. W. Brixius, A new bound for the quadratic
assignment problem based on convex quadratic programming, Mathematical Programming 89 (2001) 341-357.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from time import perf_counter

import numpy as np

from trisplit.qap.bounds.assignment import assignment_duals
from trisplit.qap.bounds.gilmore_lawler import Bounded
from trisplit.qap.bounds.integers import Integers, largest
from trisplit.qap.engine import SPLITS
from trisplit.qap.matrices import centred

BITS = 44
ONE = 2**BITS
MAX_ITER = 5_000  # of the splitting
SLACK = 1.5  # not all planes take the same time


def projection(problem: Integers, time_limit: float | None = None) -> Bounded:
    """Return the projection bound: the tangent plane at the barycentre.

    Examples
    --------
    >>> from trisplit import qap
    >>> bound, certificate = projection(Integers.of(qap.load("nug12")))
    >>> round(float(bound), 2), certificate["method"]
    (471.41, 'projection')
    """
    return Split(problem).plane(None)


def convex(problem: Integers, time_limit: float | None = None) -> Bounded:
    """Return the convex quadratic bound: the tangent plane at the minimiser, found by three operator splitting.

    If time is too short for that, it is the projection bound.

    Examples
    --------
    >>> from trisplit import qap
    >>> bound, certificate = convex(Integers.of(qap.load("nug12")))
    >>> 481 < bound < 482
    True
    """
    begin = perf_counter()
    split = Split(problem)
    best = split.plane(None)
    integers = SLACK * (perf_counter() - begin)  # how long the next plane may take
    for by_rows in (True, False):
        left = None if time_limit is None else time_limit - (perf_counter() - begin) - integers
        if left is not None and left <= 0.0:
            break
        split = split if by_rows else Split(problem, by_rows)
        share = left / 2.0 if left is not None and by_rows else left
        best = max(best, split.plane(minimiser(split, share)), key=lambda plane: plane[0])
    return best


class Split:
    """The cost, in units of 2^unit / 4, as K(T) + sum s + sum t and a linear function of X.

    Attributes
    ----------
    A, B : arrays of Python integers
        The symmetric parts, twice.
    a, b : int
        Exponents that bring their entries below 1.
    U, W, left, right, s, t : arrays of Python integers, times 2^BITS
        Eigenvectors and eigenvalues of the centred A / 2^a and B / 2^b, and the numbers below their products: the first
        or, if not `by_rows`, the last of the optimal ones.
    """

    def __init__(self, problem: Integers, by_rows: bool = True) -> None:
        self.n = problem.n
        self.A, self.B, self.C = problem.A + problem.A.T, problem.B + problem.B.T, 4 * problem.C
        self.a, self.b = (largest(M).bit_length() for M in (self.A, self.B))
        self.unit = self.a + self.b
        self.left, self.U = _eigen(self.A, self.a)
        self.right, self.W = _eigen(self.B, self.b)
        products = np.multiply.outer(self.left, self.right) // ONE
        # Optimal dual variables are not unique, and K depends on them: either end may give the better plane.
        self.s, self.t = assignment_duals(products) if by_rows else assignment_duals(products.T)[::-1]

    @cached_property
    def S(self) -> np.ndarray:
        """U diag(s) U', times 2^(3 BITS)."""
        return (self.U * self.s) @ self.U.T

    @cached_property
    def R(self) -> np.ndarray:
        """W diag(t) W', times 2^(3 BITS)."""
        return (self.W * self.t) @ self.W.T

    @cached_property
    def linear(self) -> np.ndarray:
        """The linear costs 2 (A 1) (B 1)' / n + 4 C, times n."""
        return 2 * np.multiply.outer(self.A.sum(axis=1), self.B.sum(axis=1)) + self.n * self.C

    @cached_property
    def eps(self) -> int:
        """A number with K(T) >= -eps ||T||^2 for all centred T, times 2^BITS."""
        n, cube = self.n, ONE**3
        sides = []
        for M, V, values, shift in ((self.A, self.U, self.left, self.a), (self.B, self.W, self.right, self.b)):
            Mc = _centred(M)
            rest = _norm(Mc * cube - ((V * values) @ V.T << shift) * n * n, n * n * cube << shift)
            slant = _norm(n * (V @ V.T) - ONE**2 * (n * np.eye(n, dtype=int).astype(object) - 1), n * ONE**2)
            sides.append((_norm(Mc, n * n << shift), rest, slant))
        (_, rest_A, slant_U), (size_B, rest_B, slant_W) = sides
        size_A = sides[0][0] + rest_A
        eps = rest_A * size_B + size_A * rest_B
        eps += _norm(self.S, cube) * slant_W + _norm(self.R, cube) * slant_U
        return int(eps * ONE * Fraction(1001, 1000)) + 1  # with room for who rounds roots elsewhere

    def plane(self, X0: np.ndarray | None) -> Bounded:
        """Return the bound of the tangent plane at X0 (times 2^BITS; None: the barycentre), with its certificate."""
        n, unit = self.n, self.unit
        certificate = {"method": "projection" if X0 is None else "convex", "bits": BITS, "eps": self.eps}
        T0 = _centred(np.zeros((n, n), dtype=object) if X0 is None else X0)  # times n^2 2^BITS
        # Gradient of K, times 2^unit n^2 2^(4 BITS), as are the costs of the assignment problem.
        G = 2 * (self.A @ T0 @ self.B * ONE**3 - (self.S @ T0 + T0 @ self.R << unit))
        costs = G + n * self.linear * ONE**4 + (2 * self.eps * ONE**2 * T0 << unit)
        scale = n * n * ONE**3 << unit
        u, v = assignment_duals(costs // scale)
        K0 = Fraction(int((G * T0).sum()), 2 * n**4 * ONE**5 << unit)
        size = n - 1 + Fraction(int((T0 * T0).sum()), n**4 * ONE**2)
        traces = Fraction(sum(n * np.trace(M) - M.sum() for M in (self.S, self.R)), n * ONE**3)
        constant = traces - K0 - Fraction(self.eps, ONE) * size - Fraction(int(G.sum()), n**3 * ONE**4 << unit)
        constant -= Fraction(int(self.A.sum() * self.B.sum()), n * n << unit)
        bound = (constant + Fraction(int(u.sum() + v.sum()), ONE)) * 2**unit / 4
        for label in ("U", "W", "left", "right", "s", "t"):
            certificate[label] = getattr(self, label).tolist()
        if X0 is not None:
            certificate["X0"] = X0.tolist()
        return bound, certificate | {"u": u.tolist(), "v": v.tolist()}


@dataclass(frozen=True, eq=False)
class Convexified:
    """K(T) + <L, X> in floating point, convex up to rounding, for the splitting to minimise."""

    A: np.ndarray
    B: np.ndarray
    S: np.ndarray
    R: np.ndarray
    L: np.ndarray
    lipschitz: float

    def value_and_grad(self, X: np.ndarray) -> tuple[float, np.ndarray]:
        half = self.A @ X @ self.B - self.S @ X - X @ self.R  # A, B, S and R are centred, and so X need not be
        half += (self.S @ X).mean(axis=1, keepdims=True) + (X @ self.R).mean(axis=0)
        return float(np.vdot(half + self.L, X)), 2.0 * half + self.L

    def value(self, X: np.ndarray) -> float:
        return self.value_and_grad(X)[0]

    def grad(self, X: np.ndarray) -> np.ndarray:
        return self.value_and_grad(X)[1]


def minimiser(split: Split, time_limit: float | None) -> np.ndarray:
    """Return a point near the minimiser over doubly stochastic matrices, times 2^BITS and rounded."""
    from trisplit.result import Status
    from trisplit.solve import minimize

    n = split.n
    down = max(largest(split.linear).bit_length() - split.unit, 0)  # where linear costs are larger than 2^unit
    A, B = centred(_floats(split.A, split.a + down)), centred(_floats(split.B, split.b))
    S, R = (_floats(M, 3 * BITS + down) for M in (split.S, split.R))
    L = _floats(split.linear, split.unit + down) / n
    products = np.multiply.outer(split.left, split.right) - np.add.outer(split.s, split.t) * ONE
    f = Convexified(A, B, S, R, L - L.mean(), 2.0 * float(_floats(products, 2 * BITS + down).max(initial=0.0)))
    start = np.full((n, n), 1.0 / n)
    result = minimize(f, start, SPLITS[1], tol=1e-6, max_iter=MAX_ITER, time_limit=time_limit)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return np.rint(np.asarray(result.x) * ONE).astype(np.int64).astype(object)


def _eigen(M: np.ndarray, shift: int) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and eigenvectors of the centred M / 2^shift on centred vectors, rounded, times 2^BITS."""
    n = len(M)
    # The first vector of this basis is constant, the others are centred.
    basis = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, : n - 1]]))[0][:, 1:]
    values, vectors = np.linalg.eigh(basis.T @ _floats(M, shift) @ basis)
    return tuple(np.rint(np.ldexp(x, BITS)).astype(np.int64).astype(object) for x in (values, basis @ vectors))  # pyright: ignore


def _floats(M: np.ndarray, shift: int) -> np.ndarray:
    """Return M / 2^shift in floating point, for integers of any size."""
    return np.array([float(Fraction(x, 2**shift)) for x in M.ravel().tolist()]).reshape(M.shape)


def _centred(M: np.ndarray) -> np.ndarray:
    """Return n^2 P M P for integers."""
    n = len(M)
    rows, columns = M.sum(axis=1, keepdims=True), M.sum(axis=0, keepdims=True)
    return n * n * M - n * rows - n * columns + M.sum()


def _norm(M: np.ndarray, scale: int) -> Fraction:
    """Return an upper bound on the Frobenius norm of M / scale."""
    square = int((M * M).sum())
    return Fraction(isqrt(square - 1) + 1 if square else 0, scale)
