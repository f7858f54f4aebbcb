"""Terms that treat x block by block: its entries, the vectors along an axis, or matrices.

Such a term is a sum over blocks. A subclass of `Entries`, `Lines` or `Matrices` says what happens to a stack of blocks,
with the entries of a block along the last 0, 1 or 2 axes; the decorators do the rest:

- `@summed` makes a method that returns a number for each block into one that returns the sum of x;
- `@mapped` makes a method that moves blocks into one that moves x. A second argument is gamma, which then multiplies
  the blocks: a float, or in a batch an array.

So the three lines of a norm along an axis serve vectors, rows, columns, batches, NumPy, PyTorch and JAX.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from math import prod
from typing import ClassVar

import numpy as np

from trisplit.arrays import Array, Shape, device, from_numpy, namespace, to_numpy
from trisplit.arrays.batched import scalar, total
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm


def summed(method: Callable) -> Callable[..., float]:
    """Make a method that returns a number for each block into one that returns their sum."""

    @wraps(method)
    def of_all(self: "Blocks", x: Array) -> float:
        return total(method(self, self.blocks(x)), self.batch_ndim)

    return of_all


def mapped(method: Callable) -> Callable[..., Array]:
    """Make a method that moves blocks into one that moves x; a second argument is gamma."""
    if len(signature(method).parameters) == 2:

        @wraps(method)
        def of_all(self: "Blocks", x: Array) -> Array:
            return self.unblock(method(self, self.blocks(x)), x)

        return of_all

    @wraps(method)
    def with_gamma(self: "Blocks", x: Array, gamma: float) -> Array:
        v = self.blocks(x)
        return self.unblock(method(self, v, self.step(gamma, v)), x)

    return with_gamma


def nan_kept(method: Callable) -> Callable[..., Array]:
    """Make a block with NaN into one of NaN, below `mapped`: for maps that compare numbers and would lose it."""

    @wraps(method)
    def visible(self: "Blocks", v: Array, *gamma: float) -> Array:
        xp, lost = namespace(v), v != v
        if self.block_ndim:
            lost = xp.any(lost, axis=tuple(range(-self.block_ndim, 0)), keepdims=True)
        return xp.where(lost, xp.nan, method(self, v, *gamma))

    visible.__signature__ = signature(method)  # pyright: ignore[reportAttributeAccessIssue]
    return visible


class Blocks(BaseTerm):
    """A sum over blocks of x: how they are laid out."""

    block_ndim: ClassVar[int]

    def blocks(self, x: Array) -> Array:
        """Return `x` as a stack of blocks."""
        raise NotImplementedError(f"{type(self).__name__} must define `blocks`")

    def unblock(self, v: Array, x: Array) -> Array:
        """Return a stack of blocks in the shape of `x`."""
        raise NotImplementedError(f"{type(self).__name__} must define `unblock`")

    def step(self, gamma: float, v: Array) -> float | Array:
        """Return gamma in a form that multiplies blocks."""
        k = self.batch_ndim
        t = scalar(gamma, k)
        shape = getattr(t, "shape", ())
        return namespace(t).reshape(t, (*shape[:k], *(1,) * (v.ndim - k))) if shape else t  # pyright: ignore


class Entries(Blocks):
    """A sum over the entries of x; array parameters broadcast against x."""

    block_ndim = 0

    def blocks(self, x: Array) -> Array:
        """Return `x`: an entry is a block."""
        return x

    def unblock(self, v: Array, x: Array) -> Array:
        """Return `v`."""
        return v


class Lines(Blocks):
    """A sum over vectors: all of x as one vector (`axis=None`), or the lines along an axis."""

    block_ndim = 1
    axis: int | None = None

    def blocks(self, x: Array) -> Array:
        """Return the vectors along the last axis."""
        xp, k = namespace(x), self.batch_ndim
        self.length(x.shape)
        if x.ndim == k + 1:
            return x
        if self.axis is None:
            return xp.reshape(x, (*x.shape[:k], prod(x.shape[k:])))
        return xp.moveaxis(x, k + self.axis % (x.ndim - k), -1)

    def unblock(self, v: Array, x: Array) -> Array:
        """Return the vectors in the shape of `x`."""
        xp, k = namespace(x), self.batch_ndim
        if x.ndim == k + 1:
            return v
        return xp.reshape(v, x.shape) if self.axis is None else xp.moveaxis(v, -1, k + self.axis % (x.ndim - k))

    def length(self, shape: Shape) -> int:
        """Return the length of the vectors in an array of that shape; a vector without entries is refused."""
        own = tuple(shape[self.batch_ndim :])
        if self.axis is not None and not -len(own) <= self.axis < len(own):
            raise InputError(f"`axis` is {self.axis} but x has shape {own}; choose one of its axes")
        n = prod(own) if self.axis is None else own[self.axis]
        if n == 0:
            raise InputError(f"{type(self).__name__} needs vectors, got x of shape {own}; give at least one entry")
        return n

    def count(self, shape: Shape) -> int:
        """Return how many vectors there are in a problem."""
        return prod(shape[self.batch_ndim :]) // self.length(shape)


class Matrices(Blocks):
    """A function of one matrix."""

    block_ndim = 2

    def blocks(self, x: Array) -> Array:
        """Return `x`, which must be a matrix."""
        self.sides(x.shape)
        return x

    def unblock(self, v: Array, x: Array) -> Array:
        """Return `v`."""
        return v

    def sides(self, shape: Shape) -> tuple[int, int]:
        """Return the numbers of rows and columns."""
        own = tuple(shape[self.batch_ndim :])
        if len(own) != 2:
            raise InputError(f"{type(self).__name__} needs a matrix, got x of shape {own}; reshape x0")
        if 0 in own:
            raise InputError(f"{type(self).__name__} needs a matrix with entries, got shape {own}; give at least one")
        return own


class SquareMatrices(Matrices):
    """A function of one square matrix."""

    def sides(self, shape: Shape) -> tuple[int, int]:
        """Return the numbers of rows and columns, which must be equal."""
        rows, columns = super().sides(shape)
        if rows != columns:
            name = type(self).__name__
            raise InputError(f"{name} needs a square matrix, got x of shape {(rows, columns)}; pass (n, n)")
        return rows, columns


def on_the_host(term: BaseTerm, compute: Callable[[np.ndarray], np.ndarray], x: Array) -> Array:
    """Return `compute` of the numbers of `x` on the host, in its library and on its device again.

    A term that needs it says why in `host`: automatic differentiation ends there and `jax.jit` cannot follow.
    """
    if device(x) is None:
        traced = f"{type(term).__name__} computes its proximal map on the host, where no compiler can follow"
        raise InputError(f"{traced}; call it outside of `jax.jit`, `jax.vmap` and `jax.grad`")
    return from_numpy(compute(to_numpy(x)), x)
