"""trisplit bench gpu: what it compares does the same, what it measures is kept, and its goals are what they say."""

import copy
import json
from importlib import import_module

import numpy as np
import pytest

import trisplit as ts
from tests.kinds import Kind
from trisplit.cli import run
from trisplit.errors import InputError
from trisplit.paper.instances import best_known, paper_instances

bench = import_module("trisplit.cli.bench")  # in `trisplit.cli` the name is that of the command
gpu = bench.find("gpu")
loops, iterations, starts, searches, goals, part = (
    bench.sibling(f"gpu.{name}") for name in ("loops", "iterations", "starts", "searches", "goals", "part")
)


@pytest.fixture(scope="module")
def torch():
    return Kind("torch", "float64").xp


@pytest.fixture(scope="module")
def folder(torch, tmp_path_factory):
    """A folder in which the benchmark was run."""
    folder = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as patch:
        for module in ("qap.gpu.batch", "qap.gpu.rounding", "kernels.gpu.walks"):
            patch.setattr(f"trisplit.{module}.usable", lambda device: False)  # the interpreter of Triton is slow
        assert run(["bench", "gpu", "--quick", "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def record(folder):
    return json.loads((folder / "gpu.json").read_text())


def test_every_case_is_measured_once_and_none_fails(record):
    expected = [(name, case) for name, one in gpu.PARTS.items() for case in one.cases(True)]
    assert [tuple(row[:2]) for row in record["rows"]] == expected
    assert [row for row in record["rows"] if "failed" in row[-1]] == []
    sizes = [one for row in record["rows"] for one in row[-1].get("sizes", {}).values()]
    assert all(one.get("milliseconds", 0) > 0 or "missing" in one for one in sizes)
    assert all(one.get("difference", 0) < 1e-5 for one in sizes)


def test_the_device_and_the_code_are_named(record):
    assert set(record["device"]) >= {"name", "memory_gib", "torch"}
    assert [row[2] for row in record["rows"]] == [0] * len(record["rows"])
    assert record["runs"][0]["code"] == bench.sibling("resume").code()


def test_a_second_run_measures_nothing_and_shows_all(folder, record, capsys, monkeypatch):
    monkeypatch.setattr(gpu, "measured", lambda *_: pytest.fail("measured"))
    assert run(["bench", "gpu", "--quick", "--out", str(folder)]) == 0
    out = capsys.readouterr().out
    for word in ("milliseconds an iteration", "FAQ", "precisions", "best-known", "sparse", "nug12"):
        assert word in out
    assert json.loads((folder / "gpu.json").read_text())["rows"] == record["rows"]
    assert (folder / "gpu.png").exists()


def going_on(record, **options):
    """Return the record of a run that begins with another one."""
    again = {"benchmark": "gpu", "quick": True, **bench.sibling("machine").describe()}
    gpu.run(again, True, lambda *_: None, before=copy.deepcopy(record), **options)
    return again


def test_what_has_failed_is_measured_again_and_the_rest_is_kept_whatever_the_code(record, monkeypatch):
    monkeypatch.setattr(gpu, "measured", lambda *_: (1.0, {"anew": True}))
    record["rows"][3][-1] = {"failed": "out of memory"}
    record["runs"][0]["code"] = "another"
    again = going_on(record)
    assert again["rows"][:-1] == record["rows"][:3] + record["rows"][4:]
    assert again["rows"][-1] == [*record["rows"][3][:2], 1, 1.0, {"anew": True}]
    assert [one["code"] for one in again["runs"]] == ["another", bench.sibling("resume").code()]


def test_a_case_that_fails_says_why_and_the_others_go_on(record, monkeypatch):
    def measure(device, case):
        raise MemoryError("out of memory\nby so much")

    broken = gpu.PARTS["large"]._replace(measure=measure)
    monkeypatch.setitem(gpu.PARTS, "large", broken)
    again = going_on(record, parts=["large"], again=True)
    assert [row[-1] for row in again["rows"][-2:]] == [{"failed": "MemoryError: out of memory"}] * 2
    assert "out of memory" in str(gpu.tables(again))


def test_rows_of_another_card_are_refused(record):
    record["device"]["name"] = "another"
    with pytest.raises(InputError, match="another device"):
        going_on(record)


def test_no_case_is_begun_after_the_time_is_up(record):
    record["rows"] = record["rows"][:2]
    assert len(going_on(record, seconds=0.0)["rows"]) == 2


def test_instances_narrow_the_parts_on_qaplib(record):
    narrowed = [row[:2] for row in going_on(record, instances=["esc16f"], again=True, seconds=0.0)["rows"]]
    left_out = [row[:2] for row in record["rows"] if row[:2] not in narrowed]
    assert left_out
    assert all(case.startswith("esc16f") for _, case in left_out)
    with pytest.raises(InputError, match="sko100a"):
        going_on(record, instances=["sko100a"])


def test_without_a_gpu_only_a_quick_run_is_possible(torch, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert part.find_device(True) == "cpu"
    with pytest.raises(InputError, match="--quick"):
        part.find_device(False)


@pytest.mark.parametrize("S", [1, 3])
def test_the_loop_of_the_peers_is_algorithm_1(S):
    y, A, B, g0 = (one.astype(np.float64) for one in loops.data(7, S))
    following = loops.step(np, y, A, B, g0)
    for s in range(S):
        own = np.ascontiguousarray(y[:, s])
        z = ts.terms.Box(0.0, 1.0).prox(own, loops.GAMMA)
        u = 2.0 * A @ z @ B + g0 - loops.MU * z
        x = ts.terms.UnitSums().prox(2.0 * z - own - loops.GAMMA * u, loops.GAMMA)
        assert np.abs(own - z + x - following[:, s]).max() <= 1e-14


def test_random_matrices_are_symmetric_so_that_two_products_are_enough():
    A, B = (loops.symmetric(np.random.default_rng(k), 50) for k in (0, 1))
    assert ts.qap.Objective(A, B).tangent().symmetric
    assert abs(A.sum(axis=0)).max() <= 1e-5


def test_a_graph_has_the_edges_that_were_asked_for():
    graph = iterations.graph(np.random.default_rng(0), 40, 100)
    assert graph.nnz == 200
    assert (graph != graph.T).nnz == 0
    assert graph.diagonal().sum() == 0
    assert graph.max() == 1


def test_costs_on_the_device_are_exact(torch, monkeypatch):
    monkeypatch.setattr(part, "ENTRIES", 300)  # so that there are several pieces
    rng, instance = np.random.default_rng(0), ts.qap.load("tai12b")
    permutations = np.array([rng.permutation(12) for _ in range(5)])
    found = part.costs(instance, torch.as_tensor(permutations))
    assert found.tolist() == [instance.cost(p) for p in permutations]
    permutations[3, 0] = permutations[3, 1]
    with pytest.raises(AssertionError, match="permutation"):
        part.costs(instance, torch.as_tensor(permutations))


def whole_run(times=1.0):
    """Return a record of a full run in which everything is a little better than the goals, or so many times as slow."""
    best = best_known()
    peers = {size: {"milliseconds": 0.3, "products": 0.2} for size in iterations.SIZES}
    found = [("iterations", "floor", {"sizes": peers})]
    found += [("iterations", f"ours {size}", {"milliseconds": times * 0.35}) for size in iterations.SIZES]
    faq = {"cores": 16, "one": 1.0, "all": 16.0, "error": 0.05}
    each = {"per_second": 800.0 / times, "error": 0.04 * times}
    found += [
        ("starts", name, {"ours": dict.fromkeys(("100", "400"), each), "faq": faq}) for name in starts.AGAINST_FAQ
    ]
    found += [("starts", starts.SMALL, {"ours": {"400": {"per_second": 3e5 / times, "error": 0.04}}})]
    costs = {name: (best[name], best[name] * (1 + (times - 1) / 100)) for name in starts.PRECISION_INSTANCES}
    found += [("precision", name, {"float64": [one], "tf32": [other]}) for name, (one, other) in costs.items()]
    found += [("quality", case, {"gap": 0.02 * (times - 1)}) for case in searches.QUALITY.cases(False)]
    found += [("paper", name, {"cost": best[name] + (times > 1)}) for name in paper_instances()]
    large = {"n": 10, "milliseconds": times, "products": 0.9, "peak_gib": 10.0 * times}
    found += [("large", name, large) for name in ("dense", "sparse")]
    rows = [[name, case, 0, 1.0, one] for name, case, one in found]
    return {"quick": False, "device": {"name": "a card", "memory_gib": 15.0}, "rows": rows}


def test_a_good_run_reaches_all_goals_and_a_bad_one_none():
    good, bad = (goals.goals(whole_run(times)) for times in (1.0, 2.0))
    assert len(good) == len(bad) == 16
    assert [one["what"] for one in good if not one["holds"]] == []
    assert [one["what"] for one in bad if one["holds"]] == []


def test_goals_of_a_part_of_the_cases_are_not_aimed_at():
    record = whole_run()
    record["rows"] = [row for row in record["rows"] if row[1] in ("tai12a", "sko100a 0", "floor", "ours 30x16384")]
    found = goals.goals(record)
    assert len(found) == 3
    assert not any("holds" in one for one in found)


def test_as_many_iterations_as_make_starts_as_good_as_those_of_faq():
    def one(theirs, *errors):
        ours = {str(k): {"error": error} for k, error in zip((100, 200, 400), errors, strict=True)}
        return {"ours": ours, "faq": {"error": theirs}}

    assert goals.enough({"a": one(0.05, 0.06, 0.05, 0.04)}) == "200"
    assert goals.enough({"a": one(0.05, 0.06, 0.05, 0.04), "b": one(0.05, 0.06, 0.06, 0.04)}) == "400"
    assert goals.enough({"a": one(0.01, 0.06, 0.05, 0.04)}) == "400"
    assert goals.enough({"a": {"ours": {}}}) is None


def test_the_instances_are_twenty_each_and_not_too_large():
    sizes = {entry.name: entry.n for entry in ts.qap.table()}
    for names in (starts.PRECISION_INSTANCES, searches.REACH_INSTANCES):
        assert len(set(names)) == 20
        assert max(sizes[name] for name in names) <= 100
