"""Searches that go on from a file: the same answer as without the interruption, and nothing lost or mixed up."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from trisplit.errors import InputError
from trisplit.qap import Instance, QAPStatus, checkpoints, load, solve

TAI17A, TAI30A = (Instance(name, load(name).A, load(name).B) for name in ("tai17a", "tai30a"))
STARTS = 6


class StopError(Exception):
    """Ends a search where no search expects it."""


@pytest.fixture(scope="module")
def whole():
    return solve(TAI30A, starts=STARTS, rng=0)


@pytest.fixture(autouse=True)
def every_time(monkeypatch):
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", 1e9)


def told(res):
    return [row[:2] + row[3:5] for row in res.trace]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("row", [1, 5, 12, 20])
def test_a_search_that_failed_goes_on_as_if_nothing_had_happened(tmp_path, whole, row, workers):
    def fail(last):
        if last.number == row:
            raise StopError

    path = tmp_path / "search"
    with pytest.raises(StopError):
        solve(TAI30A, starts=STARTS, rng=0, workers=workers, checkpoint=path, callback=fail)
    res = solve(TAI30A, starts=STARTS, rng=0, workers=workers, checkpoint=path)
    assert np.array_equal(res.permutation, whole.permutation)
    assert told(res) == told(whole)
    assert (res.starts, res.moves, res.restarts) == (whole.starts, whole.moves, whole.restarts)
    assert res.relaxation.certificate[:2] == pytest.approx(whole.relaxation.certificate[:2], rel=1e-3)
    again = solve(TAI30A, starts=STARTS, rng=0, checkpoint=path)  # there is nothing left to do
    assert np.array_equal(again.permutation, whole.permutation)
    assert again.moves == whole.moves


@pytest.mark.parametrize("interval", [0.0, 0.05, 1e9])
@pytest.mark.parametrize("row", [4, 11, 17, -2])
def test_ctrl_c_at_any_time_costs_neither_rounds_nor_the_best(tmp_path, monkeypatch, whole, row, interval):
    """However long ago the last checkpoint was when the search ended."""
    monkeypatch.setattr(checkpoints, "INTERVAL", interval)

    def interrupt(last):
        if last.number == row % len(whole.trace):
            raise KeyboardInterrupt

    path = tmp_path / "search"
    first = solve(TAI30A, starts=STARTS, rng=0, checkpoint=path, callback=interrupt)
    assert first.status is QAPStatus.INTERRUPTED
    res = solve(TAI30A, starts=STARTS, rng=0, checkpoint=path)
    assert np.array_equal(res.permutation, whole.permutation)
    assert res.cost <= first.cost
    assert told(res) == told(whole)
    assert res.moves == whole.moves


def test_a_search_that_is_over_keeps_its_bound(tmp_path):
    path = tmp_path / "search"
    first, again = (solve(TAI17A, starts=5, rng=0, checkpoint=path) for _ in range(2))
    assert first.bound.method != "gilmore-lawler"
    assert (again.lower_bound, again.status) == (first.lower_bound, first.status)


def test_forbidden_pairs_belong_to_the_search_and_the_time_limit_does_not(tmp_path):
    path, pairs = tmp_path / "search", [(0, 0), (1, 1)]
    first = solve(TAI30A, forbidden=pairs, time_limit=0.01, rng=0, checkpoint=path)
    assert solve(TAI30A, forbidden=pairs, time_limit=0.3, rng=0, checkpoint=path).cost <= first.cost
    with pytest.raises(InputError, match="`forbidden` differs"):
        solve(TAI30A, forbidden=pairs[:1], time_limit=0.3, rng=0, checkpoint=path)
    with pytest.raises(InputError, match="`fixed` differs"):
        solve(TAI30A, fixed={0: 1}, forbidden=pairs, time_limit=0.3, rng=0, checkpoint=path)


def test_a_seed_of_several_numbers(tmp_path):
    path = tmp_path / "search"
    costs = {solve(TAI17A, starts=2, rng=np.random.default_rng([1, 2]), checkpoint=path).cost for _ in range(2)}
    assert len(costs) == 1


@pytest.mark.parametrize("path", [3, None.__class__, "no/such/folder/search", "."])
def test_a_path_that_cannot_be_a_file(path):
    with pytest.raises(InputError, match="`checkpoint` must be a"):
        solve(TAI17A, starts=1, checkpoint=path)


def test_an_interrupt_when_the_file_has_its_name_is_one(tmp_path, monkeypatch):
    replace = os.replace

    def late(*arguments):
        replace(*arguments)
        monkeypatch.setattr(os, "replace", replace)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", late)
    assert solve(TAI17A, starts=2, rng=0, checkpoint=tmp_path / "search").status is QAPStatus.INTERRUPTED


@pytest.mark.parametrize("options", [{}, {"polish": False}, {"faces": False}])
def test_a_time_limit_is_one_for_each_call(tmp_path, options):
    path, seconds, costs = tmp_path / "search", [], []
    for _ in range(3):
        begin = time.perf_counter()
        res = solve(TAI30A, time_limit=0.3, rng=0, checkpoint=path, **options)
        assert 0.3 <= time.perf_counter() - begin < 0.5
        seconds.append(res.elapsed)
        costs.append(res.cost)
        assert [row.number for row in res.trace] == list(range(1, len(res.trace) + 1))
        assert all(one.seconds <= other.seconds for one, other in zip(res.trace, res.trace[1:], strict=False))
    assert seconds[0] + 0.5 < seconds[1] + 0.25 < seconds[2]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize("workers", [1, 6])
def test_a_search_may_move_to_another_number_of_cores(tmp_path, workers):
    path = tmp_path / "search"
    first = solve(TAI30A, time_limit=0.5, rng=0, workers=2, checkpoint=path)
    res = solve(TAI30A, time_limit=0.5, rng=0, workers=workers, checkpoint=path)
    assert res.cost <= first.cost
    assert res.moves > first.moves


def test_a_seed_that_nobody_chose_is_kept(tmp_path):
    path = tmp_path / "search"
    first = solve(TAI17A, starts=2, checkpoint=path)
    assert solve(TAI17A, starts=2, checkpoint=path).seed == first.seed
    assert np.array_equal(solve(TAI17A, starts=2, rng=first.seed).permutation, first.permutation)


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ("A, B, C", {"A": TAI17A}),
        ("starts", {"starts": 3}),
        ("polish", {"polish": False}),
        ("faces", {"faces": False}),
        ("max_iter", {"max_iter": 7}),
        ("rng", {"rng": 1}),
        ("x0", {"x0": np.arange(30)}),
    ],
)
def test_the_file_of_another_search_is_refused_and_kept(tmp_path, what, options):
    path = tmp_path / "search"
    solve(TAI30A, starts=2, rng=0, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=f"belongs to another run: `{what}` differs"):
        solve(**{"A": TAI30A, "starts": 2, "rng": 0, "checkpoint": path, **options})
    assert path.read_bytes() == before


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "search"
    res = solve(TAI17A, starts=2, rng=0, checkpoint=path)
    content, rng = path.read_bytes(), random.Random(0)
    for _ in range(40):
        damaged = bytearray(content)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged if rng.random() < 0.7 else damaged[: rng.randrange(len(damaged))])
        with pytest.raises(InputError, match="checkpoint"):
            solve(TAI17A, starts=2, rng=0, checkpoint=path)
    path.write_bytes(content)
    assert solve(TAI17A, starts=2, rng=0, checkpoint=path).cost == res.cost


def test_a_disk_that_is_full_costs_the_file_only(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoints.checkpoint, "write", full)
    with pytest.warns(RuntimeWarning, match="was not written"):
        res = solve(TAI17A, starts=2, rng=0, checkpoint=tmp_path / "search")
    assert res.cost == TAI17A.cost(res.permutation)


COMMAND = """
import sys
from trisplit.qap import checkpoints
checkpoints.INTERVAL, checkpoints.SHARE = 0.0, 1e9
from trisplit.cli import main
main()
"""


@pytest.mark.slow
def test_kills_at_random_moments_lose_nothing(tmp_path):
    """SIGINT and SIGTERM print the best so far, SIGKILL leaves it on disk; the search goes on from there."""
    data, path, rng = tmp_path / "tai40a.dat", tmp_path / "search", random.Random(1)
    instance = load("tai40a")
    rows = "\n".join(" ".join(map(str, row)) for M in (instance.A, instance.B) for row in M.tolist())
    data.write_text(f"40\n{rows}\n")
    best, resumed = None, 0
    for k in range(50):
        command = [sys.executable, "-c", COMMAND, "solve", str(data), "--time-limit", "600", "--checkpoint", str(path)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        number = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[k % 3]
        time.sleep(rng.uniform(0.0, 2.5))
        child.send_signal(number)
        out, _ = child.communicate(timeout=30)
        if number != signal.SIGKILL and "cost" in out:
            assert child.returncode == 128 + number
            printed = int(next(line for line in out.splitlines() if "cost" in line).split()[3].replace(",", ""))
            assert best is None or printed <= best
            best = printed
        if path.exists():
            copy = tmp_path / "copy"
            shutil.copy(path, copy)
            res = solve(instance.A, instance.B, time_limit=0.01, rng=0, checkpoint=copy)
            assert res.cost == instance.cost(res.permutation)
            assert best is None or res.cost <= best
            best, resumed = res.cost, resumed + 1
    assert resumed > 30
    assert (best - instance.best_known) / instance.best_known < 0.01
