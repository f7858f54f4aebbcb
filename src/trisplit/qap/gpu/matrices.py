"""The tangent form of a quadratic assignment problem, scaled by the step, as tensors on a device."""

import warnings
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from trisplit.qap.matrices import Matrix, as_csr, as_dense, centred, is_sparse
from trisplit.qap.objective import Tangent

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]
    from torch import Tensor  # pyright: ignore[reportMissingImports]

THIN = 0.006  # the share of entries up to which a sparse matrix stays one: with more, dense products are faster
HALF = 6e4  # the largest number of float16, about


@dataclass(frozen=True, eq=False)
class Scaled:
    """A tangent form with gamma worked into its matrices: gamma grad f_tan(z) = A z B' (+ A' z B) + g0.

    Attributes
    ----------
    A, B : Tensor of shape (n, n)
        Dense and doubly centred; or sparse and not centred, as in `Tangent`.
    At, Bt : Tensor or None
        The transposed matrices, where the second product is needed.
    g0 : Tensor of shape (n, n)
    mu : Tensor
        gamma mu of the growing concavity, by iteration; the last one stays.
    gamma, constant : float
    tf32 : bool
        Whether products may round what they multiply to 11 significant bits.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from trisplit.qap import Objective
    >>> f = Objective(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[0.0, 5.0], [5.0, 0.0]])).tangent()
    >>> form = Scaled.of(f, np.zeros(1), "cpu", torch.float64)
    >>> z = torch.eye(2, dtype=torch.float64)[None]
    >>> torch.allclose(form.bent(z) / form.gamma, torch.tensor([[5.0, -5.0], [-5.0, 5.0]], dtype=torch.float64))
    True
    >>> form.value(z, form.bent(z)).tolist()
    [10.0]
    """

    A: Any
    B: Any
    At: Any
    Bt: Any
    g0: Any
    mu: Any
    gamma: float
    constant: float
    tf32: bool

    @classmethod
    def of(
        cls, tangent: Tangent, mu: np.ndarray, device: "torch.device | str", dtype: "torch.dtype", *, tf32: bool = False
    ) -> "Scaled":
        """Return a form on a device; `mu` is not scaled yet."""
        import torch  # pyright: ignore[reportMissingImports]

        largest, _ = tangent.curvature()
        gamma = 1.0 / (largest or float(np.abs(tangent.g0).max()) or 1.0)
        tops = [float(abs(M).max()) or 1.0 for M in (tangent.A, tangent.B)]
        share = sqrt(gamma * (2.0 if tangent.symmetric else 1.0))
        scales = share * sqrt(tops[1] / tops[0]), share * sqrt(tops[0] / tops[1])

        def tensor(M: np.ndarray) -> "Tensor":
            return torch.as_tensor(np.ascontiguousarray(M), device=device).to(dtype)

        def scaled(M: Matrix, scale: float) -> "Tensor":
            if not is_sparse(M):
                return tensor(M * scale)
            csr: Any = as_csr(M)
            if csr.nnz > THIN * csr.shape[0] ** 2:
                return tensor(centred(as_dense(M).astype(float)) * scale)
            parts = csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data * scale
            starts, columns, numbers = (torch.as_tensor(part, device=device) for part in parts)
            with warnings.catch_warnings():  # that support for them is in beta state
                warnings.filterwarnings("ignore", "Sparse CSR", UserWarning)
                return torch.sparse_csr_tensor(starts, columns, numbers.to(dtype), csr.shape, check_invariants=True)

        matrices = [tangent.A, tangent.B] if tangent.symmetric else [tangent.A, tangent.B, tangent.A.T, tangent.B.T]
        A, B, *transposed = (scaled(M, scale) for M, scale in zip(matrices, 2 * scales, strict=False))
        At, Bt = transposed or (None, None)
        return cls(A, B, At, Bt, tensor(gamma * tangent.g0), tensor(gamma * mu), gamma, tangent.constant, tf32)

    @property
    def n(self) -> int:
        return self.g0.shape[0]

    @property
    def symmetric(self) -> bool:
        """Whether A z B' is all."""
        return self.At is None

    @property
    def is_sparse(self) -> bool:
        """Whether A or B is sparse."""
        return _is_sparse(self.A) or _is_sparse(self.B)

    @property
    def fits_half(self) -> bool:
        """Whether A z and all entries are in the range of float16; they are unless A z B' and A' z B nearly cancel."""
        if self.is_sparse:
            return False
        sums = [self.A.abs().sum(axis).max() for axis in (0, 1)]
        return max(map(float, (*sums, self.B.abs().max()))) < HALF

    def bent(self, z: "Tensor") -> "Tensor":
        """Return gamma times the gradient of the quadratic part at each z of shape (starts, n, n)."""
        if not self.is_sparse:
            bent = self.A @ z @ self.B.mT
            return bent if self.symmetric else bent + self.At @ z @ self.Bt.mT
        return self.bent_in_rows(z.transpose(0, 1).contiguous()).transpose(0, 1)

    def bent_in_rows(self, z: "Tensor") -> "Tensor":
        """Return the same for z of shape (n, starts, n)."""
        bent = _right(_left(self.A, z), self.B)
        return bent if self.symmetric else bent + _right(_left(self.At, z), self.Bt)

    def value(self, z: "Tensor", bent: "Tensor") -> "Tensor":
        """Return f_tan at each z of shape (starts, n, n), given `bent(z)`."""
        return self.constant + ((0.5 * bent + self.g0) * z).sum((-2, -1)) / self.gamma


def _is_sparse(M: "Tensor") -> bool:
    import torch  # pyright: ignore[reportMissingImports]

    return M.layout != torch.strided


def _left(A: "Tensor", z: "Tensor") -> "Tensor":
    """Return Ac z for z of shape (n, starts, n)."""
    flat = z.reshape(len(z), -1)
    if not _is_sparse(A):
        return (A @ flat).view(z.shape)
    product = A @ (flat - flat.mean(0))
    return (product - product.mean(0)).view(z.shape)


def _right(z: "Tensor", B: "Tensor") -> "Tensor":
    """Return z Bc' for z of shape (n, starts, n)."""
    if not _is_sparse(B):
        return z @ B.mT
    flat = z.reshape(-1, z.shape[-1])
    product = (B @ (flat - flat.mean(1, keepdim=True)).mT.contiguous()).mT
    return (product - product.mean(1, keepdim=True)).reshape(z.shape)
