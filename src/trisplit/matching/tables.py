"""Text files with an edge, or a pair of seeds, in each line.

Columns are separated by commas, semicolons, tabs or spaces; lines that begin with # or % are comments; the first line
may name the columns. Where semicolons separate, weights may have decimal commas. What networkx writes behind an edge,
`{'weight': 2.0}`, is understood too.
"""

import ast
import csv
import re
from pathlib import Path
from typing import NamedTuple

from trisplit.errors import InputError
from trisplit.matching.edges import ends_and_weight, indexed, whole_names
from trisplit.matching.file_bytes import text_of
from trisplit.matching.graphs import Graph, labelled

_TITLES = {"source", "target", "from", "to", "src", "dst"}
_PAIRS = {("u", "v"), ("i", "j"), ("source_id", "target_id"), ("from_id", "to_id")} | {
    (stem + one, stem + two) for stem in ("node", "id", "vertex", "name") for one, two in (("1", "2"), ("_1", "_2"))
}
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")


class Row(NamedTuple):
    """The number of a line, and its fields."""

    line: int
    fields: list[str]


class Table(NamedTuple):
    """The lines of a file, and what separates their fields."""

    rows: list[Row]
    separator: str


def read_table(path: Path, least: str) -> Table:
    """Return the lines of a table, with one number of fields; `least` says what a line has to hold."""
    lines = [line.strip(" \r\n\v\f") for line in text_of(path, expansion=24).splitlines()]
    told = list(filter(_tells, lines))
    if not told:
        raise InputError(f"{str(path)!r} has nothing but comments; put {least} into each line")
    rows, separator = [], _separator(told, path)
    for number, line in enumerate(lines, start=1):
        if not _tells(line):
            continue
        fields = _fields(line, separator)
        if len(fields) < 2:
            text = f"{str(path)!r} must have {least} in each line, found {line[:30]!r} in line {number}"
            raise InputError(f"{text}; separate them by commas, semicolons, tabs or spaces")
        if rows and len(fields) != len(rows[0].fields):
            text = f"{str(path)!r} has {len(fields)} columns in line {number}, and {len(rows[0].fields)} before"
            raise InputError(f"{text}; complete the line, or put names with spaces into a file with commas")
        rows.append(Row(number, fields))
    return Table(rows, separator)


def read_edges(path: Path, *, directed: bool) -> Graph:
    """Return the graph whose edges a file lists."""
    rows, separator = read_table(path, "the two ends of an edge")
    titled = _is_title(rows, separator)
    source, target, weight = ends_and_weight(rows[0].fields if titled else [""] * len(rows[0].fields))
    rows = rows[titled:]
    if not rows:
        raise InputError(f"{str(path)!r} has a line with titles, and no edge; save the edges below it")
    weights = [1.0] * len(rows) if weight is None else _weights(rows, weight, separator, path)
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


def _tells(line: str) -> bool:
    return bool(line.strip()) and line[0] not in "#%"


def _separator(lines: list[str], path: Path) -> str:
    """Return what separates columns: by the first line, and by all lines where it has two marks that could."""
    head = lines[0].partition("{")[0]
    if "\t" in head:
        return "\t"
    if ";" in head and ("," not in head or all(len(_fields(line, ";")) > 1 for line in lines)):
        if all(_is_ambiguous(line) for line in lines):
            text = f"{str(path)!r} has commas and semicolons between names, as in {lines[0][:30]!r}"
            raise InputError(f"{text}; put names that hold either into quotes, or separate columns by tabs")
        return ";"
    if "," not in head:
        return " "
    if all(_has_decimal_commas(line.split()) for line in lines):
        text = f"{str(path)!r} has spaces between columns and commas in numbers, as in {lines[0][:30]!r}"
        raise InputError(f"{text}; write decimal points, or separate columns by semicolons")
    return ","


def _is_ambiguous(line: str) -> bool:
    return '"' not in line and any("," in end for end in _fields(line, ";")[:2])


def _has_decimal_commas(fields: list[str]) -> bool:
    """Return whether there are numbers, perhaps with decimal commas, behind two ends without any comma."""
    numbers = fields[2:]
    return (
        bool(numbers)
        and not any("," in end for end in fields[:2])
        and all(is_number(field) or _DECIMAL_COMMA.fullmatch(field) for field in numbers)
    )


def _pointed(field: str, separator: str) -> str:
    """Return a number with a decimal point, where a comma in it cannot be of thousands or a separator."""
    return field.replace(",", ".") if separator == ";" and _DECIMAL_COMMA.fullmatch(field) else field


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


def _is_title(rows: list[Row], separator: str) -> bool:
    """Return whether the first line names the columns: by its words, or because only below it there are numbers."""
    first, rest = rows[0].fields, rows[1:]
    if len({field.lower() for field in first} & _TITLES) >= 2:
        return True
    if not rest:
        return False
    if tuple(field.lower() for field in first[:2]) in _PAIRS and not _are_vertices(first[:2], rest):
        return True
    if len(first) > 2 and not is_number(_pointed(first[2], separator)) and first[2]:
        return all(is_number(_pointed(row.fields[2], separator)) for row in rest)
    return not any(map(is_number, first[:2])) and all(is_number(f) for row in rest for f in row.fields[:2])


def _are_vertices(titles: list[str], rest: list[Row]) -> bool:
    """Return whether the vertices below are called alike, as `node3` below `node1`, or any letter below `u`."""
    return not {_shape(field) for row in rest for field in row.fields[:2]}.isdisjoint(map(_shape, titles))


def _shape(name: str) -> str:
    return "u" if len(name) == 1 and name.isalpha() else re.sub(r"\d+", "1", name.lower())


def _weights(rows: list[Row], column: int, separator: str, path: Path) -> list[float]:
    fields = [row.fields[column] for row in rows]
    if not any("." in field for field in fields):  # else a comma would be one of thousands
        fields = [_pointed(field, separator) for field in fields]
    return [_weight(field, row.line, column, path) for field, row in zip(fields, rows, strict=True)]


def _weight(field: str, line: int, column: int, path: Path) -> float:
    if is_number(field) and abs(float(field)) < float("inf"):
        return float(field)
    text = f"{str(path)!r} must have finite numbers as weights, found {field[:20]!r} in line {line}"
    remedy = "write it with a decimal point" if _DECIMAL_COMMA.fullmatch(field) else "correct it"
    raise InputError(f"{text}; {remedy}, or leave out column {column + 1}")
