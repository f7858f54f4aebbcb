"""Checkpoints: a run that is stopped or killed goes on to the same iterates, and a wrong file is refused."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pytest

import trisplit as ts
from tests.problems import BIRKHOFF_SPLITS, quadratic
from trisplit.run.checkpoint import VERSION
from trisplit.terms import L1, Affine, Box, GroupL2, L2Ball, NonNegative, SquaredL2

RUNS = {
    "sets": (BIRKHOFF_SPLITS["split 2"], (4, 4)),
    "one term": (L2Ball(0.8), (6,)),
    "arrays in terms": ((Box(-np.ones(6), np.ones(6)), GroupL2([[0, 1], [3, 4]], 0.2)), (6,)),
    "three terms": ((Box(-1, 1), L1(0.1), Affine(np.ones((1, 6)), [0.5])), (6,)),
}


def run(name, path, *, until, step="auto", output="last", stop_at=None, **options):
    """Run `until` iterations, or stop by callback; return the result and the iterates that were seen."""
    terms, shape = RUNS[name]
    rng = np.random.default_rng(1)
    f, x0, seen = quadratic(rng, int(np.prod(shape))), rng.standard_normal(shape), {}

    def remember(state):
        seen[state.t] = (state.z, state.x, state.y, state.gamma)
        return state.t == stop_at

    options = {"tol": 0, "step": step, "output": output, "rng": 3, **options}
    return ts.minimize(f, x0, terms, max_iter=until, callback=remember, checkpoint=path, **options), seen


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("output", ["last", "best", "random"])
@pytest.mark.parametrize("step", ["auto", "theory", 0.3])
@pytest.mark.parametrize("name", RUNS)
def test_a_stopped_run_goes_on_bit_by_bit(tmp_path, name, step, output):
    path = tmp_path / "run.ckpt"
    whole, expected = run(name, None, until=260, step=step, output=output)
    run(name, path, until=260, step=step, output=output, stop_at=57)
    run(name, path, until=260, step=step, output=output, stop_at=131)
    res, seen = run(name, path, until=260, step=step, output=output)
    assert list(seen) == list(range(132, 261))
    assert all(same(seen[t], expected[t]) for t in seen)
    assert np.array_equal(res.x, whole.x)
    assert (res.fun, res.nit, res.iteration, res.certificate) == (whole.fun, 260, whole.iteration, whole.certificate)
    assert (res.nfev, res.njev, res.nprox, res.seed) == (whole.nfev, whole.njev, whole.nprox, whole.seed)
    for column in ("iteration", "objective", "stationarity", "infeasibility", "step", "gradients", "proxes"):
        assert np.array_equal(res.trace[column], whole.trace[column])
    assert np.all(np.diff(res.trace["seconds"]) >= 0)


def test_a_finished_run_returns_at_once(tmp_path):
    path = tmp_path / "run.ckpt"
    first, _ = run("sets", path, until=5000, tol=1e-6)
    again, seen = run("sets", path, until=5000, tol=1e-6)
    assert first.success
    assert again.success
    assert seen == {}
    assert np.array_equal(first.x, again.x)
    assert first.nit == again.nit


def test_a_fresh_seed_is_kept(tmp_path):
    path = tmp_path / "run.ckpt"
    first, _ = run("sets", path, until=50, output="random", rng=None)
    again, _ = run("sets", path, until=80, output="random", rng=None, stop_at=60)
    assert first.seed == again.seed


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"step": 0.31}, "step"),
        ({"output": "best"}, "output"),
        ({"relax": 1.2}, "relax"),
        ({"terms": (Box(0, 1.5), BIRKHOFF_SPLITS["split 2"][1])}, "terms"),
        ({"terms": (NonNegative(), BIRKHOFF_SPLITS["split 2"][1])}, "terms"),
        ({"terms": (Box(0, 1), SquaredL2())}, "terms"),
        ({"x0": np.zeros((4, 4))}, "x0"),
        ({"x0": np.full((4, 4), 0.1, dtype=np.float32)}, "x0"),
        ({"f": lambda x: ((x**3).sum(), 3 * x**2)}, "`f`"),
    ],
)
def test_another_runs_file_is_refused_and_left_alone(tmp_path, change, named):
    path = tmp_path / "run.ckpt"
    own = {"f": lambda x: ((x**2).sum(), 2 * x), "x0": np.full((4, 4), 0.1), "terms": RUNS["sets"][0], "step": 0.3}
    ts.minimize(**own, max_iter=5, tol=0, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(ts.InputError, match=named) as caught:
        ts.minimize(**{**own, **change}, max_iter=9, tol=0, checkpoint=path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def damaged(data, rng):
    kind = rng.randrange(5)
    place = rng.randrange(len(data))
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
    if kind == 2:
        return data[:place] + rng.randbytes(rng.randrange(1, 30)) + data[place:]
    if kind == 3:
        return data[:place] + data[place + rng.randrange(1, 30) :]
    return rng.randbytes(rng.randrange(200))


def test_damaged_files_are_refused_or_resume_exactly(tmp_path):
    path, rng = tmp_path / "run.ckpt", random.Random(0)
    _, expected = run("sets", None, until=40)
    run("sets", path, until=40, stop_at=20)
    data = path.read_bytes()
    refused = 0
    for _ in range(200):
        bad = damaged(data, rng)
        path.write_bytes(bad)
        try:
            _, seen = run("sets", path, until=40)
        except ts.InputError as error:
            refused += 1
            assert str(path) in str(error)
            assert "\n" not in str(error)
            assert path.read_bytes() == bad
        else:
            assert all(same(seen[t], expected[t]) for t in seen)
    assert refused >= 190


@pytest.mark.parametrize("other", [VERSION - 1, VERSION + 1])
def test_another_version_is_refused(tmp_path, other):
    path = tmp_path / "run.ckpt"
    run("sets", path, until=5)
    path.write_bytes(path.read_bytes().replace(b"checkpoint %d\n" % VERSION, b"checkpoint %d\n" % other, 1))
    with pytest.raises(ts.InputError, match=f"format version {other}, this release reads {VERSION}"):
        run("sets", path, until=9)


@pytest.mark.parametrize("path", ["", "missing/run.ckpt"])
def test_a_path_that_cannot_be_written_is_refused_before_the_run(tmp_path, path):
    with pytest.raises(ts.InputError, match="`checkpoint` must be a file in an existing folder"):
        run("sets", tmp_path / path, until=5)


def test_a_full_disk_keeps_the_file_before_and_the_answer(tmp_path, monkeypatch):
    whole, _ = run("sets", None, until=20)
    path = tmp_path / "run.ckpt"
    run("sets", path, until=20, stop_at=10)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        res, _ = run("sets", path, until=20)
    assert np.array_equal(res.x, whole.x)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


KILLED = """
import sys, time
import numpy as np
sys.path.insert(0, sys.argv[3])
from tests.faults import test_checkpoint as own
from trisplit.run import run as driver
driver.SAVE_SECONDS = 0.0
original = own.quadratic
class Slow:
    def __init__(self, f): self.f = f
    def value(self, x): return self.f.value(x)
    def grad(self, x):
        time.sleep(0.001)
        return self.f.grad(x)
own.quadratic = lambda *a: Slow(original(*a))
res, _ = own.run("sets", sys.argv[1], until=400, output=sys.argv[2])
np.save(sys.argv[1] + ".npy", res.x)
"""


@pytest.mark.parametrize("output", ["last", "random"])
def test_a_killed_process_goes_on_bit_by_bit(tmp_path, output):
    """SIGKILL at random moments, ten times for each kind of output, while the file is written at every iteration."""
    expected, _ = run("sets", None, until=400, output=output)
    path, rng, kills = tmp_path / "run.ckpt", random.Random(output), 0
    answer, root = (
        tmp_path / "run.ckpt.npy",
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
    )
    while not answer.exists():
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(path), output, root])
        if kills < 10:
            deadline, size = time.monotonic() + 30, path.stat().st_mtime_ns if path.exists() else 0
            while time.monotonic() < deadline and not (path.exists() and path.stat().st_mtime_ns != size):
                time.sleep(0.005)
            time.sleep(rng.random() * 0.05)
            process.send_signal(signal.SIGKILL)
            kills += 1
        assert process.wait(timeout=60) in (0, -signal.SIGKILL)
    assert kills == 10
    assert np.array_equal(np.load(answer), expected.x)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("output", ["last", "best", "random"])
def test_an_interrupt_anywhere_in_f_or_a_term_changes_nothing_of_what_follows(tmp_path, output, batch):
    """Also one in the midst of a look, which is then made by the resumed run."""
    rng, left = np.random.default_rng(2), [0]
    n, k = 4, (3,) if batch else ()
    M, c, x0 = rng.standard_normal((*k, n, n)), rng.standard_normal((*k, n)), rng.standard_normal((*k, n))

    def f(x):
        count_down()
        u = ((M @ x[..., None])[..., 0] + np.vecmat(x, M)) / 2
        return (x * (u / 2 + c)).sum(-1), u + c

    class Counted(L2Ball):
        def distance(self, x):
            count_down()
            return super().distance(x)

    def count_down():
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    def solve(path, calls):
        left[0] = calls
        options = {"output": output, "rng": 1, "tol": 1e-7, "max_iter": 62, "batch_ndim": len(k)}
        return ts.minimize(f, x0, [Box(-1, 1), Counted(1.5)], checkpoint=path, **options)

    whole = solve(None, 10**6)
    for calls in range(1, 10**6 - left[0]):
        path = tmp_path / f"{calls}.ckpt"
        with suppress(KeyboardInterrupt):  # one before the first iteration or after the last goes through
            solve(path, calls)
        res = solve(path, 10**6)
        assert np.array_equal(res.x, whole.x)
        assert np.array_equal(res.nit, whole.nit)
        assert np.array_equal(res.iteration, whole.iteration)
        assert np.array_equal(res.status, whole.status)
        assert np.array_equal(res.trace["iteration"], whole.trace["iteration"])
        assert batch or (res.nfev, res.njev, res.nprox) == (whole.nfev, whole.njev, whole.nprox)
    assert calls > 50


@pytest.mark.parametrize("gradient", ["minibatch", "svrg", "saga"])
def test_looks_of_an_interrupted_run_with_estimates_are_those_of_the_whole(tmp_path, gradient):
    """A look comes after a pass over the samples, of which the iteration that was cut off has taken some, too."""
    rng, left = np.random.default_rng(3), [0]
    A, b = rng.standard_normal((60, 5)), rng.standard_normal(60)

    class Counted(L2Ball):
        def prox(self, x, gamma):
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt
            return super().prox(x, gamma)

    def solve(path, calls, until=70):
        left[0] = calls
        options = {"gradient": gradient, "step": 0.01, "output": "best", "tol": 1e-12, "rng": 1, "checkpoint": path}
        return ts.minimize(
            ts.losses.LeastSquares(A, b), np.zeros(5), [Box(-1, 1), Counted(2.0)], max_iter=until, **options
        )

    whole = solve(None, 10**6)
    for calls in range(4, 70, 3):
        path = tmp_path / f"{calls}.ckpt"
        assert solve(path, calls).status is ts.Status.INTERRUPTED
        res = solve(path, 10**6)
        assert np.array_equal(res.x, whole.x)
        assert np.array_equal(res.trace["iteration"], whole.trace["iteration"])
    path = tmp_path / "ended.ckpt"
    solve(path, 10**6, until=16)
    assert set(solve(path, 10**6).trace["iteration"]) == {16, *whole.trace["iteration"]}


@pytest.mark.parametrize("k", [0, 1])
def test_a_look_at_the_end_of_a_run_does_not_move_the_others(tmp_path, k):
    rng, path = np.random.default_rng(4), tmp_path / "run.ckpt"
    c, x0 = rng.standard_normal((2, *(3,) * k, 4))
    problem = (lambda x: ((np.cos(x) + c * x).sum(-1), c - np.sin(x))), x0, [Box(-1, 1), L2Ball(1.5)]
    whole = ts.minimize(*problem, batch_ndim=k, tol=0, max_iter=60)
    for until in (11, 40, 60):
        res = ts.minimize(*problem, batch_ndim=k, tol=0, max_iter=until, checkpoint=path)
    assert {11, 40}.isdisjoint(whole.trace["iteration"])
    assert res.trace["iteration"].tolist() == sorted({11, 40, *whole.trace["iteration"].tolist()})
