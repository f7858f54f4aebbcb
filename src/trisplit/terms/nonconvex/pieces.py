"""Nonconvex penalties of entries made of pieces: the best of the best points of all pieces is returned."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.arrays.batched import norm
from trisplit.terms.checks import fit, positive
from trisplit.terms.nonconvex.shrinkage import (
    EntryPenalty,
    WeightedPenalty,
    at_least_zero,
    clipped,
    mcp_candidates,
    mcp_value,
    scad_candidates,
    scad_shape,
    scad_value,
)

__all__ = ["CEL0", "MCP", "SCAD", "CappedL1", "TruncatedQuadratic"]


@dataclass(frozen=True, eq=False)
class MCP(EntryPenalty):
    """The minimax concave penalty, sum of lam |x_i| - x_i^2 / (2 beta) for |x_i| <= beta lam, else beta lam^2 / 2.

    For gamma < beta, prox(x, gamma) = sign(x) min(|x|, beta max(|x| - gamma lam, 0) / (beta - gamma)); else x where
    |x| > lam sqrt(gamma beta), and 0 elsewhere.

    Parameters
    ----------
    lam : float or array
        The slope at 0, positive; an array must broadcast to the shape of x.
    beta : float
        Positive; the penalty is constant from beta * lam on.

    References
    ----------
    Zhang (2010), Nearly unbiased variable selection under minimax concave penalty.

    Examples
    --------
    >>> import numpy as np
    >>> MCP(1.0, beta=2.0).prox(np.array([-3.0, 1.5, 0.9]), gamma=1.0)
    array([-3.,  1.,  0.])
    """

    lam: float | Array = 1.0
    beta: float = 2.0
    broadcast = ("lam",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", at_least_zero(self.lam, "lam", strictly=True))
        object.__setattr__(self, "beta", positive(self.beta, "beta"))

    def penalty(self, r: Array) -> Array:
        """Return lam r - r^2 / (2 beta) up to beta lam."""
        return mcp_value(r, self.full("lam", r), self.full("beta", r))

    def candidates(self, r: Array, t: Array) -> list[Array]:
        """Return the best points of the pieces."""
        return mcp_candidates(r, t, self.full("lam", r), self.full("beta", r))

    def lipschitz(self, shape: Shape) -> float:
        """Return ||lam||_2 over all entries."""
        return norm(fit(self.lam, shape, "lam"), self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["MCP", Shape]]:
        return [(cls(0.7, 1.5), (5,)), (cls(np.array([0.1, 1.0, 2.0]), 0.5), (2, 3))]


@dataclass(frozen=True, eq=False)
class CEL0(EntryPenalty):
    """The continuous exact L0 penalty, sum of weight - (a^2 / 2) max(0, sqrt(2 weight) / a - |x_i|)^2.

    It is `MCP` with lam = a sqrt(2 weight) and beta = 1 / a^2: the largest function below weight * L0 that becomes
    convex with (a^2 / 2) x^2 added. For a = 1 it is also called the quadratic envelope of the cardinality.

    Parameters
    ----------
    weight : float or array
        Positive; an array must broadcast to the shape of x.
    a : float
        Positive, the norm of a column of the matrix of the data term.

    References
    ----------
    Soubies, Blanc-Féraud, Aubert (2015), A continuous exact l0 penalty (CEL0) for least squares regularized problem.

    Examples
    --------
    >>> import numpy as np
    >>> CEL0(0.5, a=0.5).prox(np.array([-3.0, 1.25, 0.4]), gamma=1.0)
    array([-3.,  1.,  0.])
    """

    weight: float | Array = 1.0
    a: float = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", at_least_zero(self.weight, "weight", strictly=True))
        object.__setattr__(self, "a", positive(self.a, "a"))

    def _as_mcp(self, r: Array) -> tuple[Array, Array]:
        xp = namespace(r)
        return self.a * xp.sqrt(2 * self.full("weight", r)), self.full("a", r) ** -2

    def penalty(self, r: Array) -> Array:
        """Return weight - (a^2 / 2) max(0, sqrt(2 weight) / a - r)^2."""
        return mcp_value(r, *self._as_mcp(r))

    def candidates(self, r: Array, t: Array) -> list[Array]:
        """Return the best points of the pieces."""
        return mcp_candidates(r, t, *self._as_mcp(r))

    def lipschitz(self, shape: Shape) -> float:
        """Return a ||sqrt(2 weight)||_2 over all entries."""
        return self.a * norm(fit(np.sqrt(2 * np.asarray(self.weight)), shape, "weight"), self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["CEL0", Shape]]:
        return [(cls(0.7, 0.8), (5,)), (cls(np.array([0.1, 1.0, 2.0]), 2.0), (2, 3))]


@dataclass(frozen=True, eq=False)
class SCAD(EntryPenalty):
    """The smoothly clipped absolute deviation, the sum of p(|x_i|) with p' = lam, (a lam - r) / (a - 1), 0 in turn.

    The pieces meet at lam and a lam. prox(x, gamma) is the best of the minimisers of the three pieces: a soft
    threshold, ((a - 1) x - sign(x) a lam gamma) / (a - 1 - gamma), and x itself.

    Parameters
    ----------
    lam : float or array
        The slope at 0, positive; an array must broadcast to the shape of x.
    a : float
        Above 2; the penalty is constant from a * lam on.

    References
    ----------
    Fan, Li (2001), Variable selection via nonconcave penalized likelihood and its oracle properties.

    Examples
    --------
    >>> import numpy as np
    >>> SCAD(1.0, a=3.0).prox(np.array([-4.0, 2.5, 1.5]), gamma=1.0)
    array([-4. ,  2. ,  0.5])
    """

    lam: float | Array = 1.0
    a: float = 3.7
    broadcast = ("lam",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", at_least_zero(self.lam, "lam", strictly=True))
        object.__setattr__(self, "a", scad_shape(self.a))

    def penalty(self, r: Array) -> Array:
        """Return the value for each r >= 0."""
        return scad_value(r, self.full("lam", r), self.a)

    def candidates(self, r: Array, t: Array) -> list[Array]:
        """Return the best points of the pieces."""
        return scad_candidates(r, t, self.full("lam", r), self.a)

    def lipschitz(self, shape: Shape) -> float:
        """Return ||lam||_2 over all entries."""
        return norm(fit(self.lam, shape, "lam"), self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["SCAD", Shape]]:
        return [(cls(0.7), (5,)), (cls(np.array([0.1, 1.0, 2.0]), 2.5), (2, 3))]


@dataclass(frozen=True, eq=False)
class CappedL1(WeightedPenalty):
    """The capped L1 norm, sum_i weight_i min(1, rate |x_i|).

    prox(x, gamma) is the better of the soft threshold at gamma weight rate, cut off at 1 / rate, and of x, if |x| is
    larger than that.

    Parameters
    ----------
    rate : float
        Positive.
    weight : float or array
        Nonnegative; an array must broadcast to the shape of x.

    References
    ----------
    Zhang (2010), Analysis of multi-stage convex relaxation for sparse regularization.

    Examples
    --------
    >>> import numpy as np
    >>> CappedL1(0.5).prox(np.array([-4.0, 1.5]), gamma=1.0)
    array([-4.,  1.])
    """

    rate: float = 1.0
    weight: float | Array = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "rate", positive(self.rate, "rate"))

    def penalty(self, r: Array) -> Array:
        """Return weight min(1, rate r)."""
        return self.full("weight", r) * namespace(r).clip(self.rate * r, None, 1.0)

    def candidates(self, r: Array, t: Array) -> list[Array]:
        """Return the best points of the two pieces."""
        xp = namespace(r)
        soft = clipped(r - t * self.rate * self.full("weight", r), xp.zeros_like(r), xp.ones_like(r) / self.rate)
        return [soft, xp.clip(r, 1.0 / self.rate, None)]

    def lipschitz(self, shape: Shape) -> float:
        """Return rate ||weight||_2 over all entries."""
        return self.rate * norm(fit(self.weight, shape, "weight"), self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["CappedL1", Shape]]:
        return [(cls(0.7), (5,)), (cls(1.5, np.array([0.0, 1.0, 2.0])), (2, 3))]


@dataclass(frozen=True, eq=False)
class TruncatedQuadratic(WeightedPenalty):
    """The truncated quadratic, sum_i min(curvature x_i^2, weight_i).

    prox(x, gamma) = x / (1 + 2 gamma curvature) where x^2 < (weight / curvature) (1 + 2 gamma curvature), else x.

    Parameters
    ----------
    weight : float or array
        The cap, nonnegative; an array must broadcast to the shape of x.
    curvature : float
        Positive.

    References
    ----------
    Strekalovskiy, Cremers (2014), Real-time minimization of the piecewise smooth Mumford-Shah functional.

    Examples
    --------
    >>> import numpy as np
    >>> TruncatedQuadratic(2.0).prox(np.array([-3.0, 1.5]), gamma=1.0)
    array([-3. ,  0.5])
    """

    weight: float | Array = 1.0
    curvature: float = 1.0
    broadcast = ("weight",)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "curvature", positive(self.curvature, "curvature"))

    def penalty(self, r: Array) -> Array:
        """Return min(curvature r^2, weight)."""
        xp = namespace(r)
        return self.curvature * xp.minimum(r, xp.sqrt(self.full("weight", r) / self.curvature)) ** 2

    def shrunk(self, r: Array, step: float | Array) -> Array:
        """Return r / (1 + 2 t curvature) below the threshold."""
        xp, scale = namespace(r), 1.0 + 2 * step * self.curvature
        return xp.where(r < xp.sqrt(scale * self.full("weight", r) / self.curvature), r / scale, r)

    def lipschitz(self, shape: Shape) -> float:
        """Return 2 ||sqrt(curvature weight)||_2 over all entries."""
        slope = 2 * np.sqrt(self.curvature * np.asarray(self.weight))
        return norm(fit(slope, shape, "weight"), self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["TruncatedQuadratic", Shape]]:
        return [(cls(0.7), (5,)), (cls(np.array([0.0, 1.0, 2.0]), 1.5), (2, 3))]
