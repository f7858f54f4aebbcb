"""From many matrices to many permutations at once: read off where a matrix is nearly one, by auction elsewhere.

Rows bid for columns: each row without one names the column that it wants most at the present prices, and offers as much
more as it would lose at its second choice, plus a little; each column goes to the highest bidder. When all rows have a
column, the sum of what they have is within n times that little of the largest one.

Reference: D. P. Bertsekas, The auction algorithm: a distributed relaxation method for the assignment problem, Annals of
Operations Research 14 (1988) 105-123.
"""

from typing import TYPE_CHECKING, Any

from trisplit.kernels.gpu import usable

if TYPE_CHECKING:
    from torch import Tensor  # pyright: ignore[reportMissingImports]

RAISE = 2.0**-7  # the least that a price goes up, for values between -1 and 1; the same number in any precision
ROUNDS = 1000  # of bids; rows that have no column by then get what is left, in order
LARGEST = 128  # rows of a matrix that stays on the chip


def permutations(y: "Tensor") -> "Tensor":
    """Return the permutations next to matrices, shape (starts, n, n), as (starts, n) in int64.

    Entries below -1 count as -1, those above 1 as 1.

    Examples
    --------
    >>> import torch
    >>> permutations(torch.tensor([[[0.1, 0.9], [0.8, 0.2]], [[0.6, 0.4], [0.7, 0.3]]])).tolist()
    [[1, 0], [1, 0]]
    """
    import torch  # pyright: ignore[reportMissingImports]

    p = y.argmax(2)
    left = torch.nonzero(~is_permutation(p))[:, 0]
    if len(left):
        p[left] = complete(auction(y[left].clamp_(-1.0, 1.0).float()))
    return p


def is_permutation(p: "Tensor") -> "Tensor":
    """Say of each row of p whether it is a permutation."""
    import torch  # pyright: ignore[reportMissingImports]

    hit = torch.zeros_like(p).scatter_(1, p, torch.ones_like(p))
    return hit.all(1)


def auction(values: "Tensor") -> "Tensor":
    """Return the column of each row, -1 for rows that have none after all rounds."""
    if values.shape[1] <= LARGEST and usable(values.device):
        import torch  # pyright: ignore[reportMissingImports]

        from trisplit.kernels.gpu.auction import auction as compiled

        n = values.shape[1]
        width = max(16, 1 << (n - 1).bit_length())
        assigned = torch.empty(values.shape[:2], dtype=torch.int64, device=values.device)
        warps = {16: 1, 32: 2, 64: 4}.get(width, 8)
        launch: Any = compiled[(len(values),)]  # pyright: ignore[reportIndexIssue]
        launch(values.contiguous(), assigned, n, RAISE, ROUNDS, width=width, num_warps=warps)
        return assigned
    return plain_auction(values)


def plain_auction(values: "Tensor") -> "Tensor":
    """Return the same by operations of torch, in rounds that all matrices do together."""
    import torch  # pyright: ignore[reportMissingImports]

    starts, n, _ = values.shape
    if n == 1:
        return torch.zeros((starts, 1), dtype=torch.int64, device=values.device)
    prices = values.new_zeros((starts, 1, n))
    owner = torch.full((starts, n), -1, dtype=torch.int64, device=values.device)  # of each column
    rows = torch.arange(n, device=values.device)
    for k in range(ROUNDS):
        free = ~(owner[:, None, :] == rows[:, None]).any(2)  # rows
        if k % 10 == 0 and not bool(free.any()):
            break
        (first, second), places = _two_best(values - prices)
        bids = torch.where(free, first - second + RAISE, -1.0)
        offers = values.new_full((starts, n, n), -1.0).scatter_(2, places[:, :, None], bids[:, :, None])
        highest, bidder = offers.max(1)
        taken = highest > 0.0
        owner = torch.where(taken, bidder, owner)
        prices += torch.where(taken, highest, 0.0)[:, None, :]
    assigned = torch.full((starts, n + 1), -1, dtype=torch.int64, device=values.device)
    assigned.scatter_(1, torch.where(owner >= 0, owner, n), rows.expand(starts, n))
    return assigned[:, :n]


def _two_best(worth: "Tensor") -> tuple[tuple["Tensor", "Tensor"], "Tensor"]:
    """Return the largest and the second largest number of each row, and the place of the largest."""
    first, places = worth.max(2)
    second = worth.scatter(2, places[:, :, None], -float("inf")).amax(2)
    return (first, second), places


def complete(assigned: "Tensor") -> "Tensor":
    """Return permutations: rows without a column get the columns that are left, in order."""
    import torch  # pyright: ignore[reportMissingImports]

    starts, n = assigned.shape
    open_rows = assigned < 0
    used = torch.zeros((starts, n + 1), dtype=torch.bool, device=assigned.device)
    used.scatter_(1, torch.where(open_rows, n, assigned), torch.ones_like(open_rows))
    # Stable sorts bring open rows, and free columns, to the front in order: the k-th gets the k-th.
    rows = torch.argsort((~open_rows).to(torch.int8), dim=1, stable=True)
    columns = torch.argsort(used[:, :n].to(torch.int8), dim=1, stable=True)
    filled = torch.empty_like(assigned).scatter_(1, rows, columns)
    return torch.where(open_rows, filled, assigned)
