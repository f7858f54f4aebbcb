"""Where an iteration spends its time: what is measured, and what is said of it. No time is asserted."""

import numpy as np
import pytest

from tests.paper.synthetic import NOTHING
from trisplit.paper import claims, tables, timing
from trisplit.paper.timing import Share


def test_each_method_is_measured_on_each_instance(monkeypatch):
    monkeypatch.setattr(timing, "QUICK", ("nug12", "bur26a"))  # symmetric, and with four products
    found = timing.run(quick=True)
    assert [(s.instance, s.method) for s in found] == [(n, m) for n in timing.QUICK for m in ("tos1", "tos", "fw")]
    assert all(s.iteration > 0 and s.products > 0 and (s.assignment > 0) == (s.method == "fw") for s in found)


def test_the_fastest_round_counts(monkeypatch):
    clock = iter(np.cumsum([0.0, 5.0, 1.0, 3.0, 1.0, 4.0, 1.0, 9.0, 1.0, 8.0]))
    monkeypatch.setattr(timing, "perf_counter", lambda: next(clock))
    assert timing.least(lambda: None) == pytest.approx(3e6 / timing.ITERATIONS)


@pytest.mark.parametrize(
    ("products", "assignment", "expected"),
    [(0.6, 0.7, ["holds", "holds"]), (0.4, 0.3, ["does not hold", "does not hold"])],
)
def test_one_instance_decides_against_a_claim(products, assignment, expected):
    others = [Share("sko100a", "tos", 1.0, 0.9, 0.0), Share("sko100a", "fw", 1.0, 0.1, 0.8)]
    one = [Share("esc128", "tos", 1.0, products, 0.0), Share("esc128", "fw", 1.0, 0.5, assignment)]
    results = NOTHING._replace(figure1_shares=others + one)
    found = list(claims.time_of_an_iteration(results))
    assert [verdict.verdict for verdict in found] == expected
    assert f"{100 * products:.0f} % on esc128" in found[0].detail
    assert f"{100 * assignment:.0f} % on esc128" in found[1].detail
    assert [row[4] for row in tables.shares(results).rows] == pytest.approx([90.0, 10.0, 100 * products, 50.0])
