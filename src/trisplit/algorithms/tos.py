"""Three operator splitting, [YMS21] Algorithm 1 (Davis and Yin 2017), for min f(x) + g(x) + h(x).

f is smooth, possibly nonconvex; g and h are convex with cheap proximal maps.

[YMS21] Yurtsever, Mangalick, Sra (2021), Three Operator Splitting with a Nonconvex Loss Function.
"""

from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from trisplit.algorithms.forward import forward_of_rows
from trisplit.algorithms.host_batch import iterate_on_host
from trisplit.algorithms.refused import refused_rows
from trisplit.algorithms.state import State
from trisplit.arrays import Array, unchanged
from trisplit.errors import InputError
from trisplit.kernels.host_rows import is_double
from trisplit.problem import Function, Problem, Term, batched
from trisplit.steps import Constant, StepRule, as_step
from trisplit.steps.adaptive_batch import BatchAdaptive

if TYPE_CHECKING:
    from trisplit.algorithms.product import ProductProblem


FIXED = Constant(1.0)  # keeps the gamma that it is given


class Step(NamedTuple):
    """What one iteration computes; `y` is the next one.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.Box(0.5, 1), ts.terms.L1(0.1)])
    >>> step = ts.tos_step(problem, np.ones(2), 0.5)
    >>> step.z, step.y
    (array([1., 1.]), array([0.45, 0.45]))
    """

    z: Array
    x: Array
    u: Array
    y: Array


def tos_step(problem: "Problem | ProductProblem", y: Array, gamma: float, relax: float = 1.0) -> Step:
    """Return z, x, u and the next y of Algorithm 1, with a constant step.

    This is the body of the loop `tos`, for those who write the loop themselves: inside `jax.jit`, with `lax.scan` or
    `lax.while_loop`, or inside `torch.compile`. It counts no calls. For Algorithm 2 pass
    `trisplit.algorithms.product.ProductProblem(problem)`, and its `start(x0)` as the first y.

    Parameters
    ----------
    problem : Problem
        f, g and h.
    y : array
    gamma, relax : float
        As in `tos`; Python numbers, not arrays.

    Returns
    -------
    Step
        z, x, u and the next y, a named tuple.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (((x - 3) ** 2).sum() / 2, x - 3), [ts.terms.Box(0, 1), ts.terms.L1(0.1)])
    >>> y = np.zeros(2)
    >>> for _ in range(50):
    ...     z, x, u, y = ts.tos_step(problem, y, 0.5)
    >>> z
    array([1., 1.])

    The same 50 iterations, compiled by JAX:

    >>> def body(y, _):
    ...     step = ts.tos_step(problem, y, 0.5)
    ...     return step.y, step.z
    >>> run = lambda y0: jax.lax.scan(body, y0, length=50)  # doctest: +SKIP
    >>> y, zs = jax.jit(run)(jax.numpy.zeros(2))  # doctest: +SKIP
    """
    f, g, h = problem.uncounted
    state, y, _ = iterate(1, f, g, h, y, gamma, FIXED, (), relax)
    return Step(state.z, state.x, state.u, y)


def tos(
    problem: "Problem | ProductProblem",
    y0: Array,
    step: "StepRule | float | str" = "auto",
    *,
    relax: float = 1.0,
    resume: State | None = None,
    value_at: Callable[[int], bool] | None = None,
) -> Iterator[State]:
    """Iterate Algorithm 1 from y_1 = `y0`, for ever.

    z_t = prox_{gamma g}(y_t),  x_t = prox_{gamma h}(2 z_t - y_t - gamma grad f(z_t)),  y_{t+1} = y_t - z_t + x_t.

    Parameters
    ----------
    problem : Problem
        f, g and h.
    y0 : array
        The starting point.
    step : StepRule, float or str
        As in `trisplit.minimize`.
    relax : float
        y moves by `relax` times x - z; 1 is the paper's algorithm.
    resume : State, optional
        Go on after this state of an earlier iteration instead of starting.
    value_at : callable, optional
        Says whether the caller will ask for f(z) of iteration t: it is then computed together with the gradient.

    Yields
    ------
    State
        t, z, x, y, u and gamma of every iteration.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (((x - 3) ** 2).sum() / 2, x - 3), [ts.terms.Box(0, 1), ts.terms.L1(0.1)])
    >>> states = ts.tos(problem, np.zeros(2), 0.5)
    >>> for state in states:
    ...     if state.t == 50:
    ...         break
    >>> state.z
    array([1., 1.])
    """
    relax = float(relax)
    if isinstance(problem, Problem) and len(problem.terms) > 2:
        raise InputError(f"Algorithm 1 takes two terms, got {len(problem.terms)}; use `ts.product` or `ts.minimize`")
    if not 0 < relax < 2:
        raise InputError(f"`relax` must lie in (0, 2), got {relax!r}; 1 is the paper's algorithm")
    rule = batched(as_step(step), problem.batch_ndim)
    if hasattr(rule, "relaxed"):
        rule = rule.relaxed(relax)  # pyright: ignore[reportAttributeAccessIssue]
    f = problem.f
    g, h = problem.counted
    if resume is None:
        t0, y = 1, y0
        gamma, memory = rule.start(problem, y)
    else:
        t0, gamma, memory = resume.t + 1, resume.gamma, resume.memory
        z, x, y = resume.z, resume.x, resume.y
        y = next_y(y, z, x, x - z if rule.needs_d else None, relax)
    on_host = isinstance(rule, BatchAdaptive) and is_double(y)
    once = iterate_on_host if on_host else iterate
    for t in count(t0):
        valued = value_at is not None and value_at(t)
        state, y, memory = once(t, f, g, h, y, gamma, rule, memory, relax, valued=valued)  # pyright: ignore
        gamma = state.gamma
        yield state


class Half(NamedTuple):
    """What the first half of an iteration found: z, f(z) if the rule asked for it, u and the step to try."""

    z: Array
    f_z: float | None
    u: Array
    trial: float


def iterate(
    t: int,
    f: Function,
    g: Term,
    h: Term,
    y: Array,
    gamma: float,
    rule: StepRule,
    memory: tuple,
    relax: float = 1.0,
    half: Half | None = None,
    *,
    valued: bool = False,
) -> tuple[State, Array, tuple]:
    """Return iteration t of Algorithm 1, the next y, and what the step rule remembers.

    If `half` is given, only the second half is computed; with `valued`, f(z) as well, whatever the rule needs.
    """
    if half is None:
        z = g.prox(y, gamma)  # [YMS21] Alg. 1, line 2
        trial, memory = rule.propose(memory, z, y, gamma)
        if rule.needs_value(memory):
            f_z, u = f.value_and_grad(z)
        else:
            f_z, u = f.unread_value_and_grad(z) if valued else (None, f.grad(z))
    else:
        z, f_z, u, trial = half
    given = y
    while True:
        if not unchanged(trial, gamma):
            # Scaling y - z with gamma keeps (y - z) / gamma, a subgradient of g at z, so z stays prox_{gamma g}(y).
            y, gamma = z + (trial / gamma) * (y - z), trial
        forward = None if isinstance(gamma, float) else forward_of_rows(z, y, u, gamma)  # pyright: ignore
        # [YMS21] Alg. 1, line 3
        x = h.prox(2 * z - y - gamma * u, gamma) if forward is None else h.prox(forward, gamma)
        d = x - z if rule.needs_d else None
        state = State(t, z, x, y, u, gamma, f_z, memory, d)
        trial, memory = rule.judge(memory, state, f)
        if unchanged(trial, gamma):
            break
        few = refused_rows(f, h, state, trial, rule)
        if few is not None:  # of a batch; the others need no further trial
            *halves, own_y, own_gamma = few.taken(z, f_z, u, trial, y, gamma)
            own_memory = few.memory_of(memory)
            settled, _, _ = iterate(t, few.f, g, few.h, own_y, own_gamma, few.rule, own_memory, half=Half(*halves))  # pyright: ignore
            state, memory, d = few.put_back(state, memory, settled, y is not given)
            y = state.y
            break
    if memory is not state.memory:
        state = State(t, z, state.x, y, u, state.gamma, f_z, memory, d)
    return state, next_y(y, z, x, d, relax), memory


def next_y(y: Array, z: Array, x: Array, d: Array | None, relax: float) -> Array:
    """Return the y of the next iteration, by d = x - z if a rule has asked for it."""
    if relax != 1.0:
        return y + relax * (x - z if d is None else d)
    if d is not None:
        return y + d
    y = y - z + x  # [YMS21] Alg. 1, line 4
    return y
