"""What a run hands on: duals of its terms, and where another run can go on from."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trisplit as ts
from tests.problems import quadratic
from trisplit.terms import L0, L1, Box, L2Ball, registry

PROBLEMS = {
    "one term": (L1(0.3),),
    "pair": (L1(0.3), Box(-0.1, 0.4)),
    "three terms": (L1(0.3), Box(-0.1, 0.4), L2Ball(0.8)),
}
WITH_CONJUGATES = (
    *("elastic_net", "group_l2", "hinge", "huber", "l2", "l21", "l_infinity", "log_barrier", "logistic"),
    *("quantile", "slope", "total_variation", "weighted"),
)
EACH = pytest.mark.parametrize("name", PROBLEMS)


def least_squares(seed=0, m=30, n=20):
    rng = np.random.default_rng(seed)
    A, b = rng.standard_normal((m, n)), rng.standard_normal(m)
    return lambda x: (((A @ x - b) ** 2).sum() / 2, A.T @ (A @ x - b))


@dataclass
class Rows:
    """Least squares with the same A and another b for each problem."""

    A: np.ndarray
    B: np.ndarray

    def value(self, x):
        return ((x @ self.A.T - self.B) ** 2).sum(axis=1) / 2

    def grad(self, x):
        return (x @ self.A.T - self.B) @ self.A

    def select(self, members):
        return Rows(self.A, self.B[members])


def rows(seed=0, count=15):
    rng = np.random.default_rng(seed)
    return Rows(rng.standard_normal((30, 20)), rng.standard_normal((count, 30)) * np.geomspace(0.1, 10, count)[:, None])


@EACH
def test_a_run_from_a_result_of_the_same_problem_is_over_at_once(name):
    f, terms = least_squares(), PROBLEMS[name]
    cold = ts.minimize(f, np.zeros(20), terms)
    warm = ts.minimize(f, cold, terms)
    assert cold.nit > 10
    assert warm.success
    assert warm.nit <= 2
    assert np.allclose(warm.x, cold.x, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_sizes_that_were_seen_go_along_where_the_solution_is_zero(scale):
    """A start at an optimum at 0 has no length of its own."""

    def f(x):
        return scale * ((x - 1e-3) ** 2).sum() / 2, scale * (x - 1e-3)

    cold = ts.minimize(f, np.ones(5), L1(scale))
    assert not cold.x.any()
    assert ts.minimize(f, cold, L1(scale)).nit <= 2


@EACH
def test_a_batch_goes_on_problem_by_problem(name):
    f, terms = rows(), PROBLEMS[name]
    cold = ts.minimize(f, np.zeros((15, 20)), terms, batch_ndim=1)
    warm = ts.minimize(f, cold, terms, batch_ndim=1)
    assert cold.nit.max() > 10
    assert warm.success.all()
    assert warm.nit.max() <= 4  # that of the second check


def test_a_run_that_ran_out_of_iterations_goes_on():
    f, terms = least_squares(), PROBLEMS["pair"]
    whole = ts.minimize(f, np.zeros(20), terms)
    part = ts.minimize(f, np.zeros(20), terms, max_iter=whole.nit // 2)
    rest = ts.minimize(f, part, terms)
    assert rest.success
    assert rest.nit < whole.nit


@pytest.mark.parametrize("step", [0.01, "theory", ts.steps.Constant(0.02)])
def test_a_step_that_does_not_adapt_is_kept_to(step):
    """y is that of the new step: a run from the solution is over at once all the same."""
    f, terms, seen = least_squares(), (Box(-0.1, 0.4), L1(0.3)), []
    cold = ts.minimize(f, np.zeros(20), terms)
    warm = ts.minimize(f, cold, terms, step=step, callback=lambda made: seen.append(made.gamma))
    assert step == "theory" or seen == [getattr(step, "gamma", step)] * warm.nit
    assert warm.nit <= 2


def test_a_step_that_adapts_begins_with_the_last_one():
    f, seen = least_squares(), []
    cold = ts.minimize(f, np.zeros(20), L1(0.3))
    ts.minimize(f, cold, L1(0.2), callback=lambda made: seen.append(made.gamma))
    assert seen[0] <= cold.state.scales.gamma


@pytest.mark.parametrize(("before", "after"), [("pair", "three terms"), ("three terms", "pair"), ("one term", "pair")])
def test_with_another_number_of_terms_a_run_starts_from_x(before, after):
    f = least_squares()
    start = ts.minimize(f, np.zeros(20), PROBLEMS[before])
    res = ts.minimize(f, start, PROBLEMS[after])
    cold = ts.minimize(f, np.zeros(20), PROBLEMS[after])
    assert res.success
    assert np.allclose(res.x, cold.x, atol=1e-4)


def test_a_result_of_a_batch_is_refused_for_one_problem_and_the_reverse():
    f = rows()
    batch = ts.minimize(f, np.zeros((15, 20)), L1(), batch_ndim=1)
    one = ts.minimize(least_squares(), np.zeros(20), L1())
    with pytest.raises(ts.InputError, match="`batch_ndim` 0 and a result of 1 such axes"):
        ts.minimize(f, batch, L1())
    with pytest.raises(ts.InputError, match="`batch_ndim` 1 and a result of 0 such axes"):
        ts.minimize(f, one, L1(), batch_ndim=1)


def test_neither_the_result_nor_its_arrays_are_changed():
    f, terms = least_squares(), PROBLEMS["pair"]
    cold = ts.minimize(f, np.zeros(20), terms, max_iter=5)
    kept = cold.x.copy(), cold.state.y.copy(), dict(vars(cold.state.scales))
    warm = ts.minimize(f, cold, terms)
    warm.x[:] = np.nan
    warm.state.y[:] = np.nan
    assert np.array_equal(cold.x, kept[0])
    assert np.array_equal(cold.state.y, kept[1])
    assert vars(cold.state.scales) == kept[2]


def test_a_state_that_is_not_finite_is_not_gone_on_from():
    f = least_squares()
    cold = ts.minimize(f, np.zeros(20), L1())
    broken = replace(cold, state=cold.state._replace(y=np.full(20, np.nan)))
    assert ts.minimize(f, broken, L1()).success


def test_no_theorem_covers_a_run_that_goes_on():
    f, options = (
        quadratic(np.random.default_rng(0), 4),
        {"step": "theory", "output": "random", "rng": 0, "max_iter": 20},
    )
    terms = [Box(-1, 1), L2Ball(1.0)]
    first = ts.minimize(f, np.zeros(4), terms, **options)
    assert first.guarantee.theorem is not None
    assert ts.minimize(f, first, terms, **options).guarantee.theorem is None


def test_a_checkpoint_belongs_to_the_result_that_its_run_began_with(tmp_path):
    f, path = least_squares(), tmp_path / "run.ckpt"
    short, longer = (ts.minimize(f, np.zeros(20), L1(), max_iter=n) for n in (3, 6))
    whole = ts.minimize(f, short, L1())
    ts.minimize(f, short, L1(), max_iter=5, checkpoint=path)
    rest = ts.minimize(f, short, L1(), checkpoint=path)
    assert rest.nit == whole.nit
    assert np.array_equal(rest.x, whole.x)
    assert np.array_equal(rest.duals[0], whole.duals[0])
    with pytest.raises(ts.InputError, match="`x0` differs"):
        ts.minimize(f, longer, L1(), checkpoint=path)


@EACH
def test_duals_and_the_gradient_add_up_to_about_nothing(name):
    f, terms = least_squares(), PROBLEMS[name]
    res = ts.minimize(f, np.zeros(20), terms, tol=1e-8)
    assert len(res.duals) == len(terms)
    assert np.linalg.norm(sum(res.duals, f(res.x)[1])) < 1e-5
    if res.certificate.kind == "residual":
        assert np.linalg.norm(sum(res.duals, f(res.x)[1])) <= res.certificate.stationarity


@pytest.mark.parametrize("options", [{}, {"max_iter": 3}, {"max_iter": 3, "output": "best"}, {"step": 0.01}])
def test_duals_are_those_of_the_point_that_is_returned(options):
    """Also where the run ends early: then their sum is large, and the certificate says how large."""
    f = least_squares()
    res = ts.minimize(f, np.zeros(20), (L1(0.3), ts.terms.SquaredL2(0.1)), **options)
    total = np.linalg.norm(sum(res.duals, f(res.x)[1]))
    assert res.certificate.kind == "residual"
    assert total <= res.certificate.stationarity <= total * (1 + 1e-6) + 1e-9


@EACH
def test_a_batch_has_the_duals_of_its_problems_wherever_they_finished(name):
    f, terms = rows(), PROBLEMS[name]
    for options in ({}, {"max_iter": 10}):
        res = ts.minimize(f, np.zeros((15, 20)), terms, batch_ndim=1, **options)
        assert [dual.shape for dual in res.duals] == [(15, 20)] * len(terms)
        total = np.linalg.norm(sum(res.duals, f.grad(res.x)), axis=1)
        assert total.max() < (1e-3 if not options else np.inf)
        if res.certificate.kind == "residual":
            assert (total <= res.certificate.stationarity).all()


def test_what_has_no_dual_says_none():
    f, x0 = least_squares(), np.zeros(20)
    first, second = ts.minimize(f, x0, [L0(0.1), Box(-1, 1)], max_iter=50).duals
    assert first is None
    assert second.shape == (20,)
    rng = np.random.default_rng(0)
    loss = ts.losses.LeastSquares(rng.standard_normal((50, 4)), rng.standard_normal(50))
    assert ts.minimize(loss, np.zeros(4), [L1(0.1), Box(-1, 1)], gradient="saga", rng=0).duals == (None, None)


@pytest.mark.parametrize("name", WITH_CONJUGATES)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.1, 1.0, 10.0]))
def test_a_dual_and_its_copy_meet_fenchel_and_young(name, seed, scale):
    """g(z) + g*(v) = <z, v>: v is an element of the subdifferential at z."""
    term, shape = registry[name].examples()[0]
    c = scale * np.random.default_rng(seed).standard_normal(shape)
    res = ts.minimize(lambda x: (((x - c) ** 2).sum() / 2, x - c), np.zeros(shape), term, max_iter=200)
    (v,) = res.duals
    found = term.value(res.x), term.conjugate_value(v), -np.vdot(res.x, v)
    assert abs(sum(found)) <= 1e-7 * max(map(abs, found)) + 1e-9


def test_the_sizes_of_another_problem_do_not_loosen_the_tolerance():
    """The way from 1e8 is long, the one that follows is not."""
    b = np.array([3.0, 2.0, -4.0])
    around = lambda c: lambda x: ((x - c) @ (x - c) / 2, x - c)  # noqa: E731
    far = ts.minimize(around(1e8), np.zeros(3), ts.terms.Free())
    near = ts.minimize(around(b), far, ts.terms.Free())
    assert np.allclose(ts.minimize(around(b - 1), near, ts.terms.Free()).x, b - 1, atol=1e-4)
