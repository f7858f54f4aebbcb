"""What docs/gpu.md says of speeds and errors is what was measured."""

import json
from importlib import import_module
from pathlib import Path
from statistics import fmean

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "benchmarks/results/gpu.json").read_text(encoding="utf-8"))
STARTS = {case: found for part, case, _, _, found in RECORD["rows"] if part == "starts" and "faq" in found}
TEXT = " ".join((ROOT / "docs/gpu.md").read_text(encoding="utf-8").split())


def ratios(length):
    """The errors of our starts as multiples of FAQ's."""
    return {name: one["ours"][length]["error"] / one["faq"]["error"] for name, one in STARTS.items()}


def times(length, cores):
    """By how many times our starts are more than FAQ's, at least."""
    return min(one["ours"][length]["per_second"] / one["faq"][cores] for one in STARTS.values())


def test_speeds():
    assert f"at least {times('400', 'one'):,.0f} times as many starts a second as SciPy's FAQ on one core" in TEXT
    assert f"at least {times('400', 'all'):.0f} times as many as on 16" in TEXT
    one, every = times("1200", "one"), times("1200", "all")
    assert f"no less than {one:.0f} times the starts of one core and {every:.0f} times those of 16" in TEXT
    assert {one["faq"]["cores"] for one in STARTS.values()} == {16}


def test_errors_in_the_mean_and_on_each_instance():
    ours, theirs = (fmean(errors) for errors in zip(*map(pair, STARTS.values()), strict=True))
    assert f"is {ours / theirs:.3f} times that of FAQ's" in TEXT
    each = ratios("400")
    assert f"{1 - each['tai100b']:.0%} below FAQ's on `tai100b`".replace("%", " %") in TEXT
    assert each["tai100a"] == pytest.approx(1.0, abs=0.01)
    above = f"{each['sko100a'] - 1:.0%} above it on `sko100a` and {each['wil100'] - 1:.0%} on `wil100`"
    assert above.replace("%", " %") in TEXT
    assert f"the mean of the four ratios is {fmean(each.values()):.2f}" in TEXT


def pair(one):
    return one["ours"]["400"]["error"], one["faq"]["error"]


def test_errors_of_long_starts():
    each = ratios("1200")
    assert [name for name, ratio in each.items() if ratio > 1] == ["wil100"]
    assert f"it is {each['wil100'] - 1:.0%} above".replace("%", " %") in TEXT


def test_goals_are_those_of_the_rows():
    goals = import_module("trisplit.cli.bench").sibling("gpu.goals")
    assert goals.goals(RECORD) == RECORD["goals"]
    assert all(one["holds"] for one in RECORD["goals"])


def test_arrays_in_memory():
    """The dense and the sparse problem have about as many arrays of n^2 numbers in float32 as is said."""
    found = {case: one for part, case, _, _, one in RECORD["rows"] if part == "large"}
    arrays = {case: one["peak_gib"] * 2**30 / (4 * one["n"] ** 2) for case, one in found.items()}
    assert arrays["sparse"] == pytest.approx(8, abs=0.5)
    assert arrays["dense"] == pytest.approx(12, abs=0.5)
