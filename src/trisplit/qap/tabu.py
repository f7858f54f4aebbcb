"""Tabu search from a permutation, with or without kicks: what `kernels/tabu.py` computes with, for one thread."""

from dataclasses import dataclass
from math import ceil

import numpy as np

from trisplit.kernels import swaps, tabu, undisturbed
from trisplit.qap.swap_form import SwapForm, aligned

ENDLESS = 2**62
RESET = 2**30 - 1  # moves after which what is forbidden is forgotten: they are counted in int32
REFRESH = 10  # times n moves, after which floating-point numbers are computed from scratch


@dataclass(frozen=True)
class Rules:
    """How a tabu search goes on; numbers are multiples of the number of rows unless they count moves or rounds.

    Attributes
    ----------
    rounds : int
        A kick comes before each but the first.
    patience : float
        A round ends after that many moves without gain.
    length : int
        A round ends after that many moves.
    tenure : (float, float)
        For how many moves a row may not return: at least, at most.
    kick : (float, float)
        How many rows a kick moves: after a gain, and at most.
    """

    rounds: int = 1
    patience: float = float("inf")
    length: int = ENDLESS
    tenure: tuple[float, float] = (0.9, 1.1)
    kick: tuple[float, float] = (0.08, 0.4)

    def numbers(self, n: int, *, exact: bool) -> np.ndarray:
        """Return the rules for n rows, as the kernel takes them."""
        rules = np.zeros(tabu.RULES, np.int64)
        rules[tabu.PATIENCE] = ENDLESS if self.patience == float("inf") else ceil(self.patience * n)
        rules[tabu.LENGTH] = self.length
        rules[[tabu.SHORTEST, tabu.LONGEST]] = [int(part * n) for part in self.tenure]
        rules[[tabu.WEAKEST, tabu.STRONGEST]] = [min(max(ceil(part * n), 3), n) for part in self.kick]
        rules[tabu.GROWTH] = 1
        rules[tabu.REFRESH] = 0 if exact else REFRESH * n
        return rules


class TabuSearch:
    """A tabu search that can be started again and again; its arrays are used by one thread at a time.

    Parameters
    ----------
    form : SwapForm
    rules : Rules, optional

    Examples
    --------
    >>> import numpy as np
    >>> from trisplit import qap
    >>> from trisplit.qap.swap_form import swap_form
    >>> nug12 = qap.load("nug12")
    >>> search = TabuSearch(swap_form(nug12))
    >>> search.start(np.arange(12))
    >>> search.advance(5000, np.random.default_rng(0))
    5000
    >>> nug12.cost(search.permutation)
    578
    """

    def __init__(self, form: SwapForm, rules: Rules | None = None) -> None:
        self.form = form
        self.rules = (rules or Rules()).numbers(form.n, exact=form.kind != "f8")
        self.rounds = (rules or Rules()).rounds
        self.problem = form.L, form.R, form.S, form.T
        self.X, self.E = form.X.copy(), aligned(form.X.shape, form.X.dtype)
        self.scratch, (self.best_W, self.best_d, *_) = form.scratch(), form.scratch()
        self.p, self.best_p, self.order = (np.arange(form.n) for _ in range(3))
        self.values = np.zeros(tabu.VALUES, form.value_kind)
        self.counts = np.zeros(tabu.COUNTS, np.int64)
        self.fill, self.improve = swaps.engine(form.kind)[0], tabu.engine(form.kind)

    def start(self, permutation: np.ndarray) -> None:
        """Start from a permutation of the instance."""
        self.p[:] = self.best_p[:] = self.form.turned(permutation)
        self.fill(*self.problem, self.form.D, self.p, *self.scratch)
        self.best_W[:], self.best_d[:] = self.scratch[:2]
        self.order[:] = np.arange(self.form.n)
        self.values[:] = 0
        clock = self.counts[tabu.CLOCK] + self.rules[tabu.LONGEST] + 1
        self.counts[:] = 0
        self.counts[tabu.CLOCK], self.counts[tabu.ROUNDS] = clock, self.rounds
        self.counts[tabu.KICK], self.counts[tabu.ROW] = self.rules[tabu.WEAKEST], tabu.UNSEEN

    def advance(self, moves: int, rng: np.random.Generator) -> int:
        """Make that many moves, or fewer if the rounds are over; return how many."""
        most, done = RESET // int(self.rules[tabu.LONGEST] + 2), 0  # a kick moves the clock by more than a move
        while done < moves:
            if self.counts[tabu.CLOCK] > RESET:
                self.E[:] = 0
                self.X[:] = self.form.X
                self.counts[tabu.CLOCK] = 0
            made = self._advance(min(moves - done, most), rng)
            done += made
            if made < most:
                break
        return done

    def _advance(self, moves: int, rng: np.random.Generator) -> int:
        with undisturbed():  # numba does not bear an interrupt while it takes apart a generator
            return self.improve(
                *self.problem,
                self.form.D,
                self.X,
                self.E,
                self.p,
                *self.scratch,
                self.best_p,
                self.best_W,
                self.best_d,
                self.order,
                self.values,
                self.counts,
                self.rules,
                self.form.top,
                self.form.tiny,
                rng,
                moves,
            )

    @property
    def over(self) -> bool:
        """Whether the rounds are over."""
        return bool(self.counts[tabu.ROUNDS] <= 0)

    @property
    def gain(self) -> int | float:
        """How much lower than that of the start the cost of `permutation` is; in float64 up to rounding."""
        return self.form.unit * -self.values[tabu.BEST].item()

    @property
    def permutation(self) -> np.ndarray:
        """The best permutation of the instance so far: a new array."""
        return self.form.turned(self.best_p)
