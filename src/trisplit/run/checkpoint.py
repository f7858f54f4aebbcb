"""Checkpoints: one file that holds everything the next iterate depends on, written in one step, read without executing.

A file is a line with the format's name and version, a line with the SHA-256 of what follows, and an npz archive of
plain arrays, one of which is a JSON text. A kill while writing leaves the file before; any damage is noticed.
"""

import hashlib
import io
import json
import os
import tempfile
import warnings
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np

from trisplit.arrays import Array, as_host, to_numpy
from trisplit.errors import InputError
from trisplit.problems.measures import Measured
from trisplit.problems.problem import Problem
from trisplit.problems.recession import Recession
from trisplit.problems.separation import Separation
from trisplit.problems.sizes import Marks
from trisplit.result import BatchTraceRow, TraceRow
from trisplit.run.log import Log
from trisplit.run.tree import Arrays, Json, packed, unpacked
from trisplit.run.verdicts import Verdict
from trisplit.splitting.tos import Iterate, State
from trisplit.steps.adaptive import Memory
from trisplit.steps.base import StepRule

FORMAT, VERSION = b"trisplit-checkpoint", 4
KINDS = (State, Iterate, Memory, Log, Measured, TraceRow, BatchTraceRow, Verdict, Marks, Separation, Recession)
TYPES = {kind.__name__: kind for kind in KINDS}


class Checkpoint:
    """A file and the run that it belongs to.

    All but the path must agree between the file and the run that resumes from it; `at_start` is value and gradient of f
    at the start. Arrays come back in the library and on the device of `x0`.
    """

    def __init__(
        self, path: str | os.PathLike, problem: Problem, x0: Array, step: StepRule, at_start: tuple, **options: object
    ) -> None:
        value, grad = at_start
        self.path, self.x0 = checked_path(path), x0
        self.f_start = np.append(to_numpy(grad), np.asarray(as_host(value)))
        parts = {"x0": to_numpy(x0), "terms": problem.terms, "step": step, "batch_ndim": problem.batch_ndim}
        self.identity = {name: describe(part) for name, part in {**options, **parts}.items()}

    def load(self) -> dict | None:
        """Return what was saved, None without a file; refuse another run's."""
        if not self.path.exists():
            return None
        info, arrays = read(self.path)
        require_same(self.path, info["identity"], self.identity)
        saved, now = arrays.pop("f_start"), self.f_start
        scale = 1e-6 if now.dtype == np.float64 else 1e-3  # machines differ
        if not np.allclose(saved, now, rtol=scale, atol=scale * float(np.abs(now).max())):
            differs = "its value or gradient differs; choose another path"
            raise InputError(f"checkpoint {self.path} belongs to another `f`: {differs}")
        return unpacked(info["run"], arrays, self.x0, TYPES)

    def save(self, run: dict[str, object]) -> None:
        """Write a run; a full disk, or a rule that remembers what no file holds, must not cost the answer."""
        arrays: Arrays = {}
        try:
            info: dict[str, Json] = {"run": packed(run, arrays), "identity": self.identity}
            write(self.path, info, {**arrays, "f_start": self.f_start})
        except (OSError, TypeError) as error:  # the file before is still whole
            remedy = "free some space" if isinstance(error, OSError) else "let rules remember numbers and arrays alone"
            text = f"checkpoint {self.path} was not written ({error}); the run goes on, {remedy}"
            warnings.warn(text, RuntimeWarning, stacklevel=3)


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a checkpoint, or raise an `InputError` if it cannot be a file."""
    try:
        file = Path(path).absolute()
    except TypeError as error:
        raise InputError(f"`checkpoint` must be a path, got {path!r}; pass the name of a file") from error
    if file.is_dir() or not file.parent.is_dir():
        raise InputError(f"`checkpoint` must be a file in an existing folder, got {file}; create the folder")
    return file


def write(path: Path, info: dict[str, Json], arrays: Arrays) -> None:
    """Replace the file at `path` by a new one; it is complete on disk before it takes the name."""
    text = np.frombuffer(json.dumps(info).encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays, json=text)  # pyright: ignore[reportArgumentType]
    body = buffer.getvalue()
    head = FORMAT + b" %d\n" % VERSION + hashlib.sha256(body).hexdigest().encode() + b"\n"
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(head + body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)  # there is none any more once it has its name


def read(path: Path) -> tuple[dict, Arrays]:
    """Return what `write` was given; refuse anything else."""
    remedy = "delete it to start anew, or choose another path"
    first, _, rest = path.read_bytes().partition(b"\n")
    name, _, version = first.partition(b" ")
    if name != FORMAT:
        raise InputError(f"checkpoint {path} is no checkpoint of trisplit, or is damaged; {remedy}")
    if version != b"%d" % VERSION:
        found = version[:20].decode(errors="replace")
        raise InputError(f"checkpoint {path} has format version {found}, this release reads {VERSION}; {remedy}")
    digest, _, body = rest.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise InputError(f"checkpoint {path} is damaged or truncated; {remedy}")
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        arrays = dict(archive)
    return json.loads(arrays.pop("json").tobytes()), arrays


def require_same(path: Path, saved: dict[str, Json], now: dict[str, Json]) -> None:
    """Raise an `InputError` that names the first thing in which two identities differ."""
    for key, value in now.items():
        if saved.get(key) != value:
            remedy = f"choose another path, or restore `{key}`"
            raise InputError(f"checkpoint {path} belongs to another run: `{key}` differs; {remedy}")


def describe(value: object) -> Json:
    """Return a JSON description of a term or a rule by its class and parameters; arrays by their digest."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value.hex()
        case np.generic():
            return describe(value.item())
        case np.ndarray():
            return [str(value.dtype), list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
        case list() | tuple():
            return [describe(item) for item in value]
    if is_dataclass(value):
        parameters = {item.name: getattr(value, item.name) for item in fields(value) if item.init}
    else:
        parameters = getattr(value, "__dict__", {})
    return {"class": type(value).__qualname__, **{key: describe(item) for key, item in parameters.items()}}
