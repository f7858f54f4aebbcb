"""trisplit bench: what is measured, written and said; never how long it takes."""

import json
from importlib import import_module
from math import isfinite

import pytest

import trisplit
from trisplit.cli import run

bench = import_module("trisplit.cli.bench")  # in `trisplit.cli` the name is that of the command
overhead, core, machine = (bench.sibling(name) for name in ("overhead", "core", "machine"))


def positive(numbers):
    return all(isfinite(number) and number > 0 for number in numbers)


def common(record):
    assert record["version"] == trisplit.__version__
    assert record["machine"]["cores"] > 0
    assert record["versions"]["numpy"]
    assert set(machine.PEERS) <= set(record["versions"])
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


def test_without_any_peer_trisplit_is_measured_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(machine, "missing", lambda: list(machine.PEERS))
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
