"""What the user gives, f and the terms, as the algorithms call them: with every call counted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from trisplit.arrays import Array, as_host, namespace
from trisplit.errors import InputError
from trisplit.terms.base import BaseTerm
from trisplit.terms.checks import Shape


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


class Function:
    """f as the algorithms call it: value, gradient, both at once, every call counted."""

    def __init__(self, source: "Smooth | ValueAndGrad", batch_ndim: int = 0, counts: Counts | None = None) -> None:
        self.source = source
        self.counts = counts or Counts()
        self.number = float if batch_ndim == 0 else lambda value: value
        self.dtype: object = None
        # Which of the forms f has is settled here, once: a look-up in every call would cost as much as a small f.
        if has_methods(source, "value", "grad"):
            self._value, self._grad = source.value, source.grad
            self._both: ValueAndGrad = getattr(source, "value_and_grad", lambda x: (source.value(x), source.grad(x)))
        elif callable(source):
            self._value, self._grad = (lambda x: source(x)[0]), (lambda x: source(x)[1])
            self._both = source
        else:
            raise InputError(
                f"`f` must have `value(x)` and `grad(x)`, or be a callable that returns (value, gradient); "
                f"got {type(source).__name__}"
            )

    def value(self, x: Array) -> float:
        self.counts.value += 1
        return self.number(self._value(x))

    def grad(self, x: Array) -> Array:
        self.counts.grad += 1
        return self._grad(x)

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        self.counts.value += 1
        self.counts.grad += 1
        value, grad = self._both(x)
        return self.number(value), grad

    def unread_value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both, the value as f returns it: reading it would wait for the device."""
        self.counts.value += 1
        self.counts.grad += 1
        return self._both(x)

    @property
    def uncounted_grad(self) -> Callable[[Array], Array]:
        """The gradient as a function that counts nothing."""
        return self._grad

    def keep_dtype(self, dtype: object) -> None:
        """Hand out gradients in `dtype` from now on: data of higher precision inside f must not raise the iterates'."""
        grad, both, self.dtype = self._grad, self._both, dtype
        cast = lambda u: namespace(u).astype(u, dtype)  # noqa: E731
        self._grad = lambda x: cast(grad(x))

        def cast_both(x: Array) -> tuple[float, Array]:
            value, u = both(x)
            return value, cast(u)

        self._both = cast_both

    def select(self, members: tuple[Array, ...]) -> "Function | None":
        """Return f for the problems of a batch at `x[members]`, None if f has no `select` of its own."""
        own = getattr(self.source, "select", None)
        part = None if own is None else own(members)
        if part is None:
            return None
        f = Function(part, 1, self.counts)
        if self.dtype is not None:
            f.keep_dtype(self.dtype)
        return f

    @property
    def sees_all(self) -> bool:
        """Whether f depends on all of a direction, see `seen_part`."""
        return not hasattr(self.source, "seen_part")

    def seen_part(self, d: Array) -> Array:
        """Return the part of a direction that f depends on: all of it, but for the product space of Algorithm 2."""
        part = getattr(self.source, "seen_part", None)
        return d if part is None else part(d)

    @property
    def lipschitz(self) -> float | None:
        """The smoothness constant, if f declares one."""
        constant = getattr(self.source, "lipschitz", None)
        if callable(constant):
            raise InputError("`f.lipschitz` is a method; make it a number or a property")
        if constant is None:
            return None
        constant = np.asarray(as_host(constant), dtype=float)
        return float(constant) if constant.ndim == 0 else constant  # pyright: ignore[reportReturnType]


class Uncounted(Function):
    """The gradient of f, for iterations that need no value and count no calls."""

    def __init__(self, grad: Callable[[Array], Array]) -> None:
        self._grad = grad

    def grad(self, x: Array) -> Array:
        return self._grad(x)


class CountedTerm:
    """A term whose proximal map is counted, as `maps` of them; everything else is the term's own."""

    def __init__(self, source: Term, counts: Counts, maps: int = 1) -> None:
        source_prox = source.prox

        def prox(x: Array, gamma: float) -> Array:
            counts.prox += maps
            return source_prox(x, gamma)

        # Not a method: it is called in every iteration, and names of a closure are found faster than attributes.
        self.prox, self.value = prox, source.value
        self.source, self.counts, self.maps = source, counts, maps

    def select(self, members: tuple[Array, ...], shape: Shape) -> "CountedTerm | None":
        """Return the term for some problems of a batch of that shape, None if it cannot select them."""
        own = select(self.source, members, shape)
        return None if own is None else CountedTerm(own, self.counts, self.maps)


def has_methods(part: object, *names: str) -> bool:
    """Say whether a part has these methods; `isinstance` with a protocol takes as long as an iteration."""
    return all(callable(getattr(part, name, None)) for name in names)


def batched(part: Part, batch_ndim: int) -> Part:
    """Return a term or a step rule for a batch; one that has no form of its own for that is taken as it is."""
    own = getattr(part, "batched", None)
    return part if own is None or batch_ndim == 0 else own(batch_ndim)


def select(term: Term, members: tuple[Array, ...], shape: Shape) -> Term | None:
    """Return a term for the problems of a batch at `x[members]`, None if it can not select them."""
    own = getattr(term, "select", None)
    if own is not None:
        return own(members)
    return term.select_rows(members, shape) if isinstance(term, BaseTerm) else None
