"""The contestants of the core benchmark: each library with the solvers that take f + g + h, at its best known setting.

All get the same f, with its gradient, and the same proximal maps, unless the name says "own prox". A library that stops
by itself is told not to: it does the iterations that it is asked for. None evaluates the objective while time is taken.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import trisplit as ts

from .problems import Array, Problem

See = Callable[[Array], None]


@dataclass(frozen=True)
class Contestant:
    """`run(problem, iterations, see)` iterates; `see`, unless None, is shown the point of every iteration."""

    name: str
    library: str
    settings: str
    run: Callable[[Problem, int, See | None], object]
    applies: Callable[[Problem], bool] = lambda problem: True


def trisplit_run(step: Callable[[Problem], Any]) -> Callable[[Problem, int, See | None], object]:
    def run(problem: Problem, iterations: int, see: See | None) -> object:
        callback = None if see is None else lambda made: see(made.z)
        terms = problem.g, problem.h
        return ts.minimize(
            problem.f, problem.x0, terms, step=step(problem), tol=0, max_iter=iterations, callback=callback
        )

    return run


# copt: vectors only. It returns the point of its first proximal map, as trisplit does that of g.


def copt_run(
    own_prox: bool = False, **options: Callable[[Problem], object]
) -> Callable[[Problem, int, See | None], object]:
    def run(problem: Problem, iterations: int, see: See | None) -> object:
        from copt import minimize_three_split

        f, shape = problem.f, problem.x0.shape

        def f_grad(x: Array, return_gradient: bool = True) -> float | tuple[float, Array]:
            if not return_gradient:
                return f.value(x.reshape(shape))
            value, grad = f.value_and_grad(x.reshape(shape))
            return value, grad.reshape(-1)

        maps = copt_maps(problem) if own_prox else [flat(term.prox, shape) for term in (problem.g, problem.h)]
        return minimize_three_split(
            f_grad,
            problem.x0.reshape(-1),
            *maps,
            tol=-1,
            max_iter=iterations,
            callback=None if see is None else lambda local: see(local["x"]),
            **{name: value(problem) for name, value in options.items()},
        )

    return run


def flat(prox: Callable[[Array, float], Array], shape: tuple[int, ...]) -> Callable[[Array, float], Array]:
    """Return a proximal map that takes and gives vectors."""
    if len(shape) == 1:
        return prox
    return lambda x, gamma: prox(x.reshape(shape), gamma).reshape(-1)


def copt_maps(problem: Problem) -> list[Callable[[Array, float], Array]]:
    """Return copt's own proximal maps of g and h."""
    from copt import penalty, tv_prox

    shape, weight_g, weight_h = problem.x0.shape, problem.weight_g, problem.weight_h
    if problem.groups is not None:
        of_g, of_h = problem.groups
        return [penalty.GroupL1(weight_g, of_g).prox, penalty.GroupL1(weight_h, of_h).prox]
    if isinstance(problem.g, ts.terms.L1):
        return [penalty.L1Norm(weight_g).prox, penalty.TraceNorm(weight_h, shape).prox]
    return [
        lambda x, gamma: tv_prox.prox_tv1d_cols(weight_g * gamma, x, *shape),
        lambda x, gamma: tv_prox.prox_tv1d_rows(weight_h * gamma, x, *shape),
    ]


def lipschitz_of_h(problem: Problem) -> float:
    return float(problem.h.lipschitz(problem.x0.shape))  # pyright: ignore[reportAttributeAccessIssue]


# pyproximal


def pyproximal_generalized(tau: float) -> Callable[[Problem, int, See | None], object]:
    def run(problem: Problem, iterations: int, see: See | None) -> object:
        from pyproximal import ProxOperator
        from pyproximal.optimization.primal import GeneralizedProximalGradient

        shape, f = problem.x0.shape, problem.f
        smooth = ProxOperator(None, True)
        smooth.grad = lambda x: f.grad(x.reshape(shape)).reshape(-1)
        smooth.__class__ = type("Smooth", (ProxOperator,), {"__call__": lambda self, x: 0.0})
        maps = [as_pyproximal(flat(term.prox, shape)) for term in (problem.g, problem.h)]
        step, x0 = tau / f.lipschitz, problem.x0.reshape(-1)
        return GeneralizedProximalGradient([smooth], maps, x0, step, niter=iterations, callback=see)

    return run


def as_pyproximal(prox: Callable[[Array, float], Array]) -> Any:
    """Return a proximal map as an operator of pyproximal."""
    from pyproximal import ProxOperator

    body = {"__call__": lambda self, x: 0.0, "prox": lambda self, x, tau: prox(x, tau)}
    return type("Prox", (ProxOperator,), body)()


def pyproximal_primal_dual(tau: float) -> Callable[[Problem, int, See | None], object]:
    """Min f(x) + weight ||D x||_1 with D the differences along both axes and the proximal map of f."""

    def run(problem: Problem, iterations: int, see: See | None) -> object:
        from pylops import FirstDerivative, VStack
        from pyproximal import L1
        from pyproximal.optimization.primaldual import PrimalDual

        shape, prox_f = problem.x0.shape, problem.prox_f
        assert prox_f is not None
        D = VStack([FirstDerivative(shape, axis=axis, kind="forward", edge=False) for axis in (0, 1)])
        f, g = as_pyproximal(flat(prox_f, shape)), L1(sigma=problem.weight_g)
        x0, mu = problem.x0.reshape(-1), 0.99 / (8 * tau)  # ||D||^2 <= 8
        return PrimalDual(f, g, D, x0, tau, mu, niter=iterations, callback=see)

    return run


# pyunlocbox: shows its iterates only by evaluating functions


def pyunlocbox_run(solver: Callable[[Problem], tuple[Any, list[Any]]]) -> Callable[[Problem, int, See | None], object]:
    def run(problem: Problem, iterations: int, see: See | None) -> object:
        from pyunlocbox.solvers import solve

        method, functions = solver(problem)
        if see is not None:
            calls = count()
            functions[-1]._eval = lambda x: (see(x) if next(calls) else None) or 0.0  # the first call shows x0
        options = {"rtol": None, "maxit": iterations, "verbosity": "NONE"}
        return solve(functions, problem.x0.copy(), method, **options)

    return run


def as_pyunlocbox(
    prox: Callable[[Array, float], Array] | None = None, grad: Callable[[Array], Array] | None = None
) -> Any:
    """Return a function of pyunlocbox that has a proximal map or a gradient, and evaluates to 0."""
    from pyunlocbox.functions import func

    function = func()
    function._eval = lambda x: 0.0
    if prox is not None:
        function._prox = prox
    if grad is not None:
        function._grad = grad
    return function


def pyunlocbox_generalized(problem: Problem) -> tuple[Any, list[Any]]:
    from pyunlocbox.solvers import generalized_forward_backward

    functions = [as_pyunlocbox(problem.g.prox), as_pyunlocbox(problem.h.prox), as_pyunlocbox(grad=problem.f.grad)]
    return generalized_forward_backward(step=1.9 / problem.f.lipschitz), functions


def pyunlocbox_mlfbf(problem: Problem) -> tuple[Any, list[Any]]:
    """The dual variable is scaled by s = L, so that both parts of the bound 1 / (L + s) on the step are equal."""
    from pyunlocbox.solvers import mlfbf

    s = problem.f.lipschitz
    scaled = as_pyunlocbox(lambda x, gamma: s * problem.h.prox(x / s, gamma / s**2))
    functions = [as_pyunlocbox(problem.g.prox), scaled, as_pyunlocbox(grad=problem.f.grad)]
    return mlfbf(L=lambda x: s * x, Lt=lambda x: s * x, step=0.99 / (2 * s)), functions


# ODL


def odl_maps(space: Any) -> tuple[Callable[[Callable], Any], Callable[[Callable], Any]]:
    """Return functions that make functionals of ODL: from a proximal map, and from a gradient."""
    import odl

    class Map(odl.Operator):
        def __init__(self, call: Callable[[Array], Array]) -> None:
            super().__init__(space, space, linear=False)
            self.call = call

        def _call(self, x: Any, out: Any) -> None:
            out.data[...] = self.call(x.data)

    class Proximable(odl.functionals.Functional):
        def __init__(self, prox: Callable[[Array, float], Array]) -> None:
            super().__init__(space)
            self.prox = prox

        def _call(self, x: Any) -> float:
            return 0.0

        @property
        def proximal(self) -> Callable[[float], Map]:
            return lambda sigma: Map(lambda x: self.prox(x, float(sigma)))

        @property
        def convex_conj(self) -> "Proximable":
            return Proximable(lambda x, sigma: x - sigma * self.prox(x / sigma, 1 / sigma))

    class Differentiable(odl.functionals.Functional):
        def __init__(self, grad: Callable[[Array], Array]) -> None:
            super().__init__(space)
            self.grad = grad

        def _call(self, x: Any) -> float:
            return 0.0

        @property
        def gradient(self) -> Map:
            return Map(self.grad)

    return Proximable, Differentiable


def odl_forward_backward(problem: Problem, iterations: int, see: See | None) -> object:
    """F is differentiated, g the primal and h the dual term."""
    import odl

    space = odl.rn(problem.x0.shape)
    proximable, differentiable = odl_maps(space)
    x, tau, sigma = space.element(problem.x0.copy()), 1 / problem.f.lipschitz, 0.49 * problem.f.lipschitz
    terms, identity = (proximable(problem.g.prox), [proximable(problem.h.prox)]), odl.IdentityOperator(space)
    callback = None if see is None else lambda x: see(x.data)
    smooth = differentiable(problem.f.grad)
    odl.solvers.forward_backward_pd(x, *terms, [identity], smooth, tau, [sigma], iterations, callback=callback)
    return x


def odl_primal_dual(tau: float) -> Callable[[Problem, int, See | None], object]:
    """Min f(x) + weight ||D x||_1 with D the differences along both axes and the proximal map of f."""

    def run(problem: Problem, iterations: int, see: See | None) -> object:
        import odl

        shape = problem.x0.shape
        space = odl.uniform_discr([0, 0], shape, shape)  # cells of size 1
        proximable, _ = odl_maps(space)
        D = odl.Gradient(space, method="forward", pad_mode="symmetric")
        f, g = proximable(problem.prox_f), problem.weight_g * odl.functionals.L1Norm(D.range)  # pyright: ignore
        x, callback = space.element(problem.x0.copy()), None if see is None else lambda x: see(x.data)
        odl.solvers.pdhg(x, f, g, D, iterations, tau, 0.99 / (8 * tau), callback=callback)
        return x

    return run


def has_prox_f(problem: Problem) -> bool:
    return problem.prox_f is not None


AUTO, COPT = "trisplit auto", "copt, own prox"
contestants = (
    Contestant(AUTO, "trisplit", "step='auto', the default", trisplit_run(lambda problem: "auto")),
    Contestant("trisplit 1/L", "trisplit", "step=1/L", trisplit_run(lambda problem: 1 / problem.f.lipschitz)),
    Contestant("trisplit 1.9/L", "trisplit", "step=1.9/L", trisplit_run(lambda problem: 1.9 / problem.f.lipschitz)),
    Contestant(COPT, "copt", "minimize_three_split(), its own proximal maps", copt_run(own_prox=True)),
    Contestant("copt, our prox", "copt", "minimize_three_split()", copt_run()),
    Contestant(
        "copt 1/L",
        "copt",
        "minimize_three_split(step_size=1/L, line_search=False)",
        copt_run(step_size=lambda problem: 1 / problem.f.lipschitz, line_search=lambda problem: False),
    ),
    Contestant(
        "copt 1.9/L",
        "copt",
        "minimize_three_split(step_size=1.9/L, line_search=False)",
        copt_run(step_size=lambda problem: 1.9 / problem.f.lipschitz, line_search=lambda problem: False),
    ),
    Contestant(
        "copt growing",
        "copt",
        "minimize_three_split(h_Lipschitz=the constant of h)",
        copt_run(h_Lipschitz=lipschitz_of_h),
    ),
    Contestant("pyproximal GPG", "pyproximal", "GeneralizedProximalGradient(tau=1.9/L)", pyproximal_generalized(1.9)),
    Contestant(
        "pyproximal PDHG",
        "pyproximal",
        "PrimalDual(tau=1.5, mu=0.99/(8 tau)): L1 of differences, proximal map of f",
        pyproximal_primal_dual(1.5),
        has_prox_f,
    ),
    Contestant(
        "pyunlocbox GFB",
        "pyunlocbox",
        "generalized_forward_backward(step=1.9/L)",
        pyunlocbox_run(pyunlocbox_generalized),
    ),
    Contestant(
        "pyunlocbox MLFBF",
        "pyunlocbox",
        "mlfbf(step=0.99/(2 L)), the dual scaled by L",
        pyunlocbox_run(pyunlocbox_mlfbf),
    ),
    Contestant("ODL FBPD", "odl", "forward_backward_pd(tau=1/L, sigma=0.49 L)", odl_forward_backward),
    Contestant(
        "ODL PDHG",
        "odl",
        "pdhg(tau=1.5, sigma=0.99/(8 tau)): L1 of differences, proximal map of f",
        odl_primal_dual(1.5),
        has_prox_f,
    ),
)
