"""What a benchmark leaves behind: a JSON file, tables and a figure of one style."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trisplit.files import write_whole

INNERMOST = re.compile(r"\[[^\[\]{}]*\]")  # lists of numbers, which fit on a line
ROWS = "rows, a line each"
UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6))


@dataclass
class Table:
    """A table with a title; the first column is text, the others are numbers, already in words."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)


def write_json(path: Path, record: dict[str, Any]) -> None:
    """Write the record in one step; NaN and inf, which JSON has no words for, are an error."""
    rows = record.get("rows", [])
    lists = bool(rows) and all(isinstance(row, list | tuple) for row in rows)
    text = json.dumps(record | {"rows": ROWS} if lists else record, indent=1, allow_nan=False)
    text = INNERMOST.sub(lambda found: " ".join(found[0].split()), text) + "\n"
    if lists:
        lines = ",\n  ".join(json.dumps(row, allow_nan=False) for row in rows)
        text = text.replace(json.dumps(ROWS), f"[\n  {lines}\n ]")
    write_whole(path, text)


def duration(seconds: float | None) -> str:
    """Return a time in readable units.

    >>> duration(1.234e-05), duration(0.5), duration(None)
    ('12.3 us', '500 ms', 'never')
    """
    if seconds is None:
        return "never"
    unit, size = next((pair for pair in UNITS if seconds >= pair[1]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"
