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
    assert f"at least {times('1000', 'one'):,.0f} times as many starts a second as SciPy's FAQ on one core" in TEXT
    assert f"at least {times('1000', 'all'):.0f} times as many as on 16" in TEXT
    one, every = times("400", "one"), times("400", "all")
    assert f"no less than {one:,.0f} times the starts of one core and {every:.0f} times those of 16" in TEXT
    assert {one["faq"]["cores"] for one in STARTS.values()} == {16}


def test_errors_in_the_mean_and_on_each_instance():
    each = ratios("1000")
    assert f"is {fmean(each.values()):.3f} times that of FAQ's in the mean" in TEXT
    assert f"is {1 - each['tai100a']:.0%} below FAQ's on `tai100a`".replace("%", " %") in TEXT
    assert f"{each['wil100'] - 1:.0%} above it on `wil100`".replace("%", " %") in TEXT
    assert [each[name] for name in ("sko100a", "tai100b")] == pytest.approx([1.0, 1.0], abs=0.03)
    assert f"it is {fmean(ratios('400').values()):.2f} times FAQ's in the mean" in TEXT


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
