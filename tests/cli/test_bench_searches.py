"""trisplit bench qaplib and ablation: every search is made once, kept at once, and checked."""

import json
import os
import signal
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

import trisplit
from trisplit.cli import run
from trisplit.paper.instances import assignment_error
from trisplit.qap import islands, memetic, portfolio

bench = import_module("trisplit.cli.bench")  # in `trisplit.cli` the name is that of the command
qaplib, ablation = (bench.find(name) for name in ("qaplib", "ablation"))
instances, calls = bench.sibling("qap.instances"), bench.sibling("qap.calls")
BENCHMARKS = [("qaplib", "make"), ("ablation", "measure")]
posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def read(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


def counting(monkeypatch, name, function):
    """Count the calls of a function of a benchmark."""
    module, made = bench.find(name), []
    work = getattr(module, function)
    monkeypatch.setattr(module, function, lambda *arguments: made.append(arguments) or work(*arguments))
    return made


def test_qaplib_makes_every_call_and_checks_it(tmp_path, capsys):
    assert run(["bench", "qaplib", "--quick", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    record = read(tmp_path, "qaplib")
    assert record["columns"] == list(calls.Call._fields)
    rows = [calls.Call._make(row) for row in record["rows"]]
    parts = qaplib.QUICK_PARTS
    expected = {(part, n, seed) for part in parts for n in instances.QUICK for seed in parts[part].seeds}
    assert {(row.part, row.instance, row.seed) for row in rows} == expected
    assert len(rows) == len(expected)
    for row in rows:
        instance = trisplit.qap.load(row.instance)
        assert row.refused is None
        assert row.bound is None or row.bound <= instance.best_known
        if row.part != calls.BOUNDS:
            assert row.gap == assignment_error(row.cost, instance.best_known) >= 0
            assert row.steps[-1][1] == row.cost
            assert [cost for _, cost in row.steps] == sorted({cost for _, cost in row.steps}, reverse=True)
    assert calls.proven(record) >= {"esc16f"}
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["qaplib.json"]
    for word in ("every instance", "lower bounds", *instances.QUICK):
        assert word in out


def test_ablation_searches_with_every_variant(tmp_path, capsys):
    assert run(["bench", "ablation", "--quick", "--out", str(tmp_path), "--instances", "nug12,chr12a"]) == 0
    out = capsys.readouterr().out
    rows = [ablation.Search._make(row) for row in read(tmp_path, "ablation")["rows"]]
    names, seeds = ("nug12", "chr12a"), ablation.QUICK_SEEDS
    expected = {(p, n, s, v) for p in ablation.QUICK_PARTS for n in names for s in seeds for v in ablation.VARIANTS}
    assert {(row.part, row.instance, row.seed, row.variant) for row in rows} == expected
    assert len(rows) == len(expected)
    for word in (*ablation.VARIANTS, "against full", "nug", "chr"):
        assert word in out


@pytest.mark.parametrize(("name", "function"), BENCHMARKS)
def test_a_second_run_makes_only_what_is_missing(name, function, tmp_path, monkeypatch):
    made = counting(monkeypatch, name, function)
    command = ["bench", name, "--quick", "--out", str(tmp_path), "--instances"]
    assert run([*command, "nug12", "--parts", "short"]) == 0
    first, rows = len(made), read(tmp_path, name)["rows"]
    assert first == len(rows) > 0
    assert run([*command, "nug12", "--parts", " short,long,short"]) == 0
    assert 0 < len(made) - first == len(read(tmp_path, name)["rows"]) - first
    second = len(made)
    assert run([*command, "nug12,rou12", "--parts", "short"]) == 0
    assert len(made) == second + first
    assert read(tmp_path, name)["rows"][:first] == rows
    assert run([*command, "rou12,nug12", "--parts", "short"]) == 0
    assert len(made) == second + first


KILLED = """
import os, signal, sys
from importlib import import_module
bench, cli = import_module("trisplit.cli.bench"), import_module("trisplit.cli")
name, function, out = sys.argv[1:]
module = bench.find(name)
work, made = getattr(module, function), []

def fatal(*arguments):
    made.append(arguments)
    if len(made) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return work(*arguments)

setattr(module, function, fatal)
cli.run(["bench", name, "--quick", "--out", out])
"""


@posix
@pytest.mark.parametrize(("name", "function"), BENCHMARKS)
def test_a_run_that_is_killed_keeps_what_is_done_and_goes_on(name, function, tmp_path, monkeypatch):
    ended = subprocess.run([sys.executable, "-c", KILLED, name, function, str(tmp_path)], timeout=300, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.json"]
    rows = read(tmp_path, name)["rows"]
    assert len(rows) == 3
    made = counting(monkeypatch, name, function)
    assert run(["bench", name, "--quick", "--out", str(tmp_path)]) == 0
    record = read(tmp_path, name)
    assert record["rows"][:3] == rows
    assert len(record["rows"]) == 3 + len(made)


@pytest.mark.parametrize(("name", "function"), BENCHMARKS)
def test_ctrl_c_keeps_what_is_done(name, function, tmp_path, monkeypatch, capsys):
    module = bench.find(name)
    work = getattr(module, function)

    def interrupted(*arguments):
        if any(getattr(one, "name", None) == "rou12" for one in arguments):
            raise KeyboardInterrupt
        return work(*arguments)

    monkeypatch.setattr(module, function, interrupted)
    assert run(["bench", name, "--quick", "--out", str(tmp_path), "--instances", "esc16f,rou12"]) == 130
    out, err = capsys.readouterr()
    assert "esc" in out
    assert f"{name}.json keeps it" in err
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.json"]
    assert "esc16f" in str(read(tmp_path, name)["rows"])


@pytest.mark.parametrize("key", ["version", "code", "quick", "settings", "machine"])
def test_rows_that_were_made_in_another_way_are_refused_and_kept(key, tmp_path, monkeypatch, capsys):
    command = ["bench", "qaplib", "--quick", "--out", str(tmp_path), "--instances", "nug12", "--parts", "first"]
    assert run(command) == 0
    record = read(tmp_path, "qaplib")
    record[key] = {"machine": {"cpu": "another"}, "quick": False}.get(key, "another")
    text = json.dumps(record)
    (tmp_path / "qaplib.json").write_text(text)
    capsys.readouterr()
    monkeypatch.setattr(qaplib, "make", lambda *_: pytest.fail("measured"))
    assert run(command) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"another {key}" in err
    assert (tmp_path / "qaplib.json").read_text() == text


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_file_that_is_no_earlier_run_is_refused(text, tmp_path, capsys):
    (tmp_path / "ablation.json").write_text(text)
    assert run(["bench", "ablation", "--quick", "--out", str(tmp_path)]) == 2
    assert "ablation.json" in capsys.readouterr().err
    assert (tmp_path / "ablation.json").read_text() == text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["qaplib", "--parts", "short,10"], "'10'; choose some of first, short, long, bounds"),
        (["ablation", "--parts", "bounds"], "short, long"),
        (["relax", "--parts", "short"], "qaplib, ablation"),
    ],
)
def test_parts_that_cannot_be_are_refused_in_one_line(arguments, said, tmp_path, capsys):
    assert run(["bench", *arguments, "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_bounds_alone_have_a_table_and_a_figure(tmp_path, capsys):
    assert run(["bench", "qaplib", "--quick", "--out", str(tmp_path), "--parts", "bounds"]) == 0
    assert "lower bounds" in capsys.readouterr().out
    assert (tmp_path / "qaplib.png").exists()


def some_call(**values):
    fields = {"part": "short", "instance": "nug12", "n": 12, "seed": 0, "limit": 10.0, "seconds": 1.0, "cost": 578,
              "gap": 0.0, "bound": None, "method": None, "refused": None, "steps": [[0.5, 578]]}  # fmt: skip
    return list(calls.Call(**(fields | values)))


def whole_run(**values):
    """Return a record with all calls of a perfect run, with other values in each of them."""
    rows = []
    for part, how in qaplib.PARTS.items():
        for seed in how.seeds:
            for name in qaplib.names_of(part, how, False, None):
                best = qaplib.ENTRIES[name].best_known
                found = {"cost": None, "gap": None, "bound": best} if seed is None else {"cost": best}
                found |= {"limit": how.limit, "seconds": how.limit} | values
                rows.append(some_call(part=part, instance=name, seed=seed, **found))
    return {"rows": rows}


def test_a_perfect_run_reaches_all_goals():
    found = qaplib.goals(whole_run())
    assert len(found) == 10
    assert all(one["holds"] for one in found)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"bound": 10**12}, "above the best-known"),
        ({"refused": "wrong"}, "refuses"),
        ({"seconds": 63.1}, "too late"),
        ({"gap": 0.1}, "mean gap"),
    ],
)
def test_a_run_with_a_fault_does_not(values, said):
    failed = [one["what"] for one in qaplib.goals(whole_run(**values)) if not one["holds"]]
    assert any(said in what for what in failed)


def test_goals_of_some_instances_are_shown_but_not_aimed_at():
    found = qaplib.goals({"rows": [some_call()]})
    assert found
    assert not any("holds" in one for one in found)


def test_taillards_instances_are_26():
    assert len(qaplib.TAILLARD) == 26


@pytest.mark.parametrize(("limit", "seconds", "late"), [(0.2, 0.39, False), (0.2, 0.41, True), (60.0, 62.9, False)])
def test_a_call_may_be_late_by_five_percent_or_two_tenths_of_a_second(limit, seconds, late):
    assert calls.too_late(calls.Call._make(some_call(limit=limit, seconds=seconds))) == late


def test_a_certificate_that_does_not_prove_its_bound_is_reported(monkeypatch):
    monkeypatch.setattr(qaplib, "proven_bound", lambda *_: 1)
    assert "proves 1" in qaplib.make(0.1, "bounds", trisplit.qap.load("nug12"), None).refused


def test_a_result_that_is_wrong_is_reported(monkeypatch):
    solve = trisplit.qap.solve
    wrong = lambda *arguments, **options: replaced(solve(*arguments, **options))  # noqa: E731
    replaced = lambda result: type(result)(**(vars(result) | {"cost": result.cost + 1}))  # noqa: E731
    monkeypatch.setattr(trisplit.qap, "solve", wrong)
    assert "cost" in qaplib.make(0.1, "short", trisplit.qap.load("nug12"), 0).refused


@pytest.mark.slow
def test_variants_lack_what_their_names_say_and_leave_nothing_behind(monkeypatch):
    rng = np.random.default_rng(0)
    A, B = rng.integers(0, 99, (2, 12, 12))
    instance = trisplit.qap.Instance("own", A, B, best_known=0)  # out of reach
    results, crossings = [], []
    solve, crossed, before = trisplit.qap.solve, memetic.crossed, (portfolio.Portfolio.starts, islands.roles)
    monkeypatch.setattr(trisplit.qap, "solve", lambda *a, **k: results.append(solve(*a, **k)) or results[-1])
    monkeypatch.setattr(memetic, "crossed", lambda *a: crossings.append(a) or crossed(*a))
    seen = {}
    for variant in ablation.VARIANTS:
        crossings.clear()
        ablation.measure("short", instance, 0, variant, 1.5)
        seen[variant] = results[-1].starts > 0, results[-1].restarts > 0, bool(crossings)
    assert seen == {
        ablation.FULL: (True, True, True),
        ablation.NO_STARTS: (False, True, True),
        ablation.NO_FACES: (True, False, True),
        ablation.NO_CROSSING: (True, True, False),
    }
    assert (portfolio.Portfolio.starts, portfolio.roles) == before


def test_the_subset_of_the_ablation_is_of_the_paper():
    assert len(set(ablation.SUBSET)) == len(ablation.SUBSET) == 30
    assert set(ablation.SUBSET) <= set(instances.PAPER)
