"""The paper's splitting from many initial points at once, with PyTorch; on a GPU in captured graphs.

The same iterations as `methods.splitting(2, order)` to rounding. A batch is stored as (n, S, n), S points, so that A X
and X B' are one large product each. What has converged leaves the batch, at the next look.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from trisplit.paper.methods import constant, errors, objective
from trisplit.problems.space import Space
from trisplit.qap import Instance, Objective
from trisplit.splitting.tos import tos_step

Tensor: TypeAlias = Any  # torch.Tensor; types are also checked where PyTorch is not installed
UNROLLED = 256  # iterations in a graph: launching one by one would cost more than they do


class Reached(NamedTuple):
    """Where a run ended: `X` is the last iterate."""

    iterations: int
    converged: bool
    X: np.ndarray


def run_batch(
    instance: Instance, points: Sequence[np.ndarray], method: str, looks: Iterator[int], tol: float, device: str
) -> list[Reached]:
    """Iterate from all points until both errors are at most `tol` at a look, or until the last one."""
    torch = import_module("torch")

    f = objective(instance)
    on_gpu = device != "cpu"
    with torch.cuda.stream(torch.cuda.Stream(device)) if on_gpu else nullcontext():
        loop = Loop(f, torch.as_tensor(np.stack(points, axis=1), device=device), method)
        found: list[Reached | None] = [None] * len(points)
        alive, t = list(range(len(points))), 0
        for wanted in looks:
            loop.advance(wanted - t)
            t = wanted
            Z = loop.z.cpu().numpy()
            good = [max(errors(f, np.ascontiguousarray(Z[:, k]), method)) <= tol for k in range(len(alive))]
            for k, row in enumerate(alive):
                found[row] = Reached(t, good[k], Z[:, k].copy())
            left = [k for k in range(len(alive)) if not good[k]]
            if not left:
                break
            if len(left) < len(alive):
                alive = [alive[k] for k in left]
                loop = Loop(f, loop.y[:, left].contiguous(), method)
    return [one for one in found if one is not None]


class Loop(Space):
    """Algorithm 1 with gamma = 1 / L_f on a batch of y; z is that of the last iteration."""

    def __init__(self, f: Objective, y: Tensor, method: str) -> None:
        self.torch = torch = import_module("torch")
        self.n, self.y, self.z = y.shape[0], y, torch.empty_like(y)
        A, B, self.symmetric = f.symmetric_parts
        gamma = constant(f).gamma * (2.0 if self.symmetric else 1.0)
        self.matrices = [torch.as_tensor(np.ascontiguousarray(M), device=y.device) for M in (gamma * A, B.T)]
        self.transposed = [torch.as_tensor(np.ascontiguousarray(M), device=y.device) for M in (gamma * A.T, B)]
        both = self.onto_box, self.onto_unit_sums
        self.prox_g, self.prox_h = both[::-1] if method == "tos-hg" else both  # pyright: ignore[reportAttributeAccessIssue]
        self.graph = None

    def advance(self, iterations: int) -> None:
        """Do some iterations."""
        torch = self.torch
        if self.y.is_cuda and iterations > 2 * UNROLLED:
            if self.graph is None:
                for _ in range(3):  # libraries set themselves up outside of the capture
                    self.step()
                iterations -= 3
                torch.cuda.current_stream().synchronize()
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):  # on a stream of its own: the default one cannot be captured
                    for _ in range(UNROLLED):
                        self.step()
            for _ in range(iterations // UNROLLED):
                self.graph.replay()
            iterations %= UNROLLED
        for _ in range(iterations):
            self.step()

    def step(self) -> None:
        """Do one iteration in place, as a graph repeats it."""
        made = tos_step(self, self.y, 1.0)  # gamma is worked into the matrices
        self.z.copy_(made.z)
        self.y.copy_(made.y)

    def onto_box(self, v: Tensor, gamma: float) -> Tensor:
        return v.clamp(0.0, 1.0)

    def onto_unit_sums(self, v: Tensor, gamma: float) -> Tensor:
        rows = v.mean(dim=2, keepdim=True)
        return v - (rows - rows.mean(dim=0, keepdim=True) - 1.0 / self.n) - v.mean(dim=0, keepdim=True)

    def grad(self, z: Tensor) -> Tensor:
        """Return gamma grad f(z)."""
        both = [self.matrices] if self.symmetric else [self.matrices, self.transposed]
        return sum(((A @ z.view(self.n, -1)).view(-1, self.n) @ B).view(z.shape) for A, B in both)
