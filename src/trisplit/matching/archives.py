"""Matrices in files: `.npy` and `.npz`. What a header declares is looked at before any data is read.

Nothing in a file is executed: arrays of Python objects, which NumPy keeps as pickles, are refused.
"""

import math
import zipfile
from pathlib import Path
from typing import IO

import numpy as np

from trisplit.errors import InputError
from trisplit.matching.file_bytes import check_fits, reading


def read_npy(path: Path) -> np.ndarray:
    """Return the array that `np.save` wrote."""
    with reading(path, "a file of `np.save`"):
        with path.open("rb") as file:
            shape, dtype = _header(file)
            left = path.stat().st_size - file.tell()
        _check_array(path, shape, dtype, left)
        return np.load(path, allow_pickle=False)


def read_npz(path: Path) -> object:
    """Return the sparse matrix of `scipy.sparse.save_npz`, or the one array of `np.savez`."""
    with reading(path, "a file of `np.savez` or `scipy.sparse.save_npz`"):
        headers = {}
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                with archive.open(member) as file:
                    headers[member.filename.removesuffix(".npy")] = (*_header(file), member.file_size - file.tell())
        if {"format", "shape"} <= headers.keys():
            return _sparse(path, headers)
        if len(headers) != 1:
            found = f"{len(headers)} arrays ({', '.join(headers)[:60]})" if headers else "no array"
            raise InputError(f"{str(path)!r} must hold one square matrix, found {found}; save each into its own file")
        (name,) = headers
        _check_array(path, *headers[name])
        with np.load(path, allow_pickle=False) as arrays:
            return arrays[name]


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype


def _check_array(path: Path, shape: tuple[int, ...], dtype: np.dtype, left: int) -> None:
    _check_square(path, shape)
    if dtype.hasobject or dtype.kind not in "biufc":
        text = f"{str(path)!r} must hold numbers, found dtype {dtype}"
        raise InputError(f"{text}, and Python objects are never loaded; save an array of numbers")
    # Twice where it has to be converted.
    check_fits(path, math.prod(shape) * (dtype.itemsize + (8 if dtype != np.float64 else 0)))
    _check_length(path, shape, dtype, left)


def _check_length(path: Path, shape: tuple[int, ...], dtype: np.dtype, left: int) -> None:
    needed = math.prod(shape) * dtype.itemsize
    if left < needed:
        text = f"{str(path)!r} is truncated: its {shape} {dtype} entries take {needed} bytes, found {left}"
        raise InputError(f"{text}; get it or save it again")


def _check_square(path: Path, shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] != shape[1]:
        text = f"{str(path)!r} must hold a square matrix, found shape {shape}"
        raise InputError(f"{text}; save one row and one column for each vertex")


def _sparse(path: Path, headers: dict) -> object:
    from scipy.sparse import load_npz

    for shape, dtype, left in headers.values():
        if dtype.hasobject:
            raise InputError(f"{str(path)!r} holds Python objects, which are never loaded; use `scipy.sparse.save_npz`")
        _check_length(path, shape, dtype, left)
    stored = sum(math.prod(shape) * dtype.itemsize for shape, dtype, _ in headers.values())
    check_fits(path, 3 * stored)
    with np.load(path, allow_pickle=False) as arrays:
        shape = tuple(int(size) for size in arrays["shape"])
    _check_square(path, shape)
    check_fits(path, 3 * stored + 16 * shape[0])
    return load_npz(path)
