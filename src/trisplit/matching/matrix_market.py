"""Matrix Market files: a line with the kind of matrix, its size, then entries or columns.

Format: https://math.nist.gov/MatrixMarket/formats.html. SciPy 1.17.1 has a reader too, which ends the whole process for
some files (a zero byte behind a number, an array without rows), so that no message can be given.
"""

import io
from pathlib import Path

import numpy as np

from trisplit.errors import InputError
from trisplit.matching.edges import adjacency
from trisplit.matching.file_bytes import check_fits, reading, text_of

_FORMS = ("coordinate", "array")
_FIELDS = ("real", "integer", "pattern", "double")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


def read_market(path: Path) -> np.ndarray:
    """Return the matrix in a Matrix Market file, which `.gz` may pack: csr for coordinates, dense for an array."""
    text = text_of(path, expansion=8)
    with reading(path, "a Matrix Market file"):
        first, _, rest = text.partition("\n")
        form, field, symmetry = _kind(first, path)
        while rest.lstrip().startswith("%"):
            rest = rest.lstrip().partition("\n")[2]
        sizes, _, body = rest.lstrip().partition("\n")
        rows, columns, *stored = map(int, sizes.split())
        if min(rows, columns, *stored, 0) < 0 or len(stored) != (form == "coordinate"):
            raise ValueError(f"its size is given as {sizes[:40]!r}")
        if rows != columns:
            text = f"{str(path)!r} must hold a square matrix, found shape ({rows}, {columns})"
            raise InputError(f"{text}; save one row and one column for each vertex")
        if form == "coordinate":
            check_fits(path, 16 * rows)
            return _coordinates(body, rows, stored[0], field, symmetry, path)
        return _array(body, rows, symmetry, path)


def _kind(line: str, path: Path) -> tuple[str, str, str]:
    words = line.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        text = f"{str(path)!r} must begin with '%%MatrixMarket matrix', found {line[:30]!r}"
        raise InputError(f"{text}; rename it after its format, or save it again")
    form, field, symmetry = words[2:]
    if form not in _FORMS or field not in _FIELDS or symmetry not in _SYMMETRIES:
        text = f"{str(path)!r} must be a real matrix, found {' '.join(words[2:])[:60]!r}"
        raise InputError(f"{text}; save real numbers, {', '.join(_SYMMETRIES)}")
    return form, field, symmetry


def _coordinates(body: str, n: int, stored: int, field: str, symmetry: str, path: Path) -> np.ndarray:
    entries = _numbers(body, stored, 2 if field == "pattern" else 3, path)
    i, j = entries[:, 0], entries[:, 1]
    outside = np.flatnonzero(~((i >= 1) & (i <= n) & (j >= 1) & (j <= n)) | (i % 1 != 0) | (j % 1 != 0))
    if len(outside):
        k = outside[0]
        text = f"{str(path)!r} has an entry at ({i[k]:g}, {j[k]:g}), and its rows and columns are 1 to {n}"
        raise InputError(f"{text}; get it or save it again")
    i, j = i.astype(np.int64) - 1, j.astype(np.int64) - 1
    values = np.ones(stored) if field == "pattern" else entries[:, 2]
    if symmetry == "skew-symmetric":
        i, j, values = np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([values, -values])
    return adjacency(n, i, j, values, directed=symmetry != "symmetric")


def _array(body: str, n: int, symmetry: str, path: Path) -> np.ndarray:
    """Return the matrix whose columns, from their diagonal on if it is symmetric, are in `body`."""
    if symmetry == "general":
        return _numbers(body, n * n, 1, path).reshape(n, n).T
    below = int(symmetry == "skew-symmetric")
    values = _numbers(body, (n - below) * (n + 1 - below) // 2, 1, path).ravel()
    columns, rows = np.triu_indices(n, below)
    M = np.zeros((n, n))
    M[rows, columns] = values
    M[columns, rows] = -values if below else values
    return M


def _numbers(body: str, rows: int, width: int, path: Path) -> np.ndarray:
    """Return a table of numbers; its size is checked first, for it may be absurd."""
    if rows * width * 2 > len(body) + 1:
        text = f"{str(path)!r} is truncated: it declares {rows} entries, and {len(body)} bytes are left for them"
        raise InputError(f"{text}; get it or save it again")
    told = any(line.partition("%")[0].strip() for line in io.StringIO(body))  # NumPy warns if there are but comments
    found = np.loadtxt(io.StringIO(body), comments="%", ndmin=2) if told else np.zeros((0, width))
    if found.shape != (rows, width):
        text = f"{str(path)!r} declares {rows} entries of {width} numbers, found {found.shape[0]} of {found.shape[1]}"
        raise InputError(f"{text}; get it or save it again")
    return found
