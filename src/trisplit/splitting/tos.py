"""Three operator splitting, [YMS21] Algorithm 1 (Davis and Yin 2017), for min f(x) + g(x) + h(x).

f is smooth, possibly nonconvex; g and h are convex with cheap proximal maps.

[YMS21] Yurtsever, Mangalick, Sra (2021), Three Operator Splitting with a Nonconvex Loss Function.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from trisplit.arrays import Array, StepSize, Values
from trisplit.errors import InputError
from trisplit.options import as_relax, as_state
from trisplit.steps import Constant, StepRule, as_step

if TYPE_CHECKING:
    from trisplit.problems.space import Space

# Returns u and what it remembers, given the problem, what it remembered, z and t; see `trisplit.gradients`.
Estimate: TypeAlias = Callable[["Space", "tuple | None", Array, int], tuple[Array, tuple]]

FIXED = Constant(1.0)  # keeps the gamma that it is given
MAX_TRIALS = 10_000  # of a step in one iteration; one that shrinks by a tenth each time is 0 before


class State(NamedTuple):
    """All that the next iteration depends on.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.Box(0.5, 1), ts.terms.L1(0.1)])
    >>> next(ts.tos(problem, np.ones(2), 0.5)).after
    State(t=1, y=array([0.45, 0.45]), gamma=0.5, memory=(), estimate=None)
    """

    t: int  # iterations done
    y: Array
    gamma: StepSize
    memory: tuple = ()  # of the step rule
    estimate: tuple | None = None  # what the estimator of the gradient remembers


class Iterate(NamedTuple):
    """What one iteration made, for those who look at it.

    z = prox_g(y), u = gradient at z, x = prox_h(2 z - y - gamma u), where y is that of the step gamma.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (x @ x / 2, x), [ts.terms.Box(0.5, 1), ts.terms.L1(0.1)])
    >>> made = next(ts.tos(problem, np.ones(2), 0.5))
    >>> made.t, made.z, made.x
    (1, array([1., 1.]), array([0.45, 0.45]))
    """

    t: int
    z: Array
    x: Array
    y: Array
    u: Array
    gamma: StepSize
    f_z: Values | None = None  # f(z), if it was asked for
    after: State = None  # pyright: ignore[reportAssignmentType]  # where the next one starts; None if there is none

    @property
    def d(self) -> Array:
        """By how much an unrelaxed y moves, x - z."""
        return self.x - self.z


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


def iterate(
    problem: "Space",
    state: State,
    rule: StepRule,
    estimate: Estimate | None = None,
    relax: float = 1.0,
    *,
    valued: bool = False,
) -> Iterate:
    """Return one iteration of Algorithm 1.

    With `valued`, f(z) comes with the gradient whatever the rule wants; where the gradient is estimated, it never does.
    """
    y, gamma, remembered = state.y, state.gamma, state.estimate
    z = problem.prox_g(y, gamma)  # [YMS21] Alg. 1, line 2
    step, wanted, memory = rule.propose(problem, state.memory, z, y, gamma)
    if estimate is not None:
        f_z, (u, remembered) = None, estimate(problem, remembered, z, state.t)
    elif wanted or valued:
        f_z, u = problem.value_and_grad(z)
        if wanted:
            f_z = problem.number(f_z)
    else:
        f_z, u = None, problem.grad(z)
    trials, d = 0, None
    while True:
        if step is not gamma and differs(step, gamma):
            # Scaling y - z with gamma keeps (y - z) / gamma, a subgradient of g at z, so z stays prox_{gamma g}(y).
            y, gamma, trials = z + (step / gamma) * (y - z), step, trials + 1
        x = problem.prox_h(2 * z - y - gamma * u, gamma)  # line 3
        if rule.judge is None:
            break
        d = x - z
        step, memory = rule.judge(problem, memory, Iterate(state.t + 1, z, x, y, u, gamma, f_z), d)
        if step is gamma or not differs(step, gamma):
            break
        if trials == MAX_TRIALS:
            remedy = "accept by returning `made.gamma` itself"
            raise InputError(f"{type(rule).__name__} refused {MAX_TRIALS} steps in a row; {remedy}")
    if d is None and relax == 1.0:
        moved = y - z + x  # line 4
    else:
        d = x - z if d is None else d
        moved = y + d if relax == 1.0 else y + relax * d  # line 4 by d = x - z, relaxed
    after = State(state.t + 1, moved, gamma, memory, remembered)
    return Iterate(after.t, z, x, y, u, gamma, f_z, after)


def differs(step: StepSize, gamma: StepSize) -> bool:
    """Say whether a step is another one: floats by value, columns by identity, which costs no look at a device."""
    return not (isinstance(step, float | int) and isinstance(gamma, float | int)) or step != gamma


def tos_step(problem: "Space", y: Array, gamma: float, relax: float = 1.0) -> Step:
    """Return z, x, u and the next y of Algorithm 1, with a constant step.

    This is the body of the loop `tos`, for those who write the loop themselves: inside `jax.jit`, with `lax.scan` or
    `lax.while_loop`, or inside `torch.compile`. It counts no calls. For Algorithm 2 pass
    `ts.Product(problem)`, and its `start(x0)` as the first y.

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
    if len(getattr(problem, "terms", ())) > 2:
        raise InputError("`ts.tos_step` takes two terms; for more pass `ts.Product(problem)`, and its `start(x0)` as y")
    made = iterate(problem.uncounted(), State(0, y, gamma), FIXED, relax=relax)
    return Step(made.z, made.x, made.u, made.after.y)


def tos(
    problem: "Space",
    y0: Array,
    step: StepRule | float | str = "auto",
    *,
    relax: float = 1.0,
    resume: State | None = None,
) -> Iterator[Iterate]:
    """Iterate Algorithm 1 from y_1 = `y0`, for ever; with three terms or more Algorithm 2.

    z_t = prox_{gamma g}(y_t),  x_t = prox_{gamma h}(2 z_t - y_t - gamma grad f(z_t)),  y_{t+1} = y_t - z_t + x_t.

    Parameters
    ----------
    problem : Problem or Product
        `ts.Product(problem)` is for Algorithm 2, to which three terms or more always go.
    y0 : array
        The starting point.
    step : StepRule, float or str
        As in `trisplit.minimize`.
    relax : float
        y moves by `relax` times x - z; 1 is the paper's algorithm.
    resume : State, optional
        Go on from this state, `after` of an earlier iterate, instead of starting.

    Yields
    ------
    Iterate
        t, z, x, y, u and gamma of every iteration. In Algorithm 2 arrays have one more axis for the copies, in front or
        behind those of a batch; the common x is `made.x[0]`, in a batch of one axis `made.x[:, 0]`.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> problem = ts.Problem(lambda x: (((x - 3) ** 2).sum() / 2, x - 3), [ts.terms.Box(0, 1), ts.terms.L1(0.1)])
    >>> for made in ts.tos(problem, np.zeros(2), 0.5):
    ...     if made.t == 50:
    ...         break
    >>> made.z
    array([1., 1.])
    """
    from trisplit.problems.product import with_two_terms

    problem, relax = with_two_terms(problem), as_relax(relax)
    rule = as_step(step, relax)
    if resume is None:
        y = problem.start(y0)
        state = State(0, y, *rule.start(problem, y))
    else:
        state = as_state(resume, problem, y0, rule)
    while True:
        made = iterate(problem, state, rule, None, relax)
        state = made.after
        yield made
