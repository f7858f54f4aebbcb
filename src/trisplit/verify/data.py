"""Read a quadratic assignment problem afresh: a bundled one, or a file in the format of QAPLIB."""

import hashlib
import zipfile
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path

import numpy as np

MAX_BYTES = 512 * 2**20


class UnreadableError(Exception):
    """What was to be checked cannot be read; the message says why, in one line.

    Examples
    --------
    >>> from trisplit.verify import UnreadableError, verify
    >>> try:
    ...     verify("nowhere.json")
    ... except UnreadableError as error:
    ...     print(str(error)[:14])
    'nowhere.json'
    """


@dataclass(frozen=True, eq=False)
class Data:
    """The matrices of a problem as they were read, int64 or float64, and what is known about it."""

    A: np.ndarray
    B: np.ndarray
    best_known: int | None = None
    proven: bool = False

    def sha256(self) -> str:
        """Return the digest that results carry: of label, kind, shape and entries of A and B."""
        digest = hashlib.sha256()
        for label, M in (("A", self.A), ("B", self.B)):
            digest.update(f"{label} {M.dtype.kind} {M.shape[0]} {M.shape[1]}\n".encode())
            digest.update((M + 0).astype(f"<{M.dtype.kind}8").tobytes())
        return digest.hexdigest()

    def cost(self, p: list[int]) -> tuple[Fraction, Fraction]:
        """Return the exact cost of a permutation, and the sum of the absolute values of its terms."""
        exact = int if self.A.dtype.kind == self.B.dtype.kind == "i" else Fraction
        cost = size = exact(0)
        for i, row in enumerate(self.A.tolist()):
            terms = [exact(a) * exact(b) for a, b in zip(row, self.B[p[i], p].tolist(), strict=True) if a and b]
            cost += sum(terms)
            size += sum(map(abs, terms))
        return Fraction(cost), Fraction(size)


def bundled(name: str) -> Data | None:
    """Return a bundled instance, or None if there is none of that name."""
    source = resources.files("trisplit") / "qap" / "data" / "qaplib.npz"
    try:
        with source.open("rb") as file, np.load(file, allow_pickle=False) as bundle:
            table = bundle["table"]
            rows = table[table["name"] == name]
            if not len(rows):
                return None
            A, B = (bundle[f"{name}/{label}"].astype(np.int64) for label in "AB")
            return Data(A, B, int(rows["best_known"][0]), bool(rows["proven"][0]))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise UnreadableError(f"the bundled instances cannot be read ({error}); install the package again") from error


def from_file(path: Path) -> Data:
    """Return the problem of a QAPLIB file: n, then A, then B, separated by white space or commas."""
    words = text_of(path).replace(",", " ").replace("_", "?").split()  # Python would take 1_000 for a number
    try:
        integer = not any(mark in word for word in words for mark in ".eE")
        numbers = np.array([int(word) if integer else float(word) for word in words])
        n = int(words[0])
        A, B = numbers[1:].reshape(2, n, n)
    except (ValueError, IndexError, OverflowError) as error:
        raise UnreadableError(f"{str(path)!r} is not a QAPLIB file: n, then the n x n matrices A and B") from error
    if n < 1 or numbers.dtype not in (np.int64, np.float64) or not np.isfinite(numbers).all():
        raise UnreadableError(f"{str(path)!r} must hold n >= 1 and finite numbers within int64 or float64")
    return Data(A, B)


def text_of(path: Path) -> str:
    """Return the text of a file of moderate size."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UnreadableError(f"{str(path)!r} has more than {MAX_BYTES} bytes")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise UnreadableError(f"{str(path)!r} cannot be read ({reason}); check the name and its permissions") from error
