"""What swaps change, for many permutations at once, in torch: see `kernels/swaps.py` for the form.

Integers are exact modulo 2^32 or 2^64, as there: W by products in float64 where no sum can reach 2^53, else by one
product of integers a row.
"""

from typing import TYPE_CHECKING

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

from trisplit.kernels.swaps import NEVER

if TYPE_CHECKING:
    from trisplit.qap.swap_form import SwapForm

WHOLE = 16  # rows are as long as a multiple of so many numbers
EXACT = 2**53
NUMBERS = {"i4": torch.int32, "i8": torch.int64, "f8": torch.float64}


class Tables:
    """The arrays of a problem on a device.

    Parameters
    ----------
    form : SwapForm
    device : torch.device

    Examples
    --------
    >>> from trisplit import qap
    >>> from trisplit.qap.swap_form import swap_form
    >>> tables = Tables(swap_form(qap.load("nug12")), torch.device("cpu"))
    >>> tables.changes(torch.arange(12)[None])[0, 0, :4]
    tensor([  0,  -6, -10,  26], dtype=torch.int32)
    """

    def __init__(self, form: "SwapForm", device: torch.device) -> None:
        n = self.n = form.n
        width = self.width = -(-n // WHOLE) * WHOLE
        self.device = torch.device(device)
        self.number = NUMBERS[form.kind]
        self.worth = torch.float64 if form.kind == "f8" else torch.int64

        def there(M: np.ndarray) -> torch.Tensor:
            return torch.from_numpy(np.ascontiguousarray(M[..., :width])).to(self.device)

        self.L, self.R, self.S, self.T, self.D = map(there, (form.L, form.R, form.S, form.T, form.D))
        self.limits = torch.tensor([form.top, -form.top, form.tiny, 0], dtype=self.worth, device=self.device)
        self.top, self.tiny = form.top, form.tiny
        barred = np.ones((n, width), dtype=np.int8)
        barred[:, :n] = (form.X[:, :n] == NEVER) & (form.X[:, :n].T == NEVER)
        self.barred = there(barred)
        self.u, self.v, X = (there(M) for M in folded(n, width))
        self.X = torch.where(self.barred[self.u.clamp(max=n - 1), self.v] != 0, NEVER, X)
        sizes = [float(np.abs(M.astype(float)).sum(axis=-1).max()) for M in form.L]
        largest = sum(sizes) * float(np.abs(form.R.astype(float)).max()) + float(np.abs(form.D.astype(float)).max())
        self.by_floats = form.kind == "f8" or largest < EXACT
        if self.by_floats:
            self.wide = tuple(M.to(torch.float64) for M in (self.L[..., :n], self.R, self.D))

    def paid(self, p: torch.Tensor) -> torch.Tensor:
        """Return W for each permutation p of a batch (size, n), with rows of length `width`."""
        if self.by_floats:
            L, R, D = self.wide
            W = D + sum(L[t] @ R[t][p] for t in range(len(L)))
            return W if self.number == torch.float64 else W.to(torch.int64).to(self.number)
        W = self.D.expand(len(p), -1, -1).clone()
        for t in range(len(self.L)):
            for j in range(self.n):
                W += self.L[t, :, j, None] * self.R[t][p[:, j]][:, None, :]
        return W

    def changes(self, p: torch.Tensor, W: torch.Tensor | None = None) -> torch.Tensor:
        """Return d, of shape (size, n, n)."""
        n, paid = self.n, self.paid(p) if W is None else W
        V = paid.gather(2, p[:, None, :].expand(-1, n, -1))
        own = V.diagonal(dim1=1, dim2=2)
        d = V + V.mT - own[:, :, None] - own[:, None, :]
        return d + self.S[:, :n] * self.T[p[:, :, None], p[:, None, :]]

    def fold(self, d: torch.Tensor) -> torch.Tensor:
        """Return the pairs u < v of symmetric matrices as the kernel keeps them."""
        return d[:, self.u, self.v]


def folded(n: int, width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pair u, v at each place of the rectangle, and X there, `NEVER` where there is none.

    Examples
    --------
    >>> u, v, X = folded(4, 4)
    >>> [(int(u[i, j]), int(v[i, j])) for i in range(2) for j in range(4) if X[i, j] == 0]
    [(0, 1), (0, 2), (0, 3), (2, 3), (1, 2), (1, 3)]
    """
    i, j = np.arange((n + 1) // 2)[:, None], np.arange(width)[None, :]
    direct = j > i
    u, v = np.where(direct, i, n - 1 - i), np.where(direct, j, n - 1 - j)
    pair = (j < n) & (j != i) & (direct | (i != n - 1 - i))
    return np.where(pair, u, 0), np.where(pair, v, 0), np.where(pair, 0, NEVER).astype(np.int32)
