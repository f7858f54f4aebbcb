"""The problems of the core benchmark: f smooth with a known constant, two nonsmooth terms, seeded data.

1. *Overlapping group lasso*, the problem of copt's gallery: logistic loss, 100 samples, 1002 features, 125 groups of 10
   neighbours that share 2 features with the next group.
2. *Sparse and low-rank*: a matrix with few blocks that are not zero from random linear measurements, by the nuclear
   norm and the L1 norm.
3. *Total variation deblurring*: an image from its blurred and noisy version, by total variation along columns and rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

import trisplit as ts
from trisplit.problems.problem import Term

Array = np.ndarray
ValueAndSlope = Callable[[Array], tuple[float, Array]]


class Loss:
    """f(x) = loss(A x) for a linear map A, with calls counted; x has any shape."""

    def __init__(self, apply: Callable, adjoint: Callable, loss: Callable, slope: Callable, lipschitz: float) -> None:
        self.apply, self.adjoint, self.loss, self.slope = apply, adjoint, loss, slope
        self.lipschitz, self.values, self.grads = lipschitz, 0, 0

    def value(self, x: Array) -> float:
        self.values += 1
        return self.loss(self.apply(x))

    def grad(self, x: Array) -> Array:
        self.grads += 1
        return self.adjoint(self.slope(self.apply(x)))

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        self.values += 1
        self.grads += 1
        Ax = self.apply(x)
        return self.loss(Ax), self.adjoint(self.slope(Ax))


@dataclass(eq=False)
class Problem:
    """f + g + h; `weight_g` and `weight_h` are those of the terms, for libraries that bring their own maps.

    `prox_f` is the proximal map of f where there is a formula; `groups` are those of g and of h.
    """

    name: str
    f: Loss
    g: Term
    h: Term
    x0: Array
    weight_g: float
    weight_h: float
    prox_f: Callable[[Array, float], Array] | None = None
    groups: tuple[list[Array], list[Array]] | None = None

    def phi(self, x: Array) -> float:
        """Return f + g + h."""
        x = x.reshape(self.x0.shape)
        return float(self.f.loss(self.f.apply(x)) + self.g.value(x) + self.h.value(x))

    def reference(self, max_iter: int) -> tuple[float, int]:
        """Return the least value of a long run with step="auto", and its iterations."""
        best = np.inf

        def see(made: ts.Iterate) -> None:
            nonlocal best
            if made.t % 10 == 0:
                best = min(best, self.phi(made.z))

        result = ts.minimize(self.f, self.x0, (self.g, self.h), tol=1e-11, max_iter=max_iter, callback=see)
        return min(best, self.phi(result.x)), result.nit


def group_lasso(beta: float, samples: int = 100, groups: int = 125) -> Problem:
    """Return the gallery problem: correlated features, 10 groups that matter, labels with noise."""
    rng = np.random.RandomState(0)
    members = [np.arange(8 * i, 8 * i + 10) for i in range(groups)]
    p, rho = 8 * groups + 2, 0.95
    truth = np.zeros(p)
    for i in rng.randint(0, groups, 10):
        truth[members[i]] = rng.randn()
    A = rng.randn(samples, p)
    for i in range(1, p):
        A[:, i] = rho * A[:, i] + (1 - rho) * A[:, i - 1]
    A[:, 0] /= np.sqrt(1 - rho**2)
    A = (A - A.mean(axis=0)) / A.std(axis=0)
    signs = np.sign(A @ truth + rng.randn(samples))
    f = Loss(
        A.dot,
        A.T.dot,
        lambda scores: float(np.logaddexp(0, -signs * scores).mean()),
        lambda scores: -signs * expit(-signs * scores) / samples,
        float(np.linalg.norm(A, 2)) ** 2 / (4 * samples),
    )
    g, h = ts.terms.GroupL2.split([group.tolist() for group in members], beta)
    return Problem(
        f"group lasso, beta = {beta:g}", f, g, h, np.zeros(p), beta, beta, groups=(members[::2], members[1::2])
    )


def sparse_low_rank(size: int = 40, measurements: int = 800) -> Problem:
    """Return the recovery of a matrix of rank 3 with 3 blocks from noisy random measurements."""
    rng = np.random.default_rng(1)
    truth = np.zeros((size, size))
    for block in np.split(np.arange(3 * (size // 4)), 3):
        truth[np.ix_(block, block)] = np.outer(rng.uniform(0.5, 1.5, len(block)), rng.uniform(0.5, 1.5, len(block)))
    A = rng.standard_normal((measurements, size * size)) / np.sqrt(measurements)
    noise = 0.1
    b = A @ truth.reshape(-1) + noise * rng.standard_normal(measurements)
    f = Loss(
        lambda X: A @ X.reshape(-1) - b,
        lambda r: (A.T @ r).reshape(size, size),
        lambda r: 0.5 * float(r @ r),
        lambda r: r,
        float(np.linalg.norm(A, 2)) ** 2,
    )
    # Half of what each penalty alone would need to exceed A'(noise): its largest entry and its largest singular value.
    weight_g, weight_h = noise * np.sqrt(2 * np.log(size**2)) / 2, noise * np.sqrt(size)
    g, h = ts.terms.L1(weight_g), ts.terms.NuclearNorm(weight_h)
    return Problem("sparse and low-rank", f, g, h, np.zeros((size, size)), weight_g, weight_h)


def deblurring(size: int = 128) -> Problem:
    """Return the deblurring of a picture of rectangles and discs; the blur is a Gaussian, periodic, by FFT."""
    rng = np.random.default_rng(2)
    rows, columns = np.mgrid[:size, :size] / size
    picture = 0.2 + 0.0 * rows
    for _ in range(6):
        (top, left), (height, width) = rng.uniform(0.05, 0.7, 2), rng.uniform(0.1, 0.3, 2)
        inside = (rows >= top) & (rows < top + height) & (columns >= left) & (columns < left + width)
        picture[inside] = rng.uniform()
    for _ in range(3):
        row, column, radius = *rng.uniform(0.2, 0.8, 2), rng.uniform(0.05, 0.15)
        picture[(rows - row) ** 2 + (columns - column) ** 2 < radius**2] = rng.uniform()
    distance = np.minimum(np.arange(size), size - np.arange(size))
    line = np.exp(-0.5 * (distance / 1.5) ** 2)
    spectrum = np.fft.rfft2(np.outer(line, line) / line.sum() ** 2).real  # the kernel is symmetric

    blurred = np.fft.irfft2(spectrum * np.fft.rfft2(picture), s=picture.shape)
    B = np.fft.rfft2(blurred + 0.01 * rng.standard_normal((size, size)))
    # Residuals stay in the Fourier domain: a gradient takes two transforms, a value one. The columns that rfft2 leaves
    # out are conjugates of others and count by them.
    twice = np.full(B.shape[1], 2.0)
    twice[0] = twice[-1] = 1.0
    f = Loss(
        lambda x: spectrum * np.fft.rfft2(x) - B,
        lambda R: np.fft.irfft2(spectrum * R, s=(size, size)),
        lambda R: 0.5 * float(np.vdot(R, R * twice).real) / size**2,
        lambda R: R,
        1.0,
    )
    weight = 0.002
    g, h = ts.terms.TotalVariation(weight, axis=0), ts.terms.TotalVariation(weight, axis=1)

    def prox_f(x: Array, gamma: float) -> Array:
        transformed = (np.fft.rfft2(x) + gamma * spectrum * B) / (1 + gamma * spectrum**2)
        return np.fft.irfft2(transformed, s=x.shape)

    return Problem("TV deblurring", f, g, h, np.zeros((size, size)), weight, weight, prox_f)
