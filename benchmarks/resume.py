"""Going on with a benchmark of hours: the rows of an earlier run count if they were made in the same way."""

import hashlib
import json
from pathlib import Path
from typing import Any

import trisplit
from trisplit.errors import InputError

SAME = ("version", "code", "quick", "settings", "columns")
SAME_MACHINE = ("cpu", "cores", "system")
SEARCHED = ("qap", "kernels")  # folders of the package on which the answers of a search depend


def code(folders: tuple[str, ...] = SEARCHED) -> str:
    """Return a digest of the code that searches, as the version does not change with every line of it."""
    digest, package = hashlib.sha256(), Path(trisplit.__file__).parent
    for path in sorted(path for folder in folders for path in (package / folder).rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def earlier_rows(
    record: dict[str, Any],
    before: dict[str, Any] | None,
    *,
    same: tuple[str, ...] = SAME,
    same_machine: tuple[str, ...] = SAME_MACHINE,
) -> list[list[Any]]:
    """Return the rows of the record `before`, or raise an `InputError` if they cannot stand next to those of this run.

    `record` is complete but for its rows; `same` are its entries, and `same_machine` those of its machine, that must
    not differ.
    """
    if before is None:
        return []
    now = json.loads(json.dumps(record))  # tuples become lists, as in a file
    differing = [key for key in same if before.get(key) != now[key]]
    machine = before.get("machine", {})
    differing += ["machine"] * any(machine.get(key) != now["machine"][key] for key in same_machine)
    if differing:
        name = record["benchmark"]
        raise InputError(
            f"{name}.json in --out is of a run with another {', '.join(differing)}; "
            "choose another folder, or delete the file to begin anew"
        )
    return before["rows"]
