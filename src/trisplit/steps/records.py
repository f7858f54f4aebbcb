"""Numbers under names, of one problem or of each problem of a batch, and decisions about them.

A *decision* is a plain function of a record: it reads and changes fields, and says yes or no. It runs as Python on a
`Record`, and on each row of a `Table` as numba compiles it, unchanged. So a rule is written once.
"""

from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Self

import numpy as np


class Record:
    """The numbers of one problem.

    Examples
    --------
    >>> def halve(r):
    ...     r.gamma /= 2
    ...     return r.gamma < 1
    >>> record = Record({"gamma": 2.0})
    >>> record.count(halve), record.gamma
    (False, 1.0)
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> float: ...

        def __setattr__(self, name: str, number: object) -> None: ...

    def __init__(self, numbers: dict[str, float]) -> None:
        self.__dict__.update(numbers)

    def copy(self) -> "Record":
        return Record(self.__dict__)

    def put(self, numbers: dict) -> None:
        """Set some of the numbers."""
        self.__dict__.update(numbers)

    def count(self, decision: FunctionType) -> int:
        """Return 1, or True, if the decision is yes, else 0."""
        return decision(self)


class Table:
    """The numbers of each problem of a batch; `table.gamma` is a column, and may be assigned.

    Examples
    --------
    >>> table = Table.of(3, {"gamma": 1.0, "size": 2.0})
    >>> table.gamma = [1.0, 2.0, 3.0]
    >>> table.copy().gamma
    array([1., 2., 3.])
    """

    def __init__(self, rows: np.ndarray) -> None:
        self.__dict__["rows"] = rows

    @classmethod
    def of(cls, n: int, numbers: dict[str, float]) -> Self:
        """Return n rows with the same numbers."""
        return cls(np.tile(np.array(tuple(numbers.values()), np.float64), n).view(row_of(tuple(numbers))))

    def __getattr__(self, name: str) -> np.ndarray:
        try:
            return self.rows[name]
        except ValueError as error:
            raise AttributeError(f"the table has no column {name!r}") from error

    def __setattr__(self, name: str, numbers: object) -> None:
        self.rows[name] = numbers

    def __reduce__(self) -> tuple:
        return Table, (self.rows,)  # an object made without rows would look for them in `__getattr__`, for ever

    def copy(self) -> "Table":
        return Table(self.rows.view(np.float64).copy().view(self.rows.dtype))  # field by field takes ten times as long

    def put(self, numbers: dict) -> None:
        """Set some of the columns."""
        for name, column in numbers.items():
            self.rows[name] = column

    def count(self, decision: FunctionType) -> int:
        """Take the decision for each row, and return how many are yes."""
        return over_rows(decision, self.rows.dtype)(self.rows)


@cache
def row_of(names: tuple[str, ...]) -> np.dtype:
    """Return the type of a row with a number under each name."""
    return np.dtype([(name, np.float64) for name in names])


def compile_decisions(module: ModuleType) -> None:
    """Compile for batches `ALL` decisions of a module on records like its `FIRST`: a second, once on a machine."""
    for decision in module.ALL:
        Table.of(0, module.FIRST).count(decision)


def count_rows(table: np.ndarray) -> int:
    """Count the rows for which the decision is yes."""
    yes = 0
    for i in range(table.shape[0]):
        yes += decide(table[i])  # noqa: F821  # pyright: ignore[reportUndefinedVariable]  # the decision, put there by `over_rows`
    return yes


@cache
def over_rows(decision: FunctionType, dtype: np.dtype) -> Callable[[np.ndarray], int]:
    """Return `count_rows` for a decision, compiled."""
    from numba import from_dtype, int64

    from trisplit.kernels import compiled

    names = {**count_rows.__globals__, "decide": decision}
    loop = FunctionType(count_rows.__code__, names, f"count_{decision.__name__}")
    return compiled(int64(from_dtype(dtype)[::1]), inline=True)(loop)
