"""The lines of the benchmark: a proximal map each, and everybody who has it, called as its documentation says.

`by hand` is what a user of NumPy would write, vectorised. A map that is slow to set up is set up before time is taken,
and compiled code is compiled: what is measured is a call.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from trisplit import terms
from trisplit.terms.sets.exponential_cone import exponential as vectorised

Array = np.ndarray
Run = Callable[[], Array]
OURS, BY_HAND = "trisplit", "by hand"
PLAIN = ("proxop", "pyproximal", "diffcp")  # libraries whose loops are NumPy's or Python's


@dataclass(frozen=True)
class Line:
    """A proximal map of a size; `runs` gives the contestants, `plain` those that are NumPy alone."""

    name: str
    about: str
    make: Callable[[bool], dict[str, Run]]
    plain: tuple[str, ...] = PLAIN
    five_times: bool = False


def jitted(function: Callable[..., Any], x: Array) -> Run:
    """Return a call of a compiled JAX function in double precision; the arrays are where JAX wants them."""
    import jax

    jax.config.update("jax_enable_x64", True)
    compiled, there = jax.jit(function), jax.device_put(x)
    return lambda: compiled(there).block_until_ready()


def installed(*names: str) -> bool:
    return all(find_spec(name) is not None for name in names)


def simplex_rows(rows: int, columns: int) -> Callable[[bool], dict[str, Run]]:
    def make(quick: bool) -> dict[str, Run]:
        x = np.random.default_rng(0).standard_normal((rows // 50 if quick else rows, columns))
        term = terms.Simplex(axis=1)

        def by_hand() -> Array:
            largest = -np.sort(-x, axis=1)
            excess = np.cumsum(largest, axis=1) - 1.0
            theta = np.max(excess / np.arange(1, columns + 1), axis=1, keepdims=True)
            return np.maximum(x - theta, 0.0)

        runs: dict[str, Run] = {OURS: lambda: term.prox(x, 1.0), BY_HAND: by_hand}
        if installed("copt"):
            from copt.constraint import SimplexConstraint

            one = SimplexConstraint()
            runs["copt"] = lambda: np.stack([one.prox(row, 1.0) for row in x])
        if installed("proxop"):
            import proxop

            runs["proxop"] = lambda: proxop.Simplex(1.0, axis=1).prox(x)
        if installed("pyproximal"):
            import pyproximal

            rowwise = pyproximal.Simplex(x.size, 1.0, x.shape, axis=1, engine="numba")
            flat = x.ravel()
            runs["pyproximal numba"] = lambda: rowwise.prox(flat, 1.0).reshape(x.shape)
        if installed("jaxopt", "jax"):
            runs["jaxopt jit"] = in_jax("jaxopt.projection", "projection_simplex", x, rows=True)
        if installed("optax", "jax"):
            runs["optax jit"] = in_jax("optax.projections", "projection_simplex", x, rows=True)
        return runs

    return make


def in_jax(module: str, name: str, x: Array, *arguments: float, rows: bool = False) -> Run:
    """Return a compiled call of a function of jaxopt or optax, mapped over rows."""
    from importlib import import_module

    import jax

    function = getattr(import_module(module), name)
    one = lambda v: function(v, *arguments)  # noqa: E731
    return jitted(jax.vmap(one) if rows else one, x)


def l1_ball(quick: bool) -> dict[str, Run]:
    n, radius = 10_000 if quick else 1_000_000, 1000.0
    x = np.random.default_rng(0).standard_normal(n)
    term = terms.L1Ball(radius)

    def by_hand() -> Array:
        size = np.abs(x)
        largest = -np.sort(-size)
        theta = np.max((np.cumsum(largest) - radius) / np.arange(1, n + 1))
        return np.sign(x) * np.maximum(size - theta, 0.0)

    runs: dict[str, Run] = {OURS: lambda: term.prox(x, 1.0), BY_HAND: by_hand}
    if installed("copt"):
        from copt.constraint import L1Ball

        runs["copt"] = lambda: L1Ball(radius).prox(x, 1.0)
    if installed("proxop"):
        import proxop

        runs["proxop"] = lambda: proxop.L1Ball(radius).prox(x)
    if installed("pyproximal"):
        import pyproximal

        ball = pyproximal.L1Ball(n, radius)
        runs["pyproximal"] = lambda: ball.prox(x, 1.0)
    if installed("jaxopt", "jax"):
        runs["jaxopt jit"] = in_jax("jaxopt.projection", "projection_l1_ball", x, radius)
    if installed("optax", "jax"):
        runs["optax jit"] = in_jax("optax.projections", "projection_l1_ball", x, radius)
    return runs


def total_variation(quick: bool) -> dict[str, Run]:
    n = 10_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    x = np.repeat(rng.standard_normal(n // 100), 100) + 0.3 * rng.standard_normal(n)
    term = terms.TotalVariation(1.0)
    runs: dict[str, Run] = {OURS: lambda: term.prox(x, 1.0)}
    if installed("copt"):
        from copt.tv_prox import prox_tv1d

        runs["copt numba"] = lambda: prox_tv1d(x, 1.0)
    if installed("pyproximal"):
        import pyproximal

        # It iterates; its default of 10 steps is far from enough, and 100 still are.
        operator = pyproximal.TV(dims=(n,), sigma=1.0, niter=100)
        runs["pyproximal 100 steps"] = lambda: operator.prox(x, 1.0)
    return runs


def isotonic(quick: bool) -> dict[str, Run]:
    n = 10_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 5.0, n) + rng.standard_normal(n)
    term = terms.Isotonic()
    from scipy.optimize import isotonic_regression

    runs: dict[str, Run] = {OURS: lambda: term.prox(x, 1.0), "SciPy": lambda: isotonic_regression(x).x}
    if installed("sklearn"):
        from sklearn.isotonic import isotonic_regression as of_sklearn

        runs["scikit-learn"] = lambda: of_sklearn(x)
    return runs


def slope(quick: bool) -> dict[str, Run]:
    n = 5_000 if quick else 100_000
    x = np.random.default_rng(0).standard_normal(n)
    weights = np.linspace(1.5, 0.5, n)
    term = terms.SLOPE(weights)

    def by_hand() -> Array:
        """SciPy's isotonic regression of the sorted sizes, less the weights."""
        from scipy.optimize import isotonic_regression

        order = np.argsort(-np.abs(x))
        fitted = isotonic_regression(np.abs(x)[order] - weights, increasing=False).x
        p = np.empty(n)
        p[order] = np.maximum(fitted, 0.0)
        return np.sign(x) * p

    runs: dict[str, Run] = {OURS: lambda: term.prox(x, 1.0), "SciPy": by_hand}
    if installed("skglm"):
        from skglm.penalties import SLOPE

        penalty = SLOPE(weights)
        runs["skglm numba"] = lambda: penalty.prox_vec(x, 1.0)
    return runs


def nuclear(quick: bool) -> dict[str, Run]:
    n = 60 if quick else 500
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 20)) @ rng.standard_normal((20, n)) + 0.1 * rng.standard_normal((n, n))
    weight = 5.0
    term = terms.NuclearNorm(weight)

    def by_hand() -> Array:
        left, sizes, right = np.linalg.svd(x, full_matrices=False)
        return (left * np.maximum(sizes - weight, 0.0)) @ right

    runs: dict[str, Run] = {OURS: lambda: term.prox(x, 1.0), BY_HAND: by_hand}
    if installed("copt"):
        from copt.penalty import TraceNorm

        norm = TraceNorm(weight, x.shape)
        runs["copt"] = lambda: norm.prox(x.ravel(), 1.0).reshape(x.shape)
    if installed("proxop"):
        import proxop

        runs["proxop"] = lambda: proxop.NuclearNorm().prox(x, weight)
    if installed("pyproximal"):
        import pyproximal

        operator = pyproximal.Nuclear(x.shape, weight)
        runs["pyproximal"] = lambda: operator.prox(x.ravel(), 1.0).reshape(x.shape)
    return runs


def group_lasso(quick: bool) -> dict[str, Run]:
    n = 10_000 if quick else 1_000_000
    x = np.random.default_rng(0).standard_normal(n)
    groups = np.arange(n).reshape(-1, 10)
    term, by_rows = terms.GroupL2(groups.tolist(), 2.0), x.reshape(-1, 10)

    def by_hand() -> Array:
        norms = np.sqrt(np.sum(by_rows**2, axis=1, keepdims=True))
        return (by_rows * np.maximum(1.0 - 2.0 / norms, 0.0)).ravel()

    runs: dict[str, Run] = {OURS: lambda: term.prox(x, 1.0), BY_HAND: by_hand}
    if installed("copt"):
        from copt.penalty import GroupL1

        norm = GroupL1(2.0, groups.tolist())
        runs["copt"] = lambda: norm.prox(x.copy(), 1.0)
    if installed("proxop"):
        import proxop

        runs["proxop"] = lambda: proxop.L21rows().prox(by_rows, 2.0).ravel()
    if installed("pyproximal"):
        import pyproximal

        columns = np.ascontiguousarray(by_rows.T).ravel()
        operator = pyproximal.L21(10, 2.0)
        runs["pyproximal"] = lambda: operator.prox(columns, 1.0).reshape(10, -1).T.ravel()
    if installed("skglm"):
        from skglm.utils.prox_funcs import BST_vec

        # As compiled code it is refused by numba, which has no norm along an axis; it works as it is written.
        runs["skglm"] = lambda: BST_vec.py_func(x, 2.0, 10)
    if installed("jaxopt", "jax"):
        runs["jaxopt jit"] = in_jax("jaxopt.prox", "prox_group_lasso", by_rows, 2.0, rows=True)
    return runs


def second_order_cones(quick: bool) -> dict[str, Run]:
    x = np.random.default_rng(0).standard_normal((1_000 if quick else 100_000, 5))
    term = terms.SecondOrderCone(axis=1)

    def by_hand() -> Array:
        t, y = x[:, :1], x[:, 1:]
        size = np.sqrt(np.sum(y * y, axis=1, keepdims=True))
        height = (t + size) / 2
        moved = np.concatenate([height, height * y / np.where(size > 0, size, 1.0)], axis=1)
        return np.where(size <= t, x, np.where(size <= -t, 0.0, moved))

    runs: dict[str, Run] = {OURS: lambda: term.prox(x, 1.0), BY_HAND: by_hand}
    if installed("proxop"):
        import proxop

        # Along axis 1 it fails, so its vectors are columns.
        heights, columns = np.ascontiguousarray(x[:, 0]), np.ascontiguousarray(x[:, 1:].T)

        def by_proxop() -> Array:
            y, t = proxop.EpiL2Norm(heights, axis=0).prox(columns)
            return np.concatenate([t.reshape(1, -1), y]).T

        runs["proxop"] = by_proxop
    if installed("diffcp"):
        runs["diffcp"] = by_diffcp("q", [5] * len(x), x)
    return runs


def exponential_cones(quick: bool) -> dict[str, Run]:
    x = 2 * np.random.default_rng(0).standard_normal((1_000 if quick else 100_000, 3))
    term = terms.ExponentialCone(axis=1)
    # What is compiled for NumPy's arrays is written a second time in operations of any array library: Newton's steps
    # for all cones at once, as one would write it by hand.
    runs: dict[str, Run] = {OURS: lambda: term.prox(x, 1.0), BY_HAND: lambda: vectorised(x)}
    if installed("diffcp"):
        runs["diffcp"] = by_diffcp("ep", len(x), x)
    return runs


def by_diffcp(cone: str, size: int | list[int], x: Array) -> Run:
    """Return a projection by the cones of diffcp, whose loop over them is Python's."""
    from diffcp.cones import pi

    flat = x.ravel()
    return lambda: pi(flat, [(cone, size)]).reshape(x.shape)


def positive_semidefinite(quick: bool) -> dict[str, Run]:
    n = 40 if quick else 300
    x = np.random.default_rng(0).standard_normal((n, n))
    x = (x + x.T) / 2
    term = terms.PSD()

    def by_hand() -> Array:
        sizes, vectors = np.linalg.eigh(x)
        return (vectors * np.maximum(sizes, 0.0)) @ vectors.T

    def by_scipy() -> Array:
        from scipy.linalg import eigh

        sizes, vectors = eigh(x, driver="evd")
        return (vectors * np.maximum(sizes, 0.0)) @ vectors.T

    runs: dict[str, Run] = {OURS: lambda: term.prox(x, 1.0), BY_HAND: by_hand, "SciPy": by_scipy}
    if installed("diffcp"):
        from diffcp.cones import pi, unvec_symm, vec_symm

        flat = vec_symm(x)
        runs["diffcp"] = lambda: unvec_symm(pi(flat, [("s", n)]), n)
    return runs


def lines() -> Iterator[Line]:
    """Yield the lines, in the order of the table."""
    yield Line("simplex rows 10,000 x 100", "Simplex(axis=1)", simplex_rows(10_000, 100), (*PLAIN, "copt"), True)
    yield Line("simplex rows 100 x 10,000", "Simplex(axis=1)", simplex_rows(100, 10_000), (*PLAIN, "copt"), True)
    yield Line("L1 ball 10^6", "L1Ball(1000)", l1_ball)
    yield Line("1-D total variation 10^6", "TotalVariation()", total_variation, ("pyproximal 100 steps",), True)
    yield Line("isotonic 10^6", "Isotonic()", isotonic)
    yield Line("SLOPE 10^5", "SLOPE(weights)", slope, ("SciPy",), True)
    yield Line("nuclear norm 500 x 500", "NuclearNorm(5)", nuclear)
    yield Line("group lasso 10^6, groups of 10", "GroupL2(groups, 2)", group_lasso)
    yield Line("second-order cones 10^5 x 5", "SecondOrderCone(axis=1)", second_order_cones)
    yield Line("exponential cones 10^5", "ExponentialCone(axis=1)", exponential_cones, five_times=True)
    yield Line("PSD 300 x 300", "PSD()", positive_semidefinite)
