"""Quadratic and linear functions, convex or not, and the quadratic assignment problem's objective."""

from functools import cached_property
from typing import cast

import numpy as np
from scipy import sparse

from trisplit.arrays import Array, Shape, as_host, kind_of, namespace, to_numpy
from trisplit.errors import InputError
from trisplit.losses.base import Loss, as_number
from trisplit.losses.samples import Samples, like, squared_norm
from trisplit.qap.spectra import eigenvalue_range
from trisplit.terms.checks import parameter

__all__ = ["QAP", "Linear", "Quadratic"]


class Quadratic(Loss):
    """x' Q x / 2 + c' x with a symmetric Q, convex only if Q is positive semidefinite.

    Parameters
    ----------
    Q : array (d, d) or sparse matrix
        Of another Q the symmetric part (Q + Q') / 2 counts.
    c : array (d,), optional

    Examples
    --------
    >>> import numpy as np
    >>> f = Quadratic(np.diag([2.0, -3.0]))
    >>> f.value(np.ones(2)), f.grad(np.ones(2)), f.lipschitz, f.convex
    (-0.5, array([ 2., -3.]), 3.0, False)
    """

    def __init__(self, Q: object, c: object = None) -> None:
        self.Q = square_matrix(Q, "Q")
        array = 0.5 * (self.Q.array + self.Q.array.T)
        self.Q.array = sparse.csr_array(array) if self.Q.sparse else array  # pyright: ignore
        self.shape = (self.Q.width,)
        self.c = None if c is None else of_shape(c, self.shape, "c", "Q")

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both."""
        self.check(x)
        Qx = self.Q.like(x).array @ x
        grad = Qx if self.c is None else Qx + like(self.c, x, "c")
        both = Qx if self.c is None else Qx + 2.0 * like(self.c, x, "c")
        return as_number(0.5 * namespace(x).sum(both * x)), grad

    @cached_property
    def eigenvalues(self) -> tuple[float, float]:
        """The smallest and the largest eigenvalue of Q; above 500 rows to a relative 1e-5."""
        array = self.Q.array if self.Q.sparse else to_numpy(self.Q.array)
        return eigenvalue_range(array)

    @property
    def convex(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether no eigenvalue is negative, up to rounding."""
        low, high = self.eigenvalues
        return low >= -1e-5 * abs(high) if self.Q.n > 500 else low >= 0.0

    @cached_property
    def lipschitz(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The largest absolute eigenvalue of Q."""
        return (1.0 + 1e-4 * (self.Q.n > 500)) * max(map(abs, self.eigenvalues))

    @classmethod
    def examples(cls) -> list[tuple["Quadratic", Shape]]:
        rng = np.random.default_rng(11)
        Q, c = rng.standard_normal((4, 4)), rng.standard_normal(4)
        return [(cls(Q, c), (4,)), (cls(Q.T @ Q, c), (4,)), (cls(-Q.T @ Q), (4,))]


class Linear(Loss):
    """The linear function <c, x>.

    Parameters
    ----------
    c : array
        Of the shape of x.

    Examples
    --------
    >>> import numpy as np
    >>> f = Linear([1.0, 2.0])
    >>> f.value(np.ones(2)), f.grad(np.ones(2)), f.lipschitz
    (3.0, array([1., 2.]), 0.0)
    """

    lipschitz = 0.0

    def __init__(self, c: object) -> None:
        self.c = of_shape(c, None, "c", "x")
        self.shape = tuple(self.c.shape)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both."""
        self.check(x)
        xp, c = namespace(x), like(self.c, x, "c")
        return as_number(xp.sum(c * x)), xp.asarray(c, copy=True)

    @classmethod
    def examples(cls) -> list[tuple["Linear", Shape]]:
        return [(cls([1.0, -2.0, 0.5]), (3,)), (cls([[1.0, 0.0], [3.0, -1.0]]), (2, 2))]


class QAP(Loss):
    """trace(A X B' X') + <C, X>, at a permutation the cost sum_ij A[i, j] B[p[i], p[j]] + sum_i C[i, p[i]].

    The permutation p is the matrix with X[i, p[i]] = 1.
    Over matrices of equal row and of equal column sums only the parts PAP and PBP bend it, P = I - 1 1' / n, and
    `tangent_lipschitz`, 2 ||PAP|| ||PBP||, is a smoothness constant; on the whole space `lipschitz`, 2 ||A|| ||B||, is.
    `ts.qap` solves the problem; this is the objective for terms of your own.

    Parameters
    ----------
    A, B : array (n, n) or sparse matrix
    C : array (n, n), optional

    References
    ----------
    Koopmans, Beckmann (1957), Assignment problems and the location of economic activities;
    Yurtsever, Mangalick, Sra (2021), Three operator splitting with a nonconvex loss function, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> f = QAP(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 5.0], [2.0, 0.0]]))
    >>> f.value(np.eye(2)), f.value(np.eye(2)[::-1]), f.lipschitz, f.tangent_lipschitz
    (5.0, 2.0, 10.0, 3.5)
    """

    convex = False

    def __init__(self, A: object, B: object, C: object = None) -> None:
        self.A, self.B = square_matrix(A, "A"), square_matrix(B, "B")
        if self.A.n != self.B.n:
            raise InputError(f"`A` has {self.A.n} rows and `B` {self.B.n}; make them equal")
        self.shape = (self.A.n, self.A.n)
        self.C = None if C is None else of_shape(C, self.shape, "C", "A")

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both; the gradient is A X B' + A' X B + C."""
        self.check(x)
        A, B = self.A.like(x).array, self.B.like(x).array
        AXB = (B @ (A @ x).T).T  # a sparse matrix comes first
        value = AXB if self.C is None else AXB + like(self.C, x, "C")
        grad = value + (B.T @ (A.T @ x).T).T
        return as_number(namespace(x).sum(value * x)), grad

    @cached_property
    def lipschitz(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """2 ||A|| ||B|| in the spectral norm."""
        return 2.0 * (self.A.squared_norm * self.B.squared_norm) ** 0.5

    @cached_property
    def tangent_lipschitz(self) -> float:
        """2 ||PAP|| ||PBP||, for points whose difference has zero row and column sums."""
        return 2.0 * _centred_norm(self.A) * _centred_norm(self.B)

    @classmethod
    def examples(cls) -> list[tuple["QAP", Shape]]:
        rng = np.random.default_rng(5)
        A, B, C = rng.standard_normal((3, 4, 4))
        return [(cls(A, B), (4, 4)), (cls(A + A.T, B, C), (4, 4))]


def _centred_norm(M: Samples) -> float:
    array = next(M.host_blocks())[1]
    dense = array.toarray() if M.sparse else array  # pyright: ignore[reportAttributeAccessIssue]
    dense = dense - dense.mean(axis=0)
    return squared_norm(dense - dense.mean(axis=1, keepdims=True)) ** 0.5


def square_matrix(M: object, name: str) -> Samples:
    """Return a square matrix, dense or sparse, or raise an `InputError`."""
    if isinstance(M, np.memmap):
        M = np.array(M)
    table = Samples(M, name)
    if table.n != table.width:
        raise InputError(f"`{name}` must be square, got shape {(table.n, table.width)}; rows and columns are the same")
    return table


def of_shape(values: object, shape: Shape | None, name: str, other: str) -> Array:
    """Return an array of real numbers of that shape, in its own library, or raise an `InputError`."""
    host = np.asarray(parameter(as_host(values), name))
    if shape is not None and host.shape != shape:
        raise InputError(f"`{name}` has shape {host.shape} where `{other}` asks for {shape}; make them fit")
    if not host.size:
        raise InputError(f"`{name}` is empty; give at least one number")
    foreign = hasattr(values, "dtype") and kind_of(values) != "numpy"
    return cast(Array, values) if foreign else host
