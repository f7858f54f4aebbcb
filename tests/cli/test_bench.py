"""trisplit bench: what is measured, written and said; never how long it takes."""

import json
from importlib import import_module
from math import isfinite

import numpy as np
import pytest

import trisplit
from trisplit.cli import run
from trisplit.paper.instances import assignment_error, family

bench = import_module("trisplit.cli.bench")  # in `trisplit.cli` the name is that of the command
overhead, core, machine, stochastic = (bench.sibling(name) for name in ("overhead", "core", "machine", "stochastic"))
relax, multistart, tabu = (bench.find(name) for name in ("relax", "multistart", "tabu"))
instances, goals = bench.sibling("qap.instances"), bench.sibling("qap.goals")


def positive(numbers):
    return all(isfinite(number) and number > 0 for number in numbers)


def common(record):
    assert record["version"] == trisplit.__version__
    assert record["machine"]["cores"] > 0
    assert record["versions"]["numpy"]
    assert set(machine.PEERS.values()) <= set(record["versions"])
    assert record["settings"]["threads"] == 1


def test_overhead_measures_every_contestant_at_every_size(tmp_path, capsys):
    assert run(["bench", "overhead", "--quick", "--out", str(tmp_path / "new" / "folder")]) == 0
    out = capsys.readouterr().out
    record = json.loads((tmp_path / "new" / "folder" / "overhead.json").read_text())
    common(record)
    rows = {(row["contestant"], row["variables"]): row for row in record["rows"]}
    assert set(rows) == {(name, n) for name in overhead.CONTESTANTS for n in overhead.QUICK_SIZES}
    assert positive(row["seconds_per_iteration"] for row in rows.values())
    assert positive(second for row in rows.values() for second in row["seconds"])
    assert positive(row["ratio"] for row in record["ratios"])
    assert len(record["ratios"]) == len(overhead.RATIOS) * len(overhead.QUICK_SIZES)
    for name in overhead.CONTESTANTS:
        assert name in out


@pytest.mark.parametrize("n", overhead.SIZES)
def test_everybody_takes_a_gradient_in_each_iteration_and_copt_two_values(n):
    iterations = 200
    with overhead.settled():
        data = overhead.make_data(n)
        for name, values in ((overhead.AUTO, 0.25), (overhead.COPT, 1.95)):
            data.f.values = data.f.grads = 0
            overhead.contestants(data, iterations)[name]()
            assert data.f.grads >= iterations
            assert data.f.values >= values * iterations


def test_all_contestants_of_overhead_do_the_same_iteration():
    data = overhead.make_data(20)
    runs = overhead.contestants(data, 50)
    z = runs[overhead.BARE]()
    assert abs(runs[overhead.CONSTANT]().x - z).max() <= 1e-12
    # copt hands out x where trisplit hands out z; both tend to the minimiser, and x obeys the half-space.
    assert data.h.value(runs[overhead.COPT_CONSTANT]().x) == 0.0


@pytest.mark.slow
def test_core_measures_every_contestant_on_every_problem(tmp_path, capsys):
    assert run(["bench", "core", "--quick", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    record = json.loads((tmp_path / "core.json").read_text())
    common(record)
    assert len(record["problems"]) == len(core.QUICK_PROBLEMS)
    installed = [one for one in core.contestants if one.library not in record["missing"]]
    for part, make in zip(record["problems"], core.QUICK_PROBLEMS, strict=True):
        names = [one.name for one in installed if one.applies(make())]
        assert [row["contestant"] for row in part["rows"]] == names
        for row in part["rows"]:
            assert positive([row["seconds_per_iteration"]])
            assert isfinite(row["least_error"])
            assert row["least_error"] >= 0
            for iterations, seconds in zip(row["iterations"], row["seconds"], strict=True):
                assert (iterations is None) == (seconds is None)
                assert seconds is None or positive([iterations, seconds])
            assert row["contestant"] in out
        ours = next(row for row in part["rows"] if row["contestant"] == core.AUTO)
        assert ours["iterations"][0] is not None


def test_a_missing_peer_is_named_with_the_remedy(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(machine, "missing", lambda: ["pyproximal", "pyunlocbox", "odl"])
    monkeypatch.setattr(overhead, "QUICK_SIZES", {10: 20})
    assert run(["bench", "overhead", "--quick", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "not compared with pyproximal, pyunlocbox, odl: not installed; pip install 'trisplit[peers]'" in out
    assert json.loads((tmp_path / "overhead.json").read_text())["missing"] == ["pyproximal", "pyunlocbox", "odl"]


@pytest.mark.slow
def test_without_any_peer_trisplit_is_measured_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(machine, "missing", lambda: list(machine.PEERS.values()))
    monkeypatch.setattr(overhead, "QUICK_SIZES", {10: 20})
    monkeypatch.setattr(core, "QUICK_PROBLEMS", core.QUICK_PROBLEMS[:1])
    for name in ("overhead", "core"):
        assert run(["bench", name, "--quick", "--out", str(tmp_path)]) == 0
        assert "copt" not in capsys.readouterr().out.partition("not compared")[0]


@pytest.mark.parametrize("name", ["cores", "", "../core", "machine"])
def test_an_unknown_name_is_one_line(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["bench", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "core, overhead" in err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_is_refused_before_measuring(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(overhead, "run", lambda *_: pytest.fail("measured"))
    assert run(["bench", "overhead", "--out", str(tmp_path / "file")]) == 2
    assert "--out" in capsys.readouterr().err


def test_ctrl_c_shows_what_was_done_and_writes_nothing(tmp_path, monkeypatch, capsys):
    measure = overhead.measure

    def interrupted(record, n, *rest):
        if record["rows"]:
            raise KeyboardInterrupt
        measure(record, n, *rest)

    monkeypatch.setattr(overhead, "measure", interrupted)
    assert run(["bench", "overhead", "--quick", "--out", str(tmp_path)]) == 130
    out, err = capsys.readouterr()
    assert "n = 10" in out
    assert "interrupted" in err
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_before_anything_was_done(tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    for name in ("overhead", "core"):
        monkeypatch.setattr(bench.sibling(name), "run", interrupted)
        assert run(["bench", name, "--quick", "--out", str(tmp_path)]) == 130
        assert "interrupted" in capsys.readouterr().err


def test_a_figure_is_drawn_where_matplotlib_is_installed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(overhead, "QUICK_SIZES", {10: 20})
    monkeypatch.setattr(bench, "find_spec", lambda name: None)
    assert run(["bench", "overhead", "--quick", "--out", str(tmp_path)]) == 0
    assert "trisplit[plot]" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["overhead.json"]


def test_a_mapped_file_is_read_and_taken_the_gradient_of(tmp_path, capsys):
    assert run(["bench", "mapped", "--quick", "--out", str(tmp_path)]) == 0
    record = json.loads((tmp_path / "mapped.json").read_text())
    common(record)
    assert [(row["what"], row["cached"]) for row in record["rows"]] == [
        ("reading", False), ("reading", True), ("gradient", False), ("gradient", True)
    ]  # fmt: skip
    assert all(row["seconds"] > 0 for row in record["rows"])
    assert 0 < record["anonymous_gib"] < 4
    assert "anonymous memory" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("peers", [False, True])
def test_estimated_gradients_arrive(peers, tmp_path, monkeypatch, capsys):
    if not peers:  # which compile at every call
        ours = [one for one in stochastic.contestants if one.name != stochastic.VRTOS]
        monkeypatch.setattr(stochastic, "contestants", ours)
    assert run(["bench", "stochastic", "--quick", "--out", str(tmp_path)]) == 0
    record = json.loads((tmp_path / "stochastic.json").read_text())
    common(record)
    assert [part["problem"] for part in record["problems"]] == ["like rcv1", "like covtype"]
    for part in record["problems"]:
        rows = {row["contestant"]: row for row in part["rows"]}
        assert {"SVRG", "SVRG2", "SAGA", "SARAH", "PAGE", "minibatch", "exact"} <= set(rows)
        for row in rows.values():
            assert row["least_error"] >= 0
            errors = [error for _, error in row["history"]]
            assert errors[-1] < errors[0]
        arrived = [row for row in rows.values() if row["iterations"][0] is not None]
        assert arrived
        assert all(row["seconds"][0] > 0 and row["passes"][0] > 0 for row in arrived)
    ends = {row["contestant"]: row["history"][-1][1] for row in record["nonconvex"]["rows"]}
    assert ends["svrg2"] < ends["svrg"] < ends["minibatch"]
    assert "Tukey regression" in capsys.readouterr().out


@pytest.mark.slow
def test_relax_runs_every_method_from_every_point(tmp_path, capsys):
    assert run(["bench", "relax", "--quick", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    record = json.loads((tmp_path / "relax.json").read_text())
    common(record)
    rows = [relax.Run._make(row) for row in record["rows"]]
    assert record["columns"] == list(relax.Run._fields)
    expected = {(n, s, m) for n in instances.QUICK for s in range(relax.QUICK_SEEDS) for m in relax.METHODS}
    assert {(row.instance, row.seed, row.method) for row in rows} == expected
    assert len(rows) == len(expected)
    assert positive(row.seconds for row in rows)
    assert all(row.converged for row in rows if row.method == relax.OURS)
    assert all(max(row.infeasibility, row.nonstationarity) <= 1.01e-5 for row in rows if row.converged)
    assert all(row.seconds == relax.QUICK_CAP for row in rows if not row.converged)
    assert record["missing"] == record["goals"] == []
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["relax.json"]
    for name in relax.METHODS:
        assert name.split(",")[0] in out


@pytest.mark.slow
def test_multistart_searches_with_every_method_in_every_budget(tmp_path, capsys):
    assert run(["bench", "multistart", "--quick", "--out", str(tmp_path), "--instances", "nug12, chr12a,nug12"]) == 0
    out = capsys.readouterr().out
    record = json.loads((tmp_path / "multistart.json").read_text())
    common(record)
    rows = [multistart.Search._make(row) for row in record["rows"]]
    expected = {(n, b, m) for n in ("nug12", "chr12a") for b in multistart.QUICK_BUDGETS for m in multistart.METHODS}
    assert {(row.instance, row.budget, row.method) for row in rows} == expected
    assert len(rows) == len(expected)
    for row in rows:
        assert row.starts >= 1
        assert row.gap == assignment_error(row.cost, trisplit.qap.load(row.instance).best_known) >= 0
    for word in (*multistart.METHODS, "nug", "chr"):
        assert word in out


@pytest.mark.parametrize("name", ["nug12", "chr12a", "had12", "esc16f"])
def test_frank_wolfe_with_scipys_solver_takes_the_steps_of_the_packages(name):
    instance = trisplit.qap.load(name)
    x0 = trisplit.qap.initial_point(instance.n, np.random.default_rng(0))
    z, iterations = relax.frank_wolfe(relax.objective(instance), x0, 1e-3, 10_000, 10.0)
    same = trisplit.qap.relax(instance, method="fw", x0=x0, tol=0, max_iter=iterations)
    assert same.nit == iterations
    assert abs(z - same.x).max() <= 1e-9
    # `relax` looks at fewer iterates, so it cannot stop earlier.
    assert max(relax.errors(instance, z)) <= 1e-3
    assert trisplit.qap.relax(instance, method="fw", x0=x0, tol=1e-3).nit >= iterations


def test_the_errors_that_relax_computes_are_those_of_the_certificate():
    instance = trisplit.qap.load("nug12")
    res = trisplit.qap.relax(instance, split=2, tol=1e-3, rng=0)
    infeasibility, nonstationarity = relax.errors(instance, res.x)
    assert infeasibility == pytest.approx(res.certificate.infeasibility / 12**0.5, abs=1e-12)
    assert nonstationarity == pytest.approx(abs(res.certificate.stationarity) / max(res.fun, 1), abs=1e-12)


def test_a_run_that_does_not_arrive_counts_with_the_cap():
    row = relax.measure(relax.PLAIN, trisplit.qap.load("bur26a"), 0, np.full((26, 26), 1 / 26) + np.eye(26), 0.01)
    assert not row.converged
    assert row.seconds == 0.01


def test_the_standard_error_is_that_of_the_seeds_alone():
    mean, spread = relax.mean_and_error({"a": [0.0, 2.0], "b": [5.0, 5.0]})
    assert mean == 3.0
    assert spread == pytest.approx(0.5)  # the mean over seeds of a has the variance 1, that of b 0


def test_the_instances_of_the_paper_are_of_18_families():
    assert len(instances.PAPER) == 134
    assert len({family(name) for name in instances.PAPER}) == 18


def test_goals_are_for_all_instances():
    assert "holds" not in goals.goal("ratio", 0.1, whole=False, at_most=0.2)
    assert goals.goal("ratio", 0.1, whole=True, at_most=0.2)["holds"]
    assert not goals.goal("number", 120, whole=True, at_least=125)["holds"]
    assert goals.table([goals.goal("number", 120, whole=True, at_least=125)]).rows == [
        ["number", "120", ">= 125", "no"]
    ]


@pytest.mark.slow
def test_tabu_measures_both_searches_at_every_size(tmp_path, capsys):
    assert run(["bench", "tabu", "--quick", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    record = json.loads((tmp_path / "tabu.json").read_text())
    common(record)
    assert [row["n"] for row in record["rows"]] == list(tabu.QUICK_SIZES)
    for row in record["rows"]:
        assert positive(row["moves_per_second"].values())
        assert positive(row["seconds"][tabu.PLAIN] + row["seconds"][tabu.FAST])
        assert f"{row['moves_per_second'][tabu.FAST]:,.0f}" in out
    assert "ratio" in out


def test_both_tabu_searches_know_what_exchanges_change():
    instance, rng = tabu.dense_instance(12), np.random.default_rng(0)
    start = rng.permutation(12)
    plain, fast = tabu.PlainTabu(instance.A, instance.B, start), tabu.TabuSearch(tabu.swap_form(instance))
    fast.start(start)
    upper = np.triu_indices(12, 1)
    assert np.array_equal(plain.deltas[upper], fast.scratch[1][upper])
    plain.advance(500, rng)
    made, value, best = plain.numbers
    assert made == 500
    assert instance.cost(start) + 2 * value == instance.cost(plain.p) >= instance.cost(start) + 2 * best
    fast.start(plain.p)
    assert np.array_equal(plain.deltas[upper], fast.scratch[1][upper])
    assert fast.form.unit == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["relax", "--instances", "nug12,nug31"], "nug31"), (["core", "--instances", "nug12"], "relax, multistart")],
)
def test_instances_that_cannot_be_are_refused_in_one_line(arguments, said, tmp_path, capsys):
    assert run(["bench", *arguments, "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert said in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "function"), [("relax", "race"), ("multistart", "measure")])
def test_ctrl_c_keeps_the_instances_that_are_done(name, function, tmp_path, monkeypatch, capsys):
    module = bench.find(name)
    work = getattr(module, function)

    def interrupted(*arguments, **options):
        if any(getattr(one, "name", None) == "rou12" for one in arguments):
            raise KeyboardInterrupt
        return work(*arguments, **options)

    monkeypatch.setattr(module, function, interrupted)
    assert run(["bench", name, "--quick", "--out", str(tmp_path), "--instances", "esc16f,rou12"]) == 130
    out, err = capsys.readouterr()
    assert "1 instances" in out
    assert f"{name}.partial.json" in err
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.partial.json"]
    rows = json.loads((tmp_path / f"{name}.partial.json").read_text())["rows"]
    assert {row[0] for row in rows} == {"esc16f"}


@pytest.mark.slow
def test_goals_are_shown_for_some_instances_but_not_aimed_at(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(relax, "CAP", 1.0)
    monkeypatch.setattr(relax, "SEEDS", 1)
    monkeypatch.setattr(multistart, "BUDGETS", (0.05, 0.1))
    for name in ("relax", "multistart"):
        assert run(["bench", name, "--out", str(tmp_path), "--instances", "chr12a"]) == 0
        assert "what was aimed at" in capsys.readouterr().out
        found = json.loads((tmp_path / f"{name}.json").read_text())["goals"]
        assert found
        assert not any("holds" in one for one in found)
