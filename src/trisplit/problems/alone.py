"""One problem of a batch as a problem of its own, for questions that are asked of few."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from trisplit.arrays import Array, Shape, as_host, index_like, misfits
from trisplit.arrays.batched import put_rows, take_rows
from trisplit.problems.oracles import Function
from trisplit.problems.problem import Problem


class Row:
    """A place in a batch: puts x there, and takes from answers what is about it. The other problems stay."""

    def __init__(self, points: Array, row: int, batch_ndim: int) -> None:
        self.points, self.row, self.batch_ndim = points, row, batch_ndim
        self.at = index_like(np.array([row]), points)

    def put(self, x: Array) -> Array:
        return put_rows(self.points, self.at, x[None, ...], self.batch_ndim)

    def take(self, x: Array) -> Array:
        return take_rows(x, self.at, self.batch_ndim)[0, ...]

    def number(self, values: object) -> float:
        """Return the number of this problem among values for all, or one value for all."""
        host = np.ravel(np.asarray(as_host(values), dtype=float))
        return float(host[self.row if host.size > 1 else 0])


class AloneTerm:
    """A term of a batch as seen by one of its problems; it has the capabilities that the term has."""

    parts = ("term",)

    def __init__(self, term: Any, row: Row) -> None:  # noqa: ANN401
        self.term, self.row = term, row

    def value(self, x: Array) -> float:
        return self.row.number(self.term.value(self.row.put(x)))

    def prox(self, x: Array, gamma: float) -> Array:
        return self.row.take(self.term.prox(self.row.put(x), gamma))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name.startswith("__") or name in ("select", "select_rows", "batched"):
            raise AttributeError(name)
        known = getattr(self.term, name)
        if not callable(known):
            return known
        return getattr(self, f"_{name}", None) or self._method(name, known)

    def _method(self, name: str, known: Callable) -> Callable:
        row = self.row
        if name == "domain":
            return lambda: AloneTerm(known(), row)
        if name in ("diameter", "lipschitz"):
            return lambda shape: row.number(known((*row.points.shape[: row.batch_ndim], *shape)))
        if name in ("distance", "support"):
            return lambda x: row.number(known(row.put(x)))
        if name in ("project", "lmo"):
            return lambda x: row.take(known(row.put(x)))
        raise AttributeError(name)


def alone(problem: Problem, points: Array, row: int) -> Problem:
    """Return one of the problems of a batch; `points` are where the others stay.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> f = lambda x: ((x**2).sum(axis=1) / 2, x)
    >>> batch = ts.Problem(f, ts.terms.Box(np.array([[0.0], [1.0]]), 2.0), batch_ndim=1)
    >>> one = alone(batch, np.ones((2, 3)), 1)
    >>> one.value(np.ones(3)), one.prox_g(np.zeros(3), 1.0)
    (1.5, array([1., 1., 1.]))
    """
    shape: Shape = tuple(points.shape)
    members = np.unravel_index([row], shape[: problem.batch_ndim])
    few = problem.select(tuple(index_like(axis, points) for axis in members), shape)
    place = Row(points, row, problem.batch_ndim)
    if few is not None:  # what is asked costs as much as for one problem
        first = place.take(points)[None, ...]
        with suppress(*misfits(points)):  # else its `select` is wrong, of which the run tells when it needs it
            if few.grad(first).shape == first.shape:
                place, problem = Row(first, 0, 1), few

    def value_and_grad(x: Array) -> tuple[float, Array]:
        value, u = problem.f.value_and_grad(place.put(x))
        return place.number(value), place.take(u)

    one = Problem(Function(value_and_grad), [AloneTerm(term, place) for term in problem.terms])
    one.f.source = problem.f.source
    return one
