"""Text files with an edge, or a pair of seeds, in each line.

Columns are separated by commas, tabs or spaces; lines that begin with # or % are comments; the first line may name
the columns. What networkx writes behind an edge, `{'weight': 2.0}`, is understood too.
"""

import ast
import csv
from pathlib import Path
from typing import NamedTuple

from trisplit.errors import InputError
from trisplit.matching.contents import text_of
from trisplit.matching.edges import ends_and_weight, indexed, whole_names
from trisplit.matching.graphs import Graph, labelled

_TITLES = {"source", "target", "from", "to", "src", "dst"}


class Row(NamedTuple):
    """The number of a line, and its fields."""

    line: int
    fields: list[str]


def read_rows(path: Path, least: str) -> list[Row]:
    """Return the lines of a table, with one number of fields; `least` says what a line has to hold."""
    rows, separator = [], ""
    for number, line in enumerate(text_of(path, expansion=24).splitlines(), start=1):
        line = line.strip(" \r\n\v\f")
        if not line.strip() or line[0] in "#%":
            continue
        if not rows:
            separator = next((mark for mark in "\t," if mark in line.partition("{")[0]), " ")
        fields = _fields(line, separator)
        if len(fields) < 2:
            text = f"{str(path)!r} must have {least} in each line, found {line[:30]!r} in line {number}"
            raise InputError(f"{text}; separate them by commas, tabs or spaces")
        if rows and len(fields) != len(rows[0].fields):
            text = f"{str(path)!r} has {len(fields)} columns in line {number}, and {len(rows[0].fields)} before"
            raise InputError(f"{text}; complete the line, or put names with spaces into a file with commas")
        rows.append(Row(number, fields))
    if not rows:
        raise InputError(f"{str(path)!r} has nothing but comments; put {least} into each line")
    return rows


def read_edges(path: Path, *, directed: bool) -> Graph:
    """Return the graph whose edges a file lists."""
    rows = read_rows(path, "the two ends of an edge")
    titled = _is_title(rows)
    source, target, weight = ends_and_weight(rows[0].fields if titled else [""] * len(rows[0].fields))
    rows = rows[titled:]
    if not rows:
        raise InputError(f"{str(path)!r} has a line with titles, and no edge; save the edges below it")
    weights = [1.0] * len(rows) if weight is None else [_weight(row, weight, path) for row in rows]
    ends = [row.fields[source] for row in rows] + [row.fields[target] for row in rows]
    if "" in ends:
        row = rows[ends.index("") % len(rows)]
        raise InputError(f"{str(path)!r} has no vertex name in a column of line {row.line}; give both ends of the edge")
    names = whole_names(ends)
    labels, i, j = indexed(names[: len(rows)], names[len(rows) :], repr(str(path)))
    return labelled(labels, i, j, weights, directed=directed, what=repr(str(path)), listed=True)


def is_number(text: str) -> bool:
    """Return whether `text` is a number.

    Examples
    --------
    >>> is_number("-1.5e3"), is_number("weight")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def _fields(line: str, separator: str) -> list[str]:
    if line.endswith("}") and "{" in line:
        head, _, rest = line.partition("{")
        attributes = _attributes("{" + rest)
        if attributes is not None:
            head = head.strip(" ").removesuffix(separator.strip(" "))
            return [*_fields(head, separator), str(attributes.get("weight", 1))]
    if separator == " ":
        return line.split()
    if '"' in line:  # a name in quotes may hold the separator
        return [field.strip() for field in next(csv.reader([line], delimiter=separator, skipinitialspace=True))]
    return [field.strip() for field in line.split(separator)]


def _attributes(text: str) -> dict | None:
    if text == "{}":
        return {}
    try:
        value = ast.literal_eval(text)  # constants only: nothing is called
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_title(rows: list[Row]) -> bool:
    """Return whether the first line names the columns: by its words, or because only below it there are numbers."""
    first, rest = rows[0].fields, rows[1:]
    if len({field.lower() for field in first} & _TITLES) >= 2:
        return True
    if not rest:
        return False
    if len(first) > 2 and not is_number(first[2]) and first[2]:
        return all(is_number(row.fields[2]) for row in rest)
    return not any(map(is_number, first[:2])) and all(is_number(f) for row in rest for f in row.fields[:2])


def _weight(row: Row, column: int, path: Path) -> float:
    field = row.fields[column]
    if is_number(field) and abs(float(field)) < float("inf"):
        return float(field)
    text = f"{str(path)!r} must have finite numbers as weights, found {field[:20]!r} in line {row.line}"
    raise InputError(f"{text}; correct it, or leave out column {column + 1}")
