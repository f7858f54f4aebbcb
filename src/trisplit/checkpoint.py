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
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from trisplit.algorithms.state import State
from trisplit.arrays import Array, index_like, to_numpy
from trisplit.errors import InputError
from trisplit.problem import Problem
from trisplit.steps import StepRule

FORMAT, VERSION = b"trisplit-checkpoint", 2
# States by name, numbers that JSON knows, arrays by name.
Saved: TypeAlias = tuple[dict[str, State], dict, dict[str, np.ndarray]]
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True)
class Checkpoint:
    """A file and the run that it belongs to.

    Parameters
    ----------
    path : Path
    identity : dict
        What must agree between the file and the run that resumes from it, from `identity`.
    f_start : array
        Value and gradient of f at the start, in one vector.
    """

    path: Path
    identity: dict[str, Json]
    f_start: np.ndarray

    def load(self, like: Array) -> Saved | None:
        """Return what was saved, None without a file; refuse another run's file."""
        if not self.path.exists():
            return None
        states, info, arrays = read(self.path, like)
        require_same(self.path, info["identity"], self.identity)
        require_same_f(self.path, arrays["f_start"], self.f_start)
        return states, info, arrays

    def save(
        self, states: dict[str, State], info: dict[str, Json], arrays: dict[str, np.ndarray] | None = None
    ) -> None:
        """Write states, numbers and arrays; a full disk is a warning, as it must not cost the answer."""
        try:
            write(self.path, states, {**info, "identity": self.identity}, {**(arrays or {}), "f_start": self.f_start})
        except OSError as error:  # the file before is still whole
            text = f"checkpoint {self.path} was not written ({error}); the run goes on, free some space"
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


def write(path: Path, states: dict[str, State], info: dict[str, Json], arrays: dict[str, np.ndarray]) -> None:
    """Replace the file at `path` by a new one; it is complete on disk before it takes the name."""
    members = dict(arrays)
    described = {name: _pack(name, state, members) for name, state in states.items()}
    text = json.dumps({"states": described, "info": info})
    members["json"] = np.frombuffer(text.encode(), dtype=np.uint8)
    buffer = io.BytesIO()
    np.savez(buffer, **members)  # pyright: ignore[reportArgumentType]
    body = buffer.getvalue()
    head = FORMAT + b" %d\n" % VERSION + hashlib.sha256(body).hexdigest().encode() + b"\n"
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(head + body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)  # an interrupt may come when it has its name already
        raise


def read(path: Path, like: Array) -> Saved:
    """Return what `write` was given, arrays of states in the library and device of `like`; refuse anything else."""
    remedy = "delete it to start anew, or choose another path"
    data = path.read_bytes()
    first, _, rest = data.partition(b"\n")
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
        members = {key: archive[key] for key in archive.files}
    content = json.loads(members.pop("json").tobytes().decode())
    states = {name: _unpack(described, members, like) for name, described in content["states"].items()}
    return states, content["info"], members


def identity(
    problem: Problem, x0: Array, step: StepRule, *, relax: float, output: str, gradient: object
) -> dict[str, Json]:
    """Return what must agree between a checkpoint and the run that resumes from it."""
    return {
        "x0": describe(to_numpy(x0)),
        "terms": [describe(term) for term in problem.terms],
        "gradient": describe(gradient),
        "step": describe(step),
        "relax": relax,
        "output": output,
        "batch_ndim": problem.batch_ndim,
    }


def require_same(path: Path, saved: Json, now: dict[str, Json]) -> None:
    """Raise an `InputError` that names the first thing in which two identities differ."""
    for key, value in now.items():
        if not isinstance(saved, dict) or saved.get(key) != json.loads(json.dumps(value)):
            raise InputError(
                f"checkpoint {path} belongs to another run: `{key}` differs; choose another path, or restore `{key}`"
            )


def require_same_f(path: Path, saved: np.ndarray, now: np.ndarray) -> None:
    """Raise an `InputError` unless value and gradient of f at the start agree, up to what machines may differ in."""
    scale = 1e-6 if now.dtype == np.float64 else 1e-3
    if saved.shape != now.shape or not np.allclose(saved, now, rtol=scale, atol=scale * float(np.abs(now).max())):
        raise InputError(
            f"checkpoint {path} belongs to another `f`: its value or gradient differs; choose another path"
        )


def describe(value: object) -> Json:
    """Return a JSON description of a term or a rule by its class and parameters; arrays by their digest."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return [str(value.dtype), list(value.shape), digest]
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if is_dataclass(value):
        parameters = {item.name: getattr(value, item.name) for item in fields(value) if item.init}
    else:
        parameters = getattr(value, "__dict__", {})
    described = {key: describe(item) for key, item in parameters.items()}
    return {"class": type(value).__qualname__, **described}


def _pack(name: str, state: State, members: dict[str, np.ndarray]) -> Json:
    """Put the arrays of a state into `members` and return the rest."""

    def put(key: str, value: object) -> Json:
        if value is None or isinstance(value, bool | int | float):
            return value
        members[f"{name}.{key}"] = to_numpy(value)  # pyright: ignore[reportArgumentType]
        return [f"{name}.{key}", type(value) is np.ndarray]

    flat = {key: put(key, getattr(state, key)) for key in State._fields if key not in ("memory", "d")}
    flat["memory"] = [put(f"memory.{i}", item) for i, item in enumerate(state.memory)]
    return flat


def _unpack(described: dict, members: dict[str, np.ndarray], like: Array) -> State:
    def take(value: Json):  # noqa: ANN202
        if not isinstance(value, list):
            return value
        array = members.pop(str(value[0]))
        return array if value[1] else index_like(array, like)  # in the dtype that it had

    memory = tuple(take(item) for item in described.pop("memory"))
    rest: dict = {key: take(value) for key, value in described.items()}
    return State(**rest, memory=memory)
