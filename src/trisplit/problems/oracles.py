"""What the user gives, f and the terms, as the algorithms call them: with every call counted."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, nan
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from trisplit.arrays import Array, Shape, StepSize, Values, as_host, device, namespace, stands_for_nan
from trisplit.errors import InputError
from trisplit.terms import BaseTerm, Free


@runtime_checkable
class Smooth(Protocol):
    """A differentiable function, possibly nonconvex.

    `value_and_grad(x)`, which shares work, and `lipschitz`, the smoothness constant of the gradient, are optional.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> class Cosine:
    ...     def value(self, x):
    ...         return np.cos(x).sum()
    ...
    ...     def grad(self, x):
    ...         return -np.sin(x)
    >>> isinstance(Cosine(), ts.Smooth)
    True
    >>> ts.minimize(Cosine(), np.ones(1), ts.terms.Box(0, 2)).x
    array([2.])
    """

    def value(self, x: Array, /) -> float: ...

    def grad(self, x: Array, /) -> Array: ...


@runtime_checkable
class Term(Protocol):
    """A nonsmooth function or a set; `trisplit.terms` lists the capabilities it may have beyond these two.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> class Even:
    ...     def value(self, x):
    ...         return 0.0 if np.ptp(x) < 1e-9 else np.inf
    ...
    ...     def prox(self, x, gamma):
    ...         return np.full_like(x, x.mean())
    >>> isinstance(Even(), ts.Term)
    True
    >>> ts.minimize(lambda x: (x @ x / 2 - x[0], x - [1, 0]), np.zeros(2), Even()).x.round(6)
    array([0.5, 0.5])
    """

    def value(self, x: Array, /) -> float: ...

    def prox(self, x: Array, gamma: float, /) -> Array: ...


Part = TypeVar("Part")
ValueAndGrad: TypeAlias = Callable[[Array], tuple[float, Array]]


@dataclass
class Counts:
    """How often f, its gradient and the proximal maps were called, and how many samples estimates of it took."""

    value: int = 0
    grad: int = 0
    prox: int = 0
    samples: int = 0
    evidence: int = 0  # values and gradients that were asked for evidence of a mistake, and are not counted above

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Count what is asked in a block as `evidence`."""
        before = dict(vars(self))
        try:
            yield
        finally:
            spent = self.value + self.grad - before["value"] - before["grad"]
            vars(self).update(before, evidence=before["evidence"] + spent)


class Function:
    """f as the algorithms call it: value, gradient, both at once, every call counted."""

    def __init__(
        self, source: "Smooth | ValueAndGrad", batch_ndim: int = 0, counts: Counts | None = None, dtype: object = None
    ) -> None:
        source = batched(source, batch_ndim)
        self.source, self.counts, self.dtype, self.batch_ndim = source, counts or Counts(), dtype, batch_ndim
        self.failure, self.coarse = "", 0.0  # what f raised last; machine epsilon of gradients less precise than x
        self.number = float if batch_ndim == 0 else lambda value: value
        # Which of the forms f has is settled here, once: a look-up in every call would cost as much as a small f.
        if has_methods(source, "value", "grad"):
            self._value, self.uncounted_grad = source.value, source.grad
            self._both: ValueAndGrad = getattr(source, "value_and_grad", lambda x: (source.value(x), source.grad(x)))
        elif callable(source):
            self._value, self.uncounted_grad, self._both = (lambda x: source(x)[0]), (lambda x: source(x)[1]), source
        else:
            forms = "have `value(x)` and `grad(x)`, or be a callable that returns (value, gradient)"
            raise InputError(f"`f` must {forms}; got {type(source).__name__}")
        if dtype is not None:
            self.keep_dtype(dtype)

    def value(self, x: Array) -> Values:
        self.counts.value += 1
        try:
            return self.number(self._value(x))
        except Exception as error:
            return self._undefined(error, x)[0]

    def grad(self, x: Array) -> Array:
        self.counts.grad += 1
        try:
            return self.uncounted_grad(x)
        except Exception as error:
            return self._undefined(error, x)[1]

    def value_and_grad(self, x: Array) -> tuple[Values, Array]:
        """Return both, the value as f returns it: reading it would wait for a device."""
        self.counts.value += 1
        self.counts.grad += 1
        try:
            return self._both(x)
        except Exception as error:
            return self._undefined(error, x)

    def _undefined(self, error: Exception, x: Array) -> tuple[Values, Array]:
        """Return what f is where it raises: infinite, so that a shorter step is tried. Other exceptions pass."""
        if not stands_for_nan(error):
            raise error
        self.failure, xp = f"`f` raised {type(error).__name__}: {error}", namespace(x)
        value = xp.full(x.shape[: self.batch_ndim], inf, dtype=x.dtype, device=device(x)) if self.batch_ndim else inf
        return value, xp.full_like(x, nan)

    def keep_dtype(self, dtype: object) -> None:
        """Hand out gradients in `dtype` from now on: data of higher precision inside f must not raise the iterates'."""
        grad, both, self.dtype = self.uncounted_grad, self._both, dtype

        def cast_both(x: Array) -> tuple[float, Array]:
            value, u = both(x)
            return value, namespace(u).astype(u, dtype)

        self.uncounted_grad, self._both = (lambda x: namespace(x).astype(grad(x), dtype)), cast_both

    def select(self, members: tuple[Array, ...]) -> "Function | None":
        """Return f for the problems of a batch at `x[members]`, None if it neither can `select` nor is `rowwise`."""
        whole = self.source if self.rowwise else None
        part = own(members) if (own := getattr(self.source, "select", None)) else whole
        return None if part is None else Function(part, 1, self.counts, self.dtype)

    @property
    def rowwise(self) -> bool:
        """Whether f declares that it treats each problem of a batch alike, however many there are."""
        return bool(getattr(self.source, "rowwise", False))

    @property
    def selects(self) -> bool:
        """Whether f goes on with some problems of a batch."""
        return self.rowwise or hasattr(self.source, "select")

    @property
    def lipschitz(self) -> float | Array | None:
        """The smoothness constant, if f declares one."""
        constant = getattr(self.source, "lipschitz", None)
        if callable(constant):
            raise InputError("`f.lipschitz` is a method; make it a number or a property")
        return None if constant is None else as_constant(constant)


def as_constant(constant: object) -> float:
    """Return a constant as a float, or one for each problem of a batch as an array on the host."""
    constants = np.asarray(as_host(constant), dtype=float)
    return float(constants) if constants.ndim == 0 else constants  # pyright: ignore[reportReturnType]


def counted_prox(term: Term, counts: Counts, name: str = "") -> "Callable[[Array, StepSize], Array]":
    """Return the proximal map of a term with its calls counted; what it raises says whose it is.

    A closure: it is called in every iteration, and its names are found faster than attributes.
    """
    prox = term.prox

    def counted(x: Array, gamma: StepSize) -> Array:
        counts.prox += 1
        try:
            return prox(x, gamma)  # pyright: ignore[reportArgumentType]  # a term says float; in a batch it may be a column
        except Exception as error:
            if not isinstance(error, InputError):
                error.add_note(f"in `prox` of {name or type(term).__name__}")
            raise

    return counted


def has_methods(part: object, *names: str) -> bool:
    """Say whether a part has these methods; `isinstance` with a protocol takes as long as an iteration."""
    return all(callable(getattr(part, name, None)) for name in names)


def is_indicator(term: Term) -> bool:
    """Say whether the term declares itself the indicator of a set."""
    return bool(getattr(term, "indicator", False))


def is_convex(term: Term) -> bool:
    """Say whether the term is convex; one that says nothing is taken to be."""
    return bool(getattr(term, "convex", True))


def is_ours(part: object) -> bool:
    """Say whether f or a term, with all its parts, comes with this package, where tests ask what a run may doubt."""
    kind = part if isinstance(part, type) else type(part)
    if not (kind.__module__.startswith("trisplit.") and hasattr(sys.modules[kind.__module__], kind.__name__)):
        return False
    parts = (np.asarray(getattr(part, name), dtype=object) for name in getattr(kind, "parts", ()))
    return all(is_ours(each) for some in parts for each in np.atleast_1d(some).ravel())


def has_domain(term: Term) -> bool:
    """Say whether the term is known to be infinite somewhere."""
    return is_indicator(term) or (hasattr(term, "domain") and not isinstance(term.domain(), Free))  # pyright: ignore[reportAttributeAccessIssue]


def batched(part: Part, batch_ndim: int) -> Part:
    """Return a term or f for a batch; one that has no form of its own for that is taken as it is."""
    own = getattr(part, "batched", None)
    return part if own is None or batch_ndim == 0 else own(batch_ndim)


def select(term: Term, members: tuple[Array, ...], shape: Shape) -> Term | None:
    """Return a term for the problems of a batch at `x[members]`, None if it can not select them."""
    if own := getattr(term, "select", None):
        return own(members)
    return term.select_rows(members, shape) if isinstance(term, BaseTerm) else None
