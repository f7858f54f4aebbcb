"""What every registered loss must satisfy; a loss enters by `__all__` of its file and its `examples()`.

- The gradient is the limit of differences of the value, and all ways to ask for value and gradient agree.
- The gradients of samples have the gradient as their mean.
- A convex function lies above its tangents; one that says it is not convex lies below one of them somewhere.
- Gradients move by at most the smoothness constant times the distance.

`kind` is a library and a dtype; the data of the examples are NumPy's and follow x.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.contracts.test_terms import drawn, inner, length
from tests.kinds import Kind, numpy64
from trisplit.losses import FiniteSum, registry

EXAMPLES = {name: cls.examples() for name, cls in registry.items()}
SEEDS = st.integers(0, 2**32 - 1)
DOUBLE = Kind("numpy", "float64")
every = pytest.mark.parametrize("name", registry)
sums = pytest.mark.parametrize("name", [name for name, cls in registry.items() if issubclass(cls, FiniteSum)])


def chosen(name, kind):
    """Return the examples; for JAX, which compiles for each shape, only the last of them."""
    return EXAMPLES[name][-1:] if kind.library == "jax" else EXAMPLES[name]


def point(seed, shape, kind, scale=1.0):
    return kind.array(scale * np.random.default_rng(seed).standard_normal(shape))


def rounding(loss, x, kind):
    """Return a tolerance: some units of rounding of numbers as large as those that are added in a gradient there."""
    x = numpy64(x)
    size = 1.0 + length(x) ** 3 + abs(float(loss.value(x))) + length(loss.grad(x))
    return 200 * kind.eps * size


@every
@drawn(8, seed=SEEDS)
def test_gradient_is_the_limit_of_differences(name, kind, seed):
    for loss, shape in chosen(name, kind):
        x, d = point(seed, shape, kind), point(seed + 1, shape, kind)
        d = d / length(d)
        h = kind.eps ** (1 / 3)
        slope = (float(loss.value(x + h * d)) - float(loss.value(x - h * d))) / (2 * h)
        size = 1.0 + length(x) ** 4 + abs(float(loss.value(x)))
        corner = h * (loss.lipschitz or 0.0)  # second derivatives may jump
        assert slope == pytest.approx(inner(loss.grad(x), d), abs=30 * h**2 * size + corner)


@every
@drawn(4, seed=SEEDS)
def test_numbers_are_those_of_numpy_in_double_precision(name, kind, seed):
    for loss, shape in chosen(name, kind):
        x = point(seed, shape, kind)
        value, grad = loss.value_and_grad(x)
        exact = numpy64(x)
        tolerance = rounding(loss, exact, kind)
        assert kind.holds(grad)
        assert tuple(grad.shape) == shape
        assert float(value) == pytest.approx(float(loss.value(x)), abs=tolerance)
        assert float(value) == pytest.approx(loss.value(exact), abs=tolerance)
        assert length(numpy64(grad) - loss.grad(exact)) <= tolerance
        if kind.library == "numpy":
            assert type(value) is float
            assert type(loss.value(x)) is float


@every
def test_arguments_and_answers_are_not_changed(name, kind):
    for loss, shape in chosen(name, kind) if kind.library != "jax" else []:  # whose arrays never change
        x = point(0, shape, kind)
        before, first = numpy64(x).copy(), loss.grad(x)
        kept = numpy64(first).copy()
        loss.value(x)
        if isinstance(loss, FiniteSum):
            loss.batch_grad(x, np.array([0, 1, 0]))
        loss.grad(2.0 * x)
        np.testing.assert_array_equal(numpy64(x), before)
        np.testing.assert_array_equal(numpy64(first), kept)


@sums
@drawn(4, seed=SEEDS)
def test_gradients_of_samples_have_the_gradient_as_their_mean(name, kind, seed):
    for loss, shape in chosen(name, kind):
        x = point(seed, shape, kind)
        each = loss.sample_grads(x, np.arange(loss.n))
        assert kind.holds(each)
        assert tuple(each.shape) == (loss.n, *shape)
        tolerance = rounding(loss, x, kind)
        assert length(numpy64(each).mean(axis=0) - numpy64(loss.grad(x))) <= tolerance
        rows = np.random.default_rng(seed).integers(0, loss.n, 5)
        batch = loss.batch_grad(x, rows)
        assert kind.holds(batch)
        some = numpy64(loss.sample_grads(x, rows))
        assert length(some - numpy64(each)[rows]) <= tolerance
        assert length(some.mean(axis=0) - numpy64(batch)) <= 10 * tolerance


@every
@drawn(10, seed=SEEDS)
def test_convex_losses_lie_above_their_tangents(name, kind, seed):
    for loss, shape in chosen(name, kind):
        if loss.convex:
            x, y = point(seed, shape, kind), point(seed + 1, shape, kind, 2.0)
            value, grad = loss.value_and_grad(x)
            slack = rounding(loss, x, kind) + rounding(loss, y, kind)
            assert float(loss.value(y)) >= float(value) + inner(grad, y - x) - slack


@every
def test_losses_that_are_not_convex_lie_below_a_tangent_somewhere(name):
    for loss, shape in EXAMPLES[name]:
        if loss.convex:
            continue
        gaps = []
        for seed in range(200):
            scale = (0.3, 2.0)[seed % 2]
            x, y = point(seed, shape, DOUBLE, scale), point(seed + 1000, shape, DOUBLE, scale)
            value, grad = loss.value_and_grad(x)
            gaps.append(loss.value(y) - value - inner(grad, y - x))
        assert min(gaps) < -1e-6


@every
@drawn(10, seed=SEEDS, near=st.sampled_from((1e-3, 0.3, 3.0)))
def test_gradients_move_by_at_most_the_smoothness_constant(name, kind, seed, near):
    for loss, shape in chosen(name, kind):
        x = point(seed, shape, kind, 2.0)
        y = x + near * point(seed + 1, shape, kind)
        slack = rounding(loss, x, kind) + rounding(loss, y, kind)
        if loss.lipschitz is not None:
            assert length(loss.grad(x) - loss.grad(y)) <= loss.lipschitz * length(x - y) + slack
        if getattr(loss, "sample_lipschitz", None) is not None:
            rows = np.arange(loss.n)
            moved = numpy64(loss.sample_grads(x, rows)) - numpy64(loss.sample_grads(y, rows))
            largest = np.linalg.norm(moved.reshape(loss.n, -1), axis=1).max()
            assert largest <= loss.sample_lipschitz * length(x - y) + slack


@every
def test_smoothness_constants_are_not_far_too_large(name):
    """Somewhere the gradient moves by a tenth of what the constant allows, unless there is none."""
    for loss, shape in EXAMPLES[name]:
        if not loss.lipschitz:
            continue
        most, scales = 0.0, (0.03, 0.3, 1.0, 3.0)
        for seed in range(50):
            for scale in scales:
                x, d = point(seed, shape, DOUBLE, scale), point(seed + 1000, shape, DOUBLE)
                for _ in range(4):  # the power method finds the direction in which the Hessian is largest
                    d = loss.grad(x + 1e-5 * d / length(d)) - loss.grad(x)
                    if not length(d):
                        break
                most = max(most, length(d) / 1e-5)
        assert most >= loss.lipschitz / 10


@every
def test_shapes_and_dtypes_that_do_not_fit_are_named(name):
    for loss, shape in EXAMPLES[name]:
        assert loss.shape == shape
        with pytest.raises(ValueError, match=r"^`x` of \w+ must have shape .*; "):
            loss.value_and_grad(np.zeros((*shape, 2)))
        with pytest.raises(ValueError, match=r"^`x` must hold real floating-point numbers, got int64; "):
            loss.value(np.zeros(shape, dtype=np.int64))
