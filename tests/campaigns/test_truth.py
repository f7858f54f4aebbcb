"""No answer of `minimize` may be false: a campaign of problems whose answers are known.

    python -m tests.campaigns.test_truth --seed 3 --count 400

prints how each family ended, and a line for each answer that is wrong; `--index 17` runs that problem alone. The seed
of the tests is that of the environment variable TRISPLIT_CAMPAIGN_SEED.
"""

import argparse
import os
import warnings
from collections import Counter, defaultdict
from math import ceil
from time import perf_counter

import pytest

from tests.campaigns.judge import verdicts
from tests.campaigns.problems import problem

SEED = int(os.environ.get("TRISPLIT_CAMPAIGN_SEED", "30"))
MISSED_AT_MOST = 0.05


class Campaign:
    """What became of the problems of a seed.

    Attributes
    ----------
    endings : dict of Counter
        The statuses of each family.
    rates : dict of Counter
        For each ending that can be proven, how the runs ended that should have ended so.
    missed, wrong : list of str
        A line for each run that ended otherwise, and for each answer that is wrong.
    """

    def __init__(self, seed, numbers, quick=False):
        self.endings, self.rates, self.missed, self.wrong = defaultdict(Counter), defaultdict(Counter), [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for index in numbers:
                drawn = problem(seed, index, quick)
                for row, verdict in enumerate(verdicts(drawn)):
                    self.add(verdict, drawn.family, f"problem({seed}, {index}) {drawn.family}, row {row}")

    def add(self, verdict, family, name):
        self.endings[family][verdict.status] += 1
        self.wrong += [f"{name}: {verdict.status}, {text}" for text in verdict.wrong]
        if verdict.expected:
            self.rates[verdict.expected][verdict.status] += 1
            if verdict.status != verdict.expected:
                self.missed.append(f"{name}: {verdict.status} instead of {verdict.expected}")

    def rare(self):
        """Return a line for each ending that too few runs had which should have had it."""
        shares = [(name, ends[name], ends.total()) for name, ends in self.rates.items()]
        return [f"{name}: {n} of {all_}" for name, n, all_ in shares if all_ - n > ceil(MISSED_AT_MOST * all_)]

    def __str__(self):
        rows = [f"{family:16}{ends.total():5}  {counted(ends)}" for family, ends in sorted(self.endings.items())]
        rates = [f"  {name}: {ends[name]} of {ends.total()} ({counted(ends)})" for name, ends in self.rates.items()]
        parts = {
            "family, runs, endings": rows,
            "endings that can be proven": rates,
            f"{len(self.missed)} missed": self.missed,
            f"{len(self.wrong)} wrong": self.wrong,
        }
        return "\n".join(line for title, lines in parts.items() for line in [f"--- {title}", *lines])


def counted(ends):
    return ", ".join(f"{name} {n}" for name, n in ends.most_common())


def require_truth(campaign):
    print(campaign)
    assert not campaign.wrong, f"{len(campaign.wrong)} answers are wrong:\n" + "\n".join(campaign.wrong)
    assert not campaign.rare(), "\n".join([*campaign.rare(), *campaign.missed])


def test_no_answer_of_a_few_problems_is_false():
    require_truth(Campaign(SEED, range(120), quick=True))


@pytest.mark.slow
def test_no_answer_of_many_problems_is_false():
    require_truth(Campaign(SEED, range(2000)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--index", type=int, action="append", help="only this one")
    parser.add_argument("--quick", action="store_true", help="without cvxpy")
    given = parser.parse_args()
    begin = perf_counter()
    print(Campaign(given.seed, given.index or range(given.count), given.quick))
    print(f"--- {perf_counter() - begin:.1f} s")
