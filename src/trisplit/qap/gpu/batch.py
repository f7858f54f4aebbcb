"""Many starts on one relaxed quadratic assignment problem at once, on a GPU or wherever torch runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trisplit.errors import InputError
from trisplit.kernels.gpu import usable
from trisplit.qap.concavity import POWER, Concavity
from trisplit.qap.gpu.device import as_device, current, on_chip
from trisplit.qap.gpu.iterations import Loop, Plain, Resident, Streamed, unit_sums
from trisplit.qap.gpu.matrices import Scaled
from trisplit.qap.gpu.rounding import permutations
from trisplit.qap.objective import Tangent

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]
    from torch import Tensor  # pyright: ignore[reportMissingImports]

PRECISIONS = ("tf32", "float32", "float64")
# Rows of a start that stays on the chip; in float32 more take a minute to compile.
RESIDENT = {"tf32": 128, "float32": 64, "float64": 0}
SPREADS = (0.01, 0.1, 1.0)  # of starting points: this times N(0, 1) / n in each entry
_PRECISION = Lock()  # torch has one precision of products for all threads


class Certified(NamedTuple):
    """What the last iterates are worth, one number for each start.

    Attributes
    ----------
    value : Tensor
        Of the tangent form at z, without the concavity.
    bound : Tensor
        An upper bound on the gap of the form, concavity included, at z.
    infeasibility : Tensor
        The distance of z to unit sums.
    """

    value: "Tensor"
    bound: "Tensor"
    infeasibility: "Tensor"


class Batch:
    """Three operator splitting from many starting points at once: g the box [0, 1], h unit sums, step 1 / L.

    Parameters
    ----------
    tangent : Tangent
        Of dense or sparse matrices.
    starts : int
    device : str or torch.device
    precision : {"tf32", "float32", "float64"}
        "tf32": sums in float32, and products of numbers of 11 significant bits, which is good enough for a search.
    concavity : Concavity, optional
        How the form becomes concave, so that nearly all starts end at a permutation.
    loop : type, optional
        One of `trisplit.qap.gpu.iterations`, to compare; by default the one that suits the problem and the device.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> nug12 = ts.qap.load("nug12")
    >>> f = ts.qap.Objective(nug12.A.astype(float), nug12.B.astype(float)).tangent()
    >>> batch = Batch(f, 30, "cpu", "float64", Concavity(f.curvature()[1], 200))
    >>> batch.begin(0)
    >>> batch.advance(200)
    >>> best = min(nug12.cost(p) for p in batch.permutations().numpy())
    >>> best <= 1.05 * nug12.best_known
    True
    """

    def __init__(
        self,
        tangent: Tangent,
        starts: int,
        device: "torch.device | str" = "cuda",
        precision: str = "tf32",
        concavity: Concavity | None = None,
        *,
        loop: type | None = None,
    ) -> None:
        import torch  # pyright: ignore[reportMissingImports]

        if precision not in PRECISIONS:
            raise InputError(f"`precision` is unknown, got {precision!r}; choose one of {', '.join(PRECISIONS)}")
        if isinstance(starts, bool) or not isinstance(starts, int | np.integer) or starts < 1:
            raise InputError(f"`starts` must be an integer >= 1, got {starts!r}; try 1000")
        self.starts, self.precision = int(starts), precision
        dtype = torch.float64 if precision == "float64" else torch.float32
        mu = np.zeros(1) if concavity is None else _growth(concavity)
        self.form = Scaled.of(tangent, mu, as_device(device), dtype, tf32=precision == "tf32")
        self.device = self.form.g0.device  # "cuda" has become a certain one
        self.n, self.t, self.begun = self.form.n, 0, False
        self.loop: Loop = self._loop() if loop is None else loop(self.form, starts)

    def _loop(self) -> Loop:
        form = self.form
        if not usable(self.device):
            return Plain(form, self.starts)
        half = form.tf32 and form.fits_half
        rows = RESIDENT["tf32" if half else "float64" if self.precision == "float64" else "float32"]
        fits = self.n <= rows and Resident.bytes_needed(form, half=half) <= on_chip(self.device)
        if fits and not form.is_sparse:
            return Resident(form, self.starts, half=half)
        return Streamed(form, self.starts)

    def begin(self, seed: int) -> None:
        """Draw starting points on the device."""
        self.start(starting_points(self.n, self.starts, seed, self.device, self.form.g0.dtype))

    def start(self, y: "Tensor") -> None:
        """Begin at given points, shape (starts, n, n), which may be overwritten."""
        shape, g0 = (self.starts, self.n, self.n), self.form.g0
        came = getattr(y, "shape", None), getattr(y, "dtype", None), getattr(y, "device", None)
        if came != (shape, g0.dtype, g0.device):
            shown = " ".join(str(tuple(part) if isinstance(part, tuple) else part) for part in came)
            remedy = f"pass a tensor of shape {shape}, {g0.dtype} on {g0.device}"
            raise InputError(f"`y` must fit the batch, got {type(y).__name__} {shown}; {remedy}")
        self.t, self.begun = 0, True
        with current(self.device):
            self.loop.begin(y)

    def _require_start(self) -> None:
        if not self.begun:
            raise InputError("the batch has no points yet; call `begin(seed)` or `start(y)` first")

    def advance(self, iterations: int) -> None:
        """Do some iterations; nothing waits for the device."""
        if isinstance(iterations, bool) or not isinstance(iterations, int | np.integer) or iterations < 0:
            raise InputError(f"`iterations` must be an integer >= 0, got {iterations!r}; try 200")
        self._require_start()
        if iterations == 0:
            return
        with current(self.device), self._products():
            self.loop.advance(self.t, iterations)
        self.t += iterations

    @property
    def z(self) -> "Tensor":
        """Z of the next iteration: a new tensor of shape (starts, n, n)."""
        self._require_start()
        return self.loop.y.clamp(0.0, 1.0)

    def permutations(self) -> "Tensor":
        """Return permutations, shape (starts, n): read off where z is one, the nearest ones to y elsewhere.

        Where z is 0, y tells how much a place would cost: rounded, it gives lower costs than z.
        """
        self._require_start()
        with current(self.device):
            return permutations(self.loop.y)

    def certify(self) -> Certified:
        """Return what the iterates are worth: the bound that needs no oracle, over matrices with unit row sums.

        With d = z - x and y+ = y - d it is (<y+, d> + sum_i max_j -d_ij) / gamma + <u, d>.
        """
        self._require_start()
        form, y = self.form, self.loop.y
        with self._products():
            z = y.clamp(0.0, 1.0)
            bent = form.bent(z)
            u = bent + form.g0 - form.mu[min(self.t, len(form.mu) - 1)] * z
            d = z - unit_sums(2 * z - y - u)
            bound = ((y - d + u) * d).sum((1, 2)) + (-d).amax(2).sum(1)
            off = (z - unit_sums(z)).square().sum((1, 2)).sqrt()
            return Certified(form.value(z, bent), bound / form.gamma, off)

    @contextmanager
    def _products(self) -> Iterator[None]:
        """Let products of torch round what they multiply as the precision says, and only here."""
        import torch  # pyright: ignore[reportMissingImports]

        if self.device.type != "cuda":
            yield
            return
        matmul = torch.backends.cuda.matmul
        with _PRECISION:
            try:
                before = torch.get_float32_matmul_precision()
            except RuntimeError:  # somebody has set it by the newer way, which does not mix with this one
                before, matmul.fp32_precision = matmul.fp32_precision, "tf32" if self.form.tf32 else "ieee"
                try:
                    yield
                finally:
                    matmul.fp32_precision = before
                return
            torch.set_float32_matmul_precision("high" if self.form.tf32 else "highest")
            try:
                yield
            finally:
                torch.set_float32_matmul_precision(before)


def _growth(concavity: Concavity) -> np.ndarray:
    """Return mu by iteration."""
    return concavity.final * np.linspace(0.0, 1.0, concavity.iterations + 1) ** POWER


def starting_points(n: int, starts: int, seed: int, device: "torch.device | str", dtype: "torch.dtype") -> "Tensor":
    """Return random matrices with unit row and column sums, at several distances from the barycentre in turn.

    Examples
    --------
    >>> import torch
    >>> points = starting_points(4, 16, 0, "cpu", torch.float64)
    >>> bool(torch.allclose(points.sum(1), torch.ones(16, 4, dtype=torch.float64)))
    True
    """
    import torch  # pyright: ignore[reportMissingImports]

    source = torch.Generator(device).manual_seed(seed)
    points = torch.randn((starts, n, n), generator=source, device=device).to(dtype)  # the same in all precisions
    points -= points.mean(1, keepdim=True)
    points -= points.mean(2, keepdim=True)
    spreads = torch.tensor(SPREADS, device=device, dtype=dtype) / n
    points *= spreads.repeat(-(-starts // len(SPREADS)))[:starts, None, None]
    return points.add_(1.0 / n)
