"""The part of a GPU in a search: in a thread beside the members of the processor, or in turns with them.

In a search without end it has a thread of its own. With a number of starts it has its turns between theirs, so that
the seed alone decides. A GPU that is missing, out of memory or lost costs no more than its own part: the search goes
on, and a warning says so.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING

import numpy as np

from trisplit.errors import GPUWarning
from trisplit.qap.bounds.enumeration import ROWS
from trisplit.qap.gpu.search import GpuSearch, News
from trisplit.qap.incumbent import QAPStatus
from trisplit.qap.local_search import Outcome

if TYPE_CHECKING:
    from trisplit.qap.portfolio import Portfolio

NAP = 0.01  # seconds between two looks at what the GPU does when the processor has nothing to do
JOINING = 3  # permutations that join the islands


class GpuWorker:
    """A GPU that takes part in the search of a portfolio.

    Parameters
    ----------
    search : GpuSearch
    starts : int or None
        On the GPU; if None, as many as are done at once.
    """

    def __init__(self, search: GpuSearch, starts: int | None) -> None:
        self.search, self.starts = search, starts
        self._turns: Iterator[News] | None = None
        self._over = False  # nobody is told of anything any more

    @contextmanager
    def taking_part(self, portfolio: "Portfolio") -> Iterator[None]:
        """Let the GPU search while the block runs, and until the search is over if the block ends before."""
        self.portfolio = portfolio
        incumbent, endless = portfolio.incumbent, portfolio.plan.starts is None
        if endless:
            self.search.begin()
        else:
            self._turns = self.search.run(self.starts)
            incumbent.gpu_starts = 0  # those of a checkpoint are done again
        if incumbent.best is not None:
            self.tell(incumbent.best.permutation)
        try:
            yield
            # Up to so many rows all permutations have been looked at.
            while portfolio.n > ROWS and self.search.busy and incumbent.status is None and not incumbent.late():
                sleep(NAP)
                self.heard()
        except BaseException:
            self._over = True
            raise
        finally:
            self.search.end()
            self.heard()

    def turns(self, count: int) -> bool:
        """With a number of starts, let the GPU have some turns now; say whether the search is over."""
        for _ in range(count):
            try:
                news = None if self._turns is None else next(self._turns, None)
            except Exception as error:
                self._turns, news = None, self.search.failed(error)
            if news is None:
                break
            if self._take(news):
                return True
        return False

    def heard(self) -> bool:
        """Take what was found since the last time, and say whether the search is over."""
        over = [self._take(news) for news in self.search.news()]  # all of it
        return any(over)

    def tell(self, permutation: np.ndarray) -> None:
        """Let the GPU know of a permutation."""
        self.search.tell(permutation)

    def _take(self, news: News) -> bool:
        """Take what the GPU has found, and say whether the search is over."""
        portfolio, incumbent = self.portfolio, self.portfolio.incumbent
        if news.failure is not None:
            warnings.warn(news.failure, GPUWarning, stacklevel=outside())
            return False
        incumbent.gpu_starts += news.starts
        incumbent.moves += news.moves
        if not news.permutations:
            return False
        before, found = incumbent.best, [incumbent.offer(p) for p in news.permutations]
        for member in found:
            incumbent.keep(member)
        if news.z is not None:
            incumbent.keep_point(Outcome(found[0].permutation, news.z, news.iterations, 0), found[0].cost)
        if incumbent.best is not before:
            portfolio.welcome([member.permutation for member in found[:JOINING]])
        # What comes after the end counts, but a callback that has stopped the search is not asked again.
        stopped = self._over or incumbent.status is QAPStatus.CALLBACK
        return stopped or incumbent.add_row(news.member, found[0].cost)


def outside() -> int:
    """Return the `stacklevel` of a warning by the caller of this that points to the caller of the package."""
    frame, level, outside = sys._getframe(1), 1, 2
    while frame is not None:
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == __name__.partition(".")[0]:
            outside = level
        frame = frame.f_back
    return outside
