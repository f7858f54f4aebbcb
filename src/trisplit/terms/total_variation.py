"""Total variation along one axis."""

from dataclasses import dataclass
from math import prod
from operator import index

import numpy as np

from trisplit.arrays import Array, as_floating, as_host, device, from_numpy, namespace, to_numpy, total
from trisplit.errors import InputError
from trisplit.terms.base import Batchable, Shape, nonnegative_weight


@dataclass(frozen=True)
class TotalVariation(Batchable):
    """Total variation along one axis, weight * sum over the lines along `axis` of sum_k |x_{k+1} - x_k|.

    The anisotropic total variation of an image is the sum of two terms, of axis 0 and axis 1.

    prox(x, gamma) is found exactly, by dynamic programming, in a time proportional to the size of x. It is computed
    on the host, by a kernel that is compiled when it is first needed: arrays on a GPU are copied there and back,
    automatic differentiation ends there, `jax.jit` cannot follow and `torch.compile` interrupts its program. A line
    that holds NaN or infinity becomes NaN.

    Parameters
    ----------
    weight : float
        Nonnegative.
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
    """

    weight: float = 1.0
    axis: int = -1
    convex = True
    indicator = False
    broadcast = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        try:
            object.__setattr__(self, "axis", index(self.axis))
        except TypeError:
            came = f"`axis` must be an integer, got {self.axis!r}"
            raise InputError(f"{came}; to compare neighbours in a row, pass 1") from None

    def value(self, x: Array) -> float:
        """Return weight * sum over the lines of sum_k |x_{k+1} - x_k|."""
        xp, axis = namespace(x), self._axis(x.shape)
        before, after = [(slice(None),) * axis + (part, ...) for part in (slice(-1), slice(1, None))]
        return self.weight * total(xp.abs(x[after] - x[before]), self.batch_ndim)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the proximal points of the lines, computed on the host."""
        axis = self._axis(x.shape)
        if device(x) is None:
            traced = "TotalVariation computes its proximal map on the host, where no compiler can follow"
            raise InputError(f"{traced}; call it outside of `jax.jit`, `jax.vmap` and `jax.grad`")
        # Compiled when it is imported, hence here
        from trisplit.kernels.total_variation import prox_lines

        host = to_numpy(x)
        if host.dtype.kind != "f":
            x = as_floating(x)
        # The kernel reads and writes these two; it computes in double precision.
        host = np.ascontiguousarray(host, dtype=np.float32 if host.dtype == np.float32 else np.float64)
        out = np.empty_like(host)
        lines = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
        weights = self.weight * np.asarray(as_host(gamma), dtype=float)
        if weights.ndim:  # one for each problem of a batch
            weights = np.broadcast_to(weights, (*x.shape[:axis], *(1,) * (x.ndim - axis)))
        prox_lines(host.reshape(lines), np.resize(weights, lines[0]), out.reshape(lines))
        return from_numpy(out, x)

    def lipschitz(self, shape: Shape) -> float:
        """Return weight * sqrt(number of lines) * sqrt(4 n - 6), n their length: the slope of a zigzag."""
        n = shape[self._axis(shape)]
        lines = prod(shape[self.batch_ndim :]) // max(n, 1)
        return self.weight * (lines * (4 * n - 6)) ** 0.5 if n > 1 else 0.0

    def _axis(self, shape: Shape) -> int:
        """Return the axis, counted from the first, of an array with the axes of a batch in front."""
        own = tuple(shape[self.batch_ndim :])
        if not -len(own) <= self.axis < len(own):
            raise InputError(f"`axis` is {self.axis} but x has shape {own}; choose one of its axes")
        return self.batch_ndim + self.axis % len(own)

    @classmethod
    def examples(cls) -> list[tuple["TotalVariation", Shape]]:
        vectors = [(cls(0.7), (6,)), (cls(1.3), (2,)), (cls(), (1,))]
        return [*vectors, (cls(0.4, axis=0), (4, 3)), (cls(2.0, axis=1), (3, 4)), (cls(axis=-2), (2, 3, 2))]
