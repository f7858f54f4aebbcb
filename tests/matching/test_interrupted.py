"""Ctrl-C during a match with several starts leaves the best of those that are done."""

import numpy as np
import pytest

from tests.matching.results import a_pair
from trisplit.matching import graph_match, strategies


@pytest.fixture
def interrupt(monkeypatch):
    """Let the search be interrupted in the given start."""

    def at(number):
        begun, run_start = [], strategies.run_start

        def start(*arguments):
            begun.append(1)
            if len(begun) == number:
                raise KeyboardInterrupt
            return run_start(*arguments)

        monkeypatch.setattr(strategies, "run_start", start)

    return at


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_starts_that_are_done_count(interrupt, jobs):
    A, B, p = a_pair(20)
    interrupt(3)
    result = graph_match(A, B, n_init=5, n_jobs=jobs, rng=0)
    assert np.array_equal(np.sort(result.indices_B), np.arange(20))
    assert "interrupted after" in result.message
    assert 1 <= len(result.misc) < 5
    assert result.score == max(one["score"] for one in result.misc)


def test_an_interruption_before_any_start_is_done_goes_on(interrupt):
    A, B, _ = a_pair(20)
    interrupt(1)
    with pytest.raises(KeyboardInterrupt):
        graph_match(A, B, n_init=5, rng=0)


def test_lines_of_a_search_go_to_a_function():
    A, B, _ = a_pair(20)
    lines = []
    quiet = graph_match(A, B, rng=0)
    loud = graph_match(A, B, rng=0, verbose=lines.append)
    assert all(isinstance(line, str) for line in lines)
    assert np.array_equal(quiet.permutation, loud.permutation)
