"""Finished runs in a file of lines, so that stopping and starting again loses none.

The first line says how the runs are made; each other one is a run. A line that was cut off by a kill is not there yet.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from trisplit.errors import InputError

Value = str | int | float | bool


class RunStore:
    """The lines of one file; `settings` must be those of the lines that are there already.

    Parameters
    ----------
    path : Path
    settings : dict
        What all runs have in common.
    keys : int
        The first so many values of a line name the run.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = RunStore(Path(folder) / "runs.jsonl", {"tol": 1e-5}, 1)
    ...     store.add(["nug12", 578])
    ...     store.close()
    ...     again = RunStore(Path(folder) / "runs.jsonl", {"tol": 1e-5}, 1)
    ...     again.close()
    >>> again.lines
    {('nug12',): ['nug12', 578]}
    """

    def __init__(self, path: Path, settings: dict[str, Value], keys: int) -> None:
        self.path, self.keys = path, keys
        self.lines: dict[tuple[Value, ...], list[Value]] = {}
        whole = self._read(json.loads(json.dumps(settings))) if path.exists() else 0
        self.file = path.open("ab")  # each line goes to the end, also where a second process adds its own
        if whole == 0:
            self._write(settings)

    def _read(self, settings: dict[str, Value]) -> int:
        """Read all whole lines, cut off what is behind them, and return how many bytes they are."""
        remedy = "choose another --out, or delete it to begin anew"
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        try:
            head, *lines = [json.loads(line) for line in data[:whole].splitlines()] or [settings]
            if not (whole or json.dumps(settings).encode().startswith(data)):
                raise ValueError("no beginning of a first line")
            if not all(isinstance(line, list) and len(line) > self.keys for line in lines):
                raise ValueError("a line that is no run")
            self.lines = {tuple(line[: self.keys]): line for line in lines}
        except (ValueError, TypeError) as error:
            raise InputError(f"{self.path} is damaged; {remedy}") from error
        if head != settings:
            raise InputError(f"{self.path} is of runs with other settings ({_differing(head, settings)}); {remedy}")
        if whole < len(data):
            os.truncate(self.path, whole)  # a line without its end would spoil the next one
        return whole

    def add(self, line: Sequence[Value]) -> None:
        """Keep a run, and see that it is on the disk."""
        self._write(list(line))
        os.fsync(self.file.fileno())
        self.lines[tuple(line[: self.keys])] = list(line)

    def _write(self, content: dict[str, Value] | list[Value]) -> None:
        try:
            self.file.write(json.dumps(content).encode() + b"\n")
            self.file.flush()
        except OSError as error:
            raise InputError(f"{self.path} cannot be written ({error.strerror}); free some space and go on") from error

    def close(self) -> None:
        self.file.close()


def _differing(head: object, settings: dict[str, Value]) -> str:
    if not isinstance(head, dict):
        return "none are named"
    return ", ".join(key for key in {**head, **settings} if head.get(key) != settings.get(key))
