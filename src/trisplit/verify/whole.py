"""A quadratic assignment problem in integers, and what all certificates of bounds have in common."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


class WrongError(Exception):
    """A claim does not hold; the message says which, in one line.

    Examples
    --------
    >>> issubclass(WrongError, Exception)
    True
    """


@dataclass(frozen=True, eq=False)
class Whole:
    """A problem in integers: arrays of Python integers, and the exponent of two by which costs were multiplied."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    exponent: int

    @property
    def n(self) -> int:
        return len(self.A)

    def symmetric_form(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return A + A', B + B', 4 C, whose costs are 4 times those of A, B, C if one matrix is symmetric."""
        if not (is_symmetric(self.A) or is_symmetric(self.B)):
            raise WrongError("the certificate is for symmetric matrices, neither A nor B is")
        return self.A + self.A.T, self.B + self.B.T, 4 * self.C


def checked_duals(certificate: Mapping, costs: np.ndarray, scale: int) -> int:
    """Return sum u + sum v if scale (u_i + v_k) <= costs_ik for all i, k; scale times it bounds all assignments."""
    n = len(costs)
    u, v = (integers(certificate, label, (n,)) for label in "uv")
    over = scale * (u[:, None] + v[None, :]) > costs
    if over.any():
        i, k = np.argwhere(over)[0]
        raise WrongError(
            f"the certificate's dual variables are not feasible: u[{i}] + v[{k}] exceeds the cost of that pair"
        )
    return int(u.sum() + v.sum())


def integers(certificate: Mapping, label: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return an entry of the certificate as an array of Python integers of that shape, or raise `WrongError`."""
    value = certificate.get(label)
    array = np.empty(shape, dtype=object)
    if not _has_shape(value, shape):
        raise WrongError(f"the certificate's {label} must be integers of shape {shape}")
    array[...] = value
    return array


def _has_shape(value: object, shape: tuple[int, ...]) -> bool:
    if not shape:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, list) and len(value) == shape[0] and all(_has_shape(x, shape[1:]) for x in value)


def is_symmetric(M: np.ndarray) -> bool:
    """Return whether M equals its transpose."""
    return bool((M == M.T).all())
