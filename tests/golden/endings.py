"""How runs of `minimize` end: statuses, messages, guarantees and warnings, or the exception that is raised.

`ENDINGS` maps names to functions that return a dictionary that JSON knows. `python -m tests.golden.endings` writes all
of them to `endings.json`; look at the difference before you commit it.
"""

import json
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import trisplit as ts
from tests.golden.functions import (
    Breaks,
    Broken,
    Forms,
    FragileBox,
    concave,
    form,
    forms,
    fourth,
    raises,
    shifted,
    singular,
    well,
)
from tests.golden.problems import BIRKHOFF, classification, draw, regression

T = ts.terms
FILE = Path(__file__).with_name("endings.json")


def told(res: ts.Result | ts.BatchResult) -> dict:
    """Return what a result says in words; in a batch each message and guarantee once."""
    words = {"kind": res.certificate.kind, "dtype": str(res.x.dtype)}
    if isinstance(res, ts.Result):
        return {"status": res.status.name, "message": res.status.value, "guarantee": str(res.guarantee), **words}
    return {
        "status": [status.name for status in res.status.ravel()],
        "message": sorted({status.value for status in res.status.ravel()}),
        "guarantee": sorted({str(guarantee) for guarantee in res.guarantee.ravel()}),
        **words,
    }


def ending(make: Callable[[], tuple], **options: object) -> dict:
    """Return how `minimize` ends with these options; `make` returns f, x0 and terms."""
    f, x0, terms = make()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            res = ts.minimize(f, x0, terms, **{"rng": 0, **options})
        except Exception as error:  # all of them, to tell which
            return {"exception": type(error).__name__, "message": str(error), "input": isinstance(error, ts.InputError)}
        except KeyboardInterrupt:
            return {"exception": "KeyboardInterrupt"}
    return {**told(res), "warnings": sorted({f"{each.category.__name__}: {each.message}" for each in caught})}


def stop_at(t: int) -> Callable[[object], bool]:
    return lambda made: made.t == t


def interrupt_at(t: int) -> Callable[[object], None]:
    def callback(made: object) -> None:
        if made.t == t:
            raise KeyboardInterrupt

    return callback


def fail_at(t: int) -> Callable[[object], None]:
    def callback(made: object) -> None:
        if made.t == t:
            raise RuntimeError("my own")

    return callback


class InterruptedAt:
    """||x - 3||^2 / 2 whose gradient is interrupted at its k-th call, once."""

    def __init__(self, k: int) -> None:
        self.left = k

    def value(self, x: np.ndarray) -> float:
        return shifted(x)[0]

    def grad(self, x: np.ndarray) -> np.ndarray:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return x - 3


START = np.full(4, 0.1)
PARTS = {
    "gap": lambda: [T.Box(0, 1), T.L1(0.1)],
    "bound": lambda: [T.L1(0.1), T.L2Ball(2.0)],
    "residual": lambda: T.L1(0.1),
    "three terms": lambda: [T.L1(0.1), T.L2Ball(2.0), T.Box(0, 1)],
}


def plain(kind: str, f: object = shifted) -> Callable[[], tuple]:
    return lambda: (f() if isinstance(f, type) else f, START.copy(), PARTS[kind]())


def breaking(kind: str, **options: object) -> Callable[[], tuple]:
    return lambda: (Breaks(**options), START.copy(), PARTS[kind]())


def fragile(at: int, terms: Callable[[object], list], fail: Callable | None = None) -> Callable[[], tuple]:
    return lambda: (shifted, START.copy(), terms(FragileBox(at, fail)))


def logistic() -> tuple:
    return classification(23, 40, 8, ridge=0.05), draw(24, 8), [T.L1(0.02), T.L2Ball(2.0)]


def bounded() -> tuple:
    return classification(23, 40, 8), draw(24, 8), [T.Box(-1, 1), T.L1(0.02)]


def birkhoff(split: int) -> Callable[[], tuple]:
    return lambda: (form(51, 25), draw(52, 5, 5), BIRKHOFF[split]())


def single_endings() -> dict[str, Callable[[], dict]]:
    ends = {}

    def add(name: str, make: Callable[[], tuple], **options: object) -> None:
        ends[f"ending/{name}"] = partial(ending, make, **options)

    slow = {"step": 1e-3, "tol": 0.0}
    for kind in PARTS:
        add(f"converged, {kind}", plain(kind))
        add(f"converged, {kind}, relax 1.5", plain(kind), relax=1.5)
        add(f"max_iter 7, {kind}", plain(kind), step=0.01, max_iter=7)
        add(f"max_iter 1, {kind}", plain(kind), max_iter=1)
        add(f"theory, {kind}", plain(kind), step="theory", max_iter=40)
        add(f"tol 0, {kind}", plain(kind), tol=0, max_iter=60)
        add(f"best, {kind}", plain(kind), step=0.9, tol=0, max_iter=30, output="best")
        add(f"random, {kind}", plain(kind), step=0.1, max_iter=50, output="random")
        add(f"stopped by callback at 24, {kind}", plain(kind), callback=stop_at(24), **slow)
        add(f"interrupted by callback at 24, {kind}", plain(kind), callback=interrupt_at(24), **slow)
        add(f"value is NaN from call 30 on, {kind}", breaking(kind, value=True, at=30), max_iter=300, tol=0)
        add(f"gradient is NaN from call 30 on, {kind}", breaking(kind, grad=True, at=30), max_iter=300, **slow)
    for split in BIRKHOFF:
        add(f"converged, Birkhoff polytope {split}", birkhoff(split))
        add(f"theory, Birkhoff polytope {split}", birkhoff(split), step="theory", max_iter=100, output="random")
    add("converged at the first look", lambda: (shifted, np.ones(4), T.Box(0, 1)))
    add("loose tolerance", plain("bound"), tol=0.1)
    add("float32", lambda: (shifted, START.astype(np.float32), PARTS["gap"]()), tol=1e-4)
    add("integers", lambda: (shifted, np.zeros(3, dtype=int), PARTS["gap"]()))
    add("time limit", plain("gap"), step=1e-9, tol=0.0, time_limit=1e-6)
    add("time limit, three terms", plain("three terms"), tol=0.0, time_limit=1e-6)
    add("stopped by callback at 1", plain("gap"), callback=stop_at(1))
    add("stopped by callback at 5, best", plain("gap"), callback=stop_at(5), output="best", **slow)
    add("stopped by callback at 5, random", plain("gap"), callback=stop_at(5), output="random", **slow)
    add("interrupted by callback at 1", plain("gap"), callback=interrupt_at(1), **slow)
    add("interrupted by callback, step too long", plain("residual"), callback=interrupt_at(20), step=1.9, tol=0.0)
    add("error in the callback at 5", plain("gap"), callback=fail_at(5), **slow)
    for k in (1, 2, 3, 20):
        add(f"interrupted in gradient {k}", lambda k=k: (InterruptedAt(k), START.copy(), PARTS["gap"]()), **slow)
    for output in ("best", "random"):
        add(f"gradient is NaN, {output}", breaking("gap", grad=True, at=30), output=output, max_iter=300, **slow)
    for step in ("auto", 0.01):
        add(
            f"value is NaN in a region, {step}",
            breaking("bound", value=True, region=0.6),
            step=step,
            tol=0,
            max_iter=500,
        )
        add(
            f"gradient is NaN in a region, {step}",
            breaking("bound", grad=True, region=0.6),
            step=step,
            tol=0,
            max_iter=500,
        )
        both = breaking("gap", value=True, grad=True, region=0.6)
        add(f"both are NaN in a region, {step}", both, step=step, tol=0, max_iter=500)
    add("value is NaN at the start", breaking("gap", value=True, at=0))
    add("gradient is NaN at the start", breaking("gap", grad=True, at=0))
    add("gradient is NaN at the first iterate", breaking("gap", grad=True, at=1), step=0.1)
    add("x0 is NaN", lambda: (shifted, np.array([np.nan, 1.0]), PARTS["gap"]()))
    for k in (5, 40):
        add(f"prox of g is NaN from call {k} on", fragile(k, lambda box: [box, T.L1(0.1)]), **slow)
        add(f"prox of h is NaN from call {k} on", fragile(k, lambda box: [T.L1(0.1), box]), **slow)
    add("prox of one of three is NaN", fragile(40, lambda box: [T.L1(0.1), box, T.Zero()]), **slow)
    errors = {
        "ZeroDivisionError": raises(ZeroDivisionError("division by zero")),
        "OverflowError": raises(OverflowError("math range error")),
        "FloatingPointError": raises(FloatingPointError("underflow")),
        "LinAlgError": singular,
        "RuntimeError": raises(RuntimeError("my own")),
        "ValueError": raises(ValueError("my own")),
    }
    for name, fail in errors.items():
        add(f"{name} in f at call 20", breaking("gap", grad=True, value=True, at=20, fail=fail), max_iter=300, **slow)
        add(f"{name} in a prox at call 30", fragile(30, lambda box: [T.L1(0.1), box], fail), max_iter=300, **slow)
    add("LinAlgError in the first gradient", breaking("gap", grad=True, at=0, fail=singular))
    add("LinAlgError in the first prox", fragile(0, lambda box: [T.L1(0.1), box], singular))
    for name, f in {"concave": concave, "fourth": fourth}.items():
        for step in ("auto", 1.0):
            add(f"unbounded below, {name}, {step}", lambda f=f: (f, np.ones(4), T.L1(0.1)), step=step, max_iter=500)
    add("linear and unbounded below", lambda: (lambda x: (-float(x.sum()), -np.ones_like(x)), np.ones(4), T.L1(0.1)))
    add("a residual that rises on the way", lambda: (well, np.full(4, 1e-4), T.L1(1e-6)), step=0.1)
    add("disjoint sets", lambda: (form(90, 6), draw(91, 6), [T.Box(1, 2), T.L2Ball(1.0)]), max_iter=500)
    add(
        "disjoint sets, four terms",
        lambda: (shifted, START.copy(), [T.L1(0.1), T.L2Ball(0.3), T.Box(0, 1), T.Simplex()]),
        max_iter=500,
    )
    add(
        "nonconvex term",
        lambda: (regression("LeastSquares", 92, 20, 8), draw(93, 8), [T.L0(0.1), T.Box(-1, 1)]),
        max_iter=300,
    )
    for name in ("svrg", "saga", "minibatch", "page"):
        add(f"{name}, max_iter", logistic, gradient=name, max_iter=50, tol=0)
        add(f"{name}, converged or not", logistic, gradient=name, max_iter=2000, tol=1e-4)
        add(f"{name}, interrupted", logistic, gradient=name, max_iter=50, callback=interrupt_at(31))
        add(
            f"{name}, three terms",
            lambda: (*logistic()[:2], [*logistic()[2], T.Box(-1, 1)]),
            gradient=name,
            max_iter=50,
        )
    theory = {"gradient": ts.gradients.Minibatch("theory"), "step": "theory", "max_iter": 30}
    add("minibatch of the theorem", bounded, **theory, output="random")
    for kind in ("gap", "three boxes"):
        inside = {"gap": PARTS["gap"], "three boxes": lambda: [T.Box(0, 1), T.L2Ball(2.0), T.Box(0, 2)]}[kind]
        declared = lambda inside=inside: (form(33, 4, "convex"), START.copy(), inside())  # noqa: E731
        for output in ("random", "last"):
            add(f"theory, {kind}, all constants known, {output}", declared, step="theory", max_iter=30, output=output)
    add(
        "minibatch, theory, gap, inside",
        lambda: (classification(23, 40, 4), START.copy(), PARTS["gap"]()),
        gradient=ts.gradients.Minibatch("theory", 2.0),
        step="theory",
        max_iter=20,
        output="random",
    )
    add("relax 2", plain("gap"), relax=2.0)
    add("wrong output", plain("gap"), output="first")
    return ends


def broken_batch(**kinds: int) -> Callable[[], tuple]:
    """Return seven problems: `always` is NaN from the start, `later` in a region; the last four are convex and easy."""

    def make() -> tuple:
        f, x0 = forms((7,), (4,), "convex", 6, cls=Broken)
        f.c[:, 0] = np.clip(f.c[:, 0], -5, 5)
        if "always" in kinds:
            f.c[kinds["always"], 0] = 60.0
        if "later" in kinds:
            f.c[kinds["later"], 0] = -60.0
            x0[kinds["later"], 0] = -1.0
        return f, x0, [T.Box(-1, 1), T.L2Ball(0.9, axis=-1)]

    return make


def easy(cls: type, kind: str = "convex", batch: tuple[int, ...] = (7,), terms: int = 2) -> Callable[[], tuple]:
    chosen = {1: lambda: T.L1(0.1), 2: lambda: [T.Box(-1, 1), T.L2Ball(0.9, axis=-1)]}
    chosen[3] = lambda: [T.Box(-1, 1), T.L1(0.1), T.L2Ball(0.9, axis=-1)]
    return lambda: (*forms(batch, (4,), kind, 6, cls=cls), chosen[terms]())


def batch_endings() -> dict[str, Callable[[], dict]]:
    ends = {}

    def add(name: str, make: Callable[[], tuple], axes: int = 1, **options: object) -> None:
        ends[f"ending of a batch/{name}"] = partial(ending, make, batch_ndim=axes, **options)

    for name, cls in {"select": Broken, "no select": Forms}.items():
        for step in ("auto", 0.05):
            add(f"converged, {name}, {step}", easy(cls), step=step, max_iter=400)
        add(f"some converge, {name}", easy(cls, "indefinite"), step=0.05, max_iter=60)
        add(f"one term, {name}", easy(cls, terms=1), max_iter=300)
        add(f"three terms, {name}", easy(cls, terms=3), max_iter=300)
        add(f"two axes, {name}", easy(cls, batch=(2, 3)), axes=2, max_iter=300)
        add(f"relax 1.5, {name}", easy(cls), relax=1.5, max_iter=300)
        add(f"tol 0, {name}", easy(cls), tol=0, max_iter=50)
        add(f"theory, {name}", easy(cls), step="theory", max_iter=50)
        add(f"best, {name}", easy(cls, "indefinite"), step=0.15, output="best", max_iter=50)
        add(f"random, {name}", easy(cls), step=0.05, output="random", max_iter=50)
        add(f"stopped by callback at 24, {name}", easy(cls), step=0.01, callback=stop_at(24))
        add(f"interrupted by callback at 24, {name}", easy(cls), step=0.01, callback=interrupt_at(24))
        add(
            f"interrupted by callback at 24, best, {name}",
            easy(cls),
            step=0.01,
            callback=interrupt_at(24),
            output="best",
        )
        add(f"interrupted by callback at 1, {name}", easy(cls), callback=interrupt_at(1))
        add(f"max_iter 1, {name}", easy(cls), max_iter=1)
    for output in ("last", "best", "random"):
        for step in ("auto", 0.05):
            some = broken_batch(always=2, later=5)
            add(f"some problems are NaN, {output}, {step}", some, output=output, step=step, max_iter=80)
    add("one problem becomes NaN, tol 0", broken_batch(later=5), step=0.05, tol=0, max_iter=60)
    some = broken_batch(always=2, later=5)
    add("some problems are NaN, interrupted", some, step=0.05, callback=interrupt_at(24))
    add("some problems are NaN, stopped by callback, best", some, callback=stop_at(30), output="best")
    add("some problems are NaN, theory", some, step="theory", max_iter=40, output="random")
    add("theory, random", easy(Broken), step="theory", max_iter=40, output="random")
    add("all are NaN", lambda: (lambda x: (np.nan * x.sum(-1), np.nan * x), np.ones((3, 2)), T.Box(0, 1)))
    add("a batch of one problem", easy(Broken, batch=(1,)))
    add(
        "float32",
        lambda: (forms((7,), (4,), "convex", 6, dtype=np.float32)[0], np.zeros((7, 4), np.float32), T.L1(0.1)),
        tol=1e-3,
    )
    add("time limit", easy(Broken), step=1e-9, tol=0.0, time_limit=1e-6)
    add("one number for all problems", lambda: (lambda x: (x.sum(), x), np.ones((3, 2)), T.Box(0, 1)))
    add("an estimator", lambda: (lambda x: (x.sum(-1), x), np.ones((3, 2)), T.Box(0, 1)), gradient="svrg")

    def fails(x: np.ndarray) -> tuple:
        if (x > 0.5).any():
            np.linalg.inv(np.zeros((2, 2)))
        return ((x - 3) ** 2).sum(-1) / 2, x - 3

    add("LinAlgError in f", lambda: (fails, np.full((3, 2), 0.1), T.Box(0, 1)), step=0.01, tol=0)
    return ends


ENDINGS: dict[str, Callable[[], dict]] = single_endings() | batch_endings()


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(run())}" for name, run in ENDINGS.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
