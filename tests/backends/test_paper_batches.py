"""The paper's splitting from many points at once, with PyTorch: each row is the run of the compiled engine."""

import numpy as np
import pytest

from tests.kinds import TORCH_DEVICE, Kind, numpy64
from trisplit import qap
from trisplit.paper import figure2
from trisplit.paper.batches import Loop, run_batch
from trisplit.paper.figure2 import BATCHED, Job
from trisplit.paper.methods import METHODS, STARTS, doubling, errors, objective, start_point

TORCH = Kind("torch", "float64")
SYMMETRIC, NONSYMMETRIC = ("nug12", "chr12a", "tai30a"), ("bur26a", "lipa20a", "tai30b", "esc16f")
LONG = 1e9  # seconds
every_method = pytest.mark.parametrize("method", BATCHED)
pytestmark = pytest.mark.usefixtures("torch")


@pytest.fixture(scope="module")
def torch():
    """One thread: the arrays are small, and threads would wait for each other."""
    threads = TORCH.xp.get_num_threads()
    TORCH.xp.set_num_threads(1)
    yield TORCH.xp
    TORCH.xp.set_num_threads(threads)


def points_of(instance, seeds=2):
    return [start_point(instance.n, start, seed) for start in STARTS for seed in range(seeds)]


def batch_of(points):
    """Return a batch as the loop wants it: (n, S, n)."""
    return TORCH.array(np.stack(points, axis=1))


def single(instance, x0, method, looks, tol):
    """Return iterations, convergence and the last iterate of the compiled engine."""
    f = objective(instance)
    for look in METHODS[method](instance, x0, looks, LONG):
        converged = max(errors(f, look.X, method)) <= tol
        if converged:
            break
    return look.iteration, converged, look.X.copy()


@every_method
@pytest.mark.parametrize("name", [*SYMMETRIC, *NONSYMMETRIC])
def test_every_step_is_that_of_the_engine(method, name):
    instance = qap.load(name)
    points = points_of(instance)
    loop = Loop(objective(instance), batch_of(points), method)
    engines = [METHODS[method](instance, x0, iter(range(1, 41)), LONG) for x0 in points]
    for looks in zip(*engines, strict=True):
        loop.advance(1)
        z = numpy64(loop.z)
        for k, look in enumerate(looks):
            assert np.abs(z[:, k] - look.X).max() <= 1e-11
    assert look.iteration == 40


@every_method
@pytest.mark.parametrize("name", ["nug12", "bur26a"])
def test_a_thousand_steps_at_once_are_those_of_the_engine(method, name):
    """As many as a GPU does in captured graphs; 1,803 are no multiple of them."""
    instance = qap.load(name)
    points = points_of(instance, 1)
    loop = Loop(objective(instance), batch_of(points), method)
    for iterations in (1100, 703):
        loop.advance(iterations)
    z = numpy64(loop.z)
    for k, x0 in enumerate(points):
        (look,) = METHODS[method](instance, x0, iter([1803]), LONG)
        assert np.abs(z[:, k] - look.X).max() <= 1e-8


def test_asymmetric_instances_take_both_products_of_the_gradient():
    for name in (*SYMMETRIC, *NONSYMMETRIC):
        instance = qap.load(name)
        loop = Loop(objective(instance), batch_of(points_of(instance)), "tos")
        one_is = any(np.array_equal(M, M.T) for M in (instance.A, instance.B))
        assert loop.symmetric == one_is


@every_method
@pytest.mark.parametrize(
    ("name", "tol"), [("nug12", 1e-5), ("chr12a", 1e-5), ("esc16f", 1e-5), ("bur26a", 1e-3), ("lipa20a", 1e-3)]
)
def test_a_batch_returns_what_single_runs_return(method, name, tol):
    instance = qap.load(name)
    points = points_of(instance)
    before = [x0.copy() for x0 in points]
    found = run_batch(instance, points, method, doubling(100_000), tol, TORCH_DEVICE)
    assert len(found) == len(points)
    for x0, reached in zip(points, found, strict=True):
        iterations, converged, X = single(instance, x0, method, doubling(100_000), tol)
        assert (reached.iterations, reached.converged) == (iterations, converged)
        assert np.abs(reached.X - X).max() <= 1e-7
        assert instance.cost(qap.round_to_permutation(reached.X)) == instance.cost(qap.round_to_permutation(X))
    assert all(map(np.array_equal, points, before))


@every_method
def test_rows_leave_the_batch_at_different_looks_and_the_others_go_on(method):
    instance = qap.load("chr12a")
    points = points_of(instance, 3)
    found = run_batch(instance, points, method, doubling(100_000), 1e-5, TORCH_DEVICE)
    assert len({reached.iterations for reached in found}) > 1
    assert all(reached.converged for reached in found)
    for x0, reached in zip(points, found, strict=True):
        (alone,) = run_batch(instance, [x0], method, doubling(100_000), 1e-5, TORCH_DEVICE)
        assert (alone.iterations, alone.converged) == (reached.iterations, reached.converged)
        assert np.abs(alone.X - reached.X).max() <= 1e-7


@every_method
def test_the_last_look_ends_a_run_that_has_not_converged(method):
    instance = qap.load("nug12")
    points = points_of(instance, 1)
    for reached, x0 in zip(run_batch(instance, points, method, doubling(11), 0.0, TORCH_DEVICE), points, strict=True):
        assert (reached.iterations, reached.converged) == (11, False)
        assert np.abs(reached.X - single(instance, x0, method, doubling(11), 0.0)[2]).max() <= 1e-11


@every_method
def test_jobs_done_together_have_the_lines_of_jobs_done_apart(method):
    limits = figure2.settings(True)
    jobs = [Job("tai12a", start, seed, method) for start in STARTS for seed in range(2)]
    together = figure2.run_together(jobs, limits, TORCH_DEVICE)
    assert [job for job, _ in together] == jobs
    for (_, line), job in zip(together, jobs, strict=True):
        apart = figure2.run_job(job, limits)
        assert line[:7] == apart[:7]
        assert line[7] is None  # nobody knows the seconds of one run
        assert len(line) == len(apart)
        assert type(line[5]) is bool


def test_runs_are_the_same_with_a_device_for_batches(torch, tmp_path, monkeypatch):
    """One thread feeds the device with all points of an instance, next to the pool for the other methods."""
    together, batches, stores = figure2.run_together, [], []

    def on_this_device(batch, limits, device):
        batches.append((batch, device))
        torch.set_num_threads(1)  # each thread has a number of its own
        return together(batch, limits, TORCH_DEVICE)

    monkeypatch.setattr(figure2, "run_together", on_this_device)
    for device in ("cpu", "cuda"):
        (tmp_path / device).mkdir()
        names = ("nug12", "esc16f")
        stores.append(figure2.run(tmp_path / device, True, lambda *_: None, instances=names, workers=1, device=device))
    assert figure2.runs(stores[0]) == figure2.runs(stores[1])
    assert all(device == "cuda" for _, device in batches)
    expected = {(name, method): {(start, 0) for start in STARTS} for name in names for method in BATCHED}
    assert {batch[0][::3]: {(job.start, job.seed) for job in batch} for batch, _ in batches} == expected
