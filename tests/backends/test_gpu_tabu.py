"""The Triton kernel makes the moves of its plain twin, and its gains are those of the instance."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", exc_type=ImportError)

from trisplit.kernels.gpu import usable  # noqa: E402
from trisplit.kernels.gpu.changes import Tables, folded  # noqa: E402
from trisplit.kernels.gpu.plain import places  # noqa: E402
from trisplit.kernels.gpu.walks import Walks  # noqa: E402
from trisplit.kernels.swaps import NEVER  # noqa: E402
from trisplit.qap import load  # noqa: E402
from trisplit.qap.instance import Instance  # noqa: E402
from trisplit.qap.swap_form import swap_form  # noqa: E402

CPU = torch.device("cpu")


def instance(n, *, symmetric=False, linear=False, factor=1, seed=0):
    rng = np.random.default_rng(seed)
    A, B = rng.integers(0, 9, (2, n, n))
    A[0, 1] = B[0, 1] = 8  # in float64 a power of two as largest entry is divided by exactly
    if symmetric:
        A, B = np.triu(A, 1) + np.triu(A, 1).T, np.triu(B, 1) + np.triu(B, 1).T
    return Instance("made", A * factor, B * factor, C=rng.integers(0, 50, (n, n)) if linear else None)


CASES = {
    "symmetric": (instance(9, symmetric=True), "i4"),
    "symmetric, linear": (instance(6, symmetric=True, linear=True), "i4"),
    "not symmetric": (instance(7), "i4"),
    "int64": (instance(6, factor=10**6, linear=True), "i8"),
    "float64": (instance(8, factor=1.0, symmetric=True), "f8"),
    "float64, not symmetric": (instance(5, factor=1.0), "f8"),
    "pairs that are never swapped": (load("esc16b"), "i4"),
    "A and B exchanged": (Instance("other", load("esc16b").B, load("esc16b").A), "i4"),
    "several tiles": (instance(19, symmetric=True), "i4"),
}


def starts(n, size, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(np.stack([rng.permutation(n) for _ in range(size)]))


@pytest.mark.skipif(not usable(CPU), reason="Triton is missing, or was imported without TRITON_INTERPRET=1")
class TestKernel:
    @pytest.mark.parametrize("name", CASES)
    def test_moves_of_the_twin(self, name):
        problem, kind = CASES[name]
        form = swap_form(problem)
        assert (form.kind, form.swapped) == (kind, "exchanged" in name and "A and B" in name)
        p = starts(form.n, 2)
        options = {"tenures": ((0.9, 1.1), (0.2, 0.6))}
        fused, plain = (Walks(form, CPU, 2, tile=128, fused=fused, **options) for fused in (True, False))
        for moves in (1, 10):  # more than wait for W
            for mine, twin in zip(fused.improve(p, moves, 3), plain.improve(p, moves, 3), strict=True):
                assert torch.equal(mine, twin)

    @pytest.mark.parametrize("name", ["symmetric", "float64, not symmetric"])
    def test_descent_of_the_twin(self, name):
        form = swap_form(CASES[name][0])
        p = starts(form.n, 2, seed=1)
        fused, plain = (Walks(form, CPU, 2, fused=fused) for fused in (True, False))
        walked = fused.improve(p, 100, 3, descent=True)
        for mine, twin in zip(walked, plain.improve(p, 100, 3, descent=True), strict=True):
            assert torch.equal(mine, twin)
        # It ends where no swap helps.
        assert (fused.tables.changes(walked.best) >= -form.tiny).all()

    def test_rounding_of_float64(self):
        problem = instance(6, factor=0.1, linear=True)
        form = swap_form(problem)
        p = starts(form.n, 1)
        walked = Walks(form, CPU, 1, fused=True).improve(p, 12, 0)
        before, after = (problem.cost(form.turned(q[0].numpy())) for q in (p, walked.best))
        assert before - after == pytest.approx(form.unit * walked.gains.item(), rel=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_gains_are_differences_of_costs(name):
    problem, _ = CASES[name]
    form = swap_form(problem)
    p = starts(form.n, 5)
    walked = Walks(form, CPU, 5, fused=False).improve(p, 40, 0)
    for start, end, gain in zip(p, walked.best, walked.gains, strict=True):
        before, after = (problem.cost(form.turned(q.numpy())) for q in (start, end))
        assert before - after == pytest.approx(form.unit * gain.item(), rel=1e-12, abs=0)


@pytest.mark.parametrize("name", CASES)
def test_changes_are_those_of_exchanges(name):
    problem, _ = CASES[name]
    form = swap_form(problem)
    tables, p = Tables(form, CPU), starts(form.n, 1)
    d = tables.changes(p)[0]
    for u in range(form.n):
        for v in range(u):
            q = p[0].clone()
            q[[u, v]] = q[[v, u]]
            after, before = (problem.cost(form.turned(each.numpy())) for each in (q, p[0]))
            assert after - before == pytest.approx(form.unit * d[u, v].item(), abs=1e-9 * abs(before))


def test_products_of_large_integers_are_exact():
    problem = instance(7, symmetric=True, factor=3 * 10**7)
    form = swap_form(Instance("large", *(M + 1 - np.eye(7, dtype=int) for M in (problem.A, problem.B))))
    tables = Tables(form, CPU)
    assert form.kind == "i8"
    assert not tables.by_floats
    p = starts(7, 3)
    L, R = form.L[0, :, :7].astype(object), form.R[0, :, :7].astype(object)
    for W, q in zip(tables.paid(p), p.numpy(), strict=True):
        assert (W.numpy()[:, :7] == L @ R[q] + form.D[:, :7].astype(object)).all()


@pytest.mark.parametrize("n", range(1, 12))
def test_every_pair_has_one_place(n):
    u, v, X = folded(n, 16)
    at = places(n, 16).numpy()
    kept = [(int(u[i, j]), int(v[i, j])) for i, j in zip(*np.nonzero(X != NEVER), strict=True)]
    assert sorted(kept) == [(a, b) for a in range(n) for b in range(a + 1, n)]
    assert all((u.flat[at[a, b]], v.flat[at[a, b]]) == (a, b) for a, b in kept)
