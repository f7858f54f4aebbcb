"""Frank-Wolfe: the three line searches do what they say, and the gap falls."""

from itertools import islice

import numpy as np
import pytest
from scipy.optimize import minimize_scalar, quadratic_assignment

import trisplit as ts
from tests.problems import BIRKHOFF_SPLITS, quadratic, ripples
from trisplit.splitting.frank_wolfe import LINE_SEARCHES, frank_wolfe
from trisplit.terms import L1, Box, Simplex


@pytest.mark.parametrize("kind", ["linear", "convex", "concave", "indefinite"])
def test_the_exact_step_minimises_along_the_segment(kind):
    rng = np.random.default_rng(1)
    f = quadratic(rng, 25, kind)
    problem = ts.Problem(f, BIRKHOFF_SPLITS["split 1"])
    for state in islice(frank_wolfe(problem, np.full((5, 5), 0.2)), 30):
        along = lambda s, state=state: f.value(state.z + s * (state.x - state.z))  # noqa: E731
        best = min(along(0.0), along(1.0), minimize_scalar(along, bounds=(0, 1), method="bounded").fun)
        assert along(state.gamma) <= best + 1e-9


@pytest.mark.parametrize("line_search", LINE_SEARCHES)
@pytest.mark.parametrize("kind", ["convex", "indefinite"])
def test_iterates_stay_feasible_and_the_objective_falls(line_search, kind):
    rng = np.random.default_rng(2)
    f = quadratic(rng, 16, kind)
    problem = ts.Problem(f, BIRKHOFF_SPLITS["split 2"])
    values = []
    for state in islice(frank_wolfe(problem, np.full((4, 4), 0.25), line_search), 200):
        values.append(f.value(state.z))
        assert ts.terms.UnitSums().distance(state.z) <= 1e-12
        assert state.z.min() >= -1e-12
    assert np.all(np.diff(values) <= 1e-12)
    assert ts.certificates.epsilon_stationary(problem, state.z) <= 0.05


def test_the_short_step_uses_the_smoothness_constant():
    f = quadratic(np.random.default_rng(3), 6, "convex")
    for state in islice(frank_wolfe(ts.Problem(f, Simplex()), np.eye(6)[0], "short"), 20):
        d = state.x - state.z
        if d @ d > 0:
            assert state.gamma == pytest.approx(min(-(state.u @ d) / (f.lipschitz * (d @ d)), 1.0))


def test_backtracking_needs_no_constant_and_no_quadratic():
    f = ripples(np.random.default_rng(4), 8)
    problem = ts.Problem(f, Box(-1, 1))
    state = list(islice(frank_wolfe(problem, np.zeros(8), "backtracking"), 500))[-1]
    assert ts.certificates.epsilon_stationary(problem, state.z) <= 1e-3


def test_scipys_faq_is_this_iteration():
    """SciPy's FAQ from the barycentre: the same relaxed minimiser, rounded, costs the same."""
    instance = ts.qap.load("chr12a")
    A, B = instance.A.astype(float), instance.B.astype(float)
    theirs = quadratic_assignment(
        A, B, method="faq", options={"maxiter": 30, "tol": 1e-300, "rng": np.random.default_rng(0)}
    )
    problem = ts.Problem(ts.qap.Objective(A, B), BIRKHOFF_SPLITS["split 1"])
    state = list(islice(frank_wolfe(problem, np.full((12, 12), 1 / 12)), 31))[-1]
    assert instance.cost(ts.qap.round_to_permutation(state.z)) == theirs.fun


def test_errors():
    f = quadratic(np.random.default_rng(5), 4)
    with pytest.raises(ts.InputError, match="exact, short, backtracking"):
        next(frank_wolfe(ts.Problem(f, Simplex()), np.eye(4)[0], "golden"))
    with pytest.raises(ts.InputError, match="joint oracle"):
        next(frank_wolfe(ts.Problem(f, (Box(-1, 1), L1())), np.ones(4)))
    with pytest.raises(ts.InputError, match="lipschitz"):
        next(frank_wolfe(ts.Problem(lambda x: (0.0, 0 * x), Simplex()), np.eye(4)[0], "short"))
