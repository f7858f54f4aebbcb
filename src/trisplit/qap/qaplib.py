"""QAPLIB: the bundled instances, and files in its format.

A `.dat` file holds the size n, then the n x n matrices A and B of

    minimise over permutations p   sum_ij A[i,j] B[p[i],p[j]]

as numbers separated by white space or commas. Lines mean nothing: a row may break over several, or share one.

Reference: R. E. Burkard, S. E. Karisch, F. Rendl, QAPLIB - A quadratic assignment problem library,
Journal of Global Optimization 10 (1997) 391-403.
"""

import difflib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile

from trisplit.errors import InputError
from trisplit.qap.instance import Instance

MAX_BYTES = 512 * 2**20
"""`read` refuses larger files: memory grows with the file, and its limit should be hit by a message."""

_BLANK = rb"[\s,]"
_TOKEN = re.compile(rb"[^\s,]+")
_NUMBER = rb"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+"
# Possessive, so that one pass ends in front of the first token that is not a number.
_NUMBERS = re.compile(_BLANK + rb"*+(?:" + _NUMBER + rb"(?:" + _BLANK + rb"++|\Z))*+")
_LONG_INTEGER = re.compile(rb"[+-]?\d{19,}")  # 18 digits always fit int64
_SHAPES = bytes(ord(" ") if _TOKEN.fullmatch(bytes([c])) is None else ord("x") for c in range(256))


@dataclass(frozen=True)
class Entry:
    """What is known about one bundled instance, without its matrices."""

    name: str
    n: int
    best_known: int
    proven: bool
    lower_bound: int
    in_paper: bool


def names() -> list[str]:
    """Return the names of the bundled instances, numbers in them sorted by value.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from trisplit.qap.qaplib import names
    >>> len(names()), names()[:2]
    (136, ['bur26a', 'bur26b'])
    """
    return list(_entries())


def table() -> list[Entry]:
    """Return size and known values of every bundled instance, in the order of `names`.

    Returns
    -------
    list of Entry
        With `name`, `n`, `best_known`, `proven`, `lower_bound` and `in_paper`.

    Examples
    --------
    >>> from trisplit.qap.qaplib import table
    >>> [entry.name for entry in table() if not entry.in_paper]
    ['tai10a', 'tai10b']
    """
    return list(_entries().values())


def load(name: str) -> Instance:
    """Return a bundled QAPLIB instance.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    Instance
        With its best-known value, a lower bound and, where one is confirmed, a permutation of that value.

    Examples
    --------
    >>> from trisplit.qap.qaplib import load
    >>> nug30 = load("nug30")
    >>> nug30.n, nug30.best_known, nug30.cost(nug30.solution)
    (30, 6124, 6124)
    """
    entry = _entries().get(name) if isinstance(name, str) else None
    if entry is None:
        raise InputError(_unknown(name))
    with _bundle() as bundle:
        return Instance(
            name,
            bundle[f"{name}/A"],
            bundle[f"{name}/B"],
            best_known=entry.best_known,
            proven=entry.proven,
            lower_bound=entry.lower_bound,
            in_paper=entry.in_paper,
            solution=bundle.get(f"{name}/solution"),
        )


def read(path: str | os.PathLike[str]) -> Instance:
    """Return the instance in a QAPLIB `.dat` file: n, then A, then B.

    Integers are kept exactly, as int64. If one number of the file is written with a point or an exponent,
    both matrices are float64.

    Parameters
    ----------
    path : str or path-like
        A regular file of at most `MAX_BYTES` bytes. Its name without the suffix becomes the instance's name.

    Returns
    -------
    Instance
        Without a best-known value.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from trisplit.qap.qaplib import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pair.dat")
    ...     _ = path.write_text("2  0 1 1 0  0, 3, 3, 0")
    ...     read(path).cost([1, 0])
    6
    """
    try:
        path = Path(path)
    except TypeError as error:
        raise InputError(f"`path` must be a string or a path, got {type(path).__name__}; name a file") from error
    data = _contents(path)
    n = _leading_size(path, data)
    _check_tokens(path, data)
    _check_count(path, data, n)
    A, B = _numbers(path, data)[1:].reshape(2, n, n)
    return Instance(path.stem, A, B)


@contextmanager
def _bundle() -> Iterator[NpzFile]:
    # An open member rather than a path: the package may be imported from a zip file.
    source = resources.files("trisplit.qap") / "data" / "qaplib.npz"
    with source.open("rb") as file, np.load(file, allow_pickle=False) as bundle:
        yield bundle


@cache
def _entries() -> dict[str, Entry]:
    with _bundle() as bundle:
        return {row[0]: Entry(*row) for row in bundle["table"].tolist()}


def _unknown(name: object) -> str:
    if not isinstance(name, str):
        return f"`name` must be a string, got {type(name).__name__}; `trisplit list` shows the names"
    if name.endswith(".dat") or Path(name).name != name:
        return f"`name` {name!r} is not a bundled instance; to read a file, use `read`"
    near = difflib.get_close_matches(name.lower(), names(), n=3, cutoff=0.5)
    nearest = f"the nearest are {', '.join(near)}; " if near else ""
    return f"`name` {_shorten(name)} is not a bundled instance; {nearest}`trisplit list` shows all"


def _contents(path: Path) -> bytes:
    """Return the bytes of a regular file whose size has been checked first."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"{str(path)!r} is a directory; name a `.dat` file in it")
        if not stat.S_ISREG(status.st_mode):  # a device or a pipe has no size to check, and may never end
            raise InputError(f"{str(path)!r} is not a regular file; save its contents to one and read that")
        if status.st_size > MAX_BYTES:
            raise InputError(
                f"{str(path)!r} has {status.st_size} bytes, more than the limit of {MAX_BYTES}; "
                "build an `Instance` from arrays instead"
            )
        with path.open("rb") as file:
            data = file.read(status.st_size)
    except FileNotFoundError as error:
        raise InputError(_missing(path)) from error
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "not a valid path"
        raise InputError(f"{str(path)!r} cannot be read ({reason}); check the name and its permissions") from error
    return data.removeprefix(b"\xef\xbb\xbf")  # the mark that some editors put in front of UTF-8 text


def _missing(path: Path) -> str:
    if str(path) in _entries():
        return f"{str(path)!r} is not a file but a bundled instance; get it with `load({str(path)!r})`"
    if path.stem in _entries():
        return f"{str(path)!r} does not exist; check the path, or get the bundled one with `load({path.stem!r})`"
    return f"{str(path)!r} does not exist; check the path"


def _leading_size(path: Path, data: bytes) -> int:
    first = _TOKEN.search(data)
    if first is None:
        raise InputError(f"{str(path)!r} is empty; it must hold n, then the n x n matrices A and B")
    token = first[0]
    if _is_binary(token):
        raise InputError(_binary(path))
    if re.fullmatch(rb"\+?\d+", token) is None or not token.strip(b"+0"):
        raise InputError(
            f"{str(path)!r} must begin with the size n, a positive integer, "
            f"found {_shorten(token)} in line {_line(data, first.start())}; put n in front of the matrices"
        )
    digits = token.lstrip(b"+0")
    # 2 n^2 numbers take at least 4 n^2 bytes. The length goes first: int() refuses very long strings.
    if len(digits) > 9 or 4 * int(digits) ** 2 > MAX_BYTES:
        raise InputError(
            f"{str(path)!r} gives the size n = {_shorten(token, quote=False)}, whose matrices "
            f"exceed the limit of {MAX_BYTES} bytes; check the first number"
        )
    return int(digits)


def _check_tokens(path: Path, data: bytes) -> None:
    match = _NUMBERS.match(data)
    end = match.end() if match else 0
    if end == len(data):
        return
    bad = _TOKEN.search(data, end)
    token = bad[0] if bad else b""
    if _is_binary(token):
        raise InputError(_binary(path))
    where = f"found {_shorten(token)} in line {_line(data, end)}"
    if token.lower().lstrip(b"+-") in (b"nan", b"inf", b"infinity"):
        raise InputError(f"{str(path)!r} must hold finite numbers, {where}; replace it by a finite number")
    raise InputError(f"{str(path)!r} must hold numbers only, {where}; remove or correct it")


def _check_count(path: Path, data: bytes, n: int) -> None:
    """Refuse a wrong number of numbers while only the file itself is in memory: n may be absurd."""
    expected = 2 * n * n
    found = (b" " + data.translate(_SHAPES)).count(b" x") - 1
    if found < expected:
        raise InputError(
            f"{str(path)!r} is truncated: n = {n} needs {expected} numbers after it, found {found}; "
            "get the file again or correct n"
        )
    if found > expected:
        raise InputError(
            f"{str(path)!r} is too long: n = {n} needs {expected} numbers after it, found {found}; "
            "remove what follows A and B or correct n"
        )


def _numbers(path: Path, data: bytes) -> np.ndarray:
    """Convert data that `_check_tokens` has passed: np.fromstring by itself accepts `3-4` as two numbers."""
    spaced = data.replace(b",", b" ")
    if not any(mark in data for mark in (b".", b"e", b"E")):
        _check_int64(path, data)
        return np.fromstring(spaced, dtype=np.int64, sep=" ")
    numbers = np.fromstring(spaced, dtype=np.float64, sep=" ")
    if not np.isfinite(numbers).all():
        position = int(np.flatnonzero(~np.isfinite(numbers))[0])
        token = next(islice(_TOKEN.finditer(data), position, None))
        raise InputError(
            f"{str(path)!r} must hold numbers within float64, found {_shorten(token[0])} "
            f"in line {_line(data, token.start())}; scale the data"
        )
    return numbers


def _check_int64(path: Path, data: bytes) -> None:
    """Refuse what np.fromstring would silently turn into the largest int64."""
    for match in _LONG_INTEGER.finditer(data):
        digits = match[0].lstrip(b"+-").lstrip(b"0") or b"0"
        value = int(digits) if len(digits) <= 19 else 2**64
        if value > 2**63 - (not match[0].startswith(b"-")):
            raise InputError(
                f"{str(path)!r} must hold integers within int64, found {_shorten(match[0])} "
                f"in line {_line(data, match.start())}; scale the data, or write it with a point for float64"
            )


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


def _is_binary(token: bytes) -> bool:
    text = token[:64].decode("utf-8", "replace")[:16]  # 16 characters lie within 64 bytes, none is cut
    return "\ufffd" in text or not text.isprintable()


def _binary(path: Path) -> str:
    return f"{str(path)!r} is not plain text; save the numbers as ASCII or UTF-8 text"


def _shorten(token: bytes | str, *, quote: bool = True) -> str:
    text = token if isinstance(token, str) else token[:100].decode("utf-8", "replace")
    short = text if len(text) <= 24 else text[:20] + "..."
    return repr(short) if quote else short
