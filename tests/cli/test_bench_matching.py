"""trisplit bench matching: pairs have a known match, every run is made once and kept, goals are what they say."""

import copy
import json
from importlib import import_module

import numpy as np
import pytest

from trisplit.cli import run
from trisplit.errors import InputError

bench = import_module("trisplit.cli.bench")  # in `trisplit.cli` the name is that of the command
matching = bench.find("matching")
lines, graphs, goals, processes = (
    bench.sibling(f"matching.{name}") for name in ("lines", "graphs", "goals", "processes")
)
LINES = {line.name: line for line in [*lines.lines(False), *lines.lines(True)]}
SMALL = ["er-100-0.5-5", "er-500-0.9-0", "sbm-300-0.7-5", "power-500-0.9-5", "sparse-200-0.9-5", "er-30-1-0"]
# All contestants are SciPy's, but for one that sleeps and one that fails
STAND_IN = """
import sys, time, importlib.util
spec = importlib.util.spec_from_file_location("worker", {path!r})
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
def sleeping():
    return lambda A, B, seeds, seed: time.sleep(60)
def failing():
    def run(A, B, seeds, seed):
        raise ValueError("too hard\\nindeed")
    return run
def absent():
    import there_is_no_such_module
for name in ("trisplit", "graspologic"):
    worker.CONTESTANTS[name] = worker.scipy_faq
worker.CONTESTANTS["POT GW"] = {pot}
worker.CONTESTANTS["pygmtools RRWM"] = {pygmtools}
worker.warm_up = lambda run, sparsely: None
worker.main(*sys.argv[1:])
"""


def dense(M):
    return M if isinstance(M, np.ndarray) else M.toarray()


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Replace the script of the workers."""

    def replace(pot="worker.scipy_faq", pygmtools="worker.scipy_faq"):
        path = tmp_path / "stand_in.py"
        path.write_text(STAND_IN.format(path=str(processes.WORKER), pot=pot, pygmtools=pygmtools))
        monkeypatch.setattr(processes, "WORKER", path)
        monkeypatch.delenv(processes.VARIABLE, raising=False)

    return replace


def made(before=None, **options):
    record = {"benchmark": "matching", "quick": True, **bench.sibling("machine").describe()}
    matching.run(record, True, lambda *_: None, before=copy.deepcopy(before), **options)
    return record


@pytest.mark.parametrize("name", SMALL)
def test_a_pair_is_a_noisy_copy_in_another_order(name):
    line = LINES[name]
    pair = graphs.draw(line, 3)
    A, B = dense(pair.A), dense(pair.B)
    assert sorted(pair.truth) == list(range(line.n))
    assert len(pair.seeds) == line.hints
    assert (pair.truth[pair.seeds[:, 0]] == pair.seeds[:, 1]).all()
    copied = B[np.ix_(pair.truth, pair.truth)]
    upper = np.triu_indices(line.n, 1)
    found = np.corrcoef(A[upper], copied[upper])[0, 1]
    if line.part == "sbm":  # densities of pairs differ: correlated beyond what blocks explain
        block = np.arange(line.n) * lines.BLOCKS // line.n
        P = np.where(block[:, None] == block, lines.INSIDE, lines.BETWEEN)[upper]
        found = np.mean((A[upper] - P) * (copied[upper] - P)) / np.mean(P * (1 - P))
    assert found == pytest.approx(
        line.correlation, abs=5 / len(upper[0]) ** 0.5 / (0.1 if line.part == "sparse" else 1)
    )
    for M in (A, B):
        assert (M == M.T).all()
        assert not M.diagonal().any()
        assert set(np.unique(M)) <= {0.0, 1.0}
    again = graphs.draw(line, 3)
    assert (dense(again.B) == B).all()
    assert (graphs.draw(line, 4).truth != pair.truth).any()


def test_sparse_pairs_have_the_degree_that_was_asked_for():
    line = LINES["sparse-5000-0.9-1"]
    pair = graphs.draw(line, 0)
    for M in (pair.A, pair.B):
        assert M.nnz / line.n == pytest.approx(lines.DEGREE, rel=0.03)
    assert pair.score(pair.truth) / pair.A.nnz == pytest.approx(0.9, abs=0.02)


def test_every_pair_of_vertices_has_one_number():
    n = 40
    M = graphs.from_numbers(np.arange(n * (n - 1) // 2), n).toarray()
    assert (M == 1 - np.eye(n)).all()


@pytest.mark.parametrize("directed", [False, True])
def test_rewiring_moves_edges_with_their_weights(directed):
    rng = np.random.default_rng(0)
    A = rng.integers(1, 9, (30, 30)) * (rng.random((30, 30)) < 0.2) * (1.0 - np.eye(30))
    A = A if directed else np.triu(A) + np.triu(A).T
    B = graphs.rewired(A, 0.1, rng)
    assert sorted(A.ravel()) == sorted(B.ravel())
    assert (B == B.T).all() != directed
    edges = np.count_nonzero(A)
    assert np.count_nonzero((A != 0) & (B == 0)) == pytest.approx(0.1 * edges, abs=1.1)


@pytest.mark.parametrize("name", ["er-30-0.9-5", "sparse-200-0.9-5"])
def test_score_and_accuracy_are_their_definitions(name):
    pair = graphs.draw(LINES[name], 0)
    A, B, n = dense(pair.A), dense(pair.B), LINES[name].n
    p = pair.truth.copy()
    p[[0, 1, 2]] = p[[1, 2, 0]]
    p[5] = -1
    matched = [i for i in range(n) if p[i] >= 0]
    assert pair.score(p) == sum(A[i, j] * B[p[i], p[j]] for i in matched for j in matched)
    free = [i for i in range(n) if i not in pair.seeds[:, 0]]
    assert pair.accuracy(p) == pytest.approx(np.mean([i not in (0, 1, 2, 5) for i in free]))
    assert pair.accuracy(pair.truth) == 1


def test_lines_are_found_by_patterns():
    assert lines.choose_lines(["er-500-0.9-*", "er-500-0.9-5"]) == [f"er-500-0.9-{seeds}" for seeds in (0, 1, 5)]
    with pytest.raises(InputError, match="er-123"):
        lines.choose_lines(["er-123-*"])
    assert len({line.name for line in lines.lines(False)}) == len(lines.lines(False)) >= 64


def test_every_run_is_made_once_and_shown(tmp_path, stand_in, capsys):
    stand_in()
    command = ["bench", "matching", "--quick", "--out", str(tmp_path), "--instances", "er-30-*"]
    assert run(command) == 0
    out, first = capsys.readouterr().out, json.loads((tmp_path / "matching.json").read_text())
    names = lines.choose_lines(["er-30-*"], True)
    expected = [
        (name, seed, who)
        for name in names
        for seed in range(2)
        for who in matching.CONTESTANTS
        if LINES[name].n <= matching.CONTESTANTS[who].most
    ]
    rows = [matching.Row._make(row) for row in first["rows"]]
    assert [tuple(row[:3]) for row in rows] == expected
    for row in rows:
        assert row.failed is None
        assert 0 <= row.accuracy <= 1
        assert row.seconds > 0
        assert row.peak_mib > 10
        assert row.line != "er-30-1-0" or row.score <= row.true_score
    assert all(word in out for word in ("graspologic", "trisplit", "most memory", "score", *names))
    assert (tmp_path / "matching.png").exists()
    assert run(command) == 0
    assert json.loads((tmp_path / "matching.json").read_text())["rows"] == first["rows"]
    assert run([*command[:-1], "sko100a"]) != 0


def test_after_two_time_outs_a_peer_is_not_run_and_what_fails_is_tried_again(stand_in, monkeypatch):
    stand_in(pot="sleeping", pygmtools="failing")
    line = lines.lines(True)[0]._replace(runs=3, limit=0.3)
    monkeypatch.setattr(matching, "lines", lambda quick: [line])
    options = {"instances": [line.name], "contestants": ["POT GW", "pygmtools RRWM"]}
    record = made(**options)
    fates = {who: [row[4] for row in record["rows"] if row[2] == who] for who in options["contestants"]}
    assert fates["POT GW"] == ["time-out"] * 2 + [matching.NOT_RUN]
    assert fates["pygmtools RRWM"] == ["ValueError: too hard"] * 3
    assert goals.runs(record)[line.name, "POT GW"].accuracy == dict.fromkeys(range(3), 0.0)
    assert "too hard" in str(matching.tables(record))
    asked = []
    monkeypatch.setattr(matching, "measure", lambda *call: asked.append(call[1]) or ({"failed": "again"}, None))
    assert len(made(record, **options)["rows"]) == 6
    assert asked == ["pygmtools RRWM"] * 3


def test_a_line_on_which_both_fail_is_not_run_to_its_end(monkeypatch):
    line = lines.lines(True)[0]._replace(runs=5)
    monkeypatch.setattr(matching, "lines", lambda quick: [line])
    asked, wrong = [], np.roll(np.arange(line.n), 1)

    def measure(lent, contestant, line, seed, folder):
        asked.append((seed, contestant))
        pair = graphs.draw(line, seed)
        return {"seconds": 1.0, "peak_mib": 1.0}, pair.truth[wrong]

    monkeypatch.setattr(matching, "measure", measure)
    record = made()
    both = [(seed, who) for seed in range(5) for who in ("trisplit", "graspologic")]
    assert [one for one in asked if one in both] == [one for one in both if one[0] < goals.TRIED]
    assert [tuple(row[1:3]) for row in record["rows"] if row[4] == goals.GIVEN_UP] == both[2 * goals.TRIED :]
    assert max(seed for seed, who in asked if who not in ("trisplit", "graspologic")) == processes.FEW - 1
    duel = goals.duels(record)[line.name]
    assert not duel.counts
    wrong = np.arange(line.n)  # a right match on one seed, and it is run
    asked.clear()
    assert not any(row[4] for row in made()["rows"])
    assert len([one for one in asked if one in both]) == len(both)


def test_sparse_graphs_arrive_as_such(stand_in):
    stand_in()
    record = made(instances=["sparse-*"], contestants=["SciPy FAQ"])
    assert [row[5] for row in record["rows"]] == [1.0, 1.0]


def test_a_missing_library_is_named(stand_in):
    stand_in(pot="absent")
    record = made(instances=["er-30-1-0"], contestants=["POT GW", "SciPy FAQ"])
    assert {row[2] for row in record["rows"]} == {"SciPy FAQ"}
    assert "there_is_no_such_module" in str(matching.tables(record))


def test_options_that_fit_nothing_are_refused(stand_in):
    stand_in()
    with pytest.raises(InputError, match="nobody"):
        made(contestants=["nobody"])
    with pytest.raises(InputError, match="in common"):
        made(instances=["er-30-*"], parts=["sbm"])
    assert made(seconds=-1.0)["rows"] == []


def test_what_does_not_fit_is_not_tried(monkeypatch):
    monkeypatch.setattr(processes, "memory_gib", lambda: 23.0)
    peer = processes.CONTESTANTS["graspologic"]
    assert [processes.fits(peer, n) for n in (5000, 20000)] == [True, False]
    assert processes.fits(processes.CONTESTANTS["trisplit"], 20000)


def whole_run(ours, theirs, seconds, late=()):
    """Return a record of a full run with the same accuracies on all lines, by seed."""
    rows = []
    for line in lines.lines(False):
        for seed in range(line.runs):
            fate = "time-out" if line.name in late else None
            rows.append([line.name, seed, "trisplit", 0, None, ours[seed], 1.0, 1.0, seconds, 4000.0])
            rows.append([line.name, seed, "graspologic", 0, fate, theirs[seed], 1.0, 1.0, 1.0, 4000.0])
    settings = {"threads": 2, "lines": {line.name: line._asdict() for line in lines.lines(False)}}
    record = {"quick": False, "settings": settings, "rows": rows}
    return record | {"goals": goals.goals(record)}


def test_a_good_run_reaches_all_goals_and_a_bad_one_none_but_memory():
    good = whole_run([1.0] * 10, [0.95] * 10, 0.4)["goals"]
    assert [one["what"] for one in good if not one["holds"]] == []
    assert len(good) == 9
    bad = whole_run([0.9] * 10, [0.95] * 10, 3000.0)["goals"]
    assert len([one for one in bad if one["holds"]]) == 2
    assert all("GiB" in one["what"] for one in bad if one["holds"])


def test_one_standard_error_of_the_difference_is_allowed():
    theirs = [0.5, 0.7] * 5
    level = [one - 0.01 + 0.2 * (-1) ** (k // 2) for k, one in enumerate(theirs)]
    assert whole_run(level, theirs, 0.1)["goals"][0]["measured"] == 0
    below = [one - 0.01 for one in theirs]
    assert whole_run(below, theirs, 0.1)["goals"][0]["measured"] == len(lines.lines(False))


def test_lines_on_which_both_fail_do_not_count_and_a_time_out_is_a_win():
    assert [one["what"][:8] for one in whole_run([0.05] * 10, [0.09] * 10, 0.1)["goals"]] == ["n = 5,00"] * 3 + [
        "n = 20,0"
    ] * 3
    names = [line.name for line in lines.lines(False)]
    record = whole_run([0.5] * 10, [1.0] * 10, 0.1, late=names[:1])
    assert record["goals"][0]["measured"] == len(names) - 1
    assert record["goals"][1]["measured"] == 1.0
    assert goals.duels(record)[names[0]].ratio == pytest.approx(0.1 / 60)


def test_lines_that_are_not_whole_are_not_aimed_at():
    record = whole_run([1.0] * 10, [0.95] * 10, 0.4)
    record["rows"] = record["rows"][:25]
    assert not any("holds" in one for one in goals.goals(record))
    assert len(goals.duels(record)) == 1
