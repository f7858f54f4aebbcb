"""The benchmark as one command with more options than `trisplit bench matching`.

PYTHONPATH=src:. python -m benchmarks.matching --out DIR
"""

import argparse
import json
import sys
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

from trisplit.errors import InputError

from .. import machine
from ..gpu.__main__ import as_text, draw
from ..report import write_json
from . import CONTESTANTS, PARTS, figure, run, tables
from .processes import VARIABLE


def main(arguments: list[str] | None = None) -> int:
    """Make the runs that are missing in DIR/matching.json, keep each there at once, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.matching", description="Graph matching.")
    parser.add_argument("--out", type=Path, default=Path("bench"), metavar="DIR", help="where matching.json is kept")
    parser.add_argument("--quick", action="store_true", help="a few small graphs")
    parser.add_argument("--parts", metavar="PART,PART", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--lines", metavar="NAME,NAME", help="these lines alone, or patterns like 'er-500-*'")
    parser.add_argument("--contestants", metavar="NAME,NAME", help=f"some of {', '.join(CONTESTANTS)}")
    parser.add_argument("--graspologic", metavar="PYTHON", help=f"Python with graspologic, else that of {VARIABLE}")
    parser.add_argument("--again", action="store_true", help="make the runs that are there anew")
    parser.add_argument("--seconds", type=float, default=inf, help="begin no run after so many")
    given = parser.parse_args(arguments)
    names = {key: split(getattr(given, key)) for key in ("parts", "lines", "contestants")}
    if unknown := set(names["parts"] or ()) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; choose some of {', '.join(PARTS)}")
    path, begin = given.out / "matching.json", perf_counter()
    given.out.mkdir(parents=True, exist_ok=True)
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    record: dict[str, Any] = {"benchmark": "matching", "quick": given.quick, **machine.describe()}

    def report(text: str, done: float) -> None:
        if record["rows"]:
            write_json(path, record)
        print(f"{perf_counter() - begin:7.1f} s  {100 * done:5.1f} %  {text}", file=sys.stderr, flush=True)

    options: dict[str, Any] = {
        "before": before,
        "again": given.again,
        "seconds": given.seconds,
        "peers": given.graspologic,
    }
    chosen: dict[str, Any] = {"instances": names["lines"], "parts": names["parts"], "contestants": names["contestants"]}
    status = 0
    try:
        run(record, given.quick, report, **options, **chosen)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        status = 130
    write_json(path, record)
    draw(given.out / "matching.png", record, figure)
    for table in tables(record):
        print(as_text(table), end="\n\n")
    return status


def split(words: str | None) -> list[str] | None:
    """Return the words between commas."""
    return None if words is None else [word.strip() for word in words.split(",")]


if __name__ == "__main__":
    sys.exit(main())
