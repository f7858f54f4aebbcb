"""Inner products, which everything else rests on."""

import numpy as np
import pytest

from trisplit.arrays.batched import dot, dots, per_problem_dot, total, vdot

SIZES = (1, 8191, 8192, 8193, 3 * 8192, 100_003)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_an_inner_product_is_exact_to_rounding(size, dtype):
    rng = np.random.default_rng(size)
    x, y = rng.standard_normal((2, size)).astype(dtype)
    exact = np.vdot(x.astype(np.longdouble), y.astype(np.longdouble))
    off = 8 * np.finfo(dtype).eps * np.linalg.norm(x) * np.linalg.norm(y)
    for value in (vdot(x, y), dot(x, y), *dots((x, y)), per_problem_dot(x[None], y[None], 1)[0]):
        assert abs(value - exact) <= off


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 5), (2000, 7), (2000, 40), (2, 20_000), (2, 3, 9000)])
def test_sums_of_a_batch_are_those_of_its_problems(shape, dtype):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, *shape)).astype(dtype)
    k = len(shape) - 1
    exact = np.einsum("...i,...i->...", x.astype(float), y.astype(float))
    size = np.linalg.norm(x, axis=-1) * np.linalg.norm(y, axis=-1)
    assert np.all(abs(per_problem_dot(x, y, k) - exact) <= 8 * np.finfo(dtype).eps * size)
    bound = 8 * np.finfo(dtype).eps * np.abs(x).sum(axis=-1)
    assert np.all(abs(total(x, k) - x.astype(float).sum(axis=-1)) <= bound)


def test_inner_products_take_no_threads(monkeypatch):
    longest = []
    for name in ("vdot", "vecdot"):
        original = getattr(np, name)
        taken = lambda x, y, original=original: longest.append(x.shape[-1]) or original(x, y)  # noqa: E731
        monkeypatch.setattr(np, name, taken)
    x = np.ones(50_000)
    dots((x, x)), dot(x, x), per_problem_dot(np.ones((2, 50_000)), np.ones((2, 50_000)), 1)
    assert longest
    assert max(longest) <= 8192  # BLAS takes threads above 10,000 entries
