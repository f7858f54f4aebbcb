"""Survival: how long until an event, for samples of which some are watched for a while only."""

from functools import cached_property

import numpy as np

from trisplit.arrays import Array, Shape, constant_like, from_numpy, namespace, on_host
from trisplit.errors import InputError
from trisplit.losses.base import FiniteSum, as_number
from trisplit.losses.linear import as_targets
from trisplit.losses.regression import table
from trisplit.losses.samples import Samples
from trisplit.terms.checks import nonnegative_weight

__all__ = ["Cox"]


class Cox(FiniteSum):
    """The mean over events i of log(sum over j at risk of exp(a_j' x)) - a_i' x, the negative partial log-likelihood.

    At risk at an event are the samples whose time is not before its own; ties are Breslow's. The samples of the
    finite sum are the events, in the order of `b`, and `n` is their number.

    Parameters
    ----------
    A : array (m, d) or sparse matrix
        One sample in each row.
    times : array (m,)
        The time of the event, or that until which it had not happened.
    events : array (m,), optional
        1 where the event happened, 0 where it had not (censored); all did if left out.
    ridge : float

    References
    ----------
    Cox (1972), Regression models and life-tables; Breslow (1974), Covariance analysis of censored survival data.

    Examples
    --------
    >>> import numpy as np
    >>> f = Cox(np.array([[1.0], [0.0], [3.0]]), times=[2.0, 1.0, 3.0], events=[1, 1, 0])
    >>> f.n, round(f.value(np.zeros(1)), 6), f.grad(np.zeros(1)).round(6)
    (2, 0.89588, array([1.166667]))
    """

    def __init__(self, A: object, times: object, events: object = None, *, ridge: float = 0.0) -> None:
        self.samples = samples = A if isinstance(A, Samples) else Samples(A)
        if samples.mapped:
            raise InputError("`A` is a mapped file, but every event needs many of its rows; load it with np.array")
        host = Samples(np.zeros((samples.n, 1)), samples.name)  # times and events serve on the host
        t = as_targets(times, host, "times")
        seen = np.ones(samples.n) if events is None else as_targets(events, host, "events")
        wrong = np.setdiff1d(seen, [0.0, 1.0])
        if wrong.size:
            raise InputError(f"`events` must hold 0 (censored) and 1 (event), got {wrong[:5].tolist()}; encode them")
        if not seen.any():
            raise InputError("`events` holds no event, so that nothing is to be explained; give at least one")
        self.ridge, self.shape = nonnegative_weight(ridge, "ridge"), (samples.width,)
        self.n = int(seen.sum())
        # From the latest to the earliest: those at risk at an event are the first ones, up to the last of equal time.
        self._order = np.argsort(-t, kind="stable")
        descending = -t[self._order]
        self._who = np.flatnonzero(seen)  # samples with an event
        self._last = np.searchsorted(descending, -t[self._who], side="right") - 1
        self._by_last = np.argsort(self._last, kind="stable")
        # For each place in that order: the first event, by last place, at which it is at risk; n where there is none.
        self._first = np.searchsorted(self._last[self._by_last], np.arange(samples.n))
        self._place = np.empty(samples.n, dtype=np.int64)
        self._place[self._order] = np.arange(samples.n)

    def _at_risk(self, x: Array) -> tuple[Array, Array, Array]:
        """Return predictions, log(sum exp) of those up to each place in time, and that at risk at each event."""
        p = self.samples.like(x).dot(x, slice(0, self.samples.n))
        sums = running_log_sum_exp(_at(p, self._order))
        return p, sums, _at(sums, self._last)

    def value(self, x: Array) -> float:
        """Return f(x)."""
        self.check(x)
        xp = namespace(x)
        p, _, at_risk = self._at_risk(x)
        value = xp.sum(at_risk - _at(p, self._who)) / self.n
        return as_number(value + 0.5 * self.ridge * xp.sum(x * x) if self.ridge else value)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both; a sample weighs sum over its events of exp(a_j' x - log sum at risk)."""
        self.check(x)
        xp = namespace(x)
        p, _, at_risk = self._at_risk(x)
        # log of the sums of 1 / (sum at risk) over the events from each one on, again without overflow
        later = xp.flip(running_log_sum_exp(xp.flip(-_at(at_risk, self._by_last))))
        none = constant_like(self._none, x)
        log_weights = _at(p, self._order) + _at(later, self._first_known) + none
        happened = constant_like(self._happened, x)
        weights = _at(xp.exp(log_weights), self._place) - happened
        value = xp.sum(at_risk - _at(p, self._who)) / self.n
        grad = self.samples.like(x).t_dot(weights, slice(0, self.samples.n)) / self.n
        if self.ridge:
            value, grad = value + 0.5 * self.ridge * xp.sum(x * x), grad + self.ridge * x
        return as_number(value), grad

    def sample_grads(self, x: Array, rows: np.ndarray) -> Array:
        """Return the gradients of some events: the mean of the samples at risk, weighed by exp(a_j' x), less a_i."""
        self.check(x)
        rows = self.check_rows(rows)
        xp, samples = namespace(x), self.samples.like(x)
        p, _, at_risk = self._at_risk(x)
        outside = np.where(self._place[None, :] > self._last[rows][:, None], -np.inf, 0.0)
        weights = xp.exp(p[None, :] - _at(at_risk, rows)[:, None] + from_numpy(outside, x))
        means = (samples.array.T @ weights.T).T  # a sparse matrix comes first
        return means - samples.dense(self._who[rows]) + self.ridge * x

    @cached_property
    def _first_known(self) -> np.ndarray:
        return np.minimum(self._first, self.n - 1)

    @cached_property
    def _none(self) -> np.ndarray:
        return np.where(self._first < self.n, 0.0, -np.inf)

    @cached_property
    def _happened(self) -> np.ndarray:
        marks = np.zeros(self.samples.n)
        marks[self._who] = 1.0
        return marks

    @cached_property
    def lipschitz(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A bound on the variance of rows under any weights, in any direction: ||A||^2 / 2, or max ||a_j - mean||^2."""
        norm, length = self.samples.centred
        return min(norm / 2, length) + self.ridge

    @property
    def sample_lipschitz(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The same bound holds for each event."""
        return self.lipschitz

    @classmethod
    def examples(cls) -> list[tuple["Cox", Shape]]:
        A, b = table(cls.__name__)
        ties = np.round(b) + 4
        return [(cls(A, np.exp(b)), (3,)), (cls(A, ties, np.array([1, 0, 1, 1, 0, 1, 0]), ridge=0.1), (3,))]


def running_log_sum_exp(p: Array) -> Array:
    """Return log(exp(p_1) + ... + exp(p_i)) for each i, without overflow or cancellation.

    In log2(n) steps, each of which doubles how far back a sum reaches [Hillis, Steele (1986)].
    """
    xp, reach = namespace(p), 1
    if on_host(p):
        return np.logaddexp.accumulate(p)
    while reach < p.shape[0]:
        p = xp.concat([p[:reach], xp.logaddexp(p[reach:], p[:-reach])])
        reach *= 2
    return p


def _at(values: Array, places: np.ndarray) -> Array:
    return namespace(values).take(values, constant_like(places, values, indices=True), axis=0)
