"""Iterations of three operator splitting for many starts of one relaxed quadratic assignment problem, in Triton.

With doubly centred matrices scaled such that A z B' stands for gamma times the gradient of the quadratic part, y is
needed through its row and column sums alone ([YMS21] Algorithm 1, g the box, h unit sums, relaxation 1):

    y <- (1 + gamma mu) z - A z B' - gamma g0 - a_i - b_j + s,    z <- clip(y, 0, 1),
    a_i = ((2 + gamma mu) rowsum(z)_i - rowsum(y)_i) / n,    b_j likewise by columns,
    s = 1/n + sum((2 + gamma mu) z - y) / n^2,    rowsum(y)_i <- rowsum(y)_i + 1 - rowsum(z)_i.

`resident` keeps a start on the chip through all its iterations, one program each: both products, the sums and the
projections, with nothing written to memory in between. `streamed` is the pass over memory that follows the two products
where a start is too large for that: projection and sums at once, each number read once and written once.
"""

# ruff: noqa: ANN001, ANN201, ANN202  a kernel is typed by its arguments
# pyright: reportGeneralTypeIssues=false, reportAttributeAccessIssue=false, reportOperatorIssue=false

import triton  # pyright: ignore[reportMissingImports]
import triton.language as tl  # pyright: ignore[reportMissingImports]


@triton.jit
def _schedule(Mu, t, last):
    """Return gamma mu of iteration t."""
    return tl.load(Mu + tl.minimum(t, last))


@triton.jit(do_not_specialize=["t0", "last", "iterations"])  # else it is compiled again for some of them
def resident(
    Y,  # (starts, n, n): overwritten
    A,  # (width, width), zero outside
    B,  # (width, width), transposed, zero outside
    A2,  # transposed A and B, for matrices that are not symmetric
    B2,
    G0,  # (width, width): gamma g0, and a huge number outside, which keeps z at 0 there
    Mu,  # gamma mu by iteration
    t0,
    last,
    iterations,
    n,
    width: tl.constexpr,
    symmetric: tl.constexpr,
    half: tl.constexpr,
    precision: tl.constexpr,
):
    i = tl.arange(0, width)
    square = i[:, None] * width + i[None, :]
    inside = (i[:, None] < n) & (i[None, :] < n)
    own = Y + tl.program_id(0).to(tl.int64) * n * n + i[:, None] * n + i[None, :]
    a_left, b_right = tl.load(A + square), tl.load(B + square)
    if not symmetric:
        a_right, b_left = tl.load(A2 + square), tl.load(B2 + square)
    y = tl.load(own, mask=inside, other=0.0)
    rows, columns = tl.sum(y, 1), tl.sum(y, 0)
    for t in range(iterations):
        grown = 1.0 + _schedule(Mu, t0 + t, last)
        z = tl.minimum(tl.maximum(y, 0.0), 1.0)
        z_rows, z_columns = tl.sum(z, 1), tl.sum(z, 0)
        if half:
            z_short = z.to(tl.float16)
            w = tl.dot(a_left, z_short).to(tl.float16)
            g = tl.dot(w, b_right)
            if not symmetric:
                w = tl.dot(a_right, z_short).to(tl.float16)
                g = tl.dot(w, b_left, g)
        else:
            w = tl.dot(a_left, z, input_precision=precision)
            g = tl.dot(w, b_right, input_precision=precision)
            if not symmetric:
                w = tl.dot(a_right, z, input_precision=precision)
                g = tl.dot(w, b_left, g, input_precision=precision)
        a = ((1.0 + grown) * z_rows - rows) / n
        b = ((1.0 + grown) * z_columns - columns) / n
        shift = (1.0 + tl.sum(a, 0)) / n
        y = grown * z - g - tl.load(G0 + square) - a[:, None] - (b - shift)[None, :]
        rows += tl.where(i < n, 1.0 - z_rows, 0.0)
        columns += tl.where(i < n, 1.0 - z_columns, 0.0)
    tl.store(own, y, mask=inside)


@triton.jit
def streamed(
    Z,  # (n, starts, n): overwritten
    G,  # (n, starts, n): A z B'; becomes y if `keep`
    G0,  # (n, n) with the same rows: gamma g0
    RowShift,  # (starts, n): a
    ColumnShift,  # (starts, n): b - s
    RowSums,  # (starts, n)
    ColumnSums,  # (blocks, starts, n)
    Mu,
    T,  # the number of the iteration, on the device: what is captured in a graph must not depend on the host
    last,
    starts,
    n,
    quads,  # the length of a row in memory, in fours: so the compiler knows that four numbers may move at once
    height: tl.constexpr,
    width: tl.constexpr,
    keep: tl.constexpr,
):
    s, block, pitch = tl.program_id(0), tl.program_id(1), 4 * quads
    i = block * height + tl.arange(0, height)
    grown = 1.0 + _schedule(Mu, tl.load(T), last)
    a = tl.load(RowShift + s * n + i, mask=i < n, other=0.0)
    sums = tl.zeros((height,), Z.dtype.element_ty)
    for first in range(0, n, width):
        j = first + tl.arange(0, width)
        inside = (i[:, None] < n) & (j[None, :] < pitch)
        at = (i[:, None].to(tl.int64) * starts + s) * pitch + j[None, :]
        b = tl.load(ColumnShift + s * n + j, mask=j < n, other=0.0)
        z = tl.load(Z + at, mask=inside, other=0.0)
        g = tl.load(G + at, mask=inside, other=0.0)
        g0 = tl.load(G0 + i[:, None].to(tl.int64) * pitch + j[None, :], mask=inside, other=0.0)
        y = grown * z - g - g0 - a[:, None] - b[None, :]
        z = tl.where((i[:, None] < n) & (j[None, :] < n), tl.minimum(tl.maximum(y, 0.0), 1.0), 0.0)
        tl.store(Z + at, z, mask=inside)
        if keep:
            tl.store(G + at, y, mask=inside)
        sums += tl.sum(z, 1)
        tl.store(ColumnSums + (block.to(tl.int64) * starts + s) * n + j, tl.sum(z, 0), mask=j < n)
    tl.store(RowSums + s * n + i, sums, mask=i < n)


@triton.jit
def shifts(
    RowSums,  # (starts, n): of z
    ColumnSums,  # (blocks, starts, n): of z
    RowsY,  # (starts, n): of y; overwritten
    ColumnsY,
    RowShift,
    ColumnShift,
    Mu,
    T,
    last,
    starts,
    n,
    blocks,
    width: tl.constexpr,
):
    """Prepare the next iteration of one start: a, b - s, and the sums of y."""
    s = tl.program_id(0)
    grown = 1.0 + _schedule(Mu, tl.load(T) + 1, last)
    total = tl.zeros((width,), RowSums.dtype.element_ty)
    for first in range(0, n, width):
        i = first + tl.arange(0, width)
        inside = i < n
        z, y = tl.load(RowSums + s * n + i, mask=inside, other=0.0), tl.load(RowsY + s * n + i, mask=inside, other=0.0)
        a = ((1.0 + grown) * z - y) / n
        total += a
        tl.store(RowShift + s * n + i, a, mask=inside)
        tl.store(RowsY + s * n + i, y + 1.0 - z, mask=inside)
    shift = (1.0 + tl.sum(total, 0)) / n
    for first in range(0, n, width):
        j = first + tl.arange(0, width)
        inside = j < n
        z = tl.zeros((width,), RowSums.dtype.element_ty)
        for block in range(blocks):
            at = (tl.cast(block, tl.int64) * starts + s) * n + j
            z += tl.load(ColumnSums + at, mask=inside, other=0.0)
        y = tl.load(ColumnsY + s * n + j, mask=inside, other=0.0)
        tl.store(ColumnShift + s * n + j, ((1.0 + grown) * z - y) / n - shift, mask=inside)
        tl.store(ColumnsY + s * n + j, y + 1.0 - z, mask=inside)
