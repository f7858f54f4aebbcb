"""Losses of data that come in batches and are never held all at once.

f(x) = sum_k (n_k / n) f_k(x), where f_k is the loss of the n_k samples of batch k.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import ClassVar, TypeAlias

from trisplit.arrays import Array
from trisplit.errors import InputError
from trisplit.losses.base import FiniteSum, Loss
from trisplit.terms.checks import whole

Batches: TypeAlias = Iterable[tuple[object, object]]


class Streamed(Loss):
    """The mean over samples that come in batches, from the beginning in every pass.

    A full gradient takes a pass. `gradient="stream"` takes one batch in each iteration instead, in their order.

    Parameters
    ----------
    loss : callable
        Makes a loss of a batch: `loss(A, b)`, such as `ts.losses.Logistic`.
    batches : iterable, or callable that returns an iterator
        Pairs (A, b), the same ones in every pass: a list, a `DataLoader` of PyTorch, `Svmlight`, or a function that
        opens a file and yields. An iterator that can be read only once will not do.
    n : int, optional
        How many samples there are in all; by default they are counted in a first pass.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> A, b = np.arange(12.0).reshape(6, 2), np.ones(6)
    >>> f = Streamed(ts.losses.LeastSquares, [(A[:4], b[:4]), (A[4:], b[4:])])
    >>> f.n, bool(np.allclose(f.grad(np.ones(2)), ts.losses.LeastSquares(A, b).grad(np.ones(2))))
    (6, True)
    """

    parts: ClassVar[tuple[str, ...]] = ("loss",)

    def __init__(
        self, loss: Callable[..., FiniteSum], batches: "Batches | Callable[[], Batches]", n: int | None = None
    ) -> None:
        self.loss, self.batches = loss, batches
        if not callable(batches) and iter(batches) is batches:
            text = "`batches` can be read only once"
            raise InputError(f"{text}; pass a list, or a function that returns a new iterator")
        self.n = sum(part.n for part in self.losses()) if n is None else whole(n, "n")
        if self.n == 0:
            raise InputError("`batches` is empty; it must bring pairs (A, b)")
        self._cursor: tuple[int, Iterator[FiniteSum]] | None = None

    def losses(self) -> Iterator[FiniteSum]:
        """Return the losses of the batches of one pass."""
        for k, batch in enumerate(self.batches() if callable(self.batches) else self.batches):
            if not (isinstance(batch, tuple | list) and len(batch) == 2):
                raise InputError(f"batch {k} must be a pair (A, b), got {type(batch).__name__}; yield both together")
            try:
                yield self.loss(*batch)
            except InputError as error:
                raise InputError(f"batch {k}: {error}") from error

    def whole_pass(self) -> Iterator[FiniteSum]:
        """Return the losses of one pass, and raise an `InputError` if it is too short or too long."""
        seen = 0
        for part in self.losses():
            seen += part.n
            if seen > self.n:
                break
            yield part
        if seen != self.n:
            came = f"at least {seen}" if seen > self.n else f"{seen}"
            raise InputError(
                f"`batches` must bring {self.n} samples in every pass, got {came}; does the source change?"
            )

    def value(self, x: Array) -> float:
        """Return f(x), in one pass."""
        return sum(part.n / self.n * part.value(x) for part in self.whole_pass())

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both, in one pass."""
        value, grad = 0.0, None
        for part in self.whole_pass():
            share = part.n / self.n
            f_k, grad_k = part.value_and_grad(x)
            value = value + share * f_k
            grad = share * grad_k if grad is None else grad + share * grad_k
        return value, grad  # pyright: ignore[reportReturnType]

    def batch_at(self, position: int) -> tuple[FiniteSum, int]:
        """Return the loss of the batch at a position, counted through all passes, and the position after it.

        They are meant to be asked for one after another; any other position is sought from the beginning of a pass.
        """
        if self._cursor is None or self._cursor[0] != position:
            self._cursor = 0, self.whole_pass()
            while self._cursor[0] < position:
                self._advance()
        return self._advance(), self._cursor[0]

    def _advance(self) -> FiniteSum:
        position, parts = self._cursor  # pyright: ignore[reportGeneralTypeIssues]
        part = next(parts, None)
        if part is None:
            parts = self.whole_pass()
            part = next(parts)
        self._cursor = position + 1, parts
        return part

    @cached_property
    def _constants(self) -> tuple[float | None, float | None]:
        total, largest = 0.0, 0.0
        for part in self.whole_pass():
            if part.lipschitz is None or part.sample_lipschitz is None:
                return None, None
            total += part.n / self.n * part.lipschitz
            largest = max(largest, part.sample_lipschitz)
        return total, largest

    @property
    def lipschitz(self) -> float | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The mean of those of the batches, an upper bound; a pass is made for it, once."""
        return self._constants[0]

    @property
    def sample_lipschitz(self) -> float | None:
        """The largest of those of the batches."""
        return self._constants[1]


class Svmlight:
    r"""A file in the format of svmlight, read in chunks: pairs of a sparse matrix and a vector of labels.

    Parameters
    ----------
    path : path
    features : int
        Columns of the matrices; the file does not tell.
    chunk : int
        About how many bytes of the file are read at once.
    zero_based : bool
        Whether the first feature has the number 0, and not 1.

    Examples
    --------
    >>> import tempfile, pathlib, trisplit as ts
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "data.txt"
    >>> _ = path.write_text("1 1:0.5 3:2.0\n-1 2:1.0\n")
    >>> f = ts.losses.Streamed(ts.losses.Logistic, ts.losses.Svmlight(path, features=3))
    >>> f.n
    2
    """

    def __init__(
        self, path: str | PathLike[str], features: int, *, chunk: int = 2**24, zero_based: bool = False
    ) -> None:
        self.path, self.features = Path(path), whole(features, "features")
        self.chunk, self.zero_based = whole(chunk, "chunk"), zero_based
        if not self.path.is_file():
            raise InputError(f"`path` must be a file, got {self.path}; check the name")
        if self.path.stat().st_size == 0:
            raise InputError(f"{self.path} is empty; each line must hold a label and pairs index:value")

    def __iter__(self) -> Iterator[tuple[object, object]]:
        try:
            from sklearn.datasets import load_svmlight_file
        except ImportError as error:
            raise InputError("reading svmlight files needs scikit-learn; pip install 'trisplit[sklearn]'") from error
        with self.path.open("rb") as file:
            while True:
                begin = file.tell()
                lines = file.read(self.chunk) + file.readline()  # to the end of a line
                if not lines:
                    return
                try:
                    first = self.zero_based
                    A, b = load_svmlight_file(io.BytesIO(lines), n_features=self.features, zero_based=first)  # pyright: ignore
                except ValueError as error:
                    text = f"{self.path} cannot be read after byte {begin} ({' '.join(str(error).split())})"
                    raise InputError(f"{text}; is it truncated?") from error
                if A.shape[0]:  # else there are only comments
                    yield A, b
