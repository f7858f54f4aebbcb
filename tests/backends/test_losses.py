"""Every fact of `tests/losses/` about losses, for the other array libraries; and automatic differentiation."""

import inspect

import numpy as np
import pytest

import trisplit as ts
from tests.kinds import Kind, numpy64
from tests.losses import test_contracts
from tests.losses.test_contracts import DOUBLE, EXAMPLES, every, length, point, rounding

globals().update(
    {
        name: fact
        for name, fact in vars(test_contracts).items()
        if name.startswith("test_") and "kind" in inspect.signature(fact).parameters
    }
)


@pytest.fixture(scope="module")
def torch():
    return Kind("torch", "float64").xp


@pytest.fixture(scope="module")
def jax():
    Kind("jax", "float64").xp  # noqa: B018  import it with both dtypes, or skip
    import jax

    return jax


@every
@pytest.mark.parametrize("seed", range(3))
def test_gradient_is_that_of_automatic_differentiation_in_torch(name, seed, torch):
    for loss, shape in EXAMPLES[name]:
        x = torch.tensor(point(seed, shape, DOUBLE), requires_grad=True)
        loss.value(x).backward()
        assert length(numpy64(x.grad) - loss.grad(numpy64(x))) <= rounding(loss, x, DOUBLE)


@every
def test_loss_can_be_compiled_and_differentiated_in_jax(name, jax):
    loss, shape = EXAMPLES[name][0]
    x = point(0, shape, Kind("jax", "float64"))
    value, grad, automatic = jax.jit(lambda x: (*loss.value_and_grad(x), jax.grad(loss.value)(x)))(x)
    tolerance = rounding(loss, x, DOUBLE)
    assert float(value) == pytest.approx(loss.value(numpy64(x)), abs=tolerance)
    assert length(numpy64(grad) - loss.grad(numpy64(x))) <= tolerance
    assert length(numpy64(automatic) - loss.grad(numpy64(x))) <= tolerance


@pytest.fixture(params=["torch", "jax"])
def automatic(request):
    """Return the library as a module of functions of arrays, and the function that makes a loss there."""
    xp = Kind(request.param, "float64").xp
    return xp, ts.losses.from_torch if request.param == "torch" else ts.losses.from_jax


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_function_becomes_a_loss(automatic, dtype):
    xp, make = automatic
    f = make(lambda x: (xp.sin(x) * x).sum(), lipschitz=3.0)
    x = xp.asarray(np.array([0.5, -2.0]), dtype=getattr(xp, dtype))
    value, grad = f.value_and_grad(x)
    assert value.dtype == grad.dtype == x.dtype
    assert (f.convex, f.lipschitz) == (False, 3.0)
    plain = numpy64(x)
    assert float(value) == pytest.approx(float(f.value(x))) == pytest.approx((np.sin(plain) * plain).sum(), rel=1e-6)
    np.testing.assert_allclose(numpy64(f.grad(x)), np.sin(plain) + plain * np.cos(plain), rtol=1e-5)
    assert not getattr(grad, "requires_grad", False)
    assert not getattr(value, "requires_grad", False)
    assert not getattr(x, "requires_grad", False)


def test_parameters_of_any_structure_have_a_term_each(automatic):
    xp, make = automatic
    params = {"W": xp.ones((2, 3)), "deep": [xp.zeros(3), (xp.asarray(2.0),)]}

    def fn(p):
        return ((p["W"] - 3.0) ** 2).sum() / 2 + ((p["deep"][0] - 0.5) ** 2).sum() / 2 + p["deep"][1][0] ** 2 / 2

    f = make(fn, like=params, convex=True)
    x = f.flatten(params)
    assert tuple(x.shape) == f.shape == (10,)
    assert float(f.value(x)) == pytest.approx(float(fn(params)))
    back = f.unflatten(x)
    assert tuple(back["W"].shape) == (2, 3)
    assert isinstance(back["deep"][1], tuple)
    assert tuple(back["deep"][1][0].shape) == ()
    term = f.terms({"W": ts.terms.NuclearNorm(1.0), "deep": ts.terms.L1(1.0), "deep.0": ts.terms.Simplex()})
    res = ts.minimize(f, x, term, tol=1e-5)
    found = f.unflatten(res.x)
    assert res.success
    spectrum = np.linalg.svd(numpy64(found["W"]))[1]
    np.testing.assert_allclose(spectrum, [np.sqrt(54) - 1, 0.0], atol=1e-4)
    np.testing.assert_allclose(numpy64(found["deep"][0]), np.full(3, 1 / 3), atol=1e-4)
    assert abs(float(found["deep"][1][0])) < 1e-4


def test_functions_that_do_not_fit_are_named(automatic):
    xp, make = automatic
    x, numbers = xp.ones(3), np.ones(3)
    bad = {
        r"`fn` must return a scalar, got shape \(3,\); sum or average it": lambda x: x**2,
        r"`fn` must return a scalar of \w+, got float; ": lambda x: 1.0,
        r"`fn` must return a scalar of \w+, got tuple; ": lambda x: (x.sum(), x),
    }
    for message, fn in bad.items():
        for method in ("value_and_grad", "value"):
            with pytest.raises(ts.InputError, match=message):
                getattr(make(fn), method)(x)
    f = make(lambda x: x.sum())
    with pytest.raises(ts.InputError, match=r"`x` must be an array of \w+, got numpy"):
        f.grad(numbers)
    with pytest.raises(ts.InputError, match=r"`x` must hold real floating-point numbers, got .*int"):
        f.grad(xp.arange(3))
    with pytest.raises(ts.InputError, match="`like` was not given"):
        f.terms({"W": ts.terms.L1()})
    with pytest.raises(ts.InputError, match="`fn` must be a function of x that returns a scalar, got int"):
        make(3)
    with pytest.raises(ts.InputError, match="`terms` names 'b', which is no parameter; there are 'a'"):
        make(lambda p: p["a"].sum(), like={"a": x}).terms({"b": ts.terms.L1()})
    with pytest.raises(ts.InputError, match=r"`x` of \w+ must have shape \(3,\), got \(4,\)"):
        make(lambda p: p["a"].sum(), like={"a": x}).grad(xp.ones(4))


def test_a_value_without_a_history_is_named(torch):
    constant = torch.ones(2)
    other = torch.ones(2, requires_grad=True)
    for fn in (lambda x: x.detach().sum(), lambda x: constant.sum(), lambda x: other.sum()):
        with pytest.raises(ts.InputError, match="`fn` returns a number that does not depend on x; "):
            ts.losses.from_torch(fn).grad(torch.ones(2))


def test_a_module_of_torch_is_fitted_with_a_term_for_its_weights(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
    data = torch.randn(20, 3, dtype=torch.float64)
    params = {name: each.detach() for name, each in model.named_parameters()}
    f = ts.losses.from_torch(
        lambda p: (torch.func.functional_call(model, p, data)[:, 0] - data[:, 0]).square().mean(), like=params
    )
    x = f.flatten(params)
    res = ts.minimize(f, x, f.terms({"0.weight": ts.terms.L1(0.1)}), max_iter=300)
    weights = f.unflatten(res.x)["0.weight"]
    assert res.fun < float(f.value(x))
    assert (weights == 0).sum() >= 4  # those of the two features that do not matter


def test_losses_are_traced_by_the_compiler_of_torch(torch):
    f = ts.losses.from_torch(lambda x: (x**3).sum())
    compiled = torch.compile(f.grad, backend="eager")
    np.testing.assert_allclose(compiled(torch.ones(3)), 3 * np.ones(3))


def test_a_function_that_looks_at_numbers_is_left_uncompiled(jax):
    def fn(x):
        return (x**2).sum() if x[0] > 0 else x.sum()

    f = ts.losses.from_jax(fn, compiled=False)
    np.testing.assert_allclose(f.grad(jax.numpy.ones(2)), 2 * np.ones(2))


@pytest.mark.parametrize("name", ["least_squares", "multinomial", "cox", "gaussian_mixture", "mlp", "quadratic", "qap"])
def test_data_of_another_library_give_what_those_of_numpy_give(name, torch):
    rng = np.random.default_rng(0)
    A, labels = rng.standard_normal((6, 6)), rng.integers(0, 3, 6)
    makers = {
        "least_squares": lambda put: ts.losses.LeastSquares(put(A), put(A[0])),
        "multinomial": lambda put: ts.losses.Multinomial(put(A), put(labels), classes=3),
        "cox": lambda put: ts.losses.Cox(put(A), labels),
        "gaussian_mixture": lambda put: ts.losses.GaussianMixture(put(A), 2),
        "mlp": lambda put: ts.losses.MLP(put(A), labels, hidden=2),
        "quadratic": lambda put: ts.losses.Quadratic(put(A), put(A[0])),
        "qap": lambda put: ts.losses.QAP(put(A), put(A.T), put(A)),
    }
    plain, moved = makers[name](np.asarray), makers[name](torch.as_tensor)
    x = rng.standard_normal(plain.shape)
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-3)):
        value, grad = moved.value_and_grad(torch.as_tensor(x, dtype=dtype))
        assert grad.dtype == dtype
        assert float(value) == pytest.approx(plain.value(x), rel=tolerance)
        np.testing.assert_allclose(grad, plain.grad(x), rtol=tolerance, atol=tolerance)
    assert moved.lipschitz == plain.lipschitz or moved.lipschitz == pytest.approx(plain.lipschitz)
    with pytest.raises(ts.InputError, match=r"`\w` is of torch on cpu and x of numpy; convert one of them"):
        moved.grad(x)


def test_data_of_two_libraries_are_named(torch):
    A, b = np.ones((3, 2)), np.ones(3)
    with pytest.raises(ts.InputError, match="`b` is of torch on cpu and `A` of numpy; convert one of them"):
        ts.losses.LeastSquares(A, torch.ones(3))
    assert ts.losses.LeastSquares(torch.as_tensor(A), b).b.dtype == torch.float64
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ts.InputError, match="`A` is a sparse matrix and x of torch on cpu; use NumPy for x"):
        ts.losses.LeastSquares(sparse.csr_array(A), b).value(torch.ones(2))
