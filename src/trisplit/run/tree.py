"""Named tuples, records and arrays as numbers that JSON knows and plain arrays, and back.

Which named tuples there may be is said beforehand: what a file names can make nothing else.
"""

from functools import cache
from types import NoneType
from typing import Any, TypeAlias

import numpy as np

from trisplit.arrays import Array, index_like, is_array, to_numpy
from trisplit.splitting.tos import State
from trisplit.steps.records import Record, Table

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Arrays: TypeAlias = dict[str, np.ndarray]

RESTORED = (NoneType, bool, int, float, str, np.float64, np.bool_, tuple, Record, Table)


def packed(value: object, arrays: Arrays) -> Json:
    """Return `value` as JSON knows it, with its arrays put into `arrays`; an array that comes twice is put once.

    A `TypeError` refuses what a rule or an estimator remembers if it would come back as something else.

    Examples
    --------
    >>> arrays = {}
    >>> packed((1, np.ones(2)), arrays), list(arrays)
    ({'tuple': [1, {'array': '0', 'host': True}]}, ['0'])
    """
    keys: dict[int, str] = {}

    def pack(part: object, exact: bool = False) -> Json:
        kind, exact = type(part), exact or isinstance(part, State)
        if exact and not restored(part):
            raise TypeError(f"a {kind.__name__} would not come back as it was")
        match part:
            case np.generic():
                return part.item()
            case Table():
                return {"table": pack(part.rows)}
            case Record():
                return {"record": {name: pack(number) for name, number in vars(part).items()}}
            case tuple() | list():
                parts = [pack(each, exact) for each in part]
                if hasattr(kind, "_fields") and kind.__module__.startswith("trisplit."):
                    return {"tuple": parts, "named": kind.__name__}  # another's of that name would be taken for ours
                return {"tuple": parts}
            case dict():
                return {"dict": {name: pack(each, exact) for name, each in part.items()}}
        if not is_array(part):
            return part  # pyright: ignore[reportReturnType]  # None, a number or a text
        key = keys.setdefault(id(part), str(len(arrays)))
        if key not in arrays:
            arrays[key] = to_numpy(part)
        return {"array": key, "host": type(part) is np.ndarray}

    return pack(value)


def restored(part: object) -> bool:
    """Say whether `unpacked` makes a part of the same type again, if the parts of it are."""
    if is_array(part):
        return str(part.dtype) != "object"
    if type(part) is dict:
        return all(type(name) is str for name in part)
    return type(part) in RESTORED or type(part).__module__.startswith("trisplit.")


def unpacked(tree: Json, arrays: Arrays, like: Array, types: dict[str, type]) -> Any:  # noqa: ANN401
    """Return what `packed` was given; arrays that were not NumPy's come in the library and on the device of `like`.

    A named tuple whose name is not among `types` becomes a plain one.
    """

    @cache
    def array(key: str, host: bool) -> Array:
        return arrays[key] if host else index_like(arrays[key], like)  # in the dtype that it had

    def unpack(part: Any) -> Any:  # noqa: ANN401
        match part:
            case {"array": key, "host": host}:
                return array(key, host)
            case {"table": rows}:
                return Table(unpack(rows))
            case {"record": numbers}:
                return Record(numbers)
            case {"tuple": parts, "named": name} if name in types:
                return types[name](*map(unpack, parts))
            case {"tuple": parts}:
                return tuple(map(unpack, parts))
            case {"dict": parts}:
                return {name: unpack(each) for name, each in parts.items()}
        return part

    return unpack(tree)
