"""Nonconvex penalties of vectors: of their Euclidean norms, and the difference of two norms."""

from dataclasses import dataclass

import numpy as np

from trisplit.arrays import Array, Shape, device, namespace, positive_part
from trisplit.errors import InputError
from trisplit.terms.base import NonconvexFunction
from trisplit.terms.blocks import Lines, mapped, nan_kept, summed
from trisplit.terms.checks import axis_or_none, nonnegative_weight, positive, whole
from trisplit.terms.nonconvex.shrinkage import (
    LinePenalty,
    largest_entries,
    mcp_candidates,
    mcp_value,
    scad_candidates,
    scad_shape,
    scad_value,
)
from trisplit.terms.numbers import largest, row_norms
from trisplit.terms.roots import increasing_root

__all__ = ["BlockL0", "BlockMCP", "BlockSCAD", "L1MinusL2", "QuadraticEnvelopeL0Ball", "TruncatedL2"]


@dataclass(frozen=True)
class BlockL0(LinePenalty):
    """The number of vectors that are not 0, weight * #{lines != 0}.

    prox(x, gamma) keeps a line if its norm is above sqrt(2 gamma weight), else it is 0.

    Parameters
    ----------
    weight : float
        Nonnegative.
    axis : int or None
        The lines along that axis; None takes all of x as one vector.

    References
    ----------
    Huang, Zhang (2010), The benefit of group sparsity.

    Examples
    --------
    >>> import numpy as np
    >>> BlockL0(2.0, axis=1).prox(np.array([[3.0, 4.0], [1.0, 1.0]]), gamma=1.0)
    array([[3., 4.],
           [0., 0.]])
    """

    weight: float = 1.0
    axis: int | None = None
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def penalty(self, r: Array) -> Array:
        """Return the weight where r is not 0."""
        xp = namespace(r)
        return xp.where(r != 0, self.full("weight", r), xp.zeros_like(r))

    def candidates(self, r: Array, t: Array) -> list[Array]:
        """Return 0 and r."""
        return [namespace(r).zeros_like(r), r]

    @classmethod
    def examples(cls) -> list[tuple["BlockL0", Shape]]:
        return [(cls(1.5), (4,)), (cls(1.2, axis=0), (3, 2))]


@dataclass(frozen=True)
class BlockMCP(LinePenalty):
    """The minimax concave penalty of norms, the sum over lines of `MCP` at ||line||_2.

    prox(x, gamma) multiplies each line, so that its norm is the proximal point of `MCP` at its norm.

    Parameters
    ----------
    lam : float
        The slope at 0, positive.
    beta : float
        Positive; the penalty is constant from beta * lam on.
    axis : int or None
        The lines along that axis; None takes all of x as one vector.

    References
    ----------
    Huang, Breheny, Ma (2012), A selective review of group selection in high-dimensional models.

    Examples
    --------
    >>> import numpy as np
    >>> BlockMCP(1.0, beta=2.0, axis=1).prox(np.array([[3.0, 4.0], [0.9, 1.2]]), gamma=1.0)
    array([[3. , 4. ],
           [0.6, 0.8]])
    """

    lam: float = 1.0
    beta: float = 2.0
    axis: int | None = None
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", positive(self.lam, "lam"))
        object.__setattr__(self, "beta", positive(self.beta, "beta"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def penalty(self, r: Array) -> Array:
        """Return `MCP` of each r >= 0."""
        return mcp_value(r, self.full("lam", r), self.full("beta", r))

    def candidates(self, r: Array, t: Array) -> list[Array]:
        """Return the best points of the pieces."""
        return mcp_candidates(r, t, self.full("lam", r), self.full("beta", r))

    def lipschitz(self, shape: Shape) -> float:
        """Return lam sqrt(number of lines)."""
        return self.lam * self.count(shape) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["BlockMCP", Shape]]:
        return [(cls(0.7, 1.5), (4,)), (cls(1.2, 0.5, axis=0), (3, 2))]


@dataclass(frozen=True)
class BlockSCAD(LinePenalty):
    """The smoothly clipped absolute deviation of norms, the sum over lines of `SCAD` at ||line||_2.

    prox(x, gamma) multiplies each line, so that its norm is the proximal point of `SCAD` at its norm.

    Parameters
    ----------
    lam : float
        The slope at 0, positive.
    a : float
        Above 2; the penalty is constant from a * lam on.
    axis : int or None
        The lines along that axis; None takes all of x as one vector.

    References
    ----------
    Wang, Chen, Li (2007), Group SCAD regression analysis for microarray time course gene expression data.

    Examples
    --------
    >>> import numpy as np
    >>> BlockSCAD(1.0, a=3.0, axis=1).prox(np.array([[3.0, 4.0], [1.5, 2.0]]), gamma=1.0)
    array([[3. , 4. ],
           [1.2, 1.6]])
    """

    lam: float = 1.0
    a: float = 3.7
    axis: int | None = None
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", positive(self.lam, "lam"))
        object.__setattr__(self, "a", scad_shape(self.a))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def penalty(self, r: Array) -> Array:
        """Return `SCAD` of each r >= 0."""
        return scad_value(r, self.full("lam", r), self.a)

    def candidates(self, r: Array, t: Array) -> list[Array]:
        """Return the best points of the pieces."""
        return scad_candidates(r, t, self.full("lam", r), self.a)

    def lipschitz(self, shape: Shape) -> float:
        """Return lam sqrt(number of lines)."""
        return self.lam * self.count(shape) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["BlockSCAD", Shape]]:
        return [(cls(0.7), (4,)), (cls(1.2, 2.5, axis=0), (3, 2))]


@dataclass(frozen=True)
class TruncatedL2(LinePenalty):
    """The truncated square of norms, the sum over lines of min(curvature ||line||_2^2, weight).

    prox(x, gamma) = line / (1 + 2 gamma curvature) where ||line||^2 < (weight / curvature) (1 + 2 gamma curvature),
    else the line.

    Parameters
    ----------
    weight : float
        The cap, nonnegative.
    curvature : float
        Positive.
    axis : int or None
        The lines along that axis; None takes all of x as one vector.

    References
    ----------
    Chierchia, Chouzenoux, Combettes, Pesquet, The proximity operator repository.

    Examples
    --------
    >>> import numpy as np
    >>> TruncatedL2(2.0, axis=1).prox(np.array([[3.0, 4.0], [0.9, 1.2]]), gamma=1.0)
    array([[3. , 4. ],
           [0.3, 0.4]])
    """

    weight: float = 1.0
    curvature: float = 1.0
    axis: int | None = None
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        object.__setattr__(self, "curvature", positive(self.curvature, "curvature"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    def penalty(self, r: Array) -> Array:
        """Return min(curvature r^2, weight)."""
        edge = (self.weight / self.curvature) ** 0.5
        return self.curvature * namespace(r).clip(r, None, edge) ** 2

    def shrunk(self, r: Array, step: float | Array) -> Array:
        """Return r / (1 + 2 t curvature) below the threshold."""
        xp, scale = namespace(r), 1.0 + 2 * step * self.curvature
        return xp.where(r < (scale * self.weight / self.curvature) ** 0.5, r / scale, r)

    def lipschitz(self, shape: Shape) -> float:
        """Return 2 sqrt(curvature weight) sqrt(number of lines)."""
        return 2 * (self.curvature * self.weight * self.count(shape)) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["TruncatedL2", Shape]]:
        return [(cls(0.7), (4,)), (cls(1.2, 2.5, axis=0), (3, 2))]


@dataclass(frozen=True)
class L1MinusL2(Lines, NonconvexFunction):
    """The difference of norms, the sum over lines of weight (||line||_1 - alpha ||line||_2).

    With k = gamma weight and z the soft threshold of the line at k, prox(x, gamma) = z (1 + alpha k / ||z||) if z != 0;
    else the largest entry alone, shortened by (1 - alpha) k, or 0.

    Parameters
    ----------
    weight : float
        Nonnegative.
    alpha : float
        Between 0 and 1.
    axis : int or None
        The lines along that axis; None takes all of x as one vector.

    References
    ----------
    Lou, Yan (2018), Fast L1-L2 minimization via a proximal operator.

    Examples
    --------
    >>> import numpy as np
    >>> L1MinusL2(1.0).prox(np.array([0.5, -0.8]), gamma=1.0)
    array([ 0. , -0.8])
    """

    weight: float = 1.0
    alpha: float = 1.0
    axis: int | None = None
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        object.__setattr__(self, "alpha", nonnegative_weight(self.alpha, "alpha"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))
        if self.alpha > 1:
            raise InputError(f"`alpha` must be at most 1, got {self.alpha}; the function is negative else")

    @summed
    def value(self, v: Array) -> Array:
        """Return weight (||line||_1 - alpha ||line||_2) for each line."""
        xp = namespace(v)
        return self.weight * (xp.sum(xp.abs(v), axis=-1, keepdims=True) - self.alpha * row_norms(v))

    @mapped
    def prox(self, v: Array, t: float | Array) -> Array:
        """Return the soft threshold made longer, or a line with one entry."""
        xp = namespace(v)
        k, size = t * self.weight + xp.zeros_like(v[..., :1]), xp.abs(v)
        z = xp.sign(v) * positive_part(size - k)
        r = row_norms(z)
        longer = z + self.alpha * k * (z / xp.where(r > 0, r, xp.ones_like(r)))
        place = xp.arange(v.shape[-1], device=device(v)) == xp.expand_dims(xp.argmax(size, axis=-1), axis=-1)
        single = xp.where(place, xp.sign(v) * positive_part(size - (1 - self.alpha) * k), xp.zeros_like(v))
        return xp.where(largest(v) > k, longer, single)

    def lipschitz(self, shape: Shape) -> float:
        """Return weight sqrt(n - 2 alpha + alpha^2) sqrt(number of lines), for n entries in a line.

        The gradient sign(x) - alpha x / ||x|| is longest near an axis.
        """
        n, alpha = self.length(shape), self.alpha
        return self.weight * ((n - 2 * alpha + alpha**2) * self.count(shape)) ** 0.5

    @classmethod
    def examples(cls) -> list[tuple["L1MinusL2", Shape]]:
        return [(cls(0.7), (4,)), (cls(1.2, 0.5, axis=0), (3, 2))]


@dataclass(frozen=True)
class QuadraticEnvelopeL0Ball(Lines, NonconvexFunction):
    """The quadratic envelope of the L0 ball, g with g + ||x||^2 / 2 the convex envelope of it on at most k nonzeros.

    Its proximal map for gamma >= 1 is that of `L0Ball`: the k largest entries. For gamma < 1, with rho = 1 / gamma,
    prox(x, gamma) = (rho x - z) / (rho - 1), |z| = max(|x|, s) for the k largest and min(rho |x|, s) for the others,
    with s such that no entry of z is larger among the others, by Newton's method.

    Parameters
    ----------
    k : int
        The number of entries that are free, at least 1.
    axis : int or None
        The lines along that axis; None takes all of x as one vector.

    References
    ----------
    Andersson, Carlsson, Olsson (2017), Convex envelopes for fixed rank approximation; Carlsson (2019), On convex
    envelopes and regularization of non-convex functionals without moving global minima.

    Examples
    --------
    >>> import numpy as np
    >>> QuadraticEnvelopeL0Ball(1).prox(np.array([3.0, 1.0]), gamma=0.5)
    array([3., 0.])
    """

    k: int = 1
    axis: int | None = None
    broadcast = ()
    cost = "n log n"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(self.k, "k"))
        object.__setattr__(self, "axis", axis_or_none(self.axis))

    @summed
    def value(self, v: Array) -> Array:
        """Return (T^2 / (k - j) - Q) / 2, T and Q the sums of all but the j largest |x| and of their squares.

        j < k is the number for which T / (k - j) is least.
        """
        xp, k = namespace(v), self.k
        if v.shape[-1] <= k:
            return xp.zeros_like(v)
        rising = xp.sort(xp.abs(v), axis=-1)
        sums = xp.cumulative_sum(rising, axis=-1)[..., -k:]  # of n - k + 1, ..., n entries
        squares = xp.cumulative_sum(rising**2, axis=-1)[..., -k:]
        count = xp.arange(1, k + 1, dtype=v.dtype, device=device(v))
        chosen = xp.expand_dims(xp.argmin(sums / count, axis=-1), axis=-1)
        return xp.take_along_axis(sums**2 / count - squares, chosen, axis=-1) / 2

    @mapped
    @nan_kept
    def prox(self, v: Array, t: float | Array) -> Array:
        """Return the k largest entries shortened where others are nearly as large."""
        xp, k = namespace(v), self.k
        if v.shape[-1] <= k:
            return v
        size, top = xp.abs(v), largest_entries(xp.abs(v), k)
        zero = xp.zeros_like(v)
        t = t + xp.zeros_like(v[..., :1])
        soft = t < 1
        t = xp.where(soft, t, 0.5 * xp.ones_like(t))

        def F(s: Array) -> tuple[Array, Array]:
            above, below = xp.where(top, s - size, -xp.ones_like(v)), xp.where(top, -xp.ones_like(v), size - t * s)
            # At a kink the larger slope: with the smaller one, Newton's method could leap between two kinks for ever.
            slope = xp.where(above >= 0, xp.ones_like(v), zero) + xp.where(below >= 0, t + zero, zero)
            balance = positive_part(above) - positive_part(below)
            return xp.sum(balance, axis=-1, keepdims=True), xp.sum(slope, axis=-1, keepdims=True)

        lo = xp.min(xp.where(top, size, xp.inf), axis=-1, keepdims=True)
        others = xp.where(top, zero, size)
        with np.errstate(over="ignore"):  # what overflows is replaced by another bound
            hi = xp.max(others, axis=-1, keepdims=True) / t
            hi = xp.maximum(xp.minimum(hi, lo + xp.sum(others, axis=-1, keepdims=True)), lo)
            s = increasing_root(F, lo, hi, lo)
        kept = size - positive_part(s - size) * (t / (1 - t))
        left = xp.where(top, kept, positive_part(size - t * s) / (1 - t))
        return xp.where(soft, xp.sign(v) * left, xp.where(top, v, zero))

    @classmethod
    def examples(cls) -> list[tuple["QuadraticEnvelopeL0Ball", Shape]]:
        return [(cls(2), (5,)), (cls(1, axis=0), (3, 2))]
