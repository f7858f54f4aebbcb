"""Figure 2: every run is there, is what the plain loops give, whoever computes it, and is not computed again."""

import pytest

import trisplit as ts
from trisplit import qap
from trisplit.machine import machine
from trisplit.paper import figure2
from trisplit.paper.figure2 import COMPARED, Job, Run
from trisplit.paper.methods import STARTS, doubling, errors, objective, start_point
from trisplit.paper.results import write_results
from trisplit.terms import Box, UnitSums

INSTANCES = ("tai12a", "esc16f", "nug12")  # each run takes less than a second
RUNS = 8 * len(INSTANCES)
SETS = {"tos": (Box(0, 1), UnitSums()), "tos-hg": (UnitSums(), Box(0, 1))}


def computed(path, workers, instances=INSTANCES):
    """Compute the runs, and return the store, the CSV file and what was reported."""
    path.mkdir(exist_ok=True)
    told = []
    store = figure2.run(path, True, lambda *both: told.append(both), instances=instances, workers=workers)
    write_results(path, "figure2", figure2.runs(store), "test", figure2.machines(store))
    return store, (path / "figure2.csv").read_bytes(), told


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return computed(tmp_path_factory.mktemp("alone"), 1)


@pytest.fixture(scope="module")
def stored(alone):
    return figure2.runs(alone[0])


def test_a_run_is_there_for_every_instance_start_seed_and_method(alone, stored):
    _, _, told = alone
    in_order = sorted(INSTANCES, key=qap.names().index)
    assert [Job(*run[:4]) for run in stored] == [
        Job(name, start, 0, method) for name in in_order for start in STARTS for method in COMPARED
    ]
    assert len(told) == len(stored) == RUNS
    assert [share for _, share in told] == sorted(share for _, share in told)
    assert told[-1][1] == pytest.approx(1.0)
    assert told[-1][0].endswith(f"{RUNS} of {RUNS} runs")


def test_two_workers_give_the_same_file(alone, tmp_path):
    _, csv, _ = alone
    assert computed(tmp_path, 2)[1] == csv


def test_what_is_there_is_not_done_again(alone, stored, tmp_path, monkeypatch):
    store, csv, _ = alone
    (tmp_path / "figure2.jsonl").write_bytes(store.path.read_bytes())
    monkeypatch.setattr(figure2.Pool, "submit", None)
    again, same, told = computed(tmp_path, 1)
    assert same == csv
    assert told == []
    assert (tmp_path / "figure2.jsonl").read_bytes() == store.path.read_bytes()
    # Runs of other instances that are in the file stay in the results.
    assert figure2.runs(computed(tmp_path, 1, ["esc16f"])[0]) == stored


@pytest.mark.parametrize("method", SETS)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", INSTANCES)
def test_a_run_is_the_plain_loop_until_both_errors_are_small(stored, method, start, name):
    instance = qap.load(name)
    f, looks = objective(instance), set(doubling(100_000))
    gamma = 1 / f.lipschitz if f.lipschitz > 0 else 1.0
    for state in ts.tos(ts.Problem(f, SETS[method]), start_point(instance.n, start, 0), gamma):
        if state.t in looks and max(errors(f, state.z, method)) <= 1e-5:
            break
    (run,) = [run for run in stored if run[:4] == (name, start, 0, method)]
    assert (run.iterations, run.converged) == (state.t, True)
    assert run.cost == instance.cost(qap.round_to_permutation(state.z))


def test_costs_are_of_permutations(stored):
    best = {entry.name: entry for entry in qap.table()}
    for run in stored:
        assert best[run.instance].best_known <= run.cost
        assert isinstance(run, Run)
        assert (run.iterations & (run.iterations - 1)) == 0  # a power of two, as all converged


def test_a_run_that_a_limit_ends_is_rounded_and_says_so():
    limits = figure2.settings(True) | {"max_iter": 5}
    line = figure2.run_job(Job("nug12", "near", 0, "tos"), limits)
    assert line[4:6] == [5, False]
    assert line[-1] == machine()
    (out_of_time,) = figure2.run_alone(Job("nug12", "near", 0, "fw"), limits | {"time_limit": 1e-9})
    assert out_of_time[1][4] <= 1
    assert not out_of_time[1][5]


def test_a_quick_run_and_a_full_one_have_other_settings():
    quick, full = figure2.settings(True), figure2.settings(False)
    assert (full["tol"], full["max_iter"]) == (1e-5, 1_000_000)
    assert quick != full
    everything = figure2.jobs(figure2.paper_instances(), figure2.SEEDS)
    assert len(set(everything)) == 134 * 2 * 10 * len(COMPARED)


def test_machines_are_counted(alone):
    store, _, _ = alone
    assert figure2.machines(store) == [f"{machine()}: {RUNS} runs"]
