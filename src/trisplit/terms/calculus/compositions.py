"""Terms of a linear image of x, and quadratic functions; where the formula exists, these are the only such terms.

For a matrix L with orthogonal rows of one length, L L' = nu I, the proximal map of g(L x) needs that of g only. Other
matrices need an algorithm: give g and L to a splitting method, not to a term.
"""

from dataclasses import dataclass, field
from math import prod
from typing import Protocol

import numpy as np

from trisplit.arrays import Array, Shape, constant_like, eps, namespace
from trisplit.arrays.batched import inner
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm, ConvexFunction, zero_where
from trisplit.terms.blocks import on_the_host
from trisplit.terms.calculus.wrapping import (
    Wrapper,
    conjugate_value,
    given,
    has_conjugate_value,
    need_term,
    part_has,
    step_for,
)
from trisplit.terms.checks import parameter

__all__ = ["ComposeOrthogonal", "ComposeTightFrame", "Quadratic"]


class Operator(Protocol):
    """A linear operator, as SciPy's and those of PyLops are."""

    shape: tuple[int, int]

    def matvec(self, x: np.ndarray) -> np.ndarray: ...

    def rmatvec(self, x: np.ndarray) -> np.ndarray: ...


def _square(self: "ComposeTightFrame") -> bool:
    return self.L.shape[0] == self.L.shape[1]


@dataclass(frozen=True, eq=False)
class ComposeTightFrame(Wrapper):
    """A term of a linear image of x, g(L x), for a matrix with L L' = nu I (the adjoint of a tight frame).

    prox(x, gamma) = x + L' (prox of g (L x, nu gamma) - L x) / nu. x is flattened; g is given a vector.

    Parameters
    ----------
    term : term
        Of a vector with as many entries as L has rows.
    L : array, SciPy LinearOperator or PyLops operator
        Of shape (m, n); an operator computes on the host.

    References
    ----------
    Combettes, Pesquet (2007), A Douglas-Rachford splitting approach to nonsmooth convex variational signal recovery.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1
    >>> ComposeTightFrame(L1(), np.array([[1.0, -1.0]])).prox(np.array([4.0, 0.0]), gamma=1.0)
    array([3., 1.])
    """

    term: BaseTerm
    L: Array | Operator
    broadcast = ()
    _nu: float = field(init=False, repr=False)
    _adjoint: Array | None = field(init=False, repr=False)  # the transposed matrix; an operator has none

    def __post_init__(self) -> None:
        need_term(self.term)
        L = self.L
        if not (hasattr(L, "matvec") and hasattr(L, "rmatvec")):
            L = parameter(L, "L")
            if not isinstance(L, np.ndarray) or L.ndim != 2 or 0 in L.shape:
                raise InputError(f"`L` must be a matrix, got shape {np.shape(self.L)}; give rows of a tight frame")
        object.__setattr__(self, "L", L)
        object.__setattr__(self, "_adjoint", L.T.copy() if isinstance(L, np.ndarray) else None)
        # Two random vectors find out a matrix that is no tight frame, whether or not its entries can be seen.
        y = np.random.default_rng(0).standard_normal((2, L.shape[0]))
        z = self._back(y) if self._adjoint is not None else _each_row(L.rmatvec, y)  # pyright: ignore
        z = self._forward(z) if self._adjoint is not None else _each_row(L.matvec, z)  # pyright: ignore
        if np.iscomplexobj(z):
            raise InputError("`L` maps real vectors to complex ones; give a real operator")
        nu = float(np.vdot(y, z) / np.vdot(y, y))
        if not nu > 0 or np.linalg.norm(z - nu * y) > 1e-8 * np.linalg.norm(z):
            raise InputError("`L` must satisfy L L' = nu I; only then is there a formula")
        object.__setattr__(self, "_nu", nu)

    @property
    def host(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Why it computes on the host, if L is an operator."""
        return self.term.host if self._adjoint is not None else "a linear operator computes with NumPy's arrays"

    @property
    def cost(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of a product with a matrix."""
        return "n^2"

    @property
    def accuracy(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the term; the products add their own."""
        return 4.0 * self.term.accuracy

    def _forward(self, v: Array) -> Array:
        """Return L v for vectors along the last axis."""
        if self._adjoint is not None:
            return v @ constant_like(self._adjoint, v)
        return on_the_host(self, lambda rows: _each_row(self.L.matvec, rows), v)  # pyright: ignore

    def _back(self, v: Array) -> Array:
        """Return L' v for vectors along the last axis."""
        if self._adjoint is not None:
            return v @ constant_like(self.L, v)  # pyright: ignore[reportArgumentType]
        return on_the_host(self, lambda rows: _each_row(self.L.rmatvec, rows), v)  # pyright: ignore

    def _flat(self, x: Array) -> Array:
        k = self.batch_ndim
        size = prod(x.shape[k:])
        if size != self.L.shape[1]:
            raise InputError(f"`L` has {self.L.shape[1]} columns but x has {size} entries; make them equal")
        return namespace(x).reshape(x, (*x.shape[:k], size))

    def _inner_shape(self, shape: Shape) -> Shape:
        return (*shape[: self.batch_ndim], self.L.shape[0])

    def value(self, x: Array) -> float:
        """Return g(L x)."""
        return self.term.value(self._forward(self._flat(x)))

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the point that differs from `x` in the row space of L only."""
        v, nu = self._flat(x), self._nu
        y = self._forward(v)
        p = self.term.prox(y, nu * step_for(gamma, self.batch_ndim, 1))
        moved = self._back(p) / nu if _square(self) else v + self._back(p - y) / nu
        return namespace(x).reshape(moved, x.shape)

    @given(lambda self: _square(self) and hasattr(self.term, "support"))
    def support(self, u: Array) -> float:
        """Return that of the term at L u / nu."""
        return self.term.support(self._forward(self._flat(u)) / self._nu)  # pyright: ignore

    @given(lambda self: _square(self) and hasattr(self.term, "lmo"))
    def lmo(self, u: Array) -> Array:
        """Return L' / nu times that of the term at L u / nu."""
        best = self.term.lmo(self._forward(self._flat(u)) / self._nu)  # pyright: ignore[reportAttributeAccessIssue]
        return namespace(u).reshape(self._back(best) / self._nu, u.shape)

    @given(lambda self: _square(self) and hasattr(self.term, "diameter"))
    def diameter(self, shape: Shape) -> float:
        """Return that of the term over sqrt(nu)."""
        return self.term.diameter(self._inner_shape(shape)) / self._nu**0.5  # pyright: ignore

    def lipschitz(self, shape: Shape) -> float:
        """Return that of the term times sqrt(nu)."""
        return self.term.lipschitz(self._inner_shape(shape)) * self._nu**0.5  # pyright: ignore

    @given(part_has("domain"))
    def domain(self) -> BaseTerm:
        """Return {x : L x in the domain of the term}."""
        return self._with({"term": self.term.domain()})  # pyright: ignore[reportAttributeAccessIssue]

    @given(lambda self: _square(self) and not self.indicator and has_conjugate_value(self.term))
    def conjugate_value(self, u: Array) -> float:
        """Return g*(L u / nu)."""
        return conjugate_value(self.term, self._forward(self._flat(u)) / self._nu)

    def select_rows(self, members: tuple[Array, ...], shape: Shape) -> "ComposeTightFrame | None":
        """Return the term for some problems of a batch; its own term is asked with the shape of L x."""
        part = self.term.select_rows(members, self._inner_shape(shape))
        return None if part is None else self._with({"batch_ndim": 1, "term": part})

    @classmethod
    def examples(cls) -> list[tuple["ComposeTightFrame", Shape]]:
        from trisplit.terms.norms.l1 import L1
        from trisplit.terms.sets.box import Box

        rows = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]])
        return [(cls(L1(0.7), rows), (4,)), (cls(Box(-1.0, 2.0), 0.3 * rows), (2, 2))]


@dataclass(frozen=True, eq=False)
class ComposeOrthogonal(ComposeTightFrame):
    """A term of a rotated x, g(Q x), for an orthogonal matrix Q.

    prox(x, gamma) = Q' prox of g (Q x, gamma). x is flattened; g is given a vector.

    Parameters
    ----------
    term : term
        Of a vector with as many entries as x.
    L : array, SciPy LinearOperator or PyLops operator
        Q, of shape (n, n); an operator computes on the host.

    References
    ----------
    Combettes, Pesquet (2011), Proximal splitting methods in signal processing, table 10.1.

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit.terms import L1
    >>> ComposeOrthogonal(L1(), np.array([[0.6, 0.8], [-0.8, 0.6]])).prox(np.array([5.0, 0.0]), gamma=1.0)
    array([ 3.6, -0.2])
    """

    broadcast = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _square(self) or abs(self._nu - 1) > 1e-8:
            raise InputError(f"`L` must be orthogonal, got shape {self.L.shape}; else use `ComposeTightFrame`")

    @classmethod
    def examples(cls) -> list[tuple["ComposeOrthogonal", Shape]]:
        from trisplit.terms.norms.l1 import L1
        from trisplit.terms.sets.simplex import Simplex

        Q = np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3
        return [(cls(L1(0.7), Q), (3,)), (cls(Simplex(), Q), (3,))]


@dataclass(frozen=True, eq=False)
class Quadratic(ConvexFunction):
    """A convex quadratic function, x' A x / 2 + <b, x>, with a positive semidefinite matrix A.

    prox(x, gamma) = (I + gamma A)^-1 (x - gamma b), by an eigendecomposition that is made once. x is flattened.

    Parameters
    ----------
    A : array of shape (n, n)
        Symmetric and positive semidefinite.
    b : float or array of shape (n,)

    References
    ----------
    Parikh, Boyd (2014), Proximal algorithms, section 6.1.1.

    Examples
    --------
    >>> import numpy as np
    >>> Quadratic(np.diag([1.0, 3.0]), np.array([0.0, 2.0])).prox(np.array([4.0, 6.0]), gamma=1.0)
    array([2., 1.])
    """

    A: Array
    b: float | Array = 0.0
    broadcast = ()
    cost = "n^2"
    _values: Array = field(init=False, repr=False)
    _vectors: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        A, b = np.atleast_2d(parameter(self.A, "A")), np.asarray(parameter(self.b, "b"))
        n = len(A)
        if A.shape != (n, n) or n == 0:
            raise InputError(f"`A` must be a square matrix, got shape {A.shape}; pass (n, n)")
        if b.shape not in ((), (n,)):
            raise InputError(f"`b` has shape {b.shape} but `A` has {n} columns; give one entry for each")
        size = float(np.max(np.abs(A)))
        if np.max(np.abs(A - A.T)) > 1e-10 * size:
            raise InputError("`A` must be symmetric; pass (A + A.T) / 2, which has the same values")
        values, vectors = np.linalg.eigh((A + A.T) / 2)
        if values[0] < -1e-10 * n * size:
            raise InputError(f"`A` must be positive semidefinite, its least eigenvalue is {values[0]:.2g}; add to it")
        values = np.where(values > n * np.finfo(float).eps * size, values, 0.0)
        made = {"A": A, "b": np.broadcast_to(b, (n,)).copy(), "_values": values, "_vectors": vectors}
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def _flat(self, x: Array) -> Array:
        k = self.batch_ndim
        size = prod(x.shape[k:])
        if size != len(self._values):
            raise InputError(f"`A` has {len(self._values)} columns but x has {size} entries; make them equal")
        return namespace(x).reshape(x, (*x.shape[:k], size))

    def _linear(self, v: Array) -> Array:
        return constant_like(self.b, v) + namespace(v).zeros_like(v)  # pyright: ignore[reportArgumentType]

    def value(self, x: Array) -> float:
        """Return x' A x / 2 + <b, x>."""
        v, k = self._flat(x), self.batch_ndim
        w = v @ constant_like(self._vectors, v)
        return 0.5 * inner(w * constant_like(self._values, v), w, k) + inner(self._linear(v), v, k)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the solution of (I + gamma A) y = x - gamma b."""
        v, t = self._flat(x), step_for(gamma, self.batch_ndim, 1)
        vectors, values = constant_like(self._vectors, v), constant_like(self._values, v)
        w = ((v - t * self._linear(v)) @ vectors) / (1.0 + t * values)
        return namespace(x).reshape(w @ vectors.T, x.shape)

    def conjugate_value(self, u: Array) -> float:
        """Return (u - b)' A^+ (u - b) / 2, infinite if u - b is not in the range of A."""
        xp, k = namespace(u), self.batch_ndim
        v = self._flat(u)
        values = constant_like(self._values, v)
        w = (v - self._linear(v)) @ constant_like(self._vectors, v)
        none = values == 0
        largest = xp.max(xp.abs(w), axis=-1)
        outside = xp.max(xp.where(none, xp.abs(w), xp.zeros_like(w)), axis=-1)
        in_range = outside <= 100 * w.shape[-1] * eps(u) * (1.0 + largest)
        part = xp.where(none, xp.zeros_like(w), w / xp.where(none, xp.ones_like(values), values))
        return 0.5 * inner(part, w, k) + zero_where(in_range if k else bool(in_range), u)

    @classmethod
    def examples(cls) -> list[tuple["Quadratic", Shape]]:
        B = np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 1.0, -1.0, 2.0]])
        return [(cls(B.T @ B, np.array([1.0, -1.0, 0.5, 0.0])), (4,)), (cls(B.T @ B + np.eye(4)), (2, 2))]


def _each_row(apply: object, rows: np.ndarray) -> np.ndarray:
    """Return a stack of vectors with an operator applied to each."""
    moved = [apply(row) for row in rows.reshape(-1, rows.shape[-1])]  # pyright: ignore[reportCallIssue]
    return np.stack(moved).reshape(*rows.shape[:-1], -1)
