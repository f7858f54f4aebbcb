"""Three loops that do the same iterations for many starts at once: the plain one, and its two twins for a GPU.

Each has y of shape (starts, n, n), and z = clip(y, 0, 1), at which the next gradient is taken. They differ in what they
keep where: see `trisplit.kernels.gpu.splitting`.
"""

from typing import TYPE_CHECKING, Any, Protocol

from trisplit.problems.space import Space
from trisplit.qap.gpu.matrices import Scaled
from trisplit.splitting.tos import tos_step

if TYPE_CHECKING:
    from torch import Tensor  # pyright: ignore[reportMissingImports]

HEIGHT, WIDTHS = 16, (256, 64)  # of a block of the streamed pass; the width that leaves less outside the matrix
PER_WARP = 512  # numbers of such a block
GRAPHED = 10  # iterations that are captured together
ALIGNED = 4  # numbers: rows of other lengths are slow in products
OUTSIDE = 1e30  # what g0 is outside the matrix: z is 0 there


class Loop(Protocol):
    """Iterations of Algorithm 1 for all starts at once."""

    @property
    def y(self) -> "Tensor":
        """Y before the next iteration, shape (starts, n, n); the next call of `advance` may overwrite it."""
        ...

    def begin(self, y: "Tensor") -> None:
        """Start at y, which may be overwritten."""
        ...

    def advance(self, t: int, iterations: int) -> None:
        """Do some iterations, the first of them number t from 0."""
        ...


class Plain(Space):
    """The loop of `trisplit.splitting.tos`, in operations of torch; gamma is worked into the form."""

    y: "Tensor"

    def __init__(self, form: Scaled, starts: int) -> None:
        self.form, self.t = form, 0

    def begin(self, y: "Tensor") -> None:
        self.y = y

    def prox_g(self, y: "Tensor", gamma: float) -> "Tensor":
        return y.clamp(0.0, 1.0)

    def prox_h(self, v: "Tensor", gamma: float) -> "Tensor":
        return unit_sums(v)

    def grad(self, z: "Tensor") -> "Tensor":
        form = self.form
        return form.bent(z) + form.g0 - form.mu[min(self.t, len(form.mu) - 1)] * z

    def advance(self, t: int, iterations: int) -> None:
        for self.t in range(t, t + iterations):
            self.y = tos_step(self, self.y, 1.0).y


def unit_sums(x: "Tensor") -> "Tensor":
    """Return the projections of matrices onto those with unit row and column sums.

    Examples
    --------
    >>> import torch
    >>> unit_sums(torch.zeros(1, 2, 2)).tolist()
    [[[0.5, 0.5], [0.5, 0.5]]]
    """
    n = x.shape[-1]
    rows, columns = x.sum(-1, keepdim=True), x.sum(-2, keepdim=True)
    return x - rows / n - columns / n + (1.0 + rows.sum(-2, keepdim=True) / n) / n


class Resident:
    """All iterations of a start in one program, which keeps it on the chip: up to 128 rows, dense matrices."""

    y: "Tensor"

    def __init__(self, form: Scaled, starts: int, *, half: bool, warps: int | None = None) -> None:
        import torch  # pyright: ignore[reportMissingImports]

        # float16 has the 11 significant bits of TF32 at half the bytes, and the range: matrices are scaled for it.
        self.form, self.half = form, half
        width = max(16, 1 << (form.n - 1).bit_length())
        self.width, self.warps = width, warps or {16: 1, 32: 1, 64: 4}.get(width, 8)
        kind = torch.float16 if half else form.g0.dtype
        self.A, self.B = (padded(M, width, 0.0).to(kind) for M in (form.A, form.B.mT))
        self.A2, self.B2 = (self.A, self.B) if form.symmetric else (self.A.mT.contiguous(), self.B.mT.contiguous())
        self.g0 = padded(form.g0, width, OUTSIDE)

    @staticmethod
    def bytes_needed(form: Scaled, *, half: bool) -> int:
        """Return how much memory of the chip a start takes, as the compiler has it: the matrices, and one more."""
        width = max(16, 1 << (form.n - 1).bit_length())
        return (3 if form.symmetric else 5) * (2 if half else 4) * width**2 + (0 if half else 4096)

    def begin(self, y: "Tensor") -> None:
        self.y = y.contiguous()

    def advance(self, t: int, iterations: int) -> None:
        from trisplit.kernels.gpu.splitting import resident

        form = self.form
        launch: Any = resident[(self.y.shape[0],)]  # pyright: ignore[reportIndexIssue]
        launch(
            *(self.y, self.A, self.B, self.A2, self.B2, self.g0, form.mu),
            *(t, len(form.mu) - 1, iterations, form.n),
            width=self.width,
            symmetric=form.symmetric,
            half=self.half,
            precision="ieee" if self.y.element_size() == 8 else "tf32" if form.tf32 else "ieee",
            num_warps=self.warps,
        )


class Streamed:
    """Two large products an iteration and one pass over memory, in the layout (n, starts, n).

    In that layout both products are single ones without any transposition: A times a matrix of n rows, and a matrix of
    n columns times B'. Where they are short, several iterations are captured in a graph and launched at once.
    """

    def __init__(self, form: Scaled, starts: int, *, layout: tuple[int, int, int] | None = None) -> None:
        import torch  # pyright: ignore[reportMissingImports]

        self.form, self.starts, n = form, starts, form.n
        self.pitch = -(-n // ALIGNED) * ALIGNED
        new, shape = form.g0.new_zeros, (self.pitch, starts, self.pitch)
        self.z, self.g, self.g0 = new(shape), new(shape), padded(form.g0, self.pitch, 0.0)
        if not form.is_sparse:
            self.w, self.A, self.B = new(shape), padded(form.A, self.pitch, 0.0), padded(form.B, self.pitch, 0.0)
        self.height, self.width, self.warps = layout or _layout(n)
        self.blocks = -(-n // self.height)
        self.column_sums = new((self.blocks, starts, n))
        self.row_sums, self.rows_y, self.columns_y, self.row_shift, self.column_shift = new((5, starts, n)).unbind()
        self.t = torch.zeros((), dtype=torch.int32, device=form.g0.device)
        self.graph: Any = None

    def begin(self, y: "Tensor") -> None:
        n, z = self.form.n, y.clamp(0.0, 1.0)
        self.g[:n, :, :n], self.z[:n, :, :n] = y.transpose(0, 1), z.transpose(0, 1)
        self.rows_y.copy_(y.sum(2))
        self.columns_y.copy_(y.sum(1))
        self.row_sums.copy_(z.sum(2))
        self.column_sums.zero_()
        self.column_sums[0] = z.sum(1)
        self.t.fill_(-1)
        self._prepare()

    @property
    def y(self) -> "Tensor":
        n = self.form.n
        return self.g[:n, :, :n].transpose(0, 1)

    def advance(self, t: int, iterations: int) -> None:
        left = iterations - 1  # the last one keeps y
        if self.z.is_cuda and not self.form.is_sparse and left >= GRAPHED:
            if self.graph is None:
                self.graph = self._captured()
                left -= GRAPHED
            for _ in range(left // GRAPHED):
                self.graph.replay()
            left %= GRAPHED
        for _ in range(left):
            self._iterate(keep=False)
        self._iterate(keep=True)

    def _captured(self) -> Any:  # noqa: ANN401
        """Do some iterations, which compiles what they need, and return as many, captured for later."""
        import torch  # pyright: ignore[reportMissingImports]

        for _ in range(GRAPHED):
            self._iterate(keep=False)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # other threads may use the device
            for _ in range(GRAPHED):
                self._iterate(keep=False)
        return graph

    def _iterate(self, *, keep: bool) -> None:
        from trisplit.kernels.gpu.splitting import streamed

        self._multiply()
        launch: Any = streamed[(self.starts, self.blocks)]  # pyright: ignore[reportIndexIssue]
        launch(
            *(self.z, self.g, self.g0, self.row_shift, self.column_shift, self.row_sums, self.column_sums),
            *(self.form.mu, self.t, len(self.form.mu) - 1, self.starts, self.form.n, self.pitch // 4),
            height=self.height,
            width=self.width,
            keep=keep,
            num_warps=self.warps,
        )
        self._prepare()

    def _multiply(self) -> None:
        """Write A z B' (+ A' z B) into g."""
        import torch  # pyright: ignore[reportMissingImports]

        if self.form.is_sparse:
            n = self.form.n
            self.g[:n, :, :n] = self.form.bent_in_rows(self.z[:n, :, :n])
            return
        high, wide = (self.pitch, self.starts * self.pitch), (self.pitch * self.starts, self.pitch)
        torch.mm(self.A, self.z.view(high), out=self.w.view(high))
        torch.mm(self.w.view(wide), self.B.mT, out=self.g.view(wide))
        if not self.form.symmetric:
            torch.mm(self.A.mT, self.z.view(high), out=self.w.view(high))
            torch.addmm(self.g.view(wide), self.w.view(wide), self.B, out=self.g.view(wide))

    def _prepare(self) -> None:
        from trisplit.kernels.gpu.splitting import shifts

        column_sums = self.column_sums if self.blocks * self.form.n < MANY else self.column_sums.sum(0, keepdim=True)
        launch: Any = shifts[(self.starts,)]  # pyright: ignore[reportIndexIssue]
        launch(
            *(self.row_sums, column_sums, self.rows_y, self.columns_y, self.row_shift, self.column_shift),
            *(self.form.mu, self.t, len(self.form.mu) - 1, self.starts, self.form.n, len(column_sums)),
            width=self.width,
            num_warps=4,
        )
        self.t += 1


MANY = 2**17  # column sums of one start: no longer added up by one program


def _layout(n: int) -> tuple[int, int, int]:
    """Return height, width and warps of the blocks of the streamed pass."""
    width = min(WIDTHS, key=lambda width: -(-n // width) * width)
    return HEIGHT, width, HEIGHT * width // PER_WARP


def padded(M: "Tensor", width: int, value: float) -> "Tensor":
    """Return a square matrix with more rows and columns, all of whose entries are `value`."""
    full = M.new_full((width, width), value)
    full[: M.shape[0], : M.shape[1]] = M
    return full
