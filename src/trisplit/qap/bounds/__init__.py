"""Lower bounds on the costs of a quadratic assignment problem, each with a certificate that others can check.

A bound is exact: it is computed in integers of any size, or shown to hold by them. `trisplit.verify` confirms a
certificate and shares no code with this package.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from trisplit.errors import InputError
from trisplit.options import check_options
from trisplit.qap.bounds.dnn import dnn
from trisplit.qap.bounds.enumeration import ROWS, enumeration
from trisplit.qap.bounds.gilmore_lawler import Bounded, gilmore_lawler
from trisplit.qap.bounds.integers import Integers
from trisplit.qap.bounds.spectral import convex, projection
from trisplit.qap.relaxation import Matrices, as_instance

__all__ = ["LowerBound", "lower_bound", "methods"]


@dataclass(frozen=True)
class LowerBound:
    """A number that no permutation can beat, and why.

    Attributes
    ----------
    value : int or float
        At most the cost of every permutation. An integer if the data are integers; otherwise the exact bound, rounded
        down to a float.
    method : str
        Which bound it is.
    certificate : dict
        Its dual variables, integers ready for JSON, and a digest of them; `trisplit.verify.proven_bound` recomputes
        `value` from it.
    seconds : float
        How long it took.

    Examples
    --------
    >>> import trisplit as ts
    >>> bound = ts.qap.lower_bound(ts.qap.load("nug12"), method="gilmore-lawler")
    >>> bound.value, bound.method
    (494, 'gilmore-lawler')
    """

    value: int | float
    method: str
    certificate: dict = field(repr=False)
    seconds: float


# From cheap to strong.
methods: dict[str, Callable[[Integers, float | None], Bounded]] = {
    "gilmore-lawler": gilmore_lawler,
    "projection": projection,
    "convex": convex,
    "dnn": dnn,
    "enumeration": enumeration,
}
SYMMETRIC = ("projection", "convex")
# "dnn" is for so many rows; within "auto" without a time limit, for fewer.
DNN_ROWS, UNLIMITED_ROWS = 40, 20
# Below so many seconds, times a power of n, "auto" does not begin with a method: it would not get far.
WORTHWHILE = {"convex": (1e-6, 3), "dnn": (5e-6, 4)}


def lower_bound(
    A: Matrices,
    B: np.ndarray | None = None,
    C: np.ndarray | None = None,
    method: str = "auto",
    time_limit: float | None = None,
) -> LowerBound:
    """Return a lower bound on sum_ij A[i,j] B[p[i],p[j]] + sum_i C[i,p[i]] over all permutations p.

    Parameters
    ----------
    A, B : arrays or scipy.sparse matrices of shape (n, n), or an `Instance` in place of A
    C : array of shape (n, n), optional
        Linear costs.
    method : {"auto", "gilmore-lawler", "projection", "convex", "dnn", "enumeration"}
        From cheap to strong. "projection" and "convex" need a symmetric A or B, "dnn" is for up to 40 rows.
        "enumeration", for up to 8 rows, is the optimum. "auto" is "enumeration" up to 8 rows; above, it returns the
        best that can be had within the time limit; without one, "dnn" takes part up to 20 rows. The one cost of a
        single row is found by "gilmore-lawler" where another method asks for more.
    time_limit : float, optional
        Seconds. Methods are stopped in time, but for what they cannot do without: "gilmore-lawler" takes hundredths
        of a second for 100 rows and four seconds for 1,000, several times that for decimals; "projection" half a second
        for 100 rows and four for 200, the first bound of "dnn" three seconds for 40.

    Returns
    -------
    LowerBound

    Examples
    --------
    >>> import trisplit as ts
    >>> bound = ts.qap.lower_bound(ts.qap.load("lipa20b"), method="gilmore-lawler")
    >>> bound.value == ts.qap.load("lipa20b").best_known
    True
    """
    begin = perf_counter()
    instance = as_instance(A, B, C)
    if method != "auto" and method not in methods:
        raise InputError(f"`method` is unknown, got {method!r}; choose one of auto, {', '.join(methods)}")
    check_options(tol=0.0, max_iter=1, time_limit=time_limit)
    problem = Integers.of(instance)
    best: Bounded | None = None
    for name in _scale(problem, method, time_limit):
        left = None if time_limit is None else time_limit - (perf_counter() - begin)
        if best is not None and left is not None:
            seconds, power = WORTHWHILE[name]
            if left < seconds * problem.n**power:
                continue
        found = methods[name](problem, left)
        if best is None or found[0] > best[0]:
            best = found
    assert best is not None
    bound, certificate = best
    return LowerBound(problem.value(bound), certificate["method"], sealed(certificate), perf_counter() - begin)


def _scale(problem: Integers, method: str, time_limit: float | None) -> tuple[str, ...]:
    """Return the methods to try, or raise an `InputError` if the problem is not for the one that was asked for."""
    n, symmetric = problem.n, problem.symmetric
    if method in SYMMETRIC and not symmetric:
        raise InputError(f"`method` {method!r} needs a symmetric A or B; use 'gilmore-lawler', 'dnn' or 'auto'")
    if method == "dnn" and n > DNN_ROWS:
        raise InputError(f"`method` 'dnn' is for n <= {DNN_ROWS}, got {n}; use 'convex' or 'auto'")
    if method == "enumeration" and n > ROWS:
        raise InputError(f"`method` 'enumeration' is for n <= {ROWS}, got {n}; use 'dnn' or 'auto'")
    if method == "auto" and n <= ROWS:
        return ("enumeration",)
    if n == 1 and method != "enumeration":
        return ("gilmore-lawler",)
    if method != "auto":
        return (method,)
    strong = n <= (UNLIMITED_ROWS if time_limit is None else DNN_ROWS)
    return ("gilmore-lawler", *(("convex",) if symmetric else ()), *(("dnn",) if strong else ()))


def sealed(certificate: dict) -> dict:
    """Return a certificate with the SHA-256 of its JSON text (sorted keys, no white space), which shows damage."""
    text = json.dumps(certificate, sort_keys=True, separators=(",", ":"))
    return certificate | {"sha256": hashlib.sha256(text.encode()).hexdigest()}
