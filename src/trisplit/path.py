"""Paths: the same problem for one weight after another, each run going on from the one before.

The solutions of least squares with an L1 norm, and of every quadratic f with polyhedral terms, are piecewise linear in
the weight, and so are the subgradients. So a run starts from the line through the last two: between two changes of
the support that is the solution.

References
----------
Osborne, Presnell, Turlach (2000), A new approach to variable selection in least squares problems;
Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models via coordinate descent.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from time import perf_counter
from typing import TypedDict, Unpack

import numpy as np

from trisplit.arrays import Array, namespace, to_numpy
from trisplit.errors import InputError
from trisplit.gradients import Estimator
from trisplit.options import Callback, Rng
from trisplit.problems.oracles import Smooth, Term, ValueAndGrad
from trisplit.result import Result, Status
from trisplit.solve import minimize
from trisplit.steps import StepRule

FARTHEST = 2.0  # times the last change of the weight: a longer line leads astray


class PathOptions(TypedDict, total=False):
    """The options of `trisplit.minimize` that a path takes."""

    step: StepRule | float | str
    gradient: Estimator | str
    relax: float
    output: str
    tol: float
    atol: float
    max_iter: int
    time_limit: float | None
    callback: Callback | None
    rng: Rng
    progress: bool


@dataclass(frozen=True, eq=False)
class Path:
    """The results of `path`; printed, it is a table with a line for each weight.

    Attributes
    ----------
    weights : tuple
        Those that were come to; fewer than were given if the path was interrupted.
    results : tuple of Result
        One for each of them; `path[i]` is the same as `path.results[i]`.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = lambda x: (((x - [3, 1]) ** 2).sum() / 2, x - [3, 1])
    >>> print(ts.path(f, np.zeros(2), ts.terms.L1, [2.0, 1.5, 0.5]))  # doctest: +ELLIPSIS
          weight            fun  nonzeros       ||x||    nit  status
               2            4.5         1           1 ...  CONVERGED
             1.5          3.875         1         1.5 ...  CONVERGED
             0.5           1.75         2        2.55 ...  CONVERGED
    """

    weights: tuple
    results: tuple[Result, ...]

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: int) -> Result:
        return self.results[place]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @property
    def x(self) -> Array:
        """The points, one after another along a new first axis."""
        points = [res.x for res in self.results]
        return namespace(points[0]).stack(points)

    @property
    def fun(self) -> np.ndarray:
        """The objective at each point, indicators counted as 0."""
        return np.array([res.fun for res in self.results])

    @property
    def nit(self) -> np.ndarray:
        """The iterations of each run."""
        return np.array([res.nit for res in self.results])

    @property
    def status(self) -> np.ndarray:
        """Why each run ended."""
        return np.array([res.status for res in self.results], dtype=object)

    @property
    def success(self) -> np.ndarray:
        """Whether the tolerance was reached, for each weight."""
        return self.status == Status.CONVERGED

    @property
    def nonzeros(self) -> np.ndarray:
        """How many entries of each point are not 0."""
        return np.array([np.count_nonzero(to_numpy(res.x)) for res in self.results])

    def __str__(self) -> str:
        lines = [f"{'weight':>12} {'fun':>14} {'nonzeros':>9} {'||x||':>11} {'nit':>6}  status"]
        for weight, nonzeros, res in zip(self.weights, self.nonzeros, self.results, strict=True):
            size, shown = (
                np.linalg.norm(np.ravel(to_numpy(res.x))),
                f"{weight:.5g}" if isinstance(weight, Real) else str(weight),
            )
            lines.append(f"{shown:>12} {res.fun:14.7g} {nonzeros:9} {size:11.4g} {res.nit:6}  {res.status.name}")
        return "\n".join(lines)


def path(
    f: Smooth | ValueAndGrad,
    x0: Array | Result,
    make_terms: Callable[[float], Term | Sequence[Term]],
    weights: Iterable[float],
    **options: Unpack[PathOptions],
) -> Path:
    """Minimise f + the terms of each weight, one after another, each run going on from the ones before.

    Parameters
    ----------
    f : as in `trisplit.minimize`
    x0 : array or Result
        Where the first run starts.
    make_terms : callable
        Returns the term or the terms for a weight.
    weights : numbers
        In an order in which the solutions change little: for an L1 norm from large to small.
    **options
        Those of `trisplit.minimize` but for `batch_ndim` and `checkpoint`; `time_limit` is for the whole path.

    Returns
    -------
    Path
        After Ctrl-C, or when the time is up, with what there is.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> rng = np.random.default_rng(0)
    >>> A, b = rng.standard_normal((30, 8)), rng.standard_normal(30)
    >>> f = lambda x: (((A @ x - b) ** 2).sum() / 2, A.T @ (A @ x - b))
    >>> path = ts.path(f, np.zeros(8), ts.terms.L1, np.geomspace(10, 1, 5))
    >>> path.success, path.x.shape, path.nonzeros
    (array([ True,  True,  True,  True,  True]), (5, 8), array([0, 2, 3, 5, 6]))
    >>> path[-1].certificate.kind
    'residual'
    """
    listed = list(weights)
    if not listed:
        raise InputError("`weights` is empty; give at least one")
    for name in ("batch_ndim", "checkpoint"):
        if name in options:
            raise InputError(f"`{name}` is not for a path, whose problems are solved one after another; leave it out")
    begin, limit, results = perf_counter(), options.get("time_limit"), []
    try:
        for weight in listed:
            if limit is not None and results:
                options["time_limit"] = limit - (perf_counter() - begin)
                if options["time_limit"] <= 0:
                    break
            results.append(_next(f, x0, make_terms(weight), listed, results, options))
            if results[-1].status is Status.INTERRUPTED:
                break
    except KeyboardInterrupt:
        if not results:
            raise
    return Path(tuple(listed[: len(results)]), tuple(results))


def _next(
    f: Smooth | ValueAndGrad,
    x0: Array | Result,
    terms: Term | Sequence[Term],
    weights: Sequence[float],
    results: Sequence[Result],
    options: PathOptions,
) -> Result:
    """Return the result for the next weight: from the line through the last two, or else from the last one."""
    if not results:
        return _of_one(minimize(f, x0, terms, **options))
    if (ahead := _predicted(weights[: len(results) + 1], results)) is not None:
        try:
            found = _of_one(minimize(f, ahead, terms, **options))
        except InputError:  # f need not be defined there
            pass
        else:
            if found.status is not Status.NOT_FINITE:
                return found
    return _of_one(minimize(f, results[-1], terms, **options))


def _predicted(weights: Sequence[float], results: Sequence[Result]) -> Result | None:
    """Return the last result with x and y moved along the line through the last two, None where there is none.

    y = x + gamma v, v a subgradient, so it is v that moves along a line.
    """
    if len(results) < 2 or not all(isinstance(weight, Real) for weight in weights[-3:]):
        return None
    (before, last), (a, b, c) = results[-2:], weights[-3:]
    if a == b or before.state is None or last.state is None or before.state.y.shape != last.state.y.shape:
        return None
    if abs(share := (c - b) / (b - a)) > FARTHEST:
        return None
    x, gamma = last.x + share * (last.x - before.x), last.state.scales.gamma
    v_before, v = ((res.state.y - res.x) / res.state.scales.gamma for res in (before, last))  # pyright: ignore[reportOptionalMemberAccess]
    return replace(last, x=x, state=last.state._replace(y=x + gamma * (v + share * (v - v_before))))


def _of_one(found: object) -> Result:
    """Return the result of one problem, which is what a path asks for."""
    assert isinstance(found, Result)
    return found
