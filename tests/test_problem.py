"""What `Problem` promises beyond the driver: dtype, remedies, and a step that does not vanish."""

from itertools import islice

import numpy as np
import pytest

import trisplit as ts
from trisplit.terms import L1, Box, L2Ball, Simplex, SquaredL2, UnitSums


@pytest.mark.parametrize("step", ["auto", 0.1])
def test_data_of_higher_precision_in_f_does_not_raise_the_precision_of_the_result(step):
    target = np.linspace(0, 1, 6)  # float64
    f = lambda x: (0.5 * ((x - target) ** 2).sum(), x - target)  # noqa: E731
    res = ts.minimize(f, np.zeros(6, dtype=np.float32), (Box(0, 0.5), L1(0.1)), step=step, tol=1e-4)
    assert res.success
    assert res.x.dtype == np.float32


def test_a_complex_gradient_is_refused():
    with pytest.raises(ts.InputError, match=r"complex128.*real"):
        ts.minimize(lambda x: (0.0, x + 1j), np.zeros(3), L1())


@pytest.mark.parametrize("step", [ts.steps.Adaptive, np.array([0.1, 0.2]), None])
def test_a_step_that_is_no_rule_is_refused(step):
    with pytest.raises(ts.InputError, match="`step`"):
        ts.minimize(lambda x: (0.0, 0 * x), np.zeros(3), L1(), step=step)


def test_sets_without_a_common_point_leave_the_step_finite():
    """The balance sees only dual moves there and would shorten the step for ever."""
    f = lambda x: (x.sum(), np.ones_like(x))  # noqa: E731
    gammas = [s.gamma for s in islice(ts.tos(ts.Problem(f, (Box(0, 1), Box(2, 3))), np.zeros(4), "auto"), 3000)]
    assert min(gammas) > 1e-12
    res = ts.minimize(f, np.zeros(4), (Box(0, 1), Box(2, 3)), max_iter=500)
    assert not res.success
    assert res.certificate.infeasibility == pytest.approx(2.0)


def test_a_stack_of_matrices_has_no_joint_oracle():
    problem = ts.Problem(lambda x: ((x**2).sum(), 2 * x), (Box(0, 1), UnitSums()))
    assert problem.oracle((4, 4)) is not None
    assert problem.oracle((2, 4, 4)) is None
    assert problem.oracle((3, 4)) is None
    assert ts.minimize(problem.f, np.zeros((2, 3, 3)), problem.terms).certificate.kind == "bound"


def test_more_terms_than_two_go_to_algorithm_2():
    problem = ts.Problem(lambda x: ((x**2).sum(), 2 * x), [Box(0, 1), L1(), L2Ball()])
    state = next(ts.tos(problem, np.ones(2), 0.1))
    assert np.array_equal(state.z, next(ts.tos(ts.Product(problem), np.ones(2), 0.1)).z)
    with pytest.warns(DeprecationWarning, match=r"ts\.tos"):
        assert np.array_equal(state.z, next(ts.product(problem, np.ones(2), 0.1)).z)
    with pytest.raises(ts.InputError, match=r"ts\.Product"):
        ts.tos_step(problem, np.ones(2), 0.1)
    with pytest.raises(ts.InputError, match=r"ts\.Product"):
        ts.certificates.bound(problem, state)
    with pytest.raises(ts.InputError, match="relax"):
        next(ts.tos(ts.Problem(problem.f, Box()), np.ones(2), 0.1, relax=3))


def test_capabilities_of_the_wrong_form_are_named():
    class Ball(L2Ball):
        diameter = 2.0  # pyright: ignore[reportAssignmentType]

    class Loss:
        seen = 0  # an attribute of the user's own

        def value(self, x):
            return -float((x**2).sum())

        def grad(self, x):
            return -2 * x

        def lipschitz(self):
            return 2.0

    with pytest.raises(ts.InputError, match=r"diameter\(shape\)"):
        ts.minimize(Loss(), np.ones(2), Ball())
    with pytest.raises(ts.InputError, match=r"f\.lipschitz"):
        ts.minimize(Loss(), np.ones(2), Box(0, 1), step="theory", max_iter=5)
    assert ts.minimize(Loss(), np.full(2, 0.3), Box(0, 1)).success


def test_the_smallest_known_support_is_used():
    u = np.random.default_rng(0).standard_normal((4, 4))
    f = lambda x: (0.0, 0 * x)  # noqa: E731
    rows, columns = Simplex(axis=1).support(u), Simplex(axis=0).support(u)
    assert ts.Problem(f, (Simplex(axis=1), Simplex(axis=0))).support(u) == min(rows, columns)
    assert ts.Problem(f, (Box(0, 1), L2Ball(0.1))).support(u) == L2Ball(0.1).support(u)
    assert ts.Problem(f, (Box(0, 1), UnitSums())).support(u) == min(rows, columns)


def test_an_interrupted_run_returns_the_best_point_so_far():
    """The step is far too long, so the run goes away from its best point before Ctrl-C."""

    def interrupt(state):
        if state.t == 40:
            raise KeyboardInterrupt

    f = lambda x: (0.5 * (x @ x), x)  # noqa: E731
    res = ts.minimize(f, np.full(3, 0.1), (SquaredL2(0.1), L1(0.0)), step=3.0, tol=0, callback=interrupt)
    assert res.status is ts.Status.INTERRUPTED
    assert res.certificate.stationarity == min(res.trace["stationarity"])
