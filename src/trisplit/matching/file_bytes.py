"""The bytes of a file that a user names, and what is said where there are none."""

import gzip
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from trisplit.errors import InputError
from trisplit.matching.memory import available_bytes, in_words


def as_path(path: str | PathLike[str]) -> Path:
    """Return the path of a regular file that is not empty.

    Examples
    --------
    >>> import trisplit as ts
    >>> try:
    ...     as_path("no such file.csv")
    ... except ts.InputError as error:
    ...     print(error)
    'no such file.csv' does not exist; check the path
    """
    if not isinstance(path, str | PathLike):
        raise InputError(f"`path` must be a string or a path, got {type(path).__name__}; name a file")
    path = Path(path)
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise InputError(f"{str(path)!r} does not exist; check the path") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{str(path)!r} cannot be read ({_reason(error)}); check name and permissions") from error
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{str(path)!r} is a directory; name a file in it")
    if not stat.S_ISREG(status.st_mode):  # a device or a pipe may never end
        raise InputError(f"{str(path)!r} is not a regular file; save its contents to one and read that")
    if not status.st_size:
        raise InputError(f"{str(path)!r} is empty; save it again")
    return path


def file_bytes(path: Path, expansion: int) -> bytes:
    """Return the bytes of a file, unpacked if it ends in `.gz`; parsing them may take `expansion` times their size."""
    limit = available_bytes() // expansion
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            data = file.read(limit + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        text = f"{str(path)!r} is truncated or not a gzip file ({_reason(error)})"
        raise InputError(f"{text}; get it again, or rename it") from error
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read ({_reason(error)}); check name and permissions") from error
    if len(data) > limit:
        check_fits(path, expansion * len(data), "at least ")
    if not data.strip():
        raise InputError(f"{str(path)!r} is empty; save it again")
    return data


def text_of(path: Path, expansion: int) -> str:
    """Return the text of a file in UTF-8."""
    data = file_bytes(path, expansion)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"byte {data[error.start]:#04x} at position {error.start}"
        text = f"{str(path)!r} is not plain text ({found}); save it as UTF-8, or rename it after its format"
        raise InputError(text) from error
    if "\0" in text:
        raise InputError(f"{str(path)!r} is not plain text (it has zero bytes); rename it after its format")
    return text


def check_fits(path: Path, needed: int, prefix: str = "") -> None:
    """Refuse what memory cannot hold, before it is taken."""
    available = available_bytes()
    if needed > available:
        text = f"{str(path)!r} needs {prefix}{in_words(needed)} of memory, and {in_words(available)} are available"
        raise InputError(f"{text}; save a sparse matrix, or use a larger machine")


@contextmanager
def reading(path: Path, form: str) -> Iterator[None]:
    """Turn what parsers raise for bytes that they do not understand into one line."""
    try:
        yield
    except InputError:
        raise
    except MemoryError as error:
        text = f"{str(path)!r} needs more memory than there is"
        raise InputError(f"{text}; save a sparse matrix, or use a larger machine") from error
    except Exception as error:  # zip, XML and the readers of SciPy have no common class of errors
        text = f"{str(path)!r} is damaged or not {form} ({_reason(error)})"
        raise InputError(f"{text}; get it or save it again") from error


def _reason(error: Exception) -> str:
    text = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
    text = " ".join(text.split())
    return text if len(text) <= 120 else text[:117] + "..."
