"""The results that the documentation shows are whole, and the theorems hold in them up to T = 100,000."""

from pathlib import Path

import pytest

from trisplit.paper import claims, comparison, figure2, theory, timing
from trisplit.paper.figure1 import INSTANCES
from trisplit.paper.instances import paper_instances
from trisplit.paper.results import read_results

RESULTS = read_results(Path(__file__).resolve().parents[2] / "docs" / "reproduced")


def test_no_error_is_above_its_bound():
    assert max(row.T for row in RESULTS.theory) == 100_000
    assert theory.exceeded(RESULTS.theory) == []


def test_every_run_of_figure_2_is_there_once():
    wanted = figure2.jobs(paper_instances(), figure2.SEEDS)
    assert len(wanted) == 134 * 2 * 10 * 4
    assert sorted(run[:4] for run in RESULTS.figure2) == sorted(map(tuple, wanted))


def test_figure_1_and_the_times_are_those_of_a_full_run():
    assert {row.instance for row in RESULTS.figure1} == set(INSTANCES)
    assert {(share.instance, share.method) for share in RESULTS.figure1_shares} == {
        (name, method) for name in timing.INSTANCES for method in ("tos1", "tos", "fw")
    }
    assert not any("--quick" in line for lines in RESULTS.made_by.values() for line in lines)


def test_every_claim_is_decided():
    found = claims.verdicts(RESULTS)
    assert len(found) == 14
    assert "not decided" not in {one.verdict for one in found}


@pytest.mark.parametrize("method", ["tos", "tos-hg"])
def test_the_papers_main_claim_holds_from_near_the_barycentre(method):
    own = [draw for draw in comparison.draws(RESULTS.figure2) if (draw.start, draw.method) == ("near", method)]
    assert len(own) == figure2.SEEDS
    assert all(draw.better + draw.same + draw.worse == 134 for draw in own)
    assert comparison.interval([draw.margin for draw in own]).sign == 1
    assert comparison.interval([draw.better - draw.worse for draw in own]).sign == 1
