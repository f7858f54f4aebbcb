"""Losses of robust regression: nonconvex functions of the residual r = a_i' x - b_i that outliers hardly move.

All are r^2 / 2 near r = 0 and grow slower than any line, or not at all; u = r / c below. The curvature of each lies
between -1 and 1.
"""

from typing import Self

from trisplit.arrays import Array, Shape, namespace
from trisplit.losses.linear import LinearModel
from trisplit.losses.regression import table
from trisplit.terms.checks import positive

__all__ = ["Cauchy", "GemanMcClure", "StudentT", "Tukey", "Welsch"]


class Robust(LinearModel):
    """A function of r / c; a subclass knows it."""

    convex = False
    curvature = 1.0

    def __init__(self, A: object, b: object, *, c: float = 1.0, ridge: float = 0.0) -> None:
        self.c = positive(c, "c")
        super().__init__(A, b, ridge=ridge)

    @classmethod
    def examples(cls) -> list[tuple[Self, Shape]]:
        A, b = table(cls.__name__)
        return [(cls(A, b, c=0.8), (3,)), (cls(A, b, ridge=0.01), (3,))]


class Tukey(Robust):
    """The mean of Tukey's biweight, (c^2/6) (1 - (1 - u^2)^3) where |u| <= 1 and c^2/6 beyond, u = (a_i' x - b_i) / c.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
    c : float
        Residuals beyond it have no effect.
    ridge : float

    References
    ----------
    Beaton, Tukey (1974), The fitting of power series, meaning polynomials, illustrated on band-spectroscopic data.

    Examples
    --------
    >>> import numpy as np
    >>> Tukey(np.eye(2), np.array([1.0, 50.0]), c=2.0).grad(np.zeros(2))
    array([-0.28125,  0.     ])
    """

    def __init__(self, A: object, b: object, *, c: float = 4.685, ridge: float = 0.0) -> None:
        super().__init__(A, b, c=c, ridge=ridge)

    def _square(self, p: Array, b: Array) -> Array:
        return namespace(p).clip(((p - b) / self.c) ** 2, None, 1.0)

    def phi(self, p: Array, b: Array) -> Array:
        """Return (c^2/6) (1 - (1 - t)^3), t = min(u^2, 1), expanded: small residuals lose no digits."""
        t = self._square(p, b)
        return (self.c**2 / 6) * t * (3.0 - t * (3.0 - t))

    def slope(self, p: Array, b: Array) -> Array:
        """Return r (1 - u^2)^2."""
        return (p - b) * (1.0 - self._square(p, b)) ** 2


class Welsch(Robust):
    """The mean of (c^2/2) (1 - exp(-u^2)), u = (a_i' x - b_i) / c, also known as correntropy loss.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
    c : float
        How large residuals of usual samples are.
    ridge : float

    References
    ----------
    Holland, Welsch (1977), Robust regression using iteratively reweighted least-squares.

    Examples
    --------
    >>> import numpy as np
    >>> Welsch(np.eye(2), np.array([1.0, 50.0]), c=1.0).grad(np.zeros(2)).round(4) + 0.0
    array([-0.1839,  0.    ])
    """

    def __init__(self, A: object, b: object, *, c: float = 2.985, ridge: float = 0.0) -> None:
        super().__init__(A, b, c=c, ridge=ridge)

    def phi(self, p: Array, b: Array) -> Array:
        """Return (c^2/2) (1 - exp(-u^2))."""
        return (-0.5 * self.c**2) * namespace(p).expm1(-(((p - b) / self.c) ** 2))

    def slope(self, p: Array, b: Array) -> Array:
        """Return r exp(-u^2)."""
        return (p - b) * namespace(p).exp(-(((p - b) / self.c) ** 2))


class GemanMcClure(Robust):
    """The mean of (c^2/2) u^2 / (1 + u^2), u = (a_i' x - b_i) / c.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
    c : float
        How large residuals of usual samples are.
    ridge : float

    References
    ----------
    Geman, McClure (1987), Statistical methods for tomographic image reconstruction.

    Examples
    --------
    >>> import numpy as np
    >>> GemanMcClure(np.eye(2), np.array([1.0, 3.0])).grad(np.zeros(2))
    array([-0.125, -0.015])
    """

    name = "geman_mcclure"

    def phi(self, p: Array, b: Array) -> Array:
        """Return (1/2) r^2 / (1 + u^2)."""
        u = (p - b) / self.c
        return (0.5 * self.c**2) * (u * u / (1.0 + u * u))

    def slope(self, p: Array, b: Array) -> Array:
        """Return r / (1 + u^2)^2."""
        return (p - b) / (1.0 + ((p - b) / self.c) ** 2) ** 2


class Cauchy(Robust):
    """The mean of (c^2/2) log(1 + u^2), u = (a_i' x - b_i) / c, also known as Lorentzian loss.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
    c : float
        How large residuals of usual samples are.
    ridge : float

    References
    ----------
    Black, Anandan (1996), The robust estimation of multiple motions: parametric and piecewise-smooth flow fields.

    Examples
    --------
    >>> import numpy as np
    >>> Cauchy(np.eye(2), np.array([1.0, 3.0]), c=1.0).grad(np.zeros(2))
    array([-0.25, -0.15])
    """

    def __init__(self, A: object, b: object, *, c: float = 2.385, ridge: float = 0.0) -> None:
        super().__init__(A, b, c=c, ridge=ridge)

    def phi(self, p: Array, b: Array) -> Array:
        """Return (c^2/2) log(1 + u^2)."""
        return (0.5 * self.c**2) * namespace(p).log1p(((p - b) / self.c) ** 2)

    def slope(self, p: Array, b: Array) -> Array:
        """Return r / (1 + u^2)."""
        return (p - b) / (1.0 + ((p - b) / self.c) ** 2)


class StudentT(LinearModel):
    """The mean of ((nu + 1) / 2) log(1 + r^2 / (nu c^2)), r = a_i' x - b_i: errors follow Student's t-distribution.

    The negative log-likelihood up to a constant, for `nu` degrees of freedom and the scale `c`.

    Parameters
    ----------
    A : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    b : array (n,)
    nu, c : float
    ridge : float

    References
    ----------
    Lange, Little, Taylor (1989), Robust statistical modeling using the t distribution.

    Examples
    --------
    >>> import numpy as np
    >>> f = StudentT(np.eye(2), np.array([1.0, 3.0]), nu=3.0)
    >>> f.grad(np.zeros(2)).round(6), round(f.lipschitz, 6)
    (array([-0.5, -0.5]), 0.666667)
    """

    convex = False

    def __init__(self, A: object, b: object, *, nu: float = 4.0, c: float = 1.0, ridge: float = 0.0) -> None:
        self.nu, self.c = positive(nu, "nu"), positive(c, "c")
        super().__init__(A, b, ridge=ridge)

    @property
    def curvature(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """(nu + 1) / (nu c^2), that at r = 0."""
        return (self.nu + 1) / (self.nu * self.c**2)

    def phi(self, p: Array, b: Array) -> Array:
        """Return ((nu + 1) / 2) log(1 + r^2 / (nu c^2))."""
        return (0.5 * (self.nu + 1)) * namespace(p).log1p((p - b) ** 2 / (self.nu * self.c**2))

    def slope(self, p: Array, b: Array) -> Array:
        """Return (nu + 1) r / (nu c^2 + r^2)."""
        return (self.nu + 1) * (p - b) / (self.nu * self.c**2 + (p - b) ** 2)

    @classmethod
    def examples(cls) -> list[tuple["StudentT", Shape]]:
        A, b = table(cls.__name__)
        return [(cls(A, b, nu=1.5, c=0.4), (3,)), (cls(A, b, ridge=0.01), (3,))]
