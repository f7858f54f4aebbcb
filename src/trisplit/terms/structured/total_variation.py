"""Total variation along one axis, and what it shares with nearly isotonic regression: costs of the jumps of lines."""

from dataclasses import dataclass
from math import prod
from operator import index

import numpy as np

from trisplit.arrays import (
    Array,
    Shape,
    as_floating,
    as_host,
    constant_like,
    device,
    eps,
    from_numpy,
    namespace,
    to_numpy,
)
from trisplit.arrays.batched import norm, total
from trisplit.errors import InputError
from trisplit.terms.base import ConvexFunction, zero_where
from trisplit.terms.checks import nonnegative
from trisplit.terms.numbers import row_norms

__all__ = ["TotalVariation"]


class Jumps(ConvexFunction):
    """A sum over the lines along an axis of costs of their jumps x_{k+1} - x_k; a subclass is a dataclass.

    A subclass says in `free` whether rises are free, and in `forward` whether lines are read from their first entry.
    """

    weight: float | Array
    axis: int
    free = False
    forward = True
    host = "dynamic programming, entry after entry, in a compiled loop"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative(self.weight))
        object.__setattr__(self, "axis", an_axis(self.axis))

    def value(self, x: Array) -> float:
        """Return the sum of weight times the jumps, rises and falls or falls alone."""
        xp, axis = namespace(x), self._axis(x.shape)
        before, after = [(slice(None),) * axis + (part, ...) for part in (slice(-1), slice(1, None))]
        jumps = x[after] - x[before] if self.forward else x[before] - x[after]
        costs = xp.clip(-jumps, 0.0, None) if self.free else xp.abs(jumps)
        if not isinstance(self.weight, np.ndarray):
            return self.weight * total(costs, self.batch_ndim)
        weight = constant_like(self.weight, x) if self._fits(x.shape) else 0.0
        return total(xp.moveaxis(costs, axis, -1) * weight, self.batch_ndim)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the proximal points of the lines, computed on the host."""
        axis = self._axis(x.shape)
        if device(x) is None:
            traced = f"{type(self).__name__} computes its proximal map on the host, where no compiler can follow"
            raise InputError(f"{traced}; call it outside of `jax.jit`, `jax.vmap` and `jax.grad`")
        from trisplit.kernels.total_variation import prox_chains, prox_lines

        host = to_numpy(x)
        if host.dtype.kind != "f":
            x = as_floating(x)
        if not self.forward:
            host = np.flip(host, axis)
        # The kernel reads and writes these two; it computes in double precision.
        host = np.ascontiguousarray(host, dtype=np.float32 if host.dtype == np.float32 else np.float64)
        out = np.empty_like(host)
        lines = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
        scalar = not isinstance(self.weight, np.ndarray)
        lams = np.asarray(as_host(gamma), dtype=float) * (self.weight if scalar else 1.0)
        # In a batch there is one for each problem, with axes of length 1 for those of x.
        lams = np.full((*x.shape[:axis], *(1,) * (x.ndim - axis)), lams).reshape(-1)
        if scalar and not self.free:
            prox_lines(host.reshape(lines), lams, out.reshape(lines))
        elif host.size:
            prox_chains(host.reshape(lines), lams, self._rows(x.shape), self.free, out.reshape(lines))
        return from_numpy(out if self.forward else np.flip(out, axis), x)

    def conjugate_value(self, u: Array) -> float:
        """Return 0 if u = D'z with z between the costs of a fall and a rise, up to rounding, else infinity."""
        xp, axis = namespace(u), self._axis(u.shape)
        lines = xp.moveaxis(u, axis, -1)
        sums = xp.cumulative_sum(lines if self.forward else xp.flip(lines, axis=-1), axis=-1)
        most = self.weight
        if isinstance(most, np.ndarray):
            self._fits(u.shape)
            most = constant_like(most if self.forward else np.flip(most, -1).copy(), u)
        rounding = 100 * self.accuracy * eps(u) * (1.0 + row_norms(lines)) * max(u.shape[axis], 1) ** 0.5
        inner = sums[..., :-1]
        # The sums are -z, and z_k is a slope of the cost of jump k: between -fall and rise.
        outside = (inner > most + rounding) | (inner < -(0.0 if self.free else most) - rounding)
        inside = ~xp.any(outside, axis=-1) & xp.all(xp.abs(sums[..., -1:]) <= rounding, axis=-1)
        return zero_inside(inside, u, self.batch_ndim)

    def _axis(self, shape: Shape) -> int:
        """Return the axis, counted from the first, of an array with the axes of a batch in front."""
        own = tuple(shape[self.batch_ndim :])
        if not -len(own) <= self.axis < len(own):
            raise InputError(f"`axis` is {self.axis} but x has shape {own}; choose one of its axes")
        return self.batch_ndim + self.axis % len(own)

    def _fits(self, shape: Shape) -> Shape:
        """Return the shape of the jumps with their axis last, to which an array `weight` must broadcast."""
        axis = self._axis(shape)
        jumps = (*shape[:axis], *shape[axis + 1 :], max(shape[axis] - 1, 0))
        given = np.shape(self.weight)
        try:
            fits = np.broadcast_shapes(given, jumps) == jumps and (not given or given[-1] == jumps[-1])
        except ValueError:
            fits = False
        if not fits:
            came = f"`weight` has shape {given} but x has jumps of shape {jumps}, with `axis` moved to the end"
            raise InputError(f"{came}; give a number for each, or a scalar")
        return jumps

    def _rows(self, shape: Shape) -> np.ndarray:
        """Return array weights as rows for the kernel: one for all lines, or one for each."""
        jumps, weight = self._fits(shape), self.weight
        if not isinstance(weight, np.ndarray):
            return np.ones((1, jumps[-1]))  # lam has it
        if not self.forward:
            weight = np.flip(weight, -1)
        if weight.size != jumps[-1]:
            weight = np.broadcast_to(weight, jumps)
        return np.ascontiguousarray(weight.reshape(-1, jumps[-1]) if jumps[-1] else np.empty((1, 0)))


@dataclass(frozen=True, eq=False)
class TotalVariation(Jumps):
    """Total variation along one axis, the sum over the lines along `axis` of sum_k weight_k |x_{k+1} - x_k|.

    The anisotropic total variation of an image is the sum of two terms, of axis 0 and axis 1; `ImageTotalVariation` has
    the proximal map of the sum.

    prox(x, gamma) is found exactly, by dynamic programming, in a time proportional to the size of x. It is computed
    on the host, by a kernel that is compiled when it is first needed: arrays on a GPU are copied there and back,
    automatic differentiation ends there, `jax.jit` cannot follow and `torch.compile` interrupts its program. A line
    that holds NaN or infinity becomes NaN.

    Parameters
    ----------
    weight : float or array
        Nonnegative. An array has one number for each jump of a line along its last axis, one less than entries; its
        axes in front broadcast against the other axes of x.
    axis : int
        The axis along which neighbours are compared.

    References
    ----------
    Johnson (2013), A dynamic programming algorithm for the fused lasso and L0-segmentation.

    Examples
    --------
    >>> import numpy as np
    >>> TotalVariation(1.0).prox(np.array([0.0, 0.0, 4.0, 6.0]), gamma=1.0)
    array([0.5, 0.5, 4. , 5. ])
    >>> TotalVariation([9.0, 0.0, 1.0]).prox(np.array([0.0, 2.0, 4.0, 6.0]), gamma=0.5)
    array([1. , 1. , 4.5, 5.5])
    """

    weight: float | Array = 1.0
    axis: int = -1
    broadcast = ("weight",)

    def lipschitz(self, shape: Shape) -> float:
        """Return the slope of a zigzag; for one weight it is weight * sqrt(number of lines) * sqrt(4 n - 6)."""
        n = shape[self._axis(shape)]
        lines = prod(shape[self.batch_ndim :]) // max(n, 1)
        if not isinstance(self.weight, np.ndarray):
            return self.weight * (lines * (4 * n - 6)) ** 0.5 if n > 1 else 0.0
        weights = np.broadcast_to(self.weight, self._fits(shape))
        ends = np.zeros((*weights.shape[:-1], 1))
        both = np.concatenate([ends, weights], axis=-1) + np.concatenate([weights, ends], axis=-1)
        return norm(both, self.batch_ndim)

    @classmethod
    def examples(cls) -> list[tuple["TotalVariation", Shape]]:
        vectors = [(cls(0.7), (6,)), (cls(), (1,)), (cls(np.array([0.3, 0.0, 2.0, 0.8])), (5,))]
        own = cls(np.array([[0.5, 1.5], [2.0, 0.1]]), axis=-2)  # for each column
        return [*vectors, (cls(0.4, axis=0), (4, 3)), (own, (3, 2))]


def an_axis(value: object) -> int:
    """Return `axis` as an int."""
    try:
        return index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise InputError(f"`axis` must be an integer, got {value!r}; to compare neighbours in a row, pass 1") from None


def zero_inside(inside: Array, u: Array, batch_ndim: int) -> float:
    """Return 0 where all lines are inside, else infinity; `inside` has one entry for each line."""
    xp = namespace(u)
    if not batch_ndim:
        return zero_where(bool(xp.all(inside)), u)
    every = xp.all(inside, axis=tuple(range(batch_ndim, inside.ndim))) if inside.ndim > batch_ndim else inside
    return zero_where(every, u)
