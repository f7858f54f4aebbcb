"""Edges with named ends, as indices and weights: what graph libraries, tables and files have in common."""

import re
from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np

from trisplit.errors import InputError
from trisplit.qap.matrices import Matrix, as_csr

_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}")
_POINT = re.compile(r"-?\d{1,16}\.\d{0,40}(?:[eE][+-]?\d{1,2})?")


def adjacency(
    n: int, i: np.ndarray, j: np.ndarray, weights: np.ndarray, *, directed: bool, listed: bool = False
) -> Matrix:
    """Return the csr array with the sum of the weights of all edges from i to j, and back if not `directed`.

    With `listed`, a list that has every edge in both directions with equal weight is symmetric as it is.

    Examples
    --------
    >>> import numpy as np
    >>> i, j, w = np.array([0, 1, 1]), np.array([1, 0, 1]), np.array([2.0, 2.0, 5.0])
    >>> adjacency(2, i, j, w, directed=False).toarray()
    array([[0., 4.],
           [4., 5.]])
    >>> adjacency(2, i, j, w, directed=False, listed=True).toarray()
    array([[0., 2.],
           [2., 5.]])
    """
    from scipy.sparse import coo_array

    M = as_csr(coo_array((weights, (i, j)), shape=(n, n)), np.float64)  # pyright: ignore[reportArgumentType]
    if directed or (listed and (M != M.T).nnz == 0):  # pyright: ignore[reportAttributeAccessIssue]
        return M
    off = i != j  # a loop has one direction
    ends = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
    return as_csr(coo_array((np.concatenate([weights, weights[off]]), ends), shape=(n, n)), np.float64)  # pyright: ignore


def numbers(values: np.ndarray, what: str) -> np.ndarray:
    """Return real numbers as float64.

    Examples
    --------
    >>> import numpy as np
    >>> numbers(np.array([True, False]), "`A`")
    array([1., 0.])
    """
    kind = values.dtype.kind
    if kind == "O" and all(map(_is_real, values.flat)):
        kind = "f"
    if kind not in "biuf":
        text = f"{what} must be real numbers, got {values.dtype}"
        raise InputError(f"{text}; {'take the real part or the modulus' if kind == 'c' else 'convert them'}")
    try:
        with np.errstate(over="ignore"):  # infinities are named by those who call
            return values.astype(np.float64, copy=False)
    except OverflowError as error:  # integers and fractions have no infinity
        raise InputError(f"{what} must lie within 1.8e308, got an integer beyond; divide all by the largest") from error


def labels_or_none(labels: Sequence) -> tuple | None:
    """Return the labels of the vertices, None if they are the integers 0 .. n-1.

    Examples
    --------
    >>> labels_or_none([0, 1, 2]), labels_or_none([1, 0])
    (None, (1, 0))
    """
    plain = all(isinstance(v, Integral) and not isinstance(v, bool) and v == k for k, v in enumerate(labels))
    return None if plain else tuple(labels)


def indexed(sources: list, targets: list, what: str) -> tuple[list, np.ndarray, np.ndarray]:
    """Return the labels in both lists, sorted where they can be, and the lists as indices into them.

    So the order of the edges does not matter. Numbers in floating point that are whole become integers.

    Examples
    --------
    >>> labels, i, j = indexed(["b", "c"], ["a", "a"], "`A`")
    >>> labels, i.tolist(), j.tolist()
    (['a', 'b', 'c'], [1, 2], [0, 0])
    """
    try:
        labels = list(dict.fromkeys([*sources, *targets]))
        if all(isinstance(v, Real) and not isinstance(v, bool) and _is_whole(v) for v in labels):
            labels = list(map(int, labels))  # equal to the float, with the same hash
        place = {label: k for k, label in enumerate(_sorted(labels))}
    except TypeError as error:
        raise InputError(
            f"{what} has vertex names that cannot be compared ({error}); use strings or numbers"
        ) from error
    i = np.array([place[label] for label in sources], dtype=np.int64)
    j = np.array([place[label] for label in targets], dtype=np.int64)
    return list(place), i, j


def whole_names(names: Sequence) -> list:
    """Return names in a file as integers if all are written as such, as `7` or as NumPy's `7.00e+00`, else as they are.

    Names such as `007` stay: they may differ from `7`.

    Examples
    --------
    >>> whole_names(["2", "10"]), whole_names(["2", "010"]), whole_names(["2.0e+00", "1.0e+01"])
    ([2, 10], ['2', '010'], [2, 10])
    """
    different = set(names)
    if all(_INTEGER.fullmatch(name) for name in different):
        return list(map(int, names))
    if all(_POINT.fullmatch(name) and float(name).is_integer() for name in different):
        return [int(float(name)) for name in names]
    return list(names)


def ends_and_weight(names: Sequence[str]) -> tuple[int, int, int | None]:
    """Return the columns of source, target and weight, by their names, else by their order.

    Examples
    --------
    >>> ends_and_weight(["", "source", "target", "kind"]), ends_and_weight(["from", "to", "count"])
    ((1, 2, None), (0, 1, 2))
    """
    low = [name.strip().lower() for name in names]
    weight = low.index("weight") if "weight" in low else None
    if "source" in low and "target" in low:
        return low.index("source"), low.index("target"), weight
    if weight is not None and weight >= 2:
        return 0, 1, weight
    return 0, 1, 2 if len(low) > 2 else None


def edges_of_table(table, what: str) -> tuple[list, np.ndarray, np.ndarray, Sequence]:  # noqa: ANN001
    """Return labels, indices of the ends and weights of the edges in a DataFrame."""
    if len(table.columns) < 2:
        text = f"{what} must have columns for both ends of an edge, got {len(table.columns)}"
        raise InputError(f"{text}; call them `source` and `target`")
    source, target, weight = ends_and_weight([str(name) for name in table.columns])
    for column in (source, target):
        missing = np.flatnonzero(table.iloc[:, column].isna().to_numpy())
        if len(missing):
            text = f"{what} has no vertex in row {missing[0]} of column {table.columns[column]!r}"
            raise InputError(f"{text}; drop the row or name the vertex")
    labels, i, j = indexed(table.iloc[:, source].tolist(), table.iloc[:, target].tolist(), what)
    if weight is None:
        return labels, i, j, [1.0] * len(i)
    values = table.iloc[:, weight]
    missing = np.flatnonzero(values.isna().to_numpy())
    if len(missing):
        text = f"{what} has no finite weight in row {missing[0]} of column {table.columns[weight]!r}"
        raise InputError(f"{text}; drop the row or give it a number")
    return labels, i, j, _weights(values.tolist(), f"column {table.columns[weight]!r} of {what}")


def _weights(values: list, what: str) -> list[float]:
    for row, value in enumerate(values):
        if not _is_real(value):
            text = f"{what} must hold real numbers, the weights, got {' '.join(repr(value).split())[:40]} in row {row}"
            raise InputError(f"{text}; convert them, or drop the column")
    return numbers(np.array(values, dtype=object), what).tolist()


def _sorted(labels: list) -> list:
    try:
        return sorted(labels)
    except TypeError:  # names of several types keep the order in which they came
        return labels


def _is_whole(value: Real) -> bool:
    return isinstance(value, Integral) or float(value).is_integer()  # an integer may be too large for a float


def _is_real(value: object) -> bool:
    return isinstance(value, Real | np.bool_) or type(value).__module__ == "decimal"
