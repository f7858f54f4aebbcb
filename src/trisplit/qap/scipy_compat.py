"""Quadratic assignment under the names of `scipy.optimize.quadratic_assignment`.

    minimise (or maximise) over permutations p   sum_ij A[i,j] B[p[i],p[j]]  +  sum_i C[i,p[i]]

Methods "faq" and "2opt" are SciPy's own. It has no linear term, but it can fix pairs, and n more of them make one: with

    A' = [[0, 0], [C, A]],   B' = [[0, 0], [I, B]]   and   p'[j] = j for the first n rows,

row n + i pays sum_j C[i,j] I[p[i],j] = C[i,p[i]].

Reference: J. T. Vogelstein et al., Fast approximate quadratic programming for graph matching, PLOS ONE 10 (2015).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from math import isfinite
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trisplit.errors import InputError
from trisplit.options import Rng, as_generator
from trisplit.qap.fixed import as_pairs, reduced
from trisplit.qap.instance import Instance, as_array
from trisplit.qap.matrices import as_dense, is_sparse
from trisplit.qap.relaxation import relax
from trisplit.qap.rounding import round_to_permutation, swap_descent
from trisplit.qap.solver import SPLIT
from trisplit.result import Status

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

Permutation: TypeAlias = NDArray[np.int64]

COMMON = ("C", "maximize", "partial_match", "rng")
STARTS = ("barycenter", "randomized")


def quadratic_assignment(
    A: np.ndarray, B: np.ndarray, method: str = "tos", options: Mapping[str, object] | None = None
) -> "OptimizeResult":
    """Look for a good permutation, with the arguments and the result of SciPy's function of this name.

    minimise over permutations p   sum_ij A[i,j] B[p[i],p[j]] (+ sum_i C[i,p[i]])

    Parameters
    ----------
    A, B : array_like, shape (n, n)
    method : {"tos", "faq", "2opt"}
        "tos" relaxes by three operator splitting, rounds and swaps pairs, from several starts; "faq" and "2opt" are
        SciPy's Frank-Wolfe and its swaps of pairs.
    options : dict, optional
        For all methods:

        - `maximize`: whether to look for a large value instead.
        - `partial_match`: array of int, shape (m, 2), in any order; row `partial_match[i, 0]` of A is fixed to row
          `partial_match[i, 1]` of B.
        - `rng`: a Generator or a seed.
        - `C`: array of shape (n, n), linear costs. SciPy has no such option.

        For "tos" and "faq":

        - `P0`: where to start: "barycenter", "randomized" or a doubly stochastic matrix of shape (n - m, n - m), for
          the rows and columns that are not fixed, in ascending order. "tos" starts there first and then at random
          points near the barycentre. The default is "randomized" for "tos", because the barycentre is often a saddle
          point, and "barycenter" for "faq".
        - `shuffle_input`: whether to break ties at random.
        - `maxiter`: iterations per start, 1000 for "tos" and 30 for "faq".
        - `tol`: when to stop; 1e-3 for "tos", for the errors of `relax` relative to the size of the data, and 0.03 for
          "faq", for the length of a step.

        For "tos": `starts`, their number, 5 by default, and `polish`, whether to swap pairs after rounding (True).
        For "2opt": `partial_guess`, pairs like those of `partial_match` to start from; where both speak of a row or a
        column, `partial_match` counts.

    Returns
    -------
    OptimizeResult
        `col_ind`, the permutation; `fun`, its value, exact for integer data; `nit`, the number of iterations, of all
        starts together.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> A = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    >>> B = np.array([[0, 3, 1], [3, 0, 4], [1, 4, 0]])
    >>> res = ts.qap.quadratic_assignment(A, B, options={"partial_match": [[2, 0]], "rng": 0})
    >>> res.col_ind, res.fun
    (array([1, 2, 0]), 18)
    """
    from scipy.optimize import OptimizeResult  # here, because its import takes long

    solver = METHODS.get(method.lower()) if isinstance(method, str) else None
    if solver is None:
        raise InputError(f"`method` is unknown, got {method!r}; choose one of {', '.join(METHODS)}")
    if options is not None and not isinstance(options, Mapping):
        raise InputError(f"`options` must be a dict, got {type(options).__name__}; pass names with their values")
    options = options or {}
    known = [*COMMON, *list(signature(solver).parameters)[1:]]
    for name in options:
        if name not in known:
            raise InputError(f"`options` has {name!r}, unknown to method {method!r}; choose among {', '.join(known)}")
    common = {name: options[name] for name in COMMON if name in options}
    task = _task(A, B, **common)  # pyright: ignore[reportArgumentType]  # it looks at every value
    col_ind, nit = solver(task, **{name: value for name, value in options.items() if name not in COMMON})
    return OptimizeResult(col_ind=col_ind, fun=task.instance.cost(col_ind), nit=nit)


@dataclass(frozen=True)
class _Task:
    """What is asked of every method, and the size of the data."""

    instance: Instance
    maximize: bool
    pairs: NDArray[np.int64]
    rng: np.random.Generator
    size: float

    @property
    def free(self) -> int:
        return self.instance.n - len(self.pairs)


def _task(
    A: np.ndarray,
    B: np.ndarray,
    *,
    C: np.ndarray | None = None,
    maximize: bool = False,
    partial_match: ArrayLike | None = None,
    rng: Rng = None,
) -> _Task:
    A, B = (as_dense(M) if is_sparse(M) else M for M in (A, B))
    instance = Instance("matrices", A, B, C=C)
    pairs = as_pairs(() if partial_match is None else partial_match, instance.n, name="partial_match")
    return _Task(instance, _flag(maximize, "maximize"), pairs, as_generator(rng)[1], _size(instance))


def _tos(
    task: _Task,
    *,
    P0: str | ArrayLike = "randomized",
    shuffle_input: bool = False,
    maxiter: int = 1000,
    tol: float = 1e-3,
    starts: int = 5,
    polish: bool = True,
) -> tuple[Permutation, int]:
    P0, polish, shuffle_input = _start(P0, task.free), _flag(polish, "polish"), _flag(shuffle_input, "shuffle_input")
    maxiter, tol, starts = _count(maxiter, "maxiter"), _positive(tol, "tol"), _count(starts, "starts")
    if task.free == 0:
        return task.pairs[:, 1], 0
    smaller, expand = reduced(task.instance, None, None, task.pairs)
    order = task.rng.permutation(smaller.n) if shuffle_input else np.arange(smaller.n)
    problem = _shuffled(_negated(smaller) if task.maximize else smaller, order)
    if isinstance(P0, str):
        first = np.full((smaller.n, smaller.n), 1 / smaller.n) if P0 == "barycenter" else None
    else:
        first = P0[:, order]
    # `relax` stops on errors relative to max(f, 1): of the size of 1, neither small data nor a negative f mislead it.
    scaled = problem.A / task.size, problem.B, None if problem.C is None else problem.C / task.size
    found, nit = [], 0
    for x0 in (first, *(starts - 1) * [None]):
        relaxed = relax(*scaled, split=SPLIT, x0=x0, tol=tol, max_iter=maxiter, rng=task.rng.spawn(1)[0])
        if relaxed.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        nit += relaxed.nit
        p = round_to_permutation(relaxed.x)
        found.append(swap_descent(problem, p) if polish else p)
    return expand(order[min(found, key=problem.cost)]), nit


def _faq(
    task: _Task,
    *,
    P0: str | ArrayLike = "barycenter",
    shuffle_input: bool = False,
    maxiter: int = 30,
    tol: float = 0.03,
) -> tuple[Permutation, int]:
    return _by_scipy(
        task,
        "faq",
        P0=_start(P0, task.free),
        shuffle_input=_flag(shuffle_input, "shuffle_input"),
        maxiter=_count(maxiter, "maxiter"),
        tol=_positive(tol, "tol"),
    )


def _two_opt(task: _Task, *, partial_guess: ArrayLike | None = None) -> tuple[Permutation, int]:
    guess = as_pairs(() if partial_guess is None else partial_guess, task.instance.n, name="partial_guess")
    clashes = np.isin(guess[:, 0], task.pairs[:, 0]) | np.isin(guess[:, 1], task.pairs[:, 1])
    # The linear term puts rows before those of A, and the guess has to move with them.
    return _by_scipy(task, "2opt", partial_guess=guess[~clashes] + (0 if task.instance.C is None else task.instance.n))


METHODS: dict[str, Callable[..., tuple[Permutation, int]]] = {"tos": _tos, "faq": _faq, "2opt": _two_opt}


def _by_scipy(task: _Task, method: str, **own: object) -> tuple[Permutation, int]:
    """Call SciPy, with pairs sorted by row because its "2opt" needs that, and with C as in the formula above."""
    from scipy.optimize import quadratic_assignment

    instance, pairs, n = task.instance, task.pairs, task.instance.n
    A, B = instance.A, instance.B
    if task.size * n**2 >= 2.0**62:
        A, B = A.astype(float), B.astype(float)  # sums of integers would overflow in silence
    if instance.C is not None:
        zero, own_rows = np.zeros_like(B), np.arange(n)
        A = np.block([[zero, zero], [instance.C, A]])
        B = np.block([[zero, zero], [np.eye(n, dtype=B.dtype), B]])
        pairs = np.concatenate([np.column_stack([own_rows, own_rows]), pairs + n])
    common = {"maximize": task.maximize, "partial_match": pairs, "rng": task.rng}
    res = quadratic_assignment(A, B, method, {**common, **own})
    return res.col_ind[-n:] - (0 if instance.C is None else n), res.nit


def _shuffled(instance: Instance, order: Permutation) -> Instance:
    C = None if instance.C is None else instance.C[:, order]
    return Instance(instance.name, instance.A, instance.B[np.ix_(order, order)], C=C)


def _negated(instance: Instance) -> Instance:
    def minus(M: np.ndarray) -> np.ndarray:
        return -M if M.min() > np.iinfo(np.int64).min else -M.astype(float)  # int64 has no 2^63

    return Instance(instance.name, minus(instance.A), instance.B, C=None if instance.C is None else minus(instance.C))


def _size(instance: Instance) -> float:
    """Return the cost of the barycentre with absolute values in place of the data, or 1 if it is 0.

    No partial sum of a cost is beyond n^2 times this size.
    """
    n = instance.n
    with np.errstate(over="ignore", invalid="ignore"):
        A, B, C = (0.0 if M is None else np.abs(M.astype(float)).sum() for M in (instance.A, instance.B, instance.C))
        size = float(A * B / n**2 + C / n)
    if not isfinite(size * n**2):
        raise InputError("`A` and `B` are too large, their products overflow in float64; scale them down")
    return size or 1.0


def _start(P0: str | ArrayLike, free: int) -> str | np.ndarray:
    if isinstance(P0, str):
        if P0 not in STARTS:
            raise InputError(f"`P0` is unknown, got {P0!r}; choose one of {', '.join(STARTS)}, or pass a matrix")
        return P0
    X = as_array(P0, "P0")
    if X.shape != (free, free) or X.dtype.kind not in "biuf":
        raise InputError(
            f"`P0` must be numbers of shape ({free}, {free}), got {X.dtype} of shape {X.shape}; "
            "give a row and a column to every node that `partial_match` leaves free"
        )
    if (X < 0).any() or not all(np.allclose(X.sum(axis=axis), 1.0) for axis in (0, 1)):
        raise InputError("`P0` must be doubly stochastic; divide rows and columns by their sums, in turn")
    return X.astype(float)


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"`{name}` must be True or False, got {value!r}; pass `bool(...)`")
    return bool(value)


def _count(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"`{name}` must be an integer >= 1, got {value!r}; try 30")
    return int(value)


def _positive(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not value > 0:
        raise InputError(f"`{name}` must be a positive number, got {value!r}; try 0.01")
    return float(value)
