"""Check a result file without trusting anybody: nothing here comes from the solver.

The instance is read afresh, and everything that a result claims is computed again, in exact arithmetic: integers, and
fractions for decimals. Only the standard library and NumPy are used.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from pathlib import Path

from trisplit.verify.bounds import proven_bound
from trisplit.verify.data import Data, UnreadableError, bundled, from_file, text_of
from trisplit.verify.whole import WrongError

__all__ = ["Confirmed", "UnreadableError", "WrongError", "proven_bound", "verify"]


@dataclass(frozen=True)
class Confirmed:
    """What was claimed and is true.

    Examples
    --------
    >>> print(Confirmed("nug12", 12, cost=578, best_known=578, lower_bound=578, method="dnn"))
    nug12: right, n = 12, cost 578, best known 578, lower bound 578 (dnn), proven optimal by the bound
    """

    instance: str
    n: int
    cost: int | float
    best_known: int | None
    lower_bound: int | float | None
    method: str | None

    @property
    def optimal(self) -> bool:
        """Whether the lower bound proves that no permutation is cheaper."""
        return self.lower_bound is not None and self.cost <= self.lower_bound

    def __str__(self) -> str:
        known = "" if self.best_known is None else f", best known {self.best_known:,}"
        bound = "" if self.lower_bound is None else f", lower bound {self.lower_bound:,} ({self.method})"
        proof = ", proven optimal by the bound" if self.optimal else ""
        return f"{self.instance}: right, n = {self.n}, cost {self.cost:,}{known}{bound}{proof}"


def verify(path: str | Path, data: str | Path | None = None) -> Confirmed:
    """Check the result file that `trisplit solve --json` has written.

    Parameters
    ----------
    path : str or Path
        The result.
    data : str or Path, optional
        The QAPLIB file that was solved; left out, the result must be of a bundled instance.

    Returns
    -------
    Confirmed

    Raises
    ------
    WrongError
        If a claim does not hold.
    UnreadableError
        If there is nothing to check: no such file, no JSON, an unknown instance.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import trisplit as ts
    >>> from trisplit.verify import verify
    >>> nug12 = ts.qap.load("nug12")
    >>> record = {"instance": "nug12", "n": 12, "permutation": nug12.solution.tolist(), "index_base": 0, "cost": 578,
    ...           "best_known": 578, "gap": 0.0, "lower_bound": None, "bound_gap": None, "bound_certificate": None,
    ...           "data_sha256": nug12.sha256(), "status": "FINISHED", "seconds": 0.1, "seed": 0, "starts": 1,
    ...           "version": ts.__version__}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "nug12.json")
    ...     _ = path.write_text(json.dumps(record))
    ...     print(verify(path))
    nug12: right, n = 12, cost 578, best known 578
    """
    record = _read(Path(path))
    _check_types(record)
    name = record["instance"]
    problem = bundled(name) if data is None else from_file(Path(data))
    if problem is None:
        raise UnreadableError(f"instance {name!r} is not a bundled one; name its file, with --data FILE.dat")
    _check_answer(record, problem)
    _check_bound(record, problem)
    _check_status(record, problem)
    certificate = record["bound_certificate"]
    method = None if certificate is None else certificate["method"]
    return Confirmed(name, record["n"], record["cost"], record["best_known"], record["lower_bound"], method)


def _read(path: Path) -> dict:
    def pairs(items: list[tuple[str, object]]) -> dict:
        keys = [key for key, _ in items]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise WrongError(f"{min(twice)!r} is given twice")
        return dict(items)

    def constant(word: str) -> float:
        raise WrongError(f"{word} is not a finite number")

    try:
        record = json.loads(text_of(path), object_pairs_hook=pairs, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"{str(path)!r} is not JSON ({error}); write it with `trisplit solve --json`") from error
    if not isinstance(record, dict):
        raise UnreadableError(f"{str(path)!r} holds no JSON object; write it with `trisplit solve --json`")
    return record


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_integer(value) or (isinstance(value, float) and isfinite(value))


def _or_none(test: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or test(value)


STATUSES = ("FINISHED", "TARGET", "OPTIMAL", "TIME_LIMIT", "INTERRUPTED", "CALLBACK")
FIELDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "instance": ("a string", lambda value: isinstance(value, str)),
    "n": ("a positive integer", lambda value: _is_integer(value) and value > 0),  # pyright: ignore
    "permutation": ("a list of integers", lambda value: isinstance(value, list) and all(map(_is_integer, value))),
    "index_base": ("0", lambda value: _is_integer(value) and value == 0),
    "cost": ("a finite number", _is_number),
    "best_known": ("a finite number or null", _or_none(_is_number)),
    "gap": ("a finite number or null", _or_none(_is_number)),
    "lower_bound": ("a finite number or null", _or_none(_is_number)),
    "bound_gap": ("a finite number or null", _or_none(_is_number)),
    "bound_certificate": ("an object or null", _or_none(lambda value: isinstance(value, dict))),
    "data_sha256": ("a string", lambda value: isinstance(value, str)),
    "status": ("one of " + ", ".join(STATUSES), lambda value: isinstance(value, str) and value in STATUSES),
    "seconds": ("a number >= 0", lambda value: _is_number(value) and value >= 0),  # pyright: ignore
    "seed": ("an integer >= 0 or null", _or_none(lambda value: _is_integer(value) and value >= 0)),  # pyright: ignore
    "starts": ("an integer >= 0", lambda value: _is_integer(value) and value >= 0),  # pyright: ignore
    "version": ("a string", lambda value: isinstance(value, str) and value != ""),
}


def _check_types(record: dict) -> None:
    for label, (expected, test) in FIELDS.items():
        if label not in record:
            raise WrongError(f"{label!r} is missing")
        if not test(record[label]):
            raise WrongError(f"{label!r} must be {expected}, it is {_short(record[label])}")


def _check_answer(record: dict, problem: Data) -> None:
    """Check size, digest, permutation, cost, best-known value and gap."""
    n, p = record["n"], record["permutation"]
    _check("n", n, len(problem.A))
    _check("data_sha256", record["data_sha256"], problem.sha256())
    if len(p) != n:
        raise WrongError(f"'permutation' must have {n} entries, it has {len(p)}")
    if sorted(p) != list(range(n)):
        bad = next((k for k in p if not 0 <= k < n), None) or next(k for k in p if p.count(k) > 1)
        raise WrongError(f"'permutation' must hold every number 0 .. {n - 1} once, {bad} is out of range or repeated")
    cost, size = problem.cost(p)
    whole = problem.A.dtype.kind == problem.B.dtype.kind == "i"
    if whole:
        _check("cost", record["cost"], int(cost))
    # In floating point, n^2 products and their sum in any order are off by at most this.
    elif abs(Fraction(record["cost"]) - cost) > size * (n * n + 1) / Fraction(2**52):
        raise WrongError(f"'cost' must be {float(cost)!r} up to rounding, it is {record['cost']!r}")
    _check("best_known", record["best_known"], problem.best_known)
    _check_gap(record, "gap", "best_known", "best_known")


def _check_bound(record: dict, problem: Data) -> None:
    """Check the lower bound by its certificate."""
    bound, certificate = record["lower_bound"], record["bound_certificate"]
    if (bound is None) != (certificate is None):
        raise WrongError("'lower_bound' and 'bound_certificate' must be given together")
    if certificate is not None:
        rest = {key: value for key, value in certificate.items() if key != "sha256"}
        text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
        _check("sha256 of bound_certificate", certificate.get("sha256"), hashlib.sha256(text.encode()).hexdigest())
        _check("lower_bound", bound, proven_bound(problem.A, problem.B, None, certificate))
    _check_gap(record, "bound_gap", "lower_bound", "cost")


def _check_gap(record: dict, label: str, below: str, unit: str) -> None:
    """Check that a gap is (cost - below) / max(|unit|, 1), to the last digit."""
    gap, cost = record[label], record["cost"]
    if (gap is None) != (record[below] is None):
        raise WrongError(f"{label!r} must be null if and only if {below!r} is")
    if gap is None:
        return
    exact = (Fraction(cost) - Fraction(record[below])) / max(abs(Fraction(record[unit])), 1)
    # Of integers, the quotient is rounded once; of floats, the difference is rounded before.
    slack = 0 if _is_integer(cost) and _is_integer(record[below]) else abs(exact) / 2**51
    if abs(Fraction(gap) - Fraction(float(exact))) > slack:
        raise WrongError(f"{label!r} must be {float(exact)!r}, it is {gap!r}")


def _check_status(record: dict, problem: Data) -> None:
    if record["status"] != "OPTIMAL":
        return
    bounds = list(_proven(record, problem))
    if not bounds or record["cost"] > max(bounds):
        raise WrongError("'status' claims an optimum that neither the lower bound nor a published proof confirms")


def _proven(record: dict, problem: Data) -> Iterator[int | float]:
    if record["lower_bound"] is not None:
        yield record["lower_bound"]
    if problem.proven and problem.best_known is not None:
        yield problem.best_known


def _check(label: str, found: object, expected: object) -> None:
    if type(found) is not type(expected) or found != expected:
        raise WrongError(f"{label!r} must be {_short(expected)}, it is {_short(found)}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 70 else text[:60] + "..."
