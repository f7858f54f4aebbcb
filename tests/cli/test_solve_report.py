"""`trisplit solve --report`: the page shows the search, and a start that becomes a permutation."""

import json
import re

import numpy as np
import pytest

from trisplit import qap
from trisplit.cli import run
from trisplit.cli.solve_report import Frame, thinned, watch

NUG12 = qap.load("nug12")


def payloads(path):
    """Return what the charts and the matrices of a page are drawn from."""
    text = path.read_text(encoding="utf-8")
    return [
        json.loads(found) for found in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.S)
    ]


def test_page_holds_the_answer_and_the_search(tmp_path, capsys):
    path = tmp_path / "nug12.html"
    assert run(["solve", "nug12", "--starts", "2", "--json", str(tmp_path / "out.json"), "--report", str(path)]) == 0
    record = json.loads((tmp_path / "out.json").read_text())
    text = path.read_text(encoding="utf-8")
    assert f"{record['cost']:,}" in text
    assert " ".join(map(str, record["permutation"])) in text
    charts = {one["title"]: one for one in payloads(path) if "series" in one}
    costs = charts["Cost over time"]["series"][0]["y"]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == record["cost"]
    frames = [one for one in payloads(path) if "captions" in one]
    assert len(frames) == 1
    assert frames[0]["captions"][-1].startswith("rounded")


def test_the_start_that_is_shown_is_one_of_the_relaxation():
    """Rows add up to one throughout, errors end at the tolerance, costs are those of the nearest permutations."""
    frames = list(watch(NUG12, 0))
    for frame in frames:
        assert np.abs(frame.z.sum(axis=1) - 1).max() < 1e-12
        assert frame.cost == NUG12.cost(qap.round_to_permutation(frame.z))
    assert max(frames[-1].nonstationarity, frames[-1].infeasibility) <= 1e-5
    assert all(max(frame.nonstationarity, frame.infeasibility) > 1e-5 for frame in frames[:-1])
    assert [frame.iteration for frame in frames] == sorted({frame.iteration for frame in frames})


@pytest.mark.parametrize(("count", "n"), [(1, 3), (40, 30), (40, 1000), (7, 5000)])
def test_frames_fit_into_a_page_and_the_last_stays(count, n):
    frames = [Frame(k, np.zeros((1, 1)), 0.0, 0.0, 0) for k in range(count)]
    kept = thinned(frames, n)
    assert kept[-1] is frames[-1]
    assert len(kept) == min(count, max(8 * 2**20 // n**2, 1))


@pytest.mark.parametrize("n", [1, 2])
def test_the_smallest_problems_have_a_page(tmp_path, n):
    (tmp_path / "small.dat").write_text(f"{n}\n" + "1 " * (2 * n * n))
    assert run(["solve", str(tmp_path / "small.dat"), "--report", str(tmp_path / "small.html")]) == 0
    assert payloads(tmp_path / "small.html")


def test_a_report_that_cannot_be_written_is_refused_before_the_search(tmp_path, capsys):
    assert run(["solve", "nug12", "--report", str(tmp_path / "no" / "page.html")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "--report" in err
    same = str(tmp_path / "one")
    assert run(["solve", "nug12", "--json", same, "--report", same]) == 2
    assert "--json and --report are the same file" in capsys.readouterr().err


def test_the_report_changes_no_answer(tmp_path):
    for options in ([], ["--report", str(tmp_path / "page.html")]):
        assert run(["solve", "scr12", "--starts", "3", "--json", str(tmp_path / f"{len(options)}.json"), *options]) == 0
    with_page, without = (json.loads((tmp_path / f"{k}.json").read_text()) for k in (2, 0))
    assert with_page["permutation"] == without["permutation"]
