"""Many assignment problems at once, each in a program of its own: the auction of `trisplit.qap.gpu.rounding`."""

# ruff: noqa: ANN001, ANN201  a kernel is typed by its arguments
# pyright: reportGeneralTypeIssues=false, reportAttributeAccessIssue=false, reportOperatorIssue=false

import triton  # pyright: ignore[reportMissingImports]
import triton.language as tl  # pyright: ignore[reportMissingImports]


@triton.jit
def auction(
    Values,  # (problems, n, n)
    Assigned,  # (problems, n): the column of each row, -1 if it has none
    n,
    least,  # what a price goes up by at least
    rounds,
    width: tl.constexpr,
):
    problem = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, width)
    row, column = i[:, None], i[None, :]
    inside = (row < n) & (column < n)
    values = tl.load(Values + (problem * n + row) * n + column, mask=inside, other=-1e9)
    prices = tl.zeros((width,), values.dtype)
    owner = tl.full((width,), -1, tl.int32)  # of each column
    left = n
    k = 0
    while (k < rounds) & (left > 0):
        owned = (owner[None, :] == row) & (column < n)
        free = (tl.sum(owned.to(tl.int32), 1) == 0) & (i < n)
        worth = values - prices[None, :]
        first = tl.max(worth, 1)
        place = tl.argmax(worth, 1)
        second = tl.max(tl.where(column == place[:, None], -2e9, worth), 1)
        bid = tl.where(free, first - tl.maximum(second, -1e6) + least, -1.0)
        offers = tl.where(column == place[:, None], bid[:, None], -1.0)
        highest = tl.max(offers, 0)
        bidder = tl.argmax(offers, 0)
        taken = highest > 0.0
        owner = tl.where(taken, bidder, owner)
        prices += tl.where(taken, highest, 0.0)
        left = tl.sum(((owner < 0) & (i < n)).to(tl.int32), 0)
        k += 1
    owned = (owner[None, :] == row) & (column < n)
    assigned = tl.sum(tl.where(owned, column + 1, 0), 1) - 1
    tl.store(Assigned + problem * n + i, assigned.to(tl.int64), mask=i < n)
