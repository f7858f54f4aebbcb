"""The benchmark as one command, where the package is used from its source: it needs neither typer nor rich.

PYTHONPATH=src:. python -m benchmarks.gpu --out DIR
"""

import argparse
import json
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

from trisplit.errors import InputError

from .. import machine
from ..report import Table, write_json
from . import PARTS, figure, run, tables


def main(arguments: list[str] | None = None) -> int:
    """Run what is missing in DIR/gpu.json, keep each case there at once, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description="The engine for GPUs on one card.")
    parser.add_argument("--out", type=Path, default=Path("bench"), metavar="DIR", help="where gpu.json is kept")
    parser.add_argument("--quick", action="store_true", help="small sizes, also without a GPU")
    parser.add_argument("--parts", metavar="PART,PART", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--instances", metavar="NAME,NAME", help="of the parts on QAPLIB, these instances alone")
    parser.add_argument("--again", action="store_true", help="measure what is there anew")
    parser.add_argument("--seconds", type=float, default=inf, help="begin no case after so many")
    given = parser.parse_args(arguments)
    parts = None if given.parts is None else given.parts.split(",")
    if unknown := set(parts or ()) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; choose some of {', '.join(PARTS)}")
    path, begin = given.out / "gpu.json", perf_counter()
    given.out.mkdir(parents=True, exist_ok=True)
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    record: dict[str, Any] = {"benchmark": "gpu", "quick": given.quick, **machine.describe()}

    def report(text: str, done: float) -> None:
        if record["rows"]:
            write_json(path, record)
        print(f"{perf_counter() - begin:6.1f} s  {text}", file=sys.stderr, flush=True)

    options = {"parts": parts, "before": before, "again": given.again, "seconds": given.seconds}
    if given.instances is not None:
        options["instances"] = given.instances.split(",")
    status = 0
    try:
        run(record, given.quick, report, **options)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        status = 130
    write_json(path, record)
    draw(given.out / "gpu.png", record, figure)
    for table in tables(record):
        print(as_text(table), end="\n\n")
    return status


def draw(path: Path, record: dict[str, Any], figure: Callable[[dict[str, Any]], Any]) -> None:
    """Write the figure, if matplotlib is installed."""
    try:
        from trisplit.paper.style import save_figure

        save_figure(path, figure(record))
    except ModuleNotFoundError as error:
        print(f"no figure: {error}", file=sys.stderr)


def as_text(table: Table) -> str:
    """Return a table in aligned columns."""
    lines = [table.columns, *table.rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(table.columns))]
    aligned = [
        "  ".join(
            cell.rjust(width) if k else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    return "\n".join([table.title, *(line.rstrip() for line in aligned)])


if __name__ == "__main__":
    sys.exit(main())
