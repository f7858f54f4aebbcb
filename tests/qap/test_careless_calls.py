"""Calls that are easily made and were once answered wrongly."""

import time
from threading import Thread

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_info

from trisplit.errors import InputError
from trisplit.qap import Objective, load, quadratic_assignment, relax, solve


def test_a_reused_generator_goes_on_alike_whatever_the_workers_are():
    answers = []
    for workers in (1, 2):
        rng = np.random.default_rng(5)
        solve(load("tai12a"), starts=8, workers=workers, rng=rng, callback=lambda row: row.number == 2)
        answers.append(solve(load("tai25a"), starts=2, polish=False, workers=workers, rng=rng).permutation.tolist())
    assert answers[0] == answers[1]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_time_limit_that_never_comes(workers):
    assert solve(load("had12"), time_limit=float("inf"), workers=workers, rng=0).cost == load("had12").best_known


def test_overlapping_searches_give_the_threads_of_linear_algebra_back():
    solve(load("nug12"), starts=1)  # loads all libraries
    before = [library["num_threads"] for library in threadpool_info()]
    searches = [
        Thread(target=solve, args=(load("tai60a"),), kwargs={"time_limit": t, "workers": 1}) for t in (0.3, 0.6)
    ]
    for thread in searches:
        thread.start()
        time.sleep(0.1)
    for thread in searches:
        thread.join()
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_certificates_of_float32_runs_are_those_of_float64():
    rng = np.random.default_rng(1)
    for seed in range(10):
        S, T = (M + M.T for M in rng.integers(0, 9, (2, 10, 10)))
        res = relax(-S, T, split=1, dtype="float32", rng=seed, max_iter=2000)
        X = res.x.astype(float)
        value, u = Objective(-S.astype(float), T.astype(float)).value_and_grad(X)
        gap = float(np.vdot(u, X) - u[linear_sum_assignment(u)].sum())
        assert res.x.dtype == np.float32
        assert res.certificate.stationarity == pytest.approx(gap, abs=1e-9 * abs(value))
        assert not res.success or abs(gap) <= 1e-5 * max(value, 1.0) * (1 + 1e-9)


@pytest.mark.parametrize("scale", [1, 2**50])
@pytest.mark.parametrize(
    "forms", [(sp.csr_array, np.asarray), (np.asarray, sp.csr_array), (sp.csr_array, sp.csr_array)]
)
def test_fixed_pairs_of_sparse_matrices(forms, scale):
    rng = np.random.default_rng(3)
    A, B = rng.integers(0, 3, (2, 9, 9)) * scale
    for options in ({}, {"C": rng.integers(0, 9, (9, 9))}):
        dense, sparse = (
            solve(a, b, fixed={3: 0, 0: 7}, starts=2, rng=0, **options) for a, b in ((A, B), (forms[0](A), forms[1](B)))
        )
        assert sparse.permutation[3] == 0
        assert sparse.permutation[0] == 7
        assert np.array_equal(sparse.permutation, dense.permutation)
        assert sparse.cost == dense.cost


@pytest.mark.parametrize("method", ["tos", "faq", "2opt"])
def test_sparse_matrices_at_the_door(method):
    rng = np.random.default_rng(3)
    A, B, C = rng.integers(0, 3, (3, 9, 9))
    for options in ({"rng": 0}, {"rng": 0, "C": C, "partial_match": [[2, 1]]}):
        dense = quadratic_assignment(A, B, method, options)
        assert quadratic_assignment(sp.csr_array(A), sp.csr_array(B), method, options).fun == dense.fun


def test_starts_have_the_error_that_they_claim():
    for name in ("ste36a", "tai20a", "nug30"):
        for seed in range(3):
            res = solve(load(name), starts=1, faces=False, polish=False, rng=seed)
            assert res.relaxation.success or res.relaxation.nit == 2000


def test_flags_are_true_or_false():
    for name in ("polish", "faces"):
        with pytest.raises(InputError, match=name):
            solve(load("nug12"), **{name: "no"})
    with pytest.raises(InputError, match="split"):
        relax(load("nug12"), split=True)
    assert relax(load("nug12"), split=np.int64(1), rng=0).success
