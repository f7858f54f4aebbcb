"""Results as CSV files: lines behind # say what made them, then a header, then the rows."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar, get_type_hints

from trisplit.errors import InputError
from trisplit.files import write_whole

Row = TypeVar("Row", bound=tuple)


def write_csv(path: Path, made_by: Sequence[str], fields: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write the rows in one step; floats keep all their digits."""
    text = io.StringIO()
    text.writelines(f"# {line}\n" for line in made_by)
    table = csv.writer(text, lineterminator="\n")
    table.writerow(fields)
    table.writerows(rows)
    write_whole(path, text.getvalue())


def read_csv(path: Path, kind: type[Row]) -> tuple[list[str], list[Row]]:
    """Return what made the file, and its rows as named tuples of this kind.

    Raises
    ------
    InputError
        If the columns are not the fields of `kind`, or a cell is no value of its field.
    """
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    made_by = [line[2:] for line in lines if line.startswith("# ")]
    table = csv.reader(line for line in lines if not line.startswith("#"))
    hints = get_type_hints(kind)
    if next(table, None) != list(hints):
        raise InputError(f"{path} does not hold the columns {', '.join(hints)}; make it anew")
    convert = [_CONVERTERS[hint] for hint in hints.values()]
    try:
        rows = [kind(*(one(cell) for one, cell in zip(convert, row, strict=True))) for row in table]  # pyright: ignore
    except ValueError as error:
        raise InputError(f"{path} is damaged; make it anew") from error
    return made_by, rows


_CONVERTERS = {str: str, int: int, float: float, bool: lambda cell: cell == "True"}
