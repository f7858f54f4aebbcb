"""Tabu searches from many permutations at once: the memory of the Triton kernel, and its launch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch  # pyright: ignore[reportMissingImports]

from trisplit.kernels.gpu import plain, usable
from trisplit.kernels.gpu.changes import Tables

if TYPE_CHECKING:
    from trisplit.qap.swap_form import SwapForm

TILE = 8192  # numbers of d that a program works on at once
WARPS = {32: 1, 64: 4, 128: 8}  # groups of 32 threads for n up to this; beyond, 16
REGISTERS = 128  # of a thread: with more, too few programs run at a time
PENDING = {False: 8, True: 16}  # updates of W that wait, for n up to 128 and beyond


class Walked(NamedTuple):
    """The best permutations (size, n) in int64, by how much their g is lower, moves made, and where they ended."""

    best: torch.Tensor
    gains: torch.Tensor
    made: torch.Tensor
    last: torch.Tensor


class Walks:
    """Many tabu searches on a device; without Triton their plain twin.

    Parameters
    ----------
    form : SwapForm
    device : torch.device
    size : int
        The most permutations at once.
    tenures : sequence of (float, float)
        For how many moves a row may not return, at least and at most, as a multiple of n; members take turns.
    tile, warps, registers : int, optional
        How a program is laid out: numbers of d at once, threads in groups of 32, and the registers of a thread.
    fused : bool, optional
        Whether the kernel is used; by default if it can be.

    Examples
    --------
    >>> from trisplit import qap
    >>> from trisplit.qap.swap_form import swap_form
    >>> form = swap_form(qap.load("nug12"))
    >>> walks = Walks(form, torch.device("cpu"), 1)
    >>> walked = walks.improve(torch.arange(12)[None], 20, seed=0)
    >>> nug12 = qap.load("nug12")
    >>> before, after = nug12.cost(range(12)), nug12.cost(form.turned(walked.best[0].numpy()))
    >>> before - after == form.unit * walked.gains.item()
    True
    """

    def __init__(
        self,
        form: "SwapForm",
        device: torch.device,
        size: int,
        *,
        tenures: Sequence[tuple[float, float]] = ((0.9, 1.1),),
        tile: int = TILE,
        warps: int | None = None,
        registers: int | None = None,
        fused: bool | None = None,
    ) -> None:
        self.tables = tables = Tables(form, device)
        self.size, n = size, form.n
        turns = [(int(least * n), int(most * n) - int(least * n) + 1) for least, most in tenures]
        turns = [turns[k % len(turns)] for k in range(size)]
        self.tenures = torch.tensor(turns, dtype=torch.int32, device=tables.device)
        self.NP = max(16, 1 << (n - 1).bit_length())
        self.rows = min(max(tile // self.NP, 1), self.NP // 2)
        self.warps = warps or next((warps for most, warps in WARPS.items() if n <= most), 16)
        self.registers = registers or REGISTERS
        self.fused = usable(tables.device) if fused is None else fused
        if not self.fused:
            return
        self.pending = PENDING[n > 128]
        width, pairs, H = tables.width, len(tables.L), (n + 1) // 2

        def empty(*shape: int, dtype: torch.dtype = tables.number) -> torch.Tensor:
            return torch.empty((size, *shape), dtype=dtype, device=tables.device)

        self.p, self.best = empty(width, dtype=torch.int32), empty(width, dtype=torch.int32)
        self.W, self.E = empty(n, width), empty(n, width, dtype=torch.int32)
        self.d, self.X = empty(H, width), empty(H, width, dtype=torch.int32)
        self.A, self.C = empty(self.pending * pairs, width), empty(self.pending * pairs, width)
        self.B = empty(pairs, width)
        self.gains, self.made = empty(dtype=tables.worth), empty(dtype=torch.int32)

    @staticmethod
    def bytes_per_member(form: "SwapForm") -> int:
        """Return how much memory one more permutation takes, what its preparation takes included."""
        n, item = form.n, form.D.itemsize
        return n * (n + 16) * (item + item // 2 + 2 + 4 + 8 * 4 + 3 * item)

    def improve(self, p: torch.Tensor, moves: int, seed: int, *, descent: bool = False) -> Walked:
        """Make so many moves from each permutation (size or fewer, n), without waiting for the device."""
        if not self.fused:
            tenures = self.tenures[: len(p)]
            return Walked(*plain.search(self.tables, p, moves, seed, tenures, self.NP, descent=descent))
        from trisplit.kernels.gpu.tabu import search

        tables, size, n = self.tables, len(p), self.tables.n
        W = tables.paid(p)
        self.W[:size] = W
        self.d[:size] = tables.fold(tables.changes(p, W))
        self.X[:size] = tables.X
        self.E[:size] = 0
        self.p[:size, :n] = p
        self.best[:size, :n] = p
        problem = tables.L, tables.R, tables.S, tables.T, tables.barred
        state = self.p, self.best, self.W, self.d, self.X, self.E, self.A, self.B, self.C, self.gains, self.made
        launch: Any = search[(size,)]  # pyright: ignore[reportIndexIssue]
        launch(
            *problem,
            *state,
            self.tenures,
            tables.limits,
            n,
            tables.width,
            seed,
            moves,
            NP=self.NP,
            ROWS=self.rows,
            PAIRS=len(tables.L),
            K=self.pending,
            DESCENT=descent,
            num_warps=self.warps,
            maxnreg=self.registers,
            enable_fp_fusion=False,  # float64 is rounded as in torch
        )
        best, last = self.best[:size, :n].long(), self.p[:size, :n].long()
        return Walked(best, self.gains[:size].clone(), self.made[:size].clone(), last)
