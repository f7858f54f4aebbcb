"""Matrices become permutations: read off, or by an auction that is as good as it promises and the same in Triton."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment

torch = pytest.importorskip("torch", exc_type=ImportError)

from trisplit.kernels.gpu import usable  # noqa: E402
from trisplit.qap.gpu import rounding  # noqa: E402
from trisplit.qap.gpu.rounding import RAISE, auction, complete, is_permutation, permutations, plain_auction  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
interpreted = pytest.mark.skipif(
    not usable("cpu"), reason="Triton is missing, or was imported without TRITON_INTERPRET=1"
)


def random(starts, n, seed=0, dtype=torch.float64):
    return torch.rand((starts, n, n), generator=torch.Generator().manual_seed(seed), dtype=dtype) * 2 - 1


def all_permutations(p, n):
    return torch.equal(p.sort(1).values, torch.arange(n).expand(len(p), n))


def loss(values, p):
    """By how much the sum of what rows have is below the largest one."""
    rows, columns = linear_sum_assignment(values, maximize=True)
    return values[rows, columns].sum() - values[np.arange(len(p)), p].sum()


TIES = st.integers(2, 6).flatmap(lambda n: arrays(np.float64, (n, n), elements=st.sampled_from([-1.0, 0.0, 0.5, 1.0])))
REALS = st.integers(2, 9).flatmap(lambda n: arrays(np.float64, (n, n), elements=st.floats(-1.0, 1.0)))


@settings(deadline=None, max_examples=40)
@given(values=st.one_of(TIES, REALS))
def test_nearly_the_largest_sum(values):
    p = plain_auction(torch.from_numpy(values)[None])
    assert all_permutations(p, len(values))
    assert loss(values, p[0].numpy()) <= len(values) * RAISE + 1e-9


@interpreted
@settings(deadline=None, max_examples=6)
@given(values=st.one_of(TIES, REALS))
def test_the_kernel_makes_the_same_bids(values):
    for dtype in (torch.float32, torch.float64):
        one = torch.from_numpy(values)[None].to(dtype)
        assert torch.equal(auction(one), plain_auction(one))


@interpreted
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 2, 5, 16, 17])
def test_the_kernel_equals_its_twin(n, dtype):
    values = torch.cat([random(2, n, dtype=dtype), torch.full((1, n, n), 0.25, dtype=dtype)])
    assigned = auction(values)
    assert assigned.dtype == torch.int64
    assert torch.equal(assigned, plain_auction(values))
    assert all_permutations(assigned, n)
    for each, p in zip(values.double().numpy(), assigned.numpy(), strict=True):
        assert loss(each, p) <= n * RAISE + 1e-6


@interpreted
def test_rounds_end(monkeypatch):
    """After too few rounds the same rows are open in both."""
    monkeypatch.setattr(rounding, "ROUNDS", 3)
    values = torch.full((2, 7, 7), 0.5)
    assigned = auction(values)
    assert (assigned >= 0).sum(1).tolist() == [3, 3]
    assert torch.equal(assigned, plain_auction(values))
    assert all_permutations(complete(assigned), 7)


def test_large_matrices_go_to_the_twin(monkeypatch):
    monkeypatch.setattr(rounding, "LARGEST", 4)
    monkeypatch.setattr(rounding, "plain_auction", lambda values: "plain")
    assert auction(random(1, 5)) == "plain"


@settings(deadline=None, max_examples=60)
@given(data=st.data(), n=st.integers(1, 9))
def test_completed_permutations_keep_what_was_assigned(data, n):
    p = np.array([data.draw(st.permutations(range(n))) for _ in range(3)])
    closed = data.draw(arrays(bool, (3, n)))
    assigned = torch.from_numpy(np.where(closed, p, -1))
    full = complete(assigned)
    assert all_permutations(full, n)
    assert (full == assigned)[assigned >= 0].all()
    for row, before in zip(full.numpy(), assigned.numpy(), strict=True):
        assert (np.diff(row[before < 0]) > 0).all()  # what is left, in order


@settings(deadline=None, max_examples=40)
@given(data=st.data(), n=st.integers(1, 8), noise=st.floats(0.0, 0.49))
def test_matrices_next_to_permutations_are_read_off(data, n, noise):
    p = torch.tensor([data.draw(st.permutations(range(n))) for _ in range(2)])
    y = torch.nn.functional.one_hot(p, n).double() + noise * random(2, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounding, "auction", lambda values: pytest.fail("nothing to decide"))
        assert torch.equal(permutations(y), p)
    assert is_permutation(p).all()
    assert not is_permutation(torch.zeros(1, 2, dtype=torch.int64)).any()


def test_some_are_read_off_and_some_are_not():
    y = torch.cat([torch.eye(6)[None], random(3, 6, dtype=torch.float32), torch.eye(6).flip(0)[None]])
    before = y.clone()
    p = permutations(y)
    assert torch.equal(y, before)
    assert all_permutations(p, 6)
    assert p[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert p[4].tolist() == [5, 4, 3, 2, 1, 0]
    for k in range(1, 4):
        assert loss(y[k].double().numpy(), p[k].numpy()) <= 6 * RAISE + 1e-6


def test_entries_far_outside():
    """They count as -1 and 1: rows cannot outbid each other by more than that."""
    y = torch.tensor([[[1e30, 1e30, -1e30], [5.0, 2.0, 1.5], [0.0, -1e30, -3.0]]])
    assert all_permutations(permutations(y), 3)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_whatever_comes_permutations_go(bad, monkeypatch):
    monkeypatch.setattr(rounding, "ROUNDS", 5)  # nobody can bid
    assert all_permutations(permutations(torch.full((2, 5, 5), bad)), 5)


def test_no_matrices():
    assert permutations(torch.zeros(0, 4, 4)).shape == (0, 4)
