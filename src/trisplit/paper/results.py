"""The results of a reproduction in a folder: one CSV file for each kind of result, read and written here alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import trisplit
from trisplit.machine import machine
from trisplit.paper.csv_io import read_csv, write_csv
from trisplit.paper.figure1 import Fit
from trisplit.paper.figure1 import Row as Figure1Row
from trisplit.paper.figure2 import Run
from trisplit.paper.theory import Row as TheoryRow
from trisplit.paper.timing import Share

KINDS = {"theory": TheoryRow, "figure1": Figure1Row, "figure1_rates": Fit, "figure1_shares": Share, "figure2": Run}


class Results(NamedTuple):
    """What has been computed so far; `made_by` says for each kind with what command and where."""

    theory: list[TheoryRow]
    figure1: list[Figure1Row]
    figure1_rates: list[Fit]
    figure1_shares: list[Share]
    figure2: list[Run]
    made_by: dict[str, list[str]]


def read_results(folder: Path) -> Results:
    """Return the results of a folder; what is not there is empty."""
    rows, made_by = {}, {}
    for name, kind in KINDS.items():
        path = folder / f"{name}.csv"
        made_by[name], rows[name] = read_csv(path, kind) if path.exists() else ([], [])
    return Results(**rows, made_by=made_by)


def write_results(
    folder: Path, name: str, rows: Sequence[tuple], command: str, where: Sequence[str] | None = None
) -> None:
    """Write the rows of one kind and what made them: command, version and, if it is not this one, the machine."""
    made_by = [command, f"trisplit {trisplit.__version__}", *(where or [machine()])]
    write_csv(folder / f"{name}.csv", made_by, list(KINDS[name]._fields), rows)
