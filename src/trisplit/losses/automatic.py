"""Losses from a function that PyTorch or JAX can differentiate, of one array or of nested parameters.

Neither library is imported before one of these functions is called.
"""

from collections.abc import Callable, Mapping
from types import ModuleType

from trisplit.arrays import Array, is_array, library
from trisplit.errors import InputError
from trisplit.losses.base import Loss
from trisplit.losses.parameters import Nested, Parameters
from trisplit.terms import SeparableSum
from trisplit.terms.base import BaseTerm
from trisplit.terms.checks import nonnegative_weight

__all__ = ["from_jax", "from_torch"]


class Automatic(Loss):
    """f from a function of an array, or of nested parameters that x holds one after another."""

    own = ""  # the library

    def __init__(self, array: type, fn: Callable, like: Nested | None, convex: bool, lipschitz: float | None) -> None:
        if not callable(fn):
            raise InputError(f"`fn` must be a function of x that returns a scalar, got {type(fn).__name__}; give one")
        self.array, self.fn, self.convex = array, fn, convex
        self.lipschitz = None if lipschitz is None else nonnegative_weight(lipschitz, "lipschitz")
        self.parameters = None if like is None else Parameters(like)
        if self.parameters is not None:
            self.shape = (self.parameters.size,)

    def of_x(self, x: Array) -> Array:
        """Return the function at x, or at the parameters that x holds."""
        return self.fn(x if self.parameters is None else self.parameters.unflatten(x))

    def check(self, x: Array) -> None:
        """Raise an `InputError` if `x` is not an array of the library."""
        if not isinstance(x, self.array):
            came = library(x) if is_array(x) else type(x).__name__
            raise InputError(f"`x` must be an array of {self.own}, got {came}; the function is differentiated there")
        super().check(x)

    def need_parameters(self) -> Parameters:
        """Return the layout of the parameters."""
        if self.parameters is None:
            raise InputError("`like` was not given, so that x is one array; give the parameters as `like`")
        return self.parameters

    def flatten(self, params: Nested) -> Array:
        """Return nested parameters as the vector x."""
        return self.need_parameters().flatten(params)

    def unflatten(self, x: Array) -> Nested:
        """Return the vector x as nested parameters."""
        return self.need_parameters().unflatten(x)

    def terms(self, terms: Mapping[str, BaseTerm]) -> SeparableSum:
        """Return one term of the vector x from a term for each path, see `Parameters.terms`."""
        return self.need_parameters().terms(terms)

    def scalar(self, value: object) -> Array:
        """Return what the function returned if it is a real scalar of the library."""
        if not isinstance(value, self.array):
            remedy = f"compute with {self.own}, without `float` or `detach`"
            raise InputError(f"`fn` must return a scalar of {self.own}, got {type(value).__name__}; {remedy}")
        found: Array = value  # pyright: ignore[reportAssignmentType]
        if tuple(found.shape) != ():
            raise InputError(f"`fn` must return a scalar, got shape {tuple(found.shape)}; sum or average it")
        return found


class TorchLoss(Automatic):
    """f by the automatic differentiation of PyTorch; made by `from_torch`."""

    own = "torch"

    def __init__(
        self, torch: ModuleType, fn: Callable, like: Nested | None, convex: bool, lipschitz: float | None
    ) -> None:
        self.torch = torch
        super().__init__(torch.Tensor, fn, like, convex, lipschitz)

    def value(self, x: Array) -> float:
        """Return f(x), without a history."""
        self.check(x)
        with self.torch.no_grad():
            return self.scalar(self.of_x(x))  # pyright: ignore[reportReturnType]

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both, without a history; they stay on the device."""
        self.check(x)
        if self.torch.compiler.is_compiling():  # of the two ways, the one that the compiler can follow
            grad, value = self.torch.func.grad_and_value(self.of_x)(x)
            return value, grad
        with self.torch.enable_grad():
            x = x.detach().requires_grad_()  # pyright: ignore[reportAttributeAccessIssue]
            value = self.scalar(self.of_x(x))
            if not value.requires_grad:  # pyright: ignore[reportAttributeAccessIssue]
                remedy = "compute with tensors made from x, without `detach` or `no_grad`"
                raise InputError(f"`fn` returns a number that does not depend on x; {remedy}")
            (grad,) = self.torch.autograd.grad(value, x, allow_unused=True)
        if grad is None:
            raise InputError("`fn` returns a number that does not depend on x; use its argument, not other parameters")
        return value.detach(), grad  # pyright: ignore[reportAttributeAccessIssue]


class JaxLoss(Automatic):
    """f by the automatic differentiation of JAX; made by `from_jax`."""

    own = "jax"

    def __init__(
        self, jax: ModuleType, fn: Callable, like: Nested | None, convex: bool, lipschitz: float | None, compiled: bool
    ) -> None:
        super().__init__(jax.Array, fn, like, convex, lipschitz)
        wrap = jax.jit if compiled else lambda function: function
        self._value, self._both = wrap(self._of_x), wrap(jax.value_and_grad(self._of_x))

    def _of_x(self, x: Array) -> Array:
        return self.scalar(self.of_x(x))

    def value(self, x: Array) -> float:
        """Return f(x)."""
        self.check(x)
        return self._value(x)  # pyright: ignore[reportReturnType]

    def value_and_grad(self, x: Array) -> tuple[float, Array]:
        """Return both; they stay on the device."""
        self.check(x)
        return self._both(x)  # pyright: ignore[reportReturnType]


def from_torch(
    fn: Callable, *, like: Nested | None = None, convex: bool = False, lipschitz: float | None = None
) -> TorchLoss:
    """Return f from a function of a PyTorch tensor that returns a scalar; its gradient is automatic.

    Parameters
    ----------
    fn : callable
        Of a tensor, or with `like` of parameters of that structure.
    like : dict, list or tuple of tensors, also nested; optional
        x is then the vector of all parameters, one after another: `f.flatten(params)`, `f.unflatten(x)`, and
        `f.terms({path: term})` makes one term of x from a term for each parameter.
    convex : bool
        What you know of it.
    lipschitz : float, optional
        The same.

    Returns
    -------
    Loss
        With `value`, `grad` and `value_and_grad`, which keep dtype and device of x and have no history.

    Examples
    --------
    >>> f = from_torch(lambda x: (x**2).sum() / 2)  # doctest: +SKIP
    >>> f.value_and_grad(torch.ones(2))  # doctest: +SKIP
    (tensor(1.), tensor([1., 1.]))
    """
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InputError("`from_torch` needs PyTorch; pip install 'trisplit[torch]'") from error
    return TorchLoss(torch, fn, like, convex, lipschitz)


def from_jax(
    fn: Callable,
    *,
    like: Nested | None = None,
    convex: bool = False,
    lipschitz: float | None = None,
    compiled: bool = True,
) -> JaxLoss:
    """Return f from a function of a JAX array that returns a scalar; its gradient is automatic.

    Parameters
    ----------
    fn : callable
        Of an array, or with `like` of parameters of that structure.
    like : dict, list or tuple of arrays, also nested; optional
        x is then the vector of all parameters, one after another: `f.flatten(params)`, `f.unflatten(x)`, and
        `f.terms({path: term})` makes one term of x from a term for each parameter.
    convex : bool
        What you know of it.
    lipschitz : float, optional
        The same.
    compiled : bool
        Whether `jax.jit` compiles it; a function that looks at numbers cannot be.

    Returns
    -------
    Loss
        With `value`, `grad` and `value_and_grad`, which keep dtype and device of x.

    Examples
    --------
    >>> f = from_jax(lambda x: (x**2).sum() / 2)  # doctest: +SKIP
    >>> f.value_and_grad(jax.numpy.ones(2))  # doctest: +SKIP
    (Array(1., dtype=float32), Array([1., 1.], dtype=float32))
    """
    try:
        import jax  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InputError("`from_jax` needs JAX; pip install 'trisplit[jax]'") from error
    return JaxLoss(jax, fn, like, convex, lipschitz, compiled)
