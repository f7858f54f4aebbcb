"""Functions of the singular values of a matrix, or of the eigenvalues of a symmetric one: what they share.

For X = U diag(s) V' and a function phi that does not feel the order of its arguments, nor for singular values their
signs, phi(s(X)) has the proximal map U diag(prox of phi (s)) V' and the conjugate phi*(s(U)); the same holds for the
eigenvalues of a symmetric matrix. A subclass of `SingularValues` or `Eigenvalues` says what happens to the vector of
values, along the last axis; the decorators do the rest, as in `blocks`.

A function of eigenvalues is infinite at a matrix that is not symmetric up to rounding. The nearest symmetric matrix is
the symmetric part, which is all that its proximal map and its conjugate see.

References
----------
Lewis (1995), The convex analysis of unitarily invariant matrix functions; (1996), Convex analysis on the Hermitian
matrices.
"""

from collections.abc import Callable
from functools import wraps
from math import inf, prod

import numpy as np

from trisplit.arrays import Array, eps, namespace, positive_part, readable, without_history
from trisplit.arrays.batched import total
from trisplit.terms.blocks import Matrices, SquareMatrices
from trisplit.terms.numbers import safe_norm

Move = Callable[[Array], Array]


class Spectrum(Matrices):
    """A function of the values that a decomposition of a matrix finds."""

    cost = "n^1.5"

    def spectrum(self, x: Array) -> Array:
        """Return the values of each matrix, along the last axis."""
        raise NotImplementedError(f"{type(self).__name__} must define `spectrum`")

    def with_spectrum(self, x: Array, move: Move) -> Array:
        """Return the matrices whose values are moved and whose vectors stay."""
        raise NotImplementedError(f"{type(self).__name__} must define `with_spectrum`")

    def off_domain(self, x: Array) -> bool | Array:
        """Say which matrices the function cannot take."""
        return False

    def guarded(self, x: Array, compute: Move, ndim: int) -> Array:
        """Return `compute(x)`, with NaN for the matrices of a batch that hold one: LAPACK refuses all for one."""
        if not self.batch_ndim:
            return compute(x)
        xp = namespace(x)
        finite = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
        done = compute(xp.where(finite, x, xp.zeros_like(x)))
        kept = finite if ndim == 2 else finite[..., 0]
        return xp.where(kept, done, xp.full_like(done, xp.nan))


class SingularValues(Spectrum):
    """A function of the singular values, which come in falling order."""

    def spectrum(self, x: Array) -> Array:
        """Return the singular values."""

        def compute(x: Array) -> Array:
            x, scale = in_range(x)
            return namespace(x).linalg.svdvals(x) * scale

        return self.guarded(x, compute, 1)

    def with_spectrum(self, x: Array, move: Move) -> Array:
        """Return U diag(move(s)) V'."""

        def compute(x: Array) -> Array:
            x, scale = in_range(x)
            left, sizes, right = namespace(x).linalg.svd(x, full_matrices=False)
            return (left * move(sizes * scale)[..., None, :]) @ right

        return self.guarded(x, compute, 2)


class Eigenvalues(SquareMatrices, Spectrum):
    """A function of the eigenvalues of the symmetric part, which come in rising order."""

    def spectrum(self, x: Array) -> Array:
        """Return the eigenvalues of the symmetric part."""
        return self.guarded(x, lambda x: namespace(x).linalg.eigvalsh(symmetric_part(x)), 1)

    def with_spectrum(self, x: Array, move: Move) -> Array:
        """Return V diag(move(w)) V' for the symmetric part V diag(w) V'."""

        def compute(x: Array) -> Array:
            values, vectors = namespace(x).linalg.eigh(symmetric_part(x))
            return symmetric_part((vectors * move(values)[..., None, :]) @ vectors.mT)

        return self.guarded(x, compute, 2)

    def off_domain(self, x: Array) -> bool | Array:
        """Say which matrices are not symmetric, up to rounding."""
        k = self.batch_ndim
        rounding = 100 * self.accuracy * eps(x) * safe_norm(x, k) * prod(x.shape[k:]) ** 0.5
        return safe_norm(x - symmetric_part(x), k) > rounding


def in_range(x: Array) -> tuple[Array, float | Array]:
    """Return matrices without huge or tiny entries, and the factors that make them `x` again.

    LAPACK scales matrices itself; the libraries of GPUs do not, and return NaN.
    """
    if readable(x) or 0 in x.shape:
        return x, 1.0
    xp, most = namespace(x), float(namespace(x).finfo(x.dtype).max) ** 0.25
    size = without_history(xp.max(xp.abs(x), axis=(-2, -1), keepdims=True))
    extreme = ((size < 1 / most) | (size > most)) & (size > 0) & xp.isfinite(size)
    scale = xp.where(extreme, size, xp.ones_like(size))
    return x / scale, scale[..., 0]


def symmetric_part(x: Array) -> Array:
    """Return (X + X') / 2 for each matrix, halved first so that large entries do not overflow."""
    return 0.5 * x + 0.5 * x.mT


def of_spectrum(method: Callable) -> Callable[..., float]:
    """Make a method that returns a number for each vector of values into one that takes matrices."""

    @wraps(method)
    def of_matrix(self: Spectrum, x: Array) -> float:
        x = self.blocks(x)
        return total(method(self, self.spectrum(x)), self.batch_ndim)

    return of_matrix


def value_of_spectrum(method: Callable) -> Callable[..., float]:
    """Do as `of_spectrum`, with infinity outside of the matrices that the function takes."""
    inside = of_spectrum(method)

    @wraps(method)
    def of_matrix(self: Spectrum, x: Array) -> float:
        return infinite_off_domain(self, inside(self, x), x)

    return of_matrix


def infinite_off_domain(term: Spectrum, value: float, x: Array) -> float:
    """Return the value, and infinity at matrices that the function cannot take."""
    off = term.off_domain(x)
    if isinstance(off, bool | np.bool_):
        return inf if off else value
    return infinite_where(off, value)  # pyright: ignore


def on_spectrum(method: Callable) -> Callable[..., Array]:
    """Make a method that moves vectors of values into one that moves matrices; a second argument is gamma."""
    if method.__code__.co_argcount == 2:

        @wraps(method)
        def of_matrix(self: Spectrum, x: Array) -> Array:
            return self.with_spectrum(self.blocks(x), lambda values: method(self, values))

        return of_matrix

    @wraps(method)
    def with_gamma(self: Spectrum, x: Array, gamma: float) -> Array:
        def move(values: Array) -> Array:
            return method(self, values, self.step(gamma, values))

        return self.with_spectrum(self.blocks(x), move)

    return with_gamma


def small(values: Array, accuracy: float = 1.0) -> Array:
    """Return what rounding does to values of a spectrum: they are known up to this."""
    xp = namespace(values)
    return 8 * accuracy * eps(values) * values.shape[-1] * xp.max(xp.abs(values), axis=-1, keepdims=True)


def infinite_where(outside: Array, numbers: Array) -> Array:
    """Return the numbers, and infinity where the mask holds."""
    xp = namespace(numbers)
    return xp.where(outside, xp.full_like(numbers, inf), numbers)


def cut_tops(values: Array, size: float | Array) -> tuple[Array, Array]:
    """Return top and shift, the axis kept: sum_i max(values_i - top - shift, 0) = size; values in falling order.

    Two numbers, since `size` would drown in the rounding of large values.
    """
    xp = namespace(values)
    top = values[..., :1]
    excess = xp.cumulative_sum(values - top, axis=-1) - size
    count = xp.cumulative_sum(xp.ones_like(values), axis=-1)
    return top, xp.max(excess / count, axis=-1, keepdims=True)


def onto_simplex(values: Array, size: float | Array) -> Array:
    """Return the nearest vector >= 0 whose sum is `size`; values in falling order."""
    top, shift = cut_tops(values, size)
    return positive_part(values - top - shift)


def onto_l1_ball(values: Array, size: float | Array) -> Array:
    """Return the nearest vector whose sum is at most `size`; values >= 0 in falling order."""
    xp = namespace(values)
    return xp.where(xp.sum(values, axis=-1, keepdims=True) <= size, values, onto_simplex(values, size))
