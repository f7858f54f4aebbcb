"""What `Problem` promises beyond the driver: dtype, remedies, and a step that does not vanish."""

from itertools import islice

import numpy as np
import pytest

import trisplit as ts
from trisplit.terms import L1, Box, UnitSums


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
