"""Polyhedra: the solutions of linear inequalities and equations.

The projection is a least distance problem: the shortest z with G z >= h. Let u >= 0 minimise ||E u - f|| for
E = [G'; h'] and f = (0, ..., 0, 1), and r be the residual E u - f: then z = -r[:-1] / r[-1], and r = 0 shows that the
inequalities contradict each other. Such a problem is solved by an active set, in finitely many steps.
"""

from dataclasses import dataclass, field
from math import prod

import numpy as np

from trisplit.arrays import Array, Shape
from trisplit.errors import InputError
from trisplit.terms.base import ConvexSet
from trisplit.terms.blocks import on_the_host
from trisplit.terms.checks import parameter
from trisplit.terms.numbers import row_norms
from trisplit.terms.sets.affine import Affine

__all__ = ["Polyhedron"]

PASSES = 4  # at most; each corrects the rounding of the one before, which is that of the step


@dataclass(frozen=True, eq=False)
class Polyhedron(ConvexSet):
    """Indicator of the polyhedron {x : A x <= b, C x = d}, `x` flattened.

    prox(x) is found by an active set, through nonnegative least squares, on the host. It suits up to a few hundred
    inequalities; several sets of simple shape are better split into terms.

    Parameters
    ----------
    A : array of shape (m, n)
    b : array of shape (m,)
        Infinite entries leave out an inequality.
    C : array of shape (k, n), optional
    d : array of shape (k,), optional

    References
    ----------
    Lawson, Hanson (1974), Solving least squares problems, chapter 23.

    Examples
    --------
    >>> import numpy as np
    >>> Polyhedron([[1.0, 0.0], [0.0, 2.0]], [1.0, 1.0]).prox(np.array([2.0, 0.0]), gamma=1.0)
    array([1., 0.])
    """

    A: Array
    b: Array
    C: Array | None = None
    d: Array | None = None
    broadcast = ()
    cost = "n^3"
    accuracy = 100.0
    host = "an active set changes from step to step, and so do the shapes of the arrays"
    _rows: Array = field(init=False, repr=False)
    _bounds: Array = field(init=False, repr=False)
    _flat: Affine | None = field(init=False, repr=False)
    _free: Array | None = field(init=False, repr=False)  # an orthonormal basis of C z = 0

    def __post_init__(self) -> None:
        A, b = np.atleast_2d(parameter(self.A, "A")), np.atleast_1d(parameter(self.b, "b", infinite=True))
        if A.ndim != 2 or b.shape != (A.shape[0],):
            raise InputError(f"`A` has shape {A.shape} and `b` {b.shape}; give one entry of `b` per row of `A`")
        if (self.C is None) != (self.d is None):
            raise InputError("`C` and `d` go together, but only one was given; give both or none")
        flat = free = None
        if self.C is not None and self.d is not None:
            C, d = np.atleast_2d(parameter(self.C, "C")), np.atleast_1d(parameter(self.d, "d"))
            if C.ndim != 2 or C.shape[1] != A.shape[1] or d.shape != (C.shape[0],):
                raise InputError(f"`C` has shape {C.shape} and `d` {d.shape}; give {A.shape[1]} columns, a `d` per row")
            flat = Affine(C, d)
            free = np.linalg.svd(flat._basis)[2][flat._basis.shape[0] :].T
        size = row_norms(A)[:, 0]
        if np.any(b[size == 0] < 0) or np.any(b == -np.inf):
            raise InputError("A x <= b has no solution: a row of `A` is zero with a negative `b`; check `A` and `b`")
        kept = (size > 0) & np.isfinite(b)
        rows, bounds = A[kept] / size[kept, None], b[kept] / size[kept]
        parts = {"A": A, "b": b, "_rows": rows, "_bounds": bounds, "_flat": flat, "_free": free}
        if flat is not None:
            parts |= {"C": flat.A, "d": flat.b}
        for name, value in parts.items():
            object.__setattr__(self, name, value)
        self._project(np.zeros(A.shape[1]))  # which refuses an empty set

    def project(self, x: Array) -> Array:
        """Return the nearest point, computed on the host."""
        n = self.A.shape[1]
        if prod(x.shape[self.batch_ndim :]) != n:
            size = prod(x.shape[self.batch_ndim :])
            raise InputError(f"`A` has {n} columns but x has {size} entries; make them equal")

        def compute(host: np.ndarray) -> np.ndarray:
            rows = host.reshape(-1, n).astype(float)
            return np.stack([self._project(row) for row in rows]).reshape(host.shape)

        return on_the_host(self, compute, x)

    def _project(self, x: np.ndarray) -> np.ndarray:
        if not np.isfinite(x).all():
            return np.full(x.shape, np.nan)
        rows, free = self._rows, self._free
        G = -rows if free is None else -rows @ free
        for _ in range(PASSES):
            if self._flat is not None:
                x = self._flat.project(x)
            over = rows @ x - self._bounds
            size = over.max(initial=0.0)
            if size <= 8 * np.finfo(float).eps * (1.0 + np.max(np.abs(x), initial=0.0)):
                break
            z = size * shortest(G, over / size)
            x = x + (z if free is None else free @ z)
        return x

    @classmethod
    def examples(cls) -> list[tuple["Polyhedron", Shape]]:
        A = np.array([[1.0, 2.0, -1.0], [0.0, -1.0, 1.0], [-1.0, 0.0, 0.0], [2.0, 0.0, 1.0]])
        return [
            (cls(A, np.array([1.0, 0.5, 0.0, 2.0])), (3,)),
            (cls(-np.eye(4), np.zeros(4), np.ones((1, 4)), np.array([1.5])), (2, 2)),
        ]


def shortest(G: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return the shortest z with G z >= h, where the largest entry of h is 1."""
    from scipy.optimize import nnls

    E = np.vstack([G.T, h])
    f = np.zeros(E.shape[0])
    f[-1] = 1.0
    u, _ = nnls(E, f, maxiter=30 * E.shape[1] + 100)
    r = E @ u - f
    if np.linalg.norm(r) <= 1e-10:
        raise InputError("A x <= b has no solution, or none together with C x = d; check `A`, `b`, `C` and `d`")
    return -r[:-1] / r[-1]
