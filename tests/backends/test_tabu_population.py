"""A population finds optima, says what its permutations cost, and depends on its seed alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", exc_type=ImportError)

from tests.backends.test_gpu_tabu import CASES, instance  # noqa: E402
from trisplit import InputError  # noqa: E402
from trisplit.qap import load  # noqa: E402
from trisplit.qap.gpu import tabu_population as module  # noqa: E402
from trisplit.qap.gpu.tabu_population import Costs, TabuPopulation, crossed, kicked, ranked  # noqa: E402
from trisplit.qap.instance import Instance  # noqa: E402
from trisplit.qap.swap_form import swap_form  # noqa: E402


@pytest.fixture(autouse=True)
def plain(monkeypatch):
    """The interpreter takes a hundred times as long."""
    monkeypatch.setattr("trisplit.kernels.gpu.walks.usable", lambda device: False)


def run(problem, rounds, *, seed=0, size=8, moves=None):
    population = TabuPopulation(problem, "cpu", seed, size)
    population.settle([])
    for _ in range(rounds):
        population.round(moves)
    return population


@pytest.mark.parametrize("name", ["nug12", "esc16f", "tai10b", "chr12a", "had12"])
def test_optimum(name):
    problem = load(name)
    population = run(problem, 1)
    for _ in range(11):
        if population.best.cost > problem.best_known:
            population.round()
    assert population.best.cost == problem.cost(population.best.permutation) == problem.best_known


@pytest.mark.parametrize("name", CASES)
def test_members_cost_what_is_said(name):
    problem, _ = CASES[name]
    population = run(problem, 2, moves=20)
    form, costs = population.form, population.costs_of(population.p)
    exact = [problem.cost(form.turned(p.numpy())) for p in population.p]
    factor = 1 if form.kind != "f8" else form.unit
    for k in range(population.size):
        assert factor * (costs[k] - costs[0]).item() == pytest.approx(exact[k] - exact[0], abs=1e-12 * abs(exact[0]))
    assert population.best.cost == min(exact)
    assert [member.cost for member in population.elites(3)] == sorted(set(exact))[:3]


def test_costs_beyond_int64():
    n = 5
    A = 2**33 + np.arange(n * n).reshape(n, n)
    np.fill_diagonal(A, 0)
    problem = Instance("large", A, A[::-1, ::-1])
    form = swap_form(problem)
    assert form.kind == "i8"
    p = torch.stack([torch.randperm(n, generator=torch.Generator().manual_seed(k)) for k in range(9)])
    exact = [problem.cost(form.turned(q.numpy())) for q in p]
    assert min(exact) > 2**63
    costs = Costs(problem, form, torch.device("cpu"))(p).tolist()
    assert [cost - costs[0] for cost in costs] == [cost - exact[0] for cost in exact]


def test_same_seed_same_answer():
    problem = load("tai12a")
    one, other, third = (run(problem, 12, seed=seed, moves=6) for seed in (3, 3, 4))
    assert torch.equal(one.p, other.p)
    assert not torch.equal(one.p, third.p)


def test_members_never_get_worse_but_by_replacement(monkeypatch):
    monkeypatch.setattr(module, "GENERATION", 10**9)
    population = TabuPopulation(load("nug20"), "cpu", 0, 5)
    population.settle([])
    for _ in range(6):
        before = population.costs.clone()
        population.round(10)
        assert (population.costs <= before).all()


def test_best_survives_replacement_and_shuffling(monkeypatch):
    monkeypatch.setattr(module, "GENERATION", 1)
    monkeypatch.setattr(module, "STAGNANT", 2)
    population, best = TabuPopulation(load("nug12"), "cpu", 0, 6), np.inf
    population.settle([])
    for _ in range(12):
        population.round(5)
        assert population.best.cost <= best
        best = population.best.cost


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows(n):
    problem = instance(n, linear=True) if n > 1 else Instance("one", [[3]], [[5]])
    assert run(problem, 11, size=3).best.cost == problem.cost(run(problem, 11, size=3).best.permutation)
    assert run(problem, 3, size=1).best.permutation.shape == (n,)


def test_settles_on_what_is_given():
    problem = load("esc16a")  # A and B are exchanged
    given = [np.roll(np.arange(16), k) for k in range(3)]
    population = TabuPopulation(problem, "cpu", 0, 3)
    population.settle(given)
    assert [member.cost for member in population.elites(3)] == sorted({problem.cost(p) for p in given})
    population.settle(given * 2)
    assert len(population.p) == 3


def test_immigrants_replace_the_worst():
    problem = load("nug12")
    population = run(problem, 1, moves=3)
    best, optimum = population.best, problem.solution
    population.immigrate([optimum])
    assert population.best.cost == problem.best_known
    assert best.cost in [member.cost for member in population.elites(8)]


def test_bad_input():
    with pytest.raises(InputError, match="size"):
        TabuPopulation(load("nug12"), "cpu", 0, 0)
    population = TabuPopulation(load("nug12"), "cpu", 0, 2)
    with pytest.raises(InputError):
        population.settle([np.zeros(12, dtype=int)])


def test_repeated_costs_rank_last():
    costs = torch.tensor([4, 2, 2, 9, 4, 2])
    assert costs[ranked(costs)].tolist() == [2, 4, 9, 2, 2, 4]


@settings(deadline=None, max_examples=50)
@given(n=st.integers(1, 30), seed=st.integers(0, 2**31))
def test_children_and_kicks(n, seed):
    rng = torch.Generator().manual_seed(seed)
    p, q = (module.random_keys(4, n, rng).argsort(1) for _ in range(2))
    child = crossed(p, q, rng)
    assert torch.equal(child.sort(1).values, torch.arange(n).expand(4, n))
    assert (child == p)[p == q].all()
    rows = torch.tensor([0, min(2, n), n // 2, n])
    turned = kicked(p, rows, rng)
    assert torch.equal(turned.sort(1).values, torch.arange(n).expand(4, n))
    assert torch.equal((turned != p).sum(1), torch.where(rows > 1, rows, 0))
