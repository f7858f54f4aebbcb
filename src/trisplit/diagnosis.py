"""ts.check(): tests whether f has the gradient that it says, and each term its proximal map.

What is evidence of a mistake, and what is not, is said in `problems/gradient_faults.py` and `prox_faults.py`. Here it
is asked for at random points.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from trisplit.arrays import Array, as_floating, as_host, eps, fresh_copy, from_numpy, to_numpy
from trisplit.arrays.batched import norm
from trisplit.errors import InputError
from trisplit.options import Rng, as_generator
from trisplit.problems.gradient_faults import central_difference, compare_slopes
from trisplit.problems.oracles import Smooth, Term, ValueAndGrad
from trisplit.problems.problem import Problem
from trisplit.problems.prox_faults import Proximal, noise

DIRECTIONS, POINTS = 4, 2
SHOWN, LOOKED_AT = 3, 100  # wrong entries of a gradient in a message, and entries that are asked for to find them
GAMMAS = (1.0, 0.1)


@dataclass(frozen=True)
class Check:
    """What `ts.check` has found.

    Attributes
    ----------
    rows : tuple of (str, str)
        What was asked, and the answer.
    problems : tuple of str
        What is wrong, one sentence each.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> found = ts.check(lambda x: (x @ x, x), np.ones(3), ts.terms.L1(), quiet=True)
    >>> found.ok, found.problems
    (False, ('the gradient of `f` is 0.5 times what differences of its values give',))
    """

    rows: tuple[tuple[str, str], ...]
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        width = max((len(what) for what, _ in self.rows), default=0)
        lines = [f"{what:<{width}}  {answer}" for what, answer in self.rows]
        return "\n".join([*lines, *(f"- {problem}" for problem in self.problems)])


def check(
    f: Smooth | ValueAndGrad,
    x0: Array,
    terms: Term | Sequence[Term],
    *,
    batch_ndim: int = 0,
    rng: Rng = 0,
    quiet: bool = False,
) -> Check:
    """Test f and the terms of a problem before, or after, `ts.minimize`: gradient, proximal maps, shapes, dtypes.

    Parameters
    ----------
    f, x0, terms, batch_ndim : as in `trisplit.minimize`
    rng : int or Generator
        For the points and directions of the tests.
    quiet : bool
        Do not print the table.

    Returns
    -------
    Check
        Its `ok` says whether all is well, its `problems` say what is not.

    Examples
    --------
    A gradient without its second entry:

    >>> import numpy as np, trisplit as ts
    >>> f = lambda x: ((x**2).sum(), 2 * x * [1, 0, 1])
    >>> found = ts.check(f, np.array([1.0, 2.0, 3.0]), ts.terms.Box(-5, 5))
    gradient of `f`           wrong along 8 of 8 directions
    prox of `terms[0]` (Box)  right
    - the gradient of `f` is wrong in [1]: it has 0 where differences of the values of `f` give 2.56
    """
    x0 = fresh_copy(as_floating(x0))
    _, generator = as_generator(rng)
    try:
        problem = Problem(f, terms, batch_ndim=batch_ndim)
        problem.check(fresh_copy(x0))
    except InputError as error:
        found = Check((("shapes and types", "wrong"),), (str(error),))
    else:
        with np.errstate(all="ignore"):
            given = len(terms) if isinstance(terms, Sequence) else 1  # without the Zero() that fills a pair
            found = _joined([_of_f(problem, x0, generator), *_of_terms(problem, x0, generator, given)])
    if not quiet:
        print(found)
    return found


def _joined(parts: Sequence[Check]) -> Check:
    rows = tuple(row for part in parts for row in part.rows)
    return Check(rows, tuple(text for part in parts for text in part.problems))


def _of_f(problem: Problem, x0: Array, generator: np.random.Generator) -> Check:
    """Compare gradients of f with differences of its values."""
    wrong = asked = 0
    found: list[str] = []
    for _ in range(POINTS):
        ends = [problem.prox_g(x0 + noise(x0, generator), 1.0) for _ in range(2)]
        middle = (ends[0] + ends[1]) / 2  # in dom g, as both ends, and rarely at its boundary
        u, before = problem.grad(fresh_copy(middle)), to_numpy(fresh_copy(middle))
        problem.value(middle)
        if not np.array_equal(to_numpy(middle), before):
            return Check(
                (("gradient of `f`", "not tested"),), ("`f` writes into its argument; let it make new arrays",)
            )
        for direction in [ends[1] - ends[0], *(noise(middle, generator) for _ in range(DIRECTIONS - 1))]:
            right = compare_slopes(
                partial(_total, problem), problem.grad, middle, u, 2 * eps(x0) ** (1 / 3) * direction
            ).right
            asked, wrong = asked + (right is not None), wrong + (right is False)
        if wrong and not found:
            found.append(_where(problem, middle, u, generator))
    if not asked:
        answer = "not tested: the values of `f` have kinks or noise, or are not finite"
    else:
        answer = f"wrong along {wrong} of {asked} directions" if wrong else f"right along {asked} directions"
    # One direction alone may have met a kink.
    problems = found if wrong > 1 else []
    if problem.f.dtype is not None:
        problems.append(f"the gradient of `f` has another precision than x0, {x0.dtype}; use one for both")
    L = problem.f.lipschitz
    if L is not None and not problem.batch_ndim:
        a, b = (problem.prox_g(x0 + noise(x0, generator), 1.0) for _ in range(2))
        change, distance = norm(problem.grad(a) - problem.grad(b)), norm(a - b)
        if change > float(L) * distance * (1 + 1e-6) + 100 * eps(x0) * norm(problem.grad(a)):
            ratio = f"gradients differ by {change / distance:.3g} times the distance"
            problems.append(f"`f.lipschitz` is {float(L):.3g}, but {ratio}; declare a larger one, or none")
    return Check((("gradient of `f`", answer),), tuple(problems))


def _total(problem: Problem, x: Array) -> float:
    """Return the value of f, in a batch the sum of all."""
    return float(np.sum(np.asarray(as_host(problem.value(x)), dtype=float)))


def _where(problem: Problem, x: Array, u: Array, generator: np.random.Generator) -> str:
    """Return a sentence on what is wrong with a gradient."""
    host, n = to_numpy(u), np.size(to_numpy(u))
    places = np.arange(n) if n <= LOOKED_AT else np.sort(generator.choice(n, LOOKED_AT, replace=False))
    size = float(np.sqrt(np.mean(to_numpy(x) ** 2))) or 1.0
    given, right = host.ravel()[places].astype(float), np.empty(len(places))
    for k, place in enumerate(places):
        p = np.zeros(n)
        p[place] = size * eps(x) ** (1 / 3)
        step = from_numpy(p.reshape(host.shape), x)
        right[k] = central_difference(partial(_total, problem), x, step)[0] / p[place]
    scale = max(np.abs(given).max(), np.abs(right).max())
    factor = float(given @ right / (right @ right)) if right.any() else np.nan
    if np.abs(given - factor * right).max() <= 1e-3 * scale and abs(factor - 1) > 1e-3:
        return f"the gradient of `f` is {factor:.3g} times what differences of its values give"
    off = np.nan_to_num(np.abs(given - right), nan=np.inf)
    wrong = np.argsort(-off)[: np.count_nonzero(off > 1e-3 * scale)]  # the worst first
    if not wrong.size:
        return f"the gradient of `f` is wrong, in none of {len(places)} entries that were asked for"
    entries = [[int(i) for i in np.unravel_index(places[k], host.shape)] for k in wrong[:SHOWN]]
    first = wrong[0]
    more = f" and {wrong.size - SHOWN} more of {len(places)}" if wrong.size > SHOWN else ""
    come = f"it has {given[first]:.3g} where differences of the values of `f` give {right[first]:.3g}"
    return f"the gradient of `f` is wrong in {', '.join(map(str, entries))}{more}: {come}"


def _of_terms(problem: Problem, x0: Array, generator: np.random.Generator, given: int) -> Iterator[Check]:
    """Compare proximal points with competitors."""
    for i, term in enumerate(problem.terms[:given]):
        name = f"`terms[{i}]` ({type(term).__name__})"
        text = next((text for text in _mistakes(problem, term, x0, generator)), None)
        problems = () if text is None else (f"`prox` of {name} {text}",)
        yield Check(((f"prox of {name}", "right" if text is None else "wrong"),), problems)


def _mistakes(problem: Problem, term: Term, x0: Array, generator: np.random.Generator) -> Iterator[str]:
    """Yield what is wrong with a proximal map."""
    points = [x0 + size * noise(x0, generator) for size in (0.1, 1.0, 10.0)]
    reached = [term.prox(y, GAMMAS[-1]) for y in points]
    for y in points:
        for gamma in GAMMAS:
            before = to_numpy(fresh_copy(y))
            p = term.prox(y, gamma)
            if not np.array_equal(to_numpy(y), before):
                yield "writes into its argument; let it make a new array"
                return
            if not np.isfinite(to_numpy(p)).all():
                yield f"returns NaN or inf for gamma = {gamma:g}"
                return
            if p.dtype != y.dtype:
                yield f"returns {p.dtype} for an array of {y.dtype}"
                return
            point = Proximal.of(term, y, p, gamma, problem.batch_ndim)
            if np.isposinf(point.t_p).any():
                yield "ends where the `value` of the term is inf"
                return
            if any(map(point.loses_to, (y, x0, *reached, *point.competitors(generator)))):
                yield f"is not the minimiser: with gamma = {gamma:g} another point is better"
                return
