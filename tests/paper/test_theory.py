"""The measured theorems: no error above its bound, and every number in a row is what it claims to be."""

from io import BytesIO
from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trisplit.paper import theory
from trisplit.paper.theory_losses import BoxedL1, Quadratic
from trisplit.paper.theory_problems import RUNS, STARTS, ball_and_plane, cases, indefinite, robust_regression
from trisplit.problems.oracles import batched

CASES = {f"{case.theorem}: {case.name}": case for case in cases()}
LOSSES = {"quadratic": indefinite, "log loss": robust_regression}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
every_loss = pytest.mark.parametrize("draw", LOSSES.values(), ids=LOSSES)


@pytest.fixture(scope="module")
def shares():
    return []


@pytest.fixture(scope="module")
def rows(shares):
    return theory.run(True, lambda text, share: shares.append(share))


def feasible(case, rng):
    """Return a point of dom phi, drawn without the oracle: a random vertex or a mixture of three points."""
    n = case.domain.center.size

    def point():
        if case.domain.center.ndim == 2:
            return np.eye(5)[rng.permutation(5)]
        if "box" in case.name:
            return rng.choice([-1.0, 0.0, 1.0], n) if rng.random() < 0.5 else rng.uniform(-1, 1, n)
        offset = 1.0 if "touching" in case.name else 0.6
        a, v = np.ones(n) / n**0.5, rng.standard_normal(n)
        v -= (a @ v) * a
        return offset * a + (1 - offset**2) ** 0.5 * v / np.linalg.norm(v)

    return point() if rng.random() < 0.5 else np.tensordot(rng.dirichlet(np.ones(3)), [point() for _ in range(3)], 1)


def test_no_error_exceeds_a_bound(rows):
    assert theory.exceeded(rows) == []
    assert all(row.tight_bound <= row.bound for row in rows)


def test_an_error_above_either_bound_is_found(rows):
    row = next(row for row in rows if row.tight_bound < row.bound)
    between = row._replace(measured=(row.tight_bound + row.bound) / 2)
    above, no_number = row._replace(measured=2 * row.bound), row._replace(measured=nan)
    assert theory.exceeded([row, between, above, no_number]) == [between, above, no_number]


def test_every_theorem_has_its_quantities_at_every_T(rows):
    promised = {"Theorem 1": 1, "Corollary 1": 1, "Theorem 2": 2, "Theorem 3": 1, "Theorem 4": 2}
    for name, number in promised.items():
        own = [row for row in rows if row.theorem == name]
        assert {row.T for row in own} == {10, 32, 100, 316, 1000}
        assert len({row.quantity for row in own}) == number
    assert theory.ITERATIONS[-1] == 10**5


def test_two_runs_give_the_same_rows_and_say_how_far_they_are(rows, shares):
    assert theory.run(True, lambda text, share: None) == rows
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


def test_samples_are_iterations_times_the_batch(rows):
    """[YMS21] draws |Q| samples in each of the T iterations; `samples` is counted at the gradient."""
    for row in rows:
        stochastic = row.theorem in ("Theorem 3", "Theorem 4")
        assert row.samples == row.T * row.batch_size
        assert row.batch_size > 1 if stochastic else row.batch_size == 1
        assert row.runs == RUNS if stochastic else row.runs in (1, STARTS)


@every_case
def test_a_row_is_the_algorithm_and_the_average_in_plain_words(case):
    """Algorithm 1 from the paper, and the average of the theorem term by term at the worst x."""
    T, gamma = 20, case.bounds.step(20)
    problem = case.problem(T)
    g, h = problem.terms
    y, points = case.starts, []
    for _ in range(T):
        z = g.prox(y, gamma)
        x = h.prox(2 * z - y - gamma * problem.f.grad(z), gamma)
        y = y - z + x
        points.append(z)
    found = theory.averages(case, T)
    worst = case.domain.minimizer(found.grad)

    def at(point):
        own = [term.value(point) for term in (g, h) if not term.indicator]
        return sum(own) if own else np.zeros(len(point))

    errors = np.array(
        [np.sum(case.f.grad(z) * (z - worst), axis=tuple(range(1, z.ndim))) + at(z) - at(worst) for z in points]
    )
    by_start = errors.mean(axis=0)
    expected = [by_start.mean() if case.stochastic else by_start.max()]
    if case.bounds.sets:
        distances = np.mean([h.distance(z) for z in points], axis=0)
        expected.append(distances.mean() if case.stochastic else distances.max())
    assert [row.measured for row in theory.measure(case, T)] == pytest.approx(expected, rel=1e-9)


@every_case
@given(seed=st.integers(0, 2**32 - 1))
def test_no_feasible_x_has_a_larger_average_than_the_worst(case, seed):
    found, problem = theory.averages(case, 3), case.problem(3)
    worst = theory.nonstationarity(problem, found, case.domain.minimizer(found.grad))
    x = feasible(case, np.random.default_rng(seed))
    here = theory.nonstationarity(problem, found, np.broadcast_to(x, found.grad.shape))
    assert np.all(here <= worst + 1e-12)


@every_case
def test_the_worst_x_is_feasible(case):
    u = np.random.default_rng(0).standard_normal((5, *case.domain.center.shape))
    x = case.domain.minimizer(u)
    for term in case.problem(10).terms:
        assert np.all(np.isfinite(term.value(x)))


@every_case
def test_the_constants_hold(case):
    """D and G_f on points of dom g and its boundary, and every run starts in dom g."""
    rng = np.random.default_rng(0)
    g, _ = case.problem(10).terms
    size = rng.choice([0.1, 1.0, 100.0], 300).reshape(-1, *(1,) * case.domain.center.ndim)
    x = g.prox(size * rng.standard_normal((300, *case.domain.center.shape)), 0.0)
    assert np.linalg.norm(case.f.grad(x).reshape(300, -1), axis=1).max() <= case.bounds.G_f * (1 + 1e-12)
    assert np.linalg.norm((x[:150] - x[150:]).reshape(150, -1), axis=1).max() <= case.bounds.D * (1 + 1e-12)
    assert np.all(np.isfinite(g.value(case.starts)))


@every_case
def test_the_gradient_is_the_derivative_and_f_is_not_convex(case):
    """A Hessian with a negative eigenvalue, at points of dom g."""
    start, step, n = case.starts[0], 1e-5, case.domain.center.size
    around = step * np.eye(n).reshape(n, *start.shape)
    by_value = (case.f.value(start + around) - case.f.value(start - around)) / (2 * step)
    assert by_value == pytest.approx(case.f.grad(start[None]).ravel(), abs=1e-8)
    hessian = (case.f.grad(start + around) - case.f.grad(start - around)).reshape(n, n) / (2 * step)
    assert np.linalg.eigvalsh((hessian + hessian.T) / 2)[0] < -1e-3


@every_loss
@pytest.mark.parametrize("size", [1, 7])
def test_the_minibatch_is_unbiased_and_has_the_variance_claimed(draw, size):
    rng, copies = np.random.default_rng(2), 40_000
    f = draw(rng, (20,))
    x = np.repeat(rng.uniform(-1, 1, (1, 20)), copies, axis=0)
    grad = f.grad(x[:1])
    error = f.minibatch(x, size, rng) - grad
    squares = np.sum(error**2, axis=1)
    deviation = 5 / copies**0.5  # five standard errors
    assert np.linalg.norm(error.mean(axis=0)) <= deviation * f.sigma / size**0.5
    if isinstance(f, Quadratic):
        variance = f.sigma**2
    else:  # all m outcomes of one sample
        each = np.concatenate([type(f)(f.A[i : i + 1], f.b[i : i + 1]).grad(x[:1]) for i in range(len(f.b))])
        assert each.mean(axis=0) == pytest.approx(grad[0], abs=1e-12)
        variance = np.mean(np.sum((each - grad) ** 2, axis=1))
    assert abs(squares.mean() - variance / size) <= deviation * squares.std()
    assert variance <= f.sigma**2 * (1 + 1e-12)


def test_each_iteration_draws_a_new_minibatch_and_each_run_its_own():
    case = CASES["Theorem 3: quadratic, box + L1"]
    problem, x = case.problem(100), case.starts
    first, second = problem.f.grad(x), problem.f.grad(x)
    assert len({row.tobytes() for row in np.concatenate([first, second])}) == 2 * RUNS
    assert np.array_equal(x, np.repeat(x[:1], RUNS, axis=0))


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 3.0), st.floats(0.0, 2.0))
def test_the_l1_norm_on_a_box_has_its_prox(seed, gamma, weight):
    """p = prox(x) if and only if <x - p, y - p> <= gamma (g(y) - g(p)) for all y in dom g."""
    rng, g = np.random.default_rng(seed), BoxedL1(weight)
    x, y = rng.normal(0, 2, 6), rng.uniform(-1, 1, 6)
    p = g.prox(x, gamma)
    assert (x - p) @ (y - p) <= gamma * (g.value(y) - g.value(p)) + 1e-12
    assert abs(g.value(y) - g.value(p)) <= g.lipschitz((6,)) * np.linalg.norm(y - p) + 1e-12
    assert g.value(p + 2.5) == np.inf


def test_a_ball_and_a_plane_meet_where_their_projections_agree():
    domain = ball_and_plane(0.6)
    x = domain.minimizer(np.random.default_rng(0).standard_normal((9, 20)))
    for term in domain.terms:
        assert batched(term, 1).prox(x, 1.0) == pytest.approx(x)
    assert ball_and_plane(1.0).minimizer(np.zeros((1, 20))) == pytest.approx(np.full((1, 20), 20**-0.5))


def test_the_slope_of_a_power_is_its_exponent(rows):
    own = [row for row in rows if theory.key_of(row) == theory.key_of(rows[0])]
    (fit,) = theory.slopes([row._replace(measured=row.bound * row.T**-0.25) for row in own])
    assert (fit.slope, fit.last) == pytest.approx((-1 / 3 - 0.25,) * 2)
    assert fit.error == pytest.approx(0.0, abs=1e-9)
    (noisy,) = theory.slopes([row._replace(measured=row.bound * (1 + 0.1 * (-1) ** i)) for i, row in enumerate(own)])
    assert abs(noisy.slope + 1 / 3) <= 2 * noisy.error


def test_errors_that_are_not_positive_are_counted_and_not_fitted(rows):
    own = [row for row in rows if theory.key_of(row) == theory.key_of(rows[0])]
    power = [row._replace(measured=row.T**-0.5) for row in own]
    (fit,) = theory.slopes([power[0]._replace(measured=0.0), *power[1:]])
    assert fit.slope == pytest.approx(-0.5)
    assert (fit.points, fit.left_out) == (4, 1)
    (none,) = theory.slopes([row._replace(measured=-1.0) for row in own])
    assert (none.slope, none.error, none.last, none.points, none.left_out) == (None, None, None, 0, 5)


def test_samples_grow_no_faster_than_epsilon_to_the_minus_five(rows):
    """Corollary 2 with its constant: epsilon <= c / T^(1/3), |Q| <= T^(2/3) (1 + 1 / (2 S^2)), S = G_f + L_g + L_h."""
    counts = theory.sample_counts(rows)
    assert {count.theorem for count in counts} == {"Theorem 3", "Theorem 4"}
    for count in counts:
        theorem = CASES[f"{count.theorem}: {count.problem}"].bounds
        assert count.epsilon == max(theorem.stationarity(count.T), theorem.infeasibility(count.T))
        assert count.measured <= count.epsilon
        both = (4 + 2 * theorem.sigma**2) ** 0.5 + 4 + 2**0.5 + theorem.sigma**2
        c = theorem.D * max(theorem.slope, 1.0) * both
        assert count.constant <= c**5 * (1 + 1 / (2 * theorem.slope**2))
        assert count.samples == pytest.approx(theorem.samples(count.epsilon), rel=1e-9)


def test_the_figure_has_a_panel_for_each_theorem_and_quantity(rows):
    figure = theory.figure(rows)
    titles = [ax.get_title() for ax in figure.axes]
    assert len(titles) == len(set(titles)) == 8
    for name in {row.theorem for row in rows} | {"Corollary 2"}:
        assert any(title.startswith(name) for title in titles)
    figure.savefig(BytesIO(), format="png", dpi=50)
