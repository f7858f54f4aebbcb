"""Mixtures of distributions: samples come from one of several groups, and nobody knows from which."""

from math import log, pi

import numpy as np

from trisplit.arrays import Array, Shape, namespace
from trisplit.losses.base import FiniteSum, as_number
from trisplit.losses.classification import log_sum_exp, softmax
from trisplit.losses.samples import Samples
from trisplit.terms.checks import positive, whole

__all__ = ["GaussianMixture"]


class GaussianMixture(FiniteSum):
    """The mean of -log(sum_k w_k N(y_i; mu_k, sigma^2 I)), x = (mu, l) of shape (K, d + 1), w the softmax of the l_k.

    A row of x is a centre mu_k and, in the last column, the logarithm l_k of its weight, up to a constant that all
    rows share. No smoothness constant holds everywhere.

    Parameters
    ----------
    Y : array (n, d), sparse matrix or memory-mapped file
        One sample in each row.
    components : int
        K.
    sigma : float
        The standard deviation of each component in each direction.

    References
    ----------
    Jin, Zhang, Balakrishnan, Wainwright, Jordan (2016), Local maxima in the likelihood of Gaussian mixture models.

    Examples
    --------
    >>> import numpy as np
    >>> f = GaussianMixture(np.array([[0.0], [2.0]]), components=1)
    >>> x = np.array([[0.0, 0.0]])
    >>> round(f.value(x), 6), f.grad(x)
    (1.918939, array([[-1.,  0.]]))
    """

    convex = False

    def __init__(self, Y: object, components: int, *, sigma: float = 1.0) -> None:
        self.samples = Y if isinstance(Y, Samples) else Samples(Y, "Y")
        self.n, d = self.samples.n, self.samples.width
        self.components, self.sigma = whole(components, "components"), positive(sigma, "sigma")
        self.shape = (self.components, d + 1)
        # What does not depend on x: log (2 pi sigma^2)^(d/2), and the mean of ||y_i||^2 / (2 sigma^2).
        squares = float(self.samples.squared_lengths.mean()) / (2 * self.sigma**2)
        self._constant = 0.5 * d * log(2 * pi * self.sigma**2) + squares

    def _log_densities(self, part: Array, x: Array) -> Array:
        """Return log(w_k) + (y_i' mu_k - ||mu_k||^2 / 2) / sigma^2 for some samples and all k, up to the constant."""
        xp = namespace(x)
        centres, logs = x[:, :-1], x[:, -1]
        heights = logs - 0.5 * xp.sum(centres * centres, axis=1) / self.sigma**2 - log_sum_exp(logs[None, ...])
        return part @ (centres.T / self.sigma**2) + heights[None, :]

    def value(self, x: Array) -> float:
        """Return f(x)."""
        self.check(x)
        samples, xp = self.samples.like(x), namespace(x)
        total = sum(xp.sum(log_sum_exp(self._log_densities(samples.part(rows), x))) for rows in samples.blocks())
        return as_number(self._constant - total / self.n)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both in one pass over the samples."""
        self.check(x)
        xp = namespace(x)

        def compute(part: Array, rows: slice) -> tuple[float, Array]:
            logs = self._log_densities(part, x)
            r = softmax(logs)  # how likely each sample belongs to each component
            return xp.sum(log_sum_exp(logs)), xp.concat([(part.T @ r).T, xp.sum(r, axis=0)[:, None]], axis=1)

        total, sums = self.samples.like(x).through(compute)
        shares = sums[:, -1:] / self.n
        of_centres = (shares * x[:, :-1] - sums[:, :-1] / self.n) / self.sigma**2
        grad = xp.concat([of_centres, softmax(x[:, -1][None, ...]).T - shares], axis=1)
        return as_number(self._constant - total / self.n), grad

    def sample_grads(self, x: Array, rows: np.ndarray) -> Array:
        """Return the gradients of some samples."""
        self.check(x)
        xp, part = namespace(x), self.samples.like(x).dense(self.check_rows(rows))
        r = softmax(self._log_densities(part, x))[:, :, None]
        of_centres = r * (x[None, :, :-1] - part[:, None, :]) / self.sigma**2
        weights = softmax(x[:, -1][None, ...])[:, :, None]
        return xp.concat([of_centres, weights - r], axis=2)

    @classmethod
    def examples(cls) -> list[tuple["GaussianMixture", Shape]]:
        rng = np.random.default_rng(6)
        Y = rng.standard_normal((8, 2)) + 3 * rng.integers(0, 2, (8, 1))
        return [(cls(Y, 3), (3, 3)), (cls(Y, 2, sigma=0.7), (2, 3))]
