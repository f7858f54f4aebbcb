"""Total variation of images."""

from dataclasses import dataclass
from math import cos, pi, prod

import numpy as np

from trisplit.arrays import Array, Shape, as_host, namespace
from trisplit.arrays.batched import total
from trisplit.errors import InputError
from trisplit.terms.base import ConvexFunction
from trisplit.terms.blocks import on_the_host
from trisplit.terms.checks import nonnegative_weight, yes_or_no
from trisplit.terms.numbers import row_norms
from trisplit.terms.structured.interior import primal_dual

__all__ = ["ImageTotalVariation"]

TOL = 1e-7  # certified distance to the proximal point, relative to that of x to its mean
WORK = 60_000_000  # steps of the fast gradient method times pixels
DENSE = 256  # pixels up to which dense matrices are faster


@dataclass(frozen=True)
class ImageTotalVariation(ConvexFunction):
    """Total variation of an image or a volume, weight * sum_i ||(D x)_i|| with the differences at i along all axes.

    The norm is Euclidean (isotropic), or the sum of absolute values (anisotropic). x has two or three axes.

    The anisotropic proximal map is exact, by maximal flows. The isotropic one iterates until the gap certifies a
    relative error of 1e-7: a fast gradient method on the dual, and where it is slow, Newton's method with sparse
    matrices. Both are computed on the host.

    Parameters
    ----------
    weight : float
        Nonnegative.
    isotropic : bool
        Which of the two.

    References
    ----------
    Rudin, Osher, Fatemi (1992), Nonlinear total variation based noise removal algorithms.
    Beck, Teboulle (2009), Fast gradient-based algorithms for constrained total variation image denoising and
    deblurring problems.
    Chan, Golub, Mulet (1999), A nonlinear primal-dual method for total variation-based image restoration.
    Chambolle, Darbon (2009), On total variation minimization and surface evolution using parametric maximum flows.

    Examples
    --------
    >>> import numpy as np
    >>> ImageTotalVariation(1.0, isotropic=False).prox(np.array([[4.0, 0.0], [0.0, 0.0]]), gamma=0.5)
    array([[3.        , 0.33333333],
           [0.33333333, 0.33333333]])
    """

    weight: float = 1.0
    isotropic: bool = True
    broadcast = ()
    cost = "n^1.5"
    accuracy = 1e7
    host = "flows and sparse matrices"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", nonnegative_weight(self.weight))
        object.__setattr__(self, "isotropic", yes_or_no(self.isotropic, "isotropic"))

    def value(self, x: Array) -> float:
        """Return weight times the sum of the norms of the differences."""
        xp, k = namespace(x), self.batch_ndim
        self._own(x.shape)
        jumps = []
        for axis in range(k, x.ndim):
            before, after = [(slice(None),) * axis + (part, ...) for part in (slice(-1), slice(1, None))]
            last = x[(slice(None),) * axis + (slice(-1, None), ...)]
            jumps.append(xp.concat([x[after] - x[before], xp.zeros_like(last)], axis=axis))
        field = xp.stack(jumps, axis=-1)
        norms = row_norms(field)[..., 0] if self.isotropic else xp.sum(xp.abs(field), axis=-1)
        return self.weight * total(norms, k)

    def prox(self, x: Array, gamma: float) -> Array:
        """Return the proximal points of the images, computed on the host."""
        own, k = self._own(x.shape), self.batch_ndim

        def of_all(images: np.ndarray) -> np.ndarray:
            gammas = np.asarray(as_host(gamma), dtype=float)
            if gammas.ndim:
                gammas = gammas.reshape(gammas.shape[:k])
            lams = np.broadcast_to(self.weight * gammas, images.shape[:k]).ravel()
            flat = np.ascontiguousarray(images, dtype=float).reshape(-1, *own)
            if self.isotropic:
                found = np.array([isotropic(y, lam) for y, lam in zip(flat, lams.tolist(), strict=True)])
                return found.reshape(images.shape)
            from trisplit.terms.structured.graphs import on_a_graph

            edges = grid(own)
            return on_a_graph(flat.reshape(-1, prod(own)), lams, edges, np.ones(len(edges))).reshape(images.shape)

        return on_the_host(self, of_all, x)

    def lipschitz(self, shape: Shape) -> float:
        """Return the slope at a checkerboard, exact without isotropy; with it, an upper bound."""
        own = self._own(shape)
        degrees = sum(np.meshgrid(*(np.r_[0, np.ones(n - 1)] + np.r_[np.ones(n - 1), 0] for n in own), indexing="ij"))
        checkerboard = float(np.linalg.norm(degrees))
        if not self.isotropic:
            return self.weight * checkerboard
        largest = sum(2.0 - 2.0 * cos(pi * (n - 1) / n) for n in own)  # the largest eigenvalue of D'D
        return self.weight * min(checkerboard, (largest * prod(own)) ** 0.5)

    def _own(self, shape: Shape) -> Shape:
        own = tuple(shape[self.batch_ndim :])
        if len(own) not in (2, 3) or 0 in own:
            came = f"ImageTotalVariation needs an image or a volume, got x of shape {own}"
            raise InputError(f"{came}; reshape x0, or take `TotalVariation` for a vector")
        return own

    @classmethod
    def examples(cls) -> list[tuple["ImageTotalVariation", Shape]]:
        return [(cls(0.5), (3, 3)), (cls(0.3, isotropic=False), (2, 4)), (cls(0.4), (2, 3, 2))]


def grid(shape: Shape) -> np.ndarray:
    """Return the pairs of neighbours in an array of that shape, as numbers of entries."""
    places = np.arange(prod(shape)).reshape(shape)
    return np.concatenate([_pairs(np.moveaxis(places, axis, 0)) for axis in range(len(shape))])


def _pairs(places: np.ndarray) -> np.ndarray:
    return np.stack([places[:-1].ravel(), places[1:].ravel()], axis=1)


def isotropic(y: np.ndarray, lam: float) -> np.ndarray:
    """Return argmin lam * sum_i ||(D p)_i|| + ||p - y||^2 / 2, within `TOL`."""
    if not (np.isfinite(y).all() and lam == lam):
        return np.full(y.shape, np.nan)
    top = float(np.max(np.abs(y)))
    if lam == 0 or top == 0:
        return y
    mean = float(np.mean(y / top))
    rest = y / top - mean
    size = float(np.max(np.abs(rest)))
    if size <= 1e-15:
        return y
    rest, lam = np.ascontiguousarray(rest / size).reshape((1,) * (3 - y.ndim) + y.shape), lam / top / size
    if lam >= _enough(rest):
        return np.full(y.shape, top * mean)
    from trisplit.kernels.tv2d import prox_image

    tol = 0.5 * (TOL * float(np.linalg.norm(rest))) ** 2
    u, p = np.zeros((3, *rest.shape)), np.empty(rest.shape)
    gap, _ = prox_image(rest, lam, tol, min(max(WORK // rest.size, 200), 5000), u, p)
    if gap > tol:
        q, better = newton(rest, lam, tol)
        p = q if better < gap else p
    return top * (mean + size * p.reshape(y.shape))


def _enough(y: np.ndarray) -> float:
    """Return a lam for which the proximal point is the mean: the length of a field u with D'u = y, of mean 0."""
    from scipy.fft import dctn, idctn

    waves = np.asarray(dctn(y, norm="ortho"))
    angles = np.meshgrid(*(np.arange(n) * (pi / (2 * n)) for n in y.shape), indexing="ij")
    eigenvalues = np.sum([4.0 * np.sin(angle) ** 2 for angle in angles], axis=0)
    eigenvalues[0, 0, 0] = 1.0
    waves[0, 0, 0] = 0.0
    potential = np.asarray(idctn(waves / eigenvalues, norm="ortho"))
    squares = np.zeros(y.shape)
    for axis in range(3):
        squares += np.diff(potential, axis=axis, append=np.take(potential, [-1], axis=axis)) ** 2
    return float(np.sqrt(squares.max()))


def newton(y: np.ndarray, lam: float, tol: float) -> tuple[np.ndarray, float]:
    """Return the proximal point by Newton's method, and the gap."""
    import scipy.sparse as sparse
    from scipy.sparse.linalg import splu

    n = y.size
    parts = []
    for axis, length in enumerate(y.shape):
        if length > 1:
            last = np.arange(length) == length - 1
            path = sparse.diags_array(np.where(last, 0.0, -1.0)) + sparse.eye_array(length, k=1)
            ahead, behind = prod(y.shape[:axis]), prod(y.shape[axis + 1 :])
            part = sparse.kron(sparse.kron(sparse.eye_array(ahead), path), sparse.eye_array(behind)).tocsr()
            parts.append(part.toarray() if n <= DENSE else part)

    def D(x: np.ndarray) -> np.ndarray:
        return np.stack([part @ x for part in parts])

    def Dt(u: np.ndarray) -> np.ndarray:
        return np.sum([part.T @ own for part, own in zip(parts, u, strict=True)], axis=0)

    def solve(W: np.ndarray, b: np.ndarray) -> np.ndarray:
        if n <= DENSE:
            A = np.eye(n)
            for left, row in zip(parts, W, strict=True):
                A += left.T @ sum(w[:, None] * right for right, w in zip(parts, row, strict=True))
            return np.linalg.solve(A, b)
        A = sparse.eye_array(n)
        for left, row in zip(parts, W, strict=True):
            A = A + left.T @ sum(sparse.diags_array(w) @ right for right, w in zip(parts, row, strict=True))
        symmetric = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        return splu(A.tocsc(), **symmetric).solve(b)

    p, _, gap = primal_dual(y.ravel(), lam, D, Dt, solve, tol)
    return p, gap
