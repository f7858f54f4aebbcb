"""What a result says: which iterate, the trace, the counts, and the theorem that covers the run."""

import csv
import weakref
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chisquare

import trisplit as ts
from tests.problems import BoxedL1, quadratic
from trisplit.problems.product import Product
from trisplit.result import TraceRow
from trisplit.steps import Constant, Theory
from trisplit.terms import L1, Box, L2Ball, NonNegative, Simplex, SquaredL2
from trisplit.theory import theorem_for

SIZE = 6
TERMS = {
    "Algorithm 1": [L1(0.1), L2Ball(0.7)],
    "Algorithm 2": [L1(0.1), L2Ball(0.7), Box(-0.5, 0.5)],
}


def minimize(f, x0, terms, **options):
    """Untyped: tests hand over dictionaries of options."""
    return ts.minimize(f, x0, terms, **options)


def indefinite(seed=0):
    return quadratic(np.random.default_rng(seed), SIZE)


class Half:
    """||x||^2 / 2, the cheapest f there is."""

    def value(self, x):
        return float(x @ x) / 2

    def grad(self, x):
        return x


# Which iterate


@pytest.mark.parametrize("name", TERMS)
def test_last_is_the_last(name):
    states = []
    res = minimize(indefinite(), np.ones(SIZE), TERMS[name], step=0.2, tol=0, max_iter=33, callback=states.append)
    assert res.iteration == res.nit == 33
    assert np.array_equal(res.x, states[-1].z if name == "Algorithm 1" else states[-1].x[0])


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("step", [0.2, 3.0, "auto"])
def test_best_has_the_smallest_error_of_all_looks(name, step):
    """By the certificate, which may order points that are nearly as good otherwise than the residual does."""
    lengths = {}

    def remember(state):
        lengths[state.t] = float(np.linalg.norm(state.z if name == "Algorithm 1" else state.x[0]))

    res = minimize(
        indefinite(), np.ones(SIZE), TERMS[name], step=step, output="best", tol=0, max_iter=300, callback=remember
    )
    scores = {
        row.iteration: max(
            row.stationarity / max(1.0, abs(row.objective)),
            row.infeasibility / max(1.0, lengths[row.iteration]),
        )
        for row in res.trace
    }
    assert scores[res.iteration] <= 1.1 * min(scores.values())
    row = next(row for row in res.trace if row.iteration == res.iteration)
    assert res.fun == pytest.approx(row.objective, rel=1e-12)
    assert res.certificate.stationarity == pytest.approx(row.stationarity, abs=1e-9)


def test_random_is_uniform_over_the_iterations():
    T, seeds = 8, range(800)
    drawn = [
        minimize(Half(), np.ones(1), Box(-1, 1), step=0.1, output="random", max_iter=T, rng=seed).iteration
        for seed in seeds
    ]
    counts = np.bincount(drawn, minlength=T + 1)
    assert counts[0] == 0
    assert chisquare(counts[1:]).pvalue > 1e-3


def test_random_is_uniform_over_the_iterations_done_when_stopped_early():
    drawn = [
        minimize(
            Half(), np.ones(1), Box(-1, 1), step=0.1, output="random", rng=seed, callback=lambda state: state.t == 3
        ).iteration
        for seed in range(300)
    ]
    assert chisquare(np.bincount(drawn, minlength=4)[1:]).pvalue > 1e-3


def test_random_goes_on_where_others_stop_on_the_certificate():
    assert minimize(Half(), np.zeros(2), Box(-1, 1), max_iter=40).nit == 1
    assert minimize(Half(), np.zeros(2), Box(-1, 1), max_iter=40, output="random").nit == 40


@pytest.mark.parametrize("name", TERMS)
def test_the_seed_decides_the_draw(name):
    options = {"output": "random", "max_iter": 200, "step": 0.05}
    f, x0 = indefinite(), np.ones(SIZE)
    first = minimize(f, x0, TERMS[name], rng=5, **options)
    again = minimize(f, x0, TERMS[name], rng=np.int64(5), **options)
    generator = minimize(f, x0, TERMS[name], rng=np.random.default_rng(5), **options)
    assert first.iteration == again.iteration == generator.iteration
    assert np.array_equal(first.x, again.x)
    assert (first.seed, again.seed, generator.seed) == (5, 5, None)

    fresh = minimize(f, x0, TERMS[name], **options)
    assert fresh.seed is not None
    repeated = minimize(f, x0, TERMS[name], rng=fresh.seed, **options)
    assert fresh.iteration == repeated.iteration
    assert np.array_equal(fresh.x, repeated.x)
    assert len({minimize(f, x0, TERMS[name], **options).seed for _ in range(3)}) == 3


@pytest.mark.parametrize("step", [0.1, "auto"])
@pytest.mark.parametrize("output", ["last", "best", "random"])
def test_no_list_of_iterates_is_kept(output, step):
    alive, most = [], 0

    def watch(state):
        nonlocal alive, most
        alive = [reference for reference in alive if reference() is not None]
        alive.append(weakref.ref(state.z))
        most = max(most, len(alive))

    minimize(indefinite(), np.ones(SIZE), TERMS["Algorithm 1"], output=output, step=step, tol=0, callback=watch, rng=0)
    assert most <= 6  # of 10,000 iterates


# The trace


@pytest.mark.parametrize("name", TERMS)
def test_checks_are_geometric(name):
    res = minimize(indefinite(), np.ones(SIZE), TERMS[name], step=0.1, tol=0, max_iter=3000)
    looks = res.trace["iteration"]
    assert looks[0] == 1
    assert looks[-1] == 3000
    assert all(1 <= after - before <= max(3, 0.2 * before) for before, after in pairwise(looks))
    assert all(after >= 1.15 * before for before, after in pairwise(looks[looks > 20][:-1]))
    assert len(res.trace) < 50


@pytest.mark.parametrize("name", TERMS)
def test_every_column_is_what_it_says(name):
    f, states = indefinite(), {}
    res = minimize(
        f, np.ones(SIZE), TERMS[name], tol=0, max_iter=200, callback=lambda state: states.update({state.t: state})
    )
    problem = ts.Problem(f, TERMS[name])
    lifted = problem if name == "Algorithm 1" else Product(problem)
    for row in res.trace:
        state = states[row.iteration]
        x = state.z if name == "Algorithm 1" else state.x[0]
        certificate = ts.certificates.certify(lifted, state)
        assert row.objective == pytest.approx(f.value(x) + 0.1 * np.abs(x).sum(), rel=1e-12)
        assert (row.stationarity, row.infeasibility) == certificate[:2]
        assert row.step == state.gamma
    for column in ("iteration", "seconds", "gradients", "proxes"):
        assert np.all(np.diff(res.trace[column]) > 0)
    assert res.trace["seconds"][-1] < res.elapsed
    assert len(res.trace) == len(list(res.trace)) == len(res.trace["step"])


def test_unknown_column_lists_the_columns():
    trace = minimize(Half(), np.ones(2), Box(0, 1)).trace
    with pytest.raises(KeyError, match="iteration, seconds, objective"):
        trace["fun"]


def test_csv_round_trip(tmp_path):
    trace = minimize(indefinite(), np.ones(SIZE), TERMS["Algorithm 1"], max_iter=100).trace
    trace.to_csv(tmp_path / "trace.csv")
    with open(tmp_path / "trace.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == TraceRow._fields
    assert len(rows) == len(trace)
    for written, row in zip(rows, trace, strict=True):
        assert [float(word) for word in written] == list(row)


# The counts


class Counting:
    """Counts the calls of f; `value_and_grad` is left out so that the counts are separate."""

    def __init__(self, f):
        self.f, self.values, self.grads = f, 0, 0

    def value(self, x):
        self.values += 1
        return self.f.value(x)

    def grad(self, x):
        self.grads += 1
        return self.f.grad(x)


class CountingTerm:
    """Counts the calls of a proximal map."""

    def __init__(self, term):
        self.term, self.calls = term, 0
        self.value, self.convex, self.indicator = term.value, term.convex, term.indicator

    def prox(self, x, gamma):
        self.calls += 1
        return self.term.prox(x, gamma)


@pytest.mark.parametrize("step", [0.2, "auto", "theory"])
@pytest.mark.parametrize("name", TERMS)
def test_counts_are_the_calls(name, step):
    f, terms, seen = Counting(indefinite()), [CountingTerm(term) for term in TERMS[name]], {}

    def remember(state):
        seen[state.t] = (f.grads, sum(term.calls for term in terms))

    res = minimize(f, np.ones(SIZE), terms, step=step, tol=0, max_iter=150, callback=remember)
    assert (res.nfev, res.njev) == (f.values, f.grads)
    for row in res.trace:
        grads, proxes = seen[row.iteration]
        assert row.proxes == proxes
        assert row.gradients - grads in ((0,) if name == "Algorithm 1" else (0, 1))  # the look may take one more
    assert res.nprox == sum(term.calls for term in terms)


@pytest.mark.parametrize("name", TERMS)
def test_a_constant_step_costs_one_prox_of_each_term_an_iteration(name):
    trace, m = minimize(indefinite(), np.ones(SIZE), TERMS[name], step=0.2, tol=0, max_iter=150).trace, len(TERMS[name])
    for_checking = m + 1
    assert np.array_equal(trace["proxes"], for_checking + m * trace["iteration"])


def test_repr_is_one_line_and_result_is_frozen():
    res = minimize(indefinite(), np.ones(SIZE), TERMS["Algorithm 1"])
    assert "\n" not in repr(res)
    assert res.status.name in repr(res)
    assert res.message == res.status.value
    with pytest.raises(AttributeError):
        setattr(res, "x", None)  # noqa: B010


# The guarantee

COVERED = {  # theorem -> terms and a start in dom g
    "Theorem 1": ([BoxedL1(0.3), L1(0.2)], np.full(SIZE, 0.5)),
    "Corollary 1": ([Box(0, 1), L1(0.2)], np.full(SIZE, 0.5)),
    "Theorem 2": ([Box(0, 1), Simplex()], np.full(SIZE, 0.5)),
}
AS_THE_THEOREMS_ASK = {"step": "theory", "relax": 1.0, "output": "random", "max_iter": 40, "rng": 0}


@pytest.mark.parametrize("theorem", COVERED)
def test_a_run_as_the_theorem_asks_names_it_with_its_bounds(theorem):
    (terms, x0), f = COVERED[theorem], indefinite()
    guarantee = minimize(f, x0, terms, **AS_THE_THEOREMS_ASK).guarantee
    constants = theorem_for(ts.Problem(f, terms), x0).theorem
    assert constants is not None
    assert guarantee.theorem == theorem
    assert guarantee.stationarity == constants.stationarity(40)
    assert guarantee.infeasibility == constants.infeasibility(40)
    assert theorem in str(guarantee)
    # The same number given as a constant step is the same run.
    same = minimize(f, x0, terms, **AS_THE_THEOREMS_ASK | {"step": Constant(constants.step(40))}).guarantee
    assert same == guarantee


@pytest.mark.parametrize("theorem", COVERED)
def test_without_constants_the_theorem_holds_with_unknown_ones(theorem):
    (terms, x0), f = COVERED[theorem], indefinite()
    guarantee = minimize(lambda x: (f.value(x), f.grad(x)), x0, terms, **AS_THE_THEOREMS_ASK).guarantee
    assert guarantee.theorem == theorem
    assert (guarantee.stationarity, guarantee.infeasibility) == (None, None)
    assert "unknown constants" in guarantee.reason


@pytest.mark.parametrize("theorem", COVERED)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"step": "auto"}, "step='theory'"),
        ({"step": 0.123}, "asks for the step"),
        ({"step": Theory(iterations=99)}, "T = 99"),
        ({"relax": 1.5}, "relax=1"),
        ({"output": "last"}, "output='random'"),
        ({"output": "best"}, "output='random'"),
        ({"x0": np.full(SIZE, 1.5)}, "dom g"),
        ({"callback": lambda state: state.t == 7}, "T = 40"),
        ({"time_limit": 1e-9}, "T = 40"),
    ],
)
def test_each_violated_assumption_is_named(theorem, change, reason):
    terms, x0 = COVERED[theorem]
    options = {"x0": x0, **AS_THE_THEOREMS_ASK, **change}
    guarantee = minimize(indefinite(), terms=terms, **options).guarantee
    assert guarantee.theorem is None
    assert guarantee.stationarity is None
    assert reason in guarantee.reason
    assert str(guarantee).startswith("no theorem applies")


class Undeclared:
    """A box that declares nothing."""

    value, prox = Box(0, 1).value, Box(0, 1).prox


@pytest.mark.parametrize(
    ("terms", "reason"),
    [
        ([NonNegative(), Simplex()], "not known to be bounded"),
        ([L1(0.1), L1(0.1)], "not known to be bounded"),
        ([BoxedL1(0.3), Box(0, 1)], "h is an indicator but g is not"),
        ([Box(0, 1), SquaredL2(1.0)], "h is not known to be Lipschitz"),
        ([Undeclared(), L1(0.1)], "g (Undeclared) does not declare itself convex"),
        ([Box(0, 1), Undeclared()], "h (Undeclared) does not declare itself convex"),
        ([Box(0, 1), Box(0, 1), Box(0, 1)], "Algorithm 2"),
        ([Box(0, 1), L1(0.1), L1(0.1), L1(0.1)], "Algorithm 2"),
    ],
)
def test_terms_that_no_theorem_covers(terms, reason):
    guarantee = minimize(indefinite(), np.full(SIZE, 0.5), terms, **AS_THE_THEOREMS_ASK).guarantee
    assert guarantee.theorem is None
    assert reason in guarantee.reason


def test_a_run_that_broke_down_has_no_guarantee():
    def broken(x):
        return (float("nan") if np.any(x < 0.4) else x.sum()), np.ones_like(x)

    res = minimize(broken, np.full(SIZE, 1.0), [Box(0, 1), L1(0.1)], **AS_THE_THEOREMS_ASK | {"step": 0.1})
    assert res.status is ts.Status.NOT_FINITE
    assert res.guarantee.theorem is None
