"""The part of a GPU in a search: in a thread beside the members of the processor, or in turns with them.

In a search without end it has a thread of its own: the other members begin at once, while PyTorch is imported and
kernels are compiled. With a number of starts it has its turns between theirs, so that the seed alone decides. A GPU
that is missing, out of memory or lost costs no more than its own part: the search goes on, and a warning says so.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from time import sleep
from typing import TYPE_CHECKING

import numpy as np

from trisplit.qap.episodes import Outcome
from trisplit.qap.gpu.card import Card, News

if TYPE_CHECKING:
    from trisplit.qap.portfolio import Portfolio

NAP = 0.01  # seconds between two looks at what the GPU does when the processor has nothing to do
TOLD = 30  # permutations that are looked at on the processor
JOINING = 3  # permutations that join the islands


class Guest:
    """A GPU that takes part in the search of a portfolio.

    Parameters
    ----------
    card : Card
    starts : int or None
        On the GPU; if None, as many as are done at once.
    """

    def __init__(self, card: Card, starts: int | None) -> None:
        self.card, self.starts = card, starts
        self._turns: Iterator[News] | None = None

    @contextmanager
    def taking_part(self, portfolio: "Portfolio") -> Iterator[None]:
        """Let the GPU search while the block runs, and until the search is over if the block ends before."""
        self.portfolio = portfolio
        record, endless = portfolio.record, portfolio.plan.starts is None
        if endless:
            self.card.begin()
        else:
            self._turns = self.card.search(self.starts)
        try:
            yield
            while self.card.busy and record.status is None and not record.late():
                sleep(NAP)
                self.heard()
        finally:
            self.card.end()
            self.heard()

    def turns(self, count: int) -> bool:
        """With a number of starts, let the GPU have some turns now; say whether the search is over."""
        try:
            return any([self._take(news) for news in islice(self._turns or (), count)])
        except Exception as error:
            self._turns = None
            return self._take(self.card.failed(error))

    def heard(self) -> bool:
        """Take what was found since the last time, and say whether the search is over."""
        return any([self._take(news) for news in self.card.news()])

    def tell(self, permutation: np.ndarray) -> None:
        """Let the GPU know of a permutation."""
        self.card.tell(permutation)

    def _take(self, news: News) -> bool:
        """Take what the GPU has found, and say whether the search is over."""
        portfolio, record = self.portfolio, self.portfolio.record
        if news.failure is not None:
            warnings.warn(news.failure, RuntimeWarning, stacklevel=2)
            return False
        record.starts += news.starts
        record.moves += news.moves
        if not news.permutations:
            return False
        before, found = record.best, [record.offer(p) for p in news.permutations[:TOLD]]
        for member in found:
            record.keep(member)
        if news.z is not None:
            record.keep_point(Outcome(found[0].permutation, news.z, news.iterations, 0), found[0].cost)
        if record.best is not before:
            portfolio.welcome([member.permutation for member in found[:JOINING]])
        return record.add_row(news.member, found[0].cost)
